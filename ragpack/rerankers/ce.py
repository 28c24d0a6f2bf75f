"""A cross-encoder: question and passage go through the model together (Nogueira and Cho 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragpack.errors import UsageError
from ragpack.models.folder import device, fingerprint_folder, model_folder, not_a_model, without_bars
from ragpack.rerankers.base import DIGITS, Passage

BATCH = 32


class CrossEncoder:
    """A sequence-classification model with one output; it is loaded when the first passage comes."""

    field = "ce"

    def __init__(self, name: str, folder: Path) -> None:
        self.fingerprint = fingerprint_folder(folder, "ce/1")
        self._name, self._folder = name, folder
        self._model: Any = None

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """The model's logits."""
        if not passages:
            return []
        model = self._loaded()
        import torch

        # In an order of their own: the last bits of a score depend on the batch that it is in.
        texts = sorted({one.whole for one in passages})
        values = model.predict(
            [(question, text) for text in texts], batch_size=BATCH, show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
        )  # fmt: skip
        found = {text: round(float(value), DIGITS) for text, value in zip(texts, values.tolist(), strict=True)}
        return [found[one.whole] for one in passages]

    def _loaded(self) -> Any:  # noqa: ANN401 # sentence_transformers has no types here
        if self._model is None:
            from sentence_transformers import CrossEncoder as Model

            without_bars()
            try:
                self._model = Model(str(self._folder), device=device())
            except Exception as error:
                raise not_a_model("--rerank", self._name, error) from None
            outputs = int(self._model.model.config.num_labels)
            if outputs != 1:
                raise UsageError(f"--rerank: {self._name} gives {outputs} numbers for a pair, not one",
                                 "Give a cross-encoder that was trained to rank.")  # fmt: skip
        return self._model


def open_reranker(*, model: str = "BAAI/bge-reranker-base") -> CrossEncoder:
    """A cross-encoder: the logit of question and passage read together.

    Writes `scores.ce`. Raises `UsageError`, `BackendError` and `Missing` as `model_folder` does.
    """
    return CrossEncoder(model, model_folder("--rerank ce", model))
