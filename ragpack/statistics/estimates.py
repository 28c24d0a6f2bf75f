"""Bootstrap draws that tables share: drawing costs more than summing, and equal numbers of questions draw alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ragpack.statistics.bootstrap import Interval, cluster_sums, interval, resampled
from ragpack.statistics.rows import Floats, Ints, Options

WIDTH = 256
"""Columns resampled at once: 20 MB of sums at 10,000 resamples."""


class Part(NamedTuple):
    """What one statistic needs of its rows."""

    question: Ints
    """[n] the cluster of each row."""
    values: Floats
    """[n, m] columns whose sums over the drawn questions it is made of."""


def drawn(parts: Sequence[Part], options: Options) -> list[Floats]:
    """[resamples, m] for each part: sums of its columns over questions drawn with replacement from its own.

    A draw is a vector of counts from (number of questions, seed), so parts of as many questions share one run; the
    numbers are those that each would get alone. A part without rows has sums of 0.
    """
    sums: list[Floats] = []
    for part in parts:
        questions, question = np.unique(part.question, return_inverse=True)
        sums.append(cluster_sums(part.values, question, len(questions)))
    found: dict[int, Floats] = {}
    for size in sorted({len(one) for one in sums}):
        members = [at for at, one in enumerate(sums) if len(one) == size]
        for batch in _batches(members, sums):
            columns = np.hstack([sums[at] for at in batch])
            empty = np.zeros((options.resamples, columns.shape[1]))
            draws = resampled(columns, options.resamples, options.seed) if size else empty
            ends = np.cumsum([sums[at].shape[1] for at in batch])
            found |= dict(zip(batch, np.split(draws, ends[:-1], axis=1), strict=True))
    return [found[at] for at in range(len(parts))]


def _batches(members: Sequence[int], sums: Sequence[Floats]) -> list[list[int]]:
    batches: list[list[int]] = []
    width = 0
    for at in members:
        if not batches or width + sums[at].shape[1] > WIDTH:
            batches.append([])
            width = 0
        batches[-1].append(at)
        width += sums[at].shape[1]
    return batches


def mean_part(question: Ints, column: Floats) -> Part:
    """The part of a mean over the rows where a column [n] is defined: its sum, and their number."""
    defined = ~np.isnan(column)
    return Part(question[defined], np.column_stack([column[defined], np.ones(defined.sum())]))


def ratio(draws: Floats, above: int = 0, below: int = 1) -> Floats:
    """[resamples] one column over another; 0 / 0 is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = draws[:, above] / draws[:, below]
        return found


def mean_interval(draws: Floats, options: Options) -> Interval:
    """The interval of a mean, from the draws of its `mean_part`."""
    return interval(ratio(draws), options.level)


def ends(found: Interval) -> list[float | None] | None:
    """[low, high] as a row has it; None where there is no interval at all."""
    return None if found.p is None else [found.low, found.high]
