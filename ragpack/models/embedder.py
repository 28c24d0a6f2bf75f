"""A sentence-transformers model: texts in, vectors of length 1 out (Reimers and Gurevych 2019)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ragpack.errors import UsageError
from ragpack.models.folder import device, not_a_model, without_bars

Vectors = npt.NDArray[np.float32]
BATCH = 64
"""Texts at once; those of like length share a batch."""
_KEPT = 32_768
"""Vectors that are remembered: a pool comes again for another retriever, reranker or question."""


class Embedder:
    """A model that is loaded when the first text comes. `embedder_of` gives the one of a folder to all who ask."""

    def __init__(self, option: str, name: str, folder: Path) -> None:
        self._option, self._name, self._folder = option, name, folder
        self._model: Any = None
        self._groups: OrderedDict[tuple[str, ...], Vectors] = OrderedDict()
        self._held = 0

    @property
    def width(self) -> int:
        """Dimensions of a vector."""
        model = self._loaded()
        # Newer versions of the package have another name for it.
        told = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(told() or 0)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[n, width] vectors, in the order of the texts.

        The last bits of a vector depend on the texts beside it, so whoever wants the same bytes again gives the same
        texts in the same order.
        """
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        found: Vectors = self._loaded().encode(
            list(texts), batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )
        return found

    def group(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """The vector of each text. They depend on which texts are in the group, not on their order, nor on what was
        asked before: the group as a whole is embedded, or remembered."""
        key = tuple(sorted(set(texts)))
        if key not in self._groups:
            self._groups[key] = self.encode(key)
            self._held += len(key)
            while self._held > _KEPT and len(self._groups) > 1:
                self._held -= len(self._groups.popitem(last=False)[0])
        self._groups.move_to_end(key)
        return dict(zip(key, self._groups[key], strict=True))

    def _loaded(self) -> Any:  # noqa: ANN401 # sentence_transformers has no types here
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            without_bars()
            try:
                self._model = SentenceTransformer(str(self._folder), device=device())
            except Exception as error:
                raise not_a_model(self._option, self._name, error) from None
        return self._model


_EMBEDDERS: dict[Path, Embedder] = {}


def embedder_of(option: str, name: str, folder: Path) -> Embedder:
    """The embedder of a folder: its weights are in memory once, whoever asks."""
    place = folder.resolve()
    if place not in _EMBEDDERS:
        _EMBEDDERS[place] = Embedder(option, name, folder)
    return _EMBEDDERS[place]


def shortened(vectors: Vectors, dim: int) -> Vectors:
    """[n, dim] the first dimensions, made vectors of length 1 again (Kusupati et al. 2022).

    >>> shortened(np.array([[0.6, 0.0, 0.8]], dtype=np.float32), 2).tolist()
    [[1.0, 0.0]]
    """
    if dim == vectors.shape[1]:
        return vectors
    cut = vectors[:, :dim]
    length = np.linalg.norm(cut, axis=1, keepdims=True)
    return np.asarray(cut / np.where(length > 0, length, 1), dtype=np.float32)


def check_width(option: str, name: str, dim: int, width: int) -> int:
    """How many dimensions are used: `dim`, or all for 0. Raises `UsageError` for more than there are."""
    if dim > width:
        raise UsageError(f"{option}: dim={dim}, but vectors of {name} have {width}",
                         f"Give dim={width} or less; 0 is all of them.")  # fmt: skip
    return dim or width
