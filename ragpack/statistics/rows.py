"""The rows of the diagnostic as columns, in an order of their own: shuffled input gives the same bits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Row = dict[str, Any]
Level = str | int | None

FACTORS = ("model", "policy", "budget", "dataset", "seed", "answer_kind", "verdict", "profile", "tokenizer")
"""Names of the factors: what tells rows apart, and what they may be cut by."""

METRICS = ("f1", "em", "answer_in_context", "graded", "gold_doc_coverage", "all_gold_in_context", "gold_token_density",
           "tokens", "all_gold_in_hits", "answer_in_hits")  # fmt: skip
"""Columns of numbers that every row has; NaN stands for undefined, inside this family only. A row may have others:
`recall@k` and its like for each k, `prompt_tokens`, `objective`, `bound`, probing costs."""


@dataclass(frozen=True)
class Options:
    """What the tables may be asked."""

    pairs: tuple[tuple[str, str], ...] = ()
    """(policy, baseline) of each contrast asked for; the policy `*` stands for every other one."""
    by: tuple[str, ...] = ()
    """Factors that each table is cut by, beside its own."""
    family: str = "all"
    """Which contrasts are corrected together: `all` of the table, those of one `metric`, or `none`."""
    correction: str = "holm"
    """Name of a method of statsmodels' `multipletests`."""
    resamples: int = 10_000
    """Bootstrap resamples."""
    seed: int = 0
    """Seed of the bootstrap."""
    level: float = 0.95
    """Level of intervals."""
    margin: float = 0.01
    """How much less F1 still counts as the same quality."""

    @property
    def method(self) -> str:
        """How intervals were made, for the `method` of a row."""
        return f"cluster bootstrap on question, {self.resamples} resamples, seed {self.seed}"


class Factor(NamedTuple):
    """A column of names, as numbers."""

    codes: Ints
    """[n] index into `levels`."""
    levels: tuple[Level, ...]
    """Its values, sorted; None (unknown) comes first."""


@dataclass(frozen=True)
class Rows:
    """n rows, sorted by (model, policy, budget, seed, question)."""

    question: Ints
    """[n] the cluster: number of the question."""
    factors: dict[str, Factor]
    """[n] each of `FACTORS`."""
    columns: dict[str, Floats]
    """[n] each metric."""
    names: tuple[str, ...] = ()
    """Ids of the questions, by their number; also of those that failed and have no row."""
    failed: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Numbers of the questions that a stage failed on, somewhere, ascending."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.question)

    @property
    def questions(self) -> int:
        """Number of questions (clusters) in these rows."""
        return len(np.unique(self.question))

    def where(self, mask: Bools) -> Rows:
        """Some of the rows; questions and levels keep their numbers."""
        keep = np.flatnonzero(mask)
        return Rows(
            self.question[keep],
            {name: Factor(factor.codes[keep], factor.levels) for name, factor in self.factors.items()},
            {name: column[keep] for name, column in self.columns.items()},
            self.names,
            self.failed,
        )

    def is_level(self, name: str, level: Level) -> Bools:
        """[n] rows with this level of a factor; no row for a level that does not occur."""
        factor = self.factors[name]
        return factor.codes == factor.levels.index(level) if level in factor.levels else np.zeros(self.n, np.bool_)

    def levels(self, name: str) -> list[Level]:
        """The levels of a factor that occur in these rows, in order."""
        factor = self.factors[name]
        return [factor.levels[code] for code in np.unique(factor.codes)]

    def split(self, names: Sequence[str]) -> Iterator[tuple[Row, Rows]]:
        """The rows cut by factors: (level of each name, its rows), in the order of the levels; empty parts left out.

        No names: all rows as one part, where there are any."""
        if not names:
            if self.n:
                yield {}, self
            return
        codes = np.stack([self.factors[name].codes for name in names])
        found, part = np.unique(codes, axis=1, return_inverse=True)
        for at, key in enumerate(found.T):
            labels = {name: self.factors[name].levels[code] for name, code in zip(names, key, strict=True)}
            yield labels, self.where(part.ravel() == at)

    def column(self, name: str) -> Floats:
        """[n] a metric; all undefined where the rows do not have it."""
        return self.columns[name] if name in self.columns else np.full(self.n, np.nan)

    @property
    def spans(self) -> Bools:
        """[n] rows whose answer is a span: for yes and no, the word in a context is no evidence."""
        return self.is_level("answer_kind", "span")

    def depths(self, name: str) -> list[int]:
        """The k for which the rows have `name@k` anywhere defined, ascending."""
        found = (column.partition("@") for column in self.columns)
        depths = [int(k) for head, _, k in found if head == name and k]
        return sorted(k for k in depths if not np.isnan(self.columns[f"{name}@{k}"]).all())


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


def axes(own: Sequence[str], by: Sequence[str]) -> tuple[str, ...]:
    """The factors that a table is cut by: its own, then those asked for, each once."""
    return tuple(dict.fromkeys((*own, *by)))


def collect(
    questions: Sequence[str], factors: Mapping[str, Sequence[Level]], columns: Mapping[str, Sequence[float]],
    failed: Collection[str] = (),
) -> Rows:  # fmt: skip
    """Bring rows, given as columns of equal length, into their canonical order. `failed`: ids of failed questions."""
    names = tuple(sorted({*questions, *failed}))
    number = {name: at for at, name in enumerate(names)}
    question = np.array([number[name] for name in questions], dtype=np.int64)
    coded = {name: _factor(factors[name]) for name in FACTORS}
    order = np.lexsort((question, *(coded[name].codes for name in ("seed", "budget", "policy", "model"))))
    return Rows(
        question[order],
        {name: Factor(factor.codes[order], factor.levels) for name, factor in coded.items()},
        {name: np.array(column, dtype=np.float64)[order] for name, column in columns.items()},
        names,
        np.array(sorted(number[name] for name in set(failed)), dtype=np.int64),
    )


def _factor(values: Sequence[Level]) -> Factor:
    levels = tuple(sorted(set(values), key=lambda level: (level is not None, level)))
    number = {level: at for at, level in enumerate(levels)}
    return Factor(np.array([number[value] for value in values], dtype=np.int64), levels)
