"""--semantic: cosine similarity of sentence embeddings (Reimers and Gurevych 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ragpack.encoders.base import Encoder, Pair
from ragpack.models.embedder import embedder_of
from ragpack.models.folder import fingerprint_folder, model_folder

KEPT = 8192  # vectors; the snippets of a question come again in each of its rows


def open_semantic(model: str, option: str = "--semantic") -> Encoder:
    """Cosine similarity of the claim's and the text's embeddings, in [-1, 1], by a sentence-transformers model.

    Raises `UsageError`, `BackendError` and `Missing` as `model_folder` does.
    """
    return _Semantic(model, option, model_folder(option, model))


class _Semantic:
    def __init__(self, name: str, option: str, folder: Path) -> None:
        self.fingerprint = fingerprint_folder(folder, "semantic/1")
        self._embedder = embedder_of(option, name, folder)
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        if len(self._vectors) + len(texts) > KEPT:
            self._vectors.clear()
        new = [text for text in texts if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._embedder.encode(new), strict=True))
        return [float(self._vectors[pair.claim] @ self._vectors[pair.text]) for pair in pairs]
