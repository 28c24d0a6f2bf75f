"""The cluster bootstrap: questions are drawn, with all their rows.

A statistic that is a ratio of sums over clusters needs only those sums: a resample is a vector of counts, and all of
them are one matrix product. Checked against a loop that draws rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CELLS = 4_000_000
"""Counts held at once: 32 MB."""
HUGE = 1e300


class Interval(NamedTuple):
    """A percentile interval and a two-sided p-value for "the statistic is 0"."""

    low: float | None
    high: float | None
    p: float | None


def counts(clusters: int, resamples: int, seed: int) -> Iterator[Floats]:
    """[r, clusters] how often each cluster was drawn, in blocks of r resamples; `resamples` rows in all."""
    rng = np.random.default_rng(seed)
    block = max(1, CELLS // max(1, clusters))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, clusters, size=(rows, clusters))
        flat = (drawn + np.arange(rows)[:, None] * clusters).ravel()
        yield np.bincount(flat, minlength=rows * clusters).reshape(rows, clusters).astype(np.float64)


def cluster_sums(values: Floats, question: NDArray[np.int64], clusters: int) -> Floats:
    """[clusters, m] sums of the columns of `values` [n, m] within each cluster."""
    sums = np.zeros((clusters, values.shape[1]))
    np.add.at(sums, question, values)
    return sums


def resampled(sums: Floats, resamples: int, seed: int) -> Floats:
    """[resamples, m] sums of the columns of `sums` [clusters, m] over the clusters drawn."""
    return np.concatenate([block @ sums for block in counts(len(sums), resamples, seed)])


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
    least = min(int((known <= 0).sum()), int((known >= 0).sum()))
    return Interval(low, high, min(1.0, 2 * (1 + least) / (1 + len(known))))
