"""The cluster bootstrap: questions are drawn, with all their rows.

A statistic of sums over clusters (a mean, a ratio, a correlation, a regression) needs only those sums: a resample is a
vector of counts, and all resamples are one matrix product. Checked against loops that draw rows, and refit.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragpack.statistics.draws import Counts, batch, multinomial

Floats = NDArray[np.float64]

CELLS = 1_000_000
"""Counts held at once at most, as numbers that can be multiplied: 8 MB."""
KEPT = 160_000_000
"""Bytes of a matrix of counts that is kept for the next table; a larger one is drawn anew."""
HUGE = 1e300
HAIR = 1e-10
"""Statistics closer to 0 than this are 0: sums of thirds come out a rounding error away from it."""


class Interval(NamedTuple):
    """A percentile interval and a two-sided p-value for "the statistic is 0"."""

    low: float | None
    high: float | None
    p: float | None

    @property
    def ends(self) -> list[float | None] | None:
        """[low, high] as a row has it; None where nothing is known."""
        return None if self.low is None and self.high is None else [self.low, self.high]


def counts(clusters: int, resamples: int, seed: int, least: int = 1) -> Iterator[Counts]:
    """[r, clusters] how often each cluster was drawn, `resamples` rows in all, in blocks of at least `least` (but the
    last, and within CELLS). Each row is a draw of `clusters` out of `clusters`, with replacement; the same for any
    size of block."""
    number = min(-(-least // batch(clusters)), max(1, CELLS // (batch(clusters) * clusters)))
    if clusters * resamples > KEPT:
        made = multinomial(clusters, resamples, seed)
        while several := list(itertools.islice(made, number)):
            yield np.concatenate(several)
        return
    whole, block = _kept(clusters, resamples, seed), number * batch(clusters)
    for start in range(0, resamples, block):
        yield whole[start : start + block]


@functools.lru_cache(maxsize=4)
def _kept(clusters: int, resamples: int, seed: int) -> Counts:
    """[resamples, clusters] the counts, for the tables of one run: they have the same questions."""
    return np.concatenate(list(multinomial(clusters, resamples, seed)))


def cluster_sums(values: Floats, question: NDArray[np.int64], clusters: int) -> Floats:
    """[clusters, m] sums of the columns of `values` [n, m] within each cluster."""
    sums = [np.bincount(question, weights=column, minlength=clusters) for column in values.T]
    return np.column_stack(sums) if sums else np.zeros((clusters, 0))


def resampled(sums: Floats, resamples: int, seed: int) -> Floats:
    """[resamples, m] sums of the columns of `sums` [clusters, m] over the clusters drawn.

    One cluster can't tell how much clusters differ: its draws are no numbers, and intervals of them None.
    """
    if len(sums) < 2:
        return np.full((resamples, sums.shape[1]), np.nan)
    drawn = np.empty((resamples, sums.shape[1]))
    start = 0
    # Many columns, many resamples at once: each block reads all the sums.
    for block in counts(len(sums), resamples, seed, least=sums.shape[1]):
        np.matmul(block.astype(np.float64), sums, out=drawn[start : start + len(block)])
        start += len(block)
    return drawn


def resampled_each(several: Sequence[Floats], resamples: int, seed: int) -> list[Floats]:
    """`resampled` of each [clusters, m]; clusters and m may differ.

    All with the same number of clusters share one pass over the draws, in which equal columns (a count, the sums of an
    outcome that many features are held against) are multiplied once.
    """
    found: list[Floats] = [np.empty((0, 0))] * len(several)
    for clusters in {len(sums): None for sums in several}:
        mine = [at for at, sums in enumerate(several) if len(sums) == clusters]
        columns: dict[bytes, int] = {}
        distinct: list[Floats] = []
        places = []
        for at in mine:
            wanted = np.ascontiguousarray(several[at].T, dtype=np.float64)
            for column in wanted:
                if columns.setdefault(column.tobytes(), len(distinct)) == len(distinct):
                    distinct.append(column)
            places.append([columns[column.tobytes()] for column in wanted])
        whole = np.column_stack(distinct) if distinct else np.zeros((clusters, 0))
        drawn = resampled(whole, resamples, seed)
        for at, place in zip(mine, places, strict=True):
            found[at] = drawn[:, place]
    return found


def interval(draws: Floats, level: float) -> Interval:
    """Percentile interval of draws, and p = 2 min(share at or below 0, share at or above 0), counted as
    (1 + #) / (1 + R): never 0. Draws that are no number (0 / 0) are left out; an end that falls among infinite draws (a
    denominator of 0) is None: open.

    >>> interval(np.array([0.1, 0.2, 0.3]), 0.95).p  # 2 * (1 + 0) / (1 + 3)
    0.5
    """
    known = draws[~np.isnan(draws)]
    if not np.isfinite(known).any():
        return Interval(None, None, None)
    # Subtle: inf - inf is no number, so infinite draws are large numbers while quantiles are taken.
    ends = np.quantile(np.clip(known, -HUGE, HUGE), [(1 - level) / 2, (1 + level) / 2])
    finite = known[np.isfinite(known)]
    low, high = (float(end) if finite.min() <= end <= finite.max() else None for end in ends)
    least = min(int((known <= HAIR).sum()), int((known >= -HAIR).sum()))
    return Interval(low, high, min(1.0, 2 * (1 + least) / (1 + len(known))))
