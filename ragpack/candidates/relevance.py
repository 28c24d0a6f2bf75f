"""How relevant a candidate is to the question, before anything was chosen: one number each, from 0 to 1.

BM25 looks at the snippet; the others take the word of whoever scored its hit, so that all snippets of a hit have the
same. A name here is a value of the option `relevance` of every policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.lexical import bm25
from ragpack.candidates.snippet import Candidate, Document
from ragpack.errors import DataError

Relevance = Literal["bm25", "dense", "ig", "rank", "score"]
RELEVANCES: tuple[str, ...] = get_args(Relevance)
MADE_BY = {
    "ig": "`ragpack generate --probe ig` adds it.",
    "dense": "A dense retriever adds it, or name embedder=MODEL.",
}

HUGE = 1e300
"""Differences of larger numbers may overflow."""

Floats = NDArray[np.float64]


def relevance_of(
    name: str,
    terms: Sequence[str],
    tokens: Sequence[Sequence[str]],
    documents: Sequence[Document],
    candidates: Sequence[Candidate],
) -> Floats:
    """[n] relevance of each candidate, scaled to a maximum of 1.

    `bm25`: of its line's words (`tokens`) against the question's terms, over the candidates. `rank`: 1 / rank of its
    hit. `score`: the retriever's score of its hit. `ig`, `dense`: that score of its hit. Raises `DataError` where a
    hit lacks the score.
    """
    if name == "bm25":
        return scaled(bm25(terms, tokens))
    if name == "rank":
        values = [1.0 / one.rank for one in documents]
    elif name == "score":
        values = [_there(one.score, f"hits of rank {one.rank}: score", name) for one in documents]
    else:
        values = [_there(one.scores.get(name), f"hit of rank {one.rank}: scores.{name}", name) for one in documents]
    return scaled(np.array([values[one.document] for one in candidates], dtype=np.float64))


def scaled(values: Floats) -> Floats:
    """Values divided by the largest; where some are negative the least becomes 0 first.

    >>> scaled(np.array([2.0, 4.0])).tolist(), scaled(np.array([-1.0, 0.0, 3.0])).tolist()
    ([0.5, 1.0], [0.0, 0.25, 1.0])
    """
    if len(values) and (most := np.abs(values).max()) > HUGE:
        values = values / most
    if len(values) and values.min() < 0:
        values = values - values.min()
    return values / values.max() if len(values) and values.max() > 0 else values


def _there(value: float | None, where: str, name: str) -> float:
    if value is None or not np.isfinite(value):
        raise DataError(f"{where} is {'missing' if value is None else 'no finite number'}: relevance={name} needs it",
                        MADE_BY.get(name))  # fmt: skip
    return value
