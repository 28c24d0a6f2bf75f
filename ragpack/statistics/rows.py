"""The rows of the diagnostic as columns, in an order of their own: shuffled input gives the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = dict[str, Any]

METRICS = ("f1", "em", "answer_in_context", "graded", "gold_doc_coverage", "all_gold_in_context", "gold_token_density",
           "tokens", "all_gold_in_hits")  # fmt: skip
"""Columns of numbers; NaN stands for undefined, inside this family only."""


class Label(NamedTuple):
    """What tells rows of one question apart."""

    model: str
    policy: str
    budget: int
    seed: int | None
    """Of the sample: (seed, question) instances pool, clustered on the question."""


@dataclass(frozen=True)
class Options:
    """What the tables may be asked."""

    baseline: str | None = None
    """Policy that the others are compared with."""
    resamples: int = 10_000
    """Bootstrap resamples."""
    seed: int = 0
    """Seed of the bootstrap."""
    level: float = 0.95
    """Level of intervals."""


@dataclass(frozen=True)
class Rows:
    """n rows, sorted by (label, question)."""

    question: NDArray[np.int64]
    """[n] the cluster: number of the question."""
    labels: list[Label]
    """[n]"""
    kind: list[str | None]
    """[n] answer_kind."""
    columns: dict[str, Floats]
    """[n] each metric."""

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        keep = np.flatnonzero(mask)
        return Rows(
            self.question[keep],
            [self.labels[at] for at in keep],
            [self.kind[at] for at in keep],
            {name: column[keep] for name, column in self.columns.items()},
        )

    @property
    def spans(self) -> NDArray[np.bool_]:
        """[n] rows whose answer is a span: for yes and no, the word in a context is no evidence."""
        return np.array([kind == "span" for kind in self.kind], dtype=np.bool_)


class Mean(NamedTuple):
    """A mean over the rows where a metric is defined."""

    value: float | None
    n: int


def mean(column: Floats) -> Mean:
    """Mean of the defined values, and how many there are.

    >>> mean(np.array([1.0, np.nan, 0.0]))
    Mean(value=0.5, n=2)
    """
    defined = column[~np.isnan(column)]
    return Mean(float(defined.mean()) if len(defined) else None, len(defined))


def collect(
    questions: list[str], labels: list[Label], kinds: list[str | None], columns: dict[str, list[float]]
) -> Rows:
    """Bring rows into their canonical order."""
    number = {name: at for at, name in enumerate(sorted(set(questions)))}
    order = sorted(range(len(labels)), key=lambda at: (*_sortable(labels[at]), questions[at]))
    return Rows(
        np.array([number[questions[at]] for at in order], dtype=np.int64),
        [labels[at] for at in order],
        [kinds[at] for at in order],
        {name: np.array(column, dtype=np.float64)[order] for name, column in columns.items()},
    )


def _sortable(label: Label) -> tuple[str, str, int, bool, int]:
    return label.model, label.policy, label.budget, label.seed is not None, label.seed or 0
