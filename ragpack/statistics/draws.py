"""Bootstrap draws: how often each of n clusters comes when n are drawn with replacement, n equally likely.

The counts are multinomial, exactly, and made without drawing n numbers. Independent Poisson counts, given their total
N, are multinomial of N. A little fewer than n are aimed at; a resample with more than n is thrown away, and the n − N
that lack are drawn one by one. A Poisson count is one look-up by a random word of 16 bits: half the time of drawing
integers and counting them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.uint8]

CACHED = 131_072
"""Counts made at once: they stay in a core's cache. It is part of what a seed means."""
SHORT = 3.5
"""Standard deviations that the total aimed at is below n: 3 in 10,000 resamples are thrown away."""
WORDS = 1 << 16
OPEN = 255  # no count: the word alone does not decide


class Poisson(NamedTuple):
    """A Poisson distribution, to be drawn from by words of 16 bits."""

    ends: NDArray[np.float64]
    """[40] P(count ≤ k) · 2¹⁶: what lies beyond has a probability below 1e-40."""
    table: Counts
    """[2¹⁶] the count that a word stands for; OPEN where one of `ends` falls inside the word."""


def batch(clusters: int) -> int:
    """Resamples made at once."""
    return max(1, CACHED // clusters)


def multinomial(clusters: int, resamples: int, seed: int) -> Iterator[Counts]:
    """[r, clusters] counts, each row adding up to `clusters` > 0; r is `batch(clusters)` but in the last one."""
    bits = np.random.PCG64(seed)
    # Its mean m = n − SHORT √m.
    root = (math.sqrt(SHORT**2 + 4 * clusters) - SHORT) / 2
    poisson = _poisson(root**2 / clusters)
    for start in range(0, resamples, batch(clusters)):
        yield _batch(clusters, min(batch(clusters), resamples - start), poisson, bits)


def _batch(clusters: int, rows: int, poisson: Poisson, bits: np.random.PCG64) -> Counts:
    rng = np.random.Generator(bits)
    raw = np.asarray(bits.random_raw(-(-rows * clusters // 4))).astype("<u8", copy=False)
    words = raw.view("<u2")[: rows * clusters]
    flat = poisson.table.take(words)
    undecided = np.flatnonzero(flat == OPEN)
    if len(undecided):
        exact = words[undecided] + rng.random(len(undecided))
        flat[undecided] = np.searchsorted(poisson.ends, exact, side="right")
    found = flat.reshape(rows, clusters)
    lacking = clusters - found.sum(axis=1, dtype=np.int64)
    over = np.flatnonzero(lacking < 0)
    if len(over):
        found[over] = _batch(clusters, len(over), poisson, bits)
        lacking[over] = 0
    places = np.repeat(np.arange(rows) * clusters, lacking)
    places += rng.integers(0, clusters, size=len(places))
    # A byte is enough: a cluster is never drawn 255 times (probability below 1e-500).
    np.add.at(flat, places, np.uint8(1))
    return found


@functools.lru_cache(maxsize=8)
def _poisson(mean: float) -> Poisson:
    chances = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(40)]
    ends = np.cumsum(chances) * WORDS
    words = np.arange(WORDS)
    lowest, highest = np.searchsorted(ends, words, side="right"), np.searchsorted(ends, words + 1, side="left")
    return Poisson(ends, np.where(lowest == highest, lowest, OPEN).astype(np.uint8))
