"""A bi-encoder over the hits: the dense retriever's cosine, for what another retriever found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragpack.flow.keys import digest
from ragpack.models.embedder import Embedder, Vectors, check_width, embedder_of, shortened
from ragpack.models.folder import fingerprint_folder, model_folder
from ragpack.models.usage import Usage, usage_of
from ragpack.rerankers.base import DIGITS, Passage


class BiEncoder:
    """Cosines of vectors; texts that the dense retriever just embedded are not embedded again."""

    field = "bge"

    def __init__(self, embedder: Embedder, name: str, usage: Usage, fingerprint: str) -> None:
        self._embedder, self._name, self._usage = embedder, name, usage
        self.fingerprint = fingerprint

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """Cosines of the passages with the question."""
        if not passages:
            return []
        texts = [self._usage.of_passage(one.whole) for one in passages]
        group = self._embedder.group(texts)
        vectors = self._cut(np.stack([group[text] for text in texts])).astype(np.float64)
        query = self._cut(self._embedder.group([self._usage.of_question(question)]).popitem()[1][None])[0]
        return [round(value, DIGITS) for value in (vectors * query.astype(np.float64)).sum(axis=1).tolist()]

    def _cut(self, vectors: Vectors) -> Vectors:
        return shortened(vectors, check_width("--rerank bi", self._name, self._usage.dim, vectors.shape[1]))


def open_reranker(
    *, model: str = "BAAI/bge-small-en-v1.5", dim: int = -1, instruction: str = "auto", prefix: str = "auto"
) -> BiEncoder:
    """A bi-encoder: the cosine of question and passage, each embedded by itself.

    Writes `scores.bge`. Options are those of the retriever `dense`, and so are the errors.
    """
    folder = model_folder("--rerank bi", model)
    usage = usage_of(folder, model, dim, instruction, prefix)
    fingerprint = digest([fingerprint_folder(folder, "bi/1"), *usage])
    return BiEncoder(embedder_of("--rerank bi", model, folder), model, usage, fingerprint)
