"""--entail: does a text entail a claim, by a cross-encoder trained on natural language inference."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragpack.encoders.base import Encoder, Pair
from ragpack.errors import UsageError
from ragpack.models.folder import device, fingerprint_folder, model_folder, not_a_model, without_bars

BATCH = 32
_NAMES = ("entailment", "entail", "entails")


def open_entail(model: str) -> Encoder:
    """P(entailment | text as premise, claim as hypothesis), in [0, 1]: softmax over the model's labels.

    Raises as `model_folder` does, and `UsageError` for a model without an entailment label.
    """
    folder = model_folder("--entail", model)
    try:
        labels = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("id2label") or {}
    except (OSError, ValueError, AttributeError):
        raise UsageError(f"--entail {model}: its config.json can't be read") from None
    return _Entail(model, folder, entailment_index(labels, model))


def entailment_index(labels: Mapping[str, str], model: str) -> int:
    """The index of the label that says entailment. Raises `UsageError` where there is none, or more than one.

    >>> entailment_index({"0": "CONTRADICTION", "1": "Entailment", "2": "neutral"}, "m")
    1
    >>> entailment_index({"0": "entailment", "1": "not_entailment"}, "m")
    0
    """
    found = [
        int(at) for at, label in labels.items() if str(label).strip().lower() in ("entailment", "entail", "entails")
    ]
    if len(found) != 1:
        named = ", ".join(map(str, labels.values())) or "none"
        raise UsageError(f"--entail {model}: no label of the model says entailment; its labels: {named}",
                         "Give a model of natural language inference, with `entailment` in its id2label.")  # fmt: skip
    return found[0]


class _Entail:
    def __init__(self, name: str, folder: Path, index: int) -> None:
        self.fingerprint = fingerprint_folder(folder, "entail/1")
        self._name = name
        self._folder = folder
        self._index = index
        self._model: Any = None
        self._tokenizer: Any = None
        self._longest = 0

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        if not pairs:
            return []
        self._load()
        # Pairs of like length share a batch: padding is work for nothing.
        order = sorted(range(len(pairs)), key=lambda at: (len(pairs[at].text) + len(pairs[at].claim), at))
        found = [0.0] * len(pairs)
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            for at, value in zip(batch, self._batch([pairs[at] for at in batch]), strict=True):
                found[at] = value
        return found

    def _batch(self, pairs: list[Pair]) -> list[float]:
        import torch

        # The longer of the two is cut where both together are too long.
        inputs = self._tokenizer(
            [pair.text for pair in pairs], [pair.claim for pair in pairs], truncation=True, padding=True,
            max_length=self._longest, return_tensors="pt",
        ).to(self._model.device)  # fmt: skip
        with torch.inference_mode():
            logits = self._model(**inputs).logits.float()
        values: list[float] = torch.softmax(logits, dim=-1)[:, self._index].tolist()
        return values

    def _load(self) -> None:
        if self._model is not None:
            return
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        without_bars()
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(str(self._folder))
            model = AutoModelForSequenceClassification.from_pretrained(str(self._folder))
        except Exception as error:
            raise not_a_model("--entail", self._name, error) from None
        self._model = model.to(device()).eval()
        # Two places less: some families begin to count positions at 2.
        room = int(getattr(model.config, "max_position_embeddings", None) or 514) - 2
        self._longest = min(int(self._tokenizer.model_max_length), room)
