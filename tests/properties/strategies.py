"""Small problems for hypothesis.

Numbers come from coarse grids on purpose: ties, duplicates, zeros and snippets that fit exactly are then
the rule and not the exception.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from ragpack.candidates.problem import Problem

TERMS = 4
DIMENSIONS = 3


class Row(NamedTuple):
    """One candidate with everything that belongs to it, so that rows can be shuffled."""

    rank: int
    position: int
    relevance: int
    cost: int
    terms: tuple[bool, ...]
    vector: tuple[int, ...]


def build(rows: Sequence[Row], slack: int) -> Problem:
    """The problem of these rows, whatever order they come in: sorted first, as the stage does it."""
    rows = sorted(rows)
    ranks = sorted({row.rank for row in rows})
    q, v = (len(rows[0].terms), len(rows[0].vector)) if rows else (0, 0)
    relevance = np.array([row.relevance for row in rows], dtype=np.float64)
    vectors = np.array([row.vector for row in rows], dtype=np.float64).reshape(len(rows), v)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return Problem(
        relevance=relevance / max(relevance.max(initial=0.0), 1.0),
        cost=np.array([row.cost for row in rows], dtype=np.int64),
        document=np.array([ranks.index(row.rank) for row in rows], dtype=np.int64),
        rank=np.array([row.rank for row in rows], dtype=np.int64),
        position=np.array([row.position for row in rows], dtype=np.int64),
        terms=np.array([row.terms for row in rows], dtype=np.bool_).reshape(len(rows), q),
        vectors=vectors / np.where(norms > 0, norms, 1.0),
        slack=slack,
        scores={"ig": relevance / 10 - 0.2},
    )


@st.composite
def tables(draw: st.DrawFn, max_size: int = 9, cheapest: int = 0) -> list[Row]:
    """Rows of one problem; all have as many terms and dimensions as the others, which may be none."""
    q, v = draw(st.integers(0, TERMS)), draw(st.integers(0, DIMENSIONS))
    row = st.builds(
        Row,
        rank=st.integers(1, 4),
        position=st.integers(0, 5),
        relevance=st.integers(0, 6),
        cost=st.integers(cheapest, 9),
        terms=st.tuples(*[st.booleans()] * q),
        vector=st.tuples(*[st.integers(0, 2)] * v),
    )
    return draw(st.lists(row, max_size=max_size, unique_by=lambda row: (row.rank, row.position)))


slacks = st.integers(0, 2)
budgets = st.integers(0, 40)


def problems(max_size: int = 9, cheapest: int = 0) -> st.SearchStrategy[Problem]:
    """Problems of at most max_size candidates that cost at least `cheapest`."""
    return st.builds(build, tables(max_size, cheapest), slacks)
