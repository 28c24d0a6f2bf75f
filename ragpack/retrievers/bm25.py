"""BM25 in Lucene's variant: bm25s over a corpus; over a question's own few documents the same formula, directly.

An index for ten documents costs more than the search, so pools are scored by `candidates.lexical.bm25`; a test holds
both to the same numbers. Tokens are `text.words`: numbers, single letters and CJK characters stay in.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.lexical import bm25
from ragpack.errors import UsageError
from ragpack.records import Doc
from ragpack.retrievers.base import Found
from ragpack.retrievers.corpus import Corpus
from ragpack.text import STOP_WORDS, words


class Bm25:
    """Ranks documents by BM25 against the question's words, stop words left out."""

    def __init__(self, corpus: Corpus | None, k1: float, b: float) -> None:
        self._k1, self._b = k1, b
        self._docs: Sequence[Doc] = corpus.docs if corpus else ()
        self._index: Any = None
        if corpus:
            import bm25s

            logging.getLogger("bm25s").setLevel(logging.WARNING)
            self._index = bm25s.BM25(method="lucene", k1=k1, b=b)
            self._index.index([_tokens(doc) for doc in corpus.docs], show_progress=False)

    def search(self, question: str, docs: Sequence[Doc] | None, k: int) -> list[Found]:
        """The best `k` documents that share a word with the question; ties by id, so that the order in which
        documents came changes nothing. `docs` is the question's pool; None searches the corpus."""
        query = [word for word in words(question) if word not in STOP_WORDS] or words(question)
        if docs is None:
            return _best(self._docs, self._scores(query), k)
        # Subtle: sums over a pool run in the order of its ids, or the last bit of a score could follow the pool's.
        pool = sorted(docs, key=lambda doc: doc.id)
        return _best(pool, bm25(query, [_tokens(doc) for doc in pool], k1=self._k1, b=self._b), k)

    def _scores(self, query: list[str]) -> NDArray[np.floating[Any]]:
        known = [word for word in query if word in self._index.vocab_dict]
        if not known:
            return np.zeros(len(self._docs), dtype=np.float32)
        scores: NDArray[np.floating[Any]] = self._index.get_scores(known)
        return scores


def open_retriever(corpus: Corpus | None, *, k1: float = 1.5, b: float = 0.75) -> Bm25:
    """BM25 (Robertson; Lucene's variant).

    score(q, d) = sum over t in q of ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 (1 - b + b |d| / mean |d|)).
    N, df and the mean length are those of the pool, or of the corpus. Documents without a word of the question are no
    hits.
    """
    if k1 < 0 or not 0 <= b <= 1:
        raise UsageError(f"bm25: k1={k1}, b={b}: k1 is at least 0, b is between 0 and 1")
    return Bm25(corpus, k1, b)


def _tokens(doc: Doc) -> list[str]:
    return words(f"{doc.title or ''} {doc.text}")


def _best(docs: Sequence[Doc], scores: NDArray[np.floating[Any]], k: int) -> list[Found]:
    """The k best of those above 0, by (score, id)."""
    candidates = np.flatnonzero(scores > 0)
    if len(candidates) > k:
        # All that tie with the k-th stay in, and the id decides among them.
        worst = np.partition(scores[candidates], -k)[-k]
        candidates = candidates[scores[candidates] >= worst]
    found = [Found(docs[at], float(scores[at])) for at in candidates.tolist()]
    found.sort(key=lambda one: (-one.score, one.doc.id))
    return found[:k]
