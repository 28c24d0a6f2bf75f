"""Shared draws are the draws that each would get alone."""

import numpy as np
import pytest

from ragpack.statistics.bootstrap import cluster_sums, resampled
from ragpack.statistics.estimates import Part, drawn, mean_part
from ragpack.statistics.rows import Options

OPTIONS = Options(resamples=50, seed=3)


def part(seed, questions, columns):
    draw = np.random.default_rng(seed)
    return Part(draw.permutation(np.arange(questions).repeat(2)) + 7 * seed, draw.random((2 * questions, columns)))


@pytest.mark.parametrize("width", [1, 3, 256])
def test_as_if_alone(width, monkeypatch):
    monkeypatch.setattr("ragpack.statistics.estimates.WIDTH", width)
    parts = [part(0, 5, 2), part(1, 8, 1), part(2, 5, 3), part(3, 8, 2), part(4, 1, 1)]
    for one, found in zip(parts, drawn(parts, OPTIONS), strict=True):
        questions, question = np.unique(one.question, return_inverse=True)
        alone = resampled(cluster_sums(one.values, question, len(questions)), 50, 3)
        assert found == pytest.approx(alone, abs=1e-12, nan_ok=True)


def test_nothing_to_draw():
    assert drawn([], OPTIONS) == []
    (none,) = drawn([mean_part(np.arange(2), np.array([np.nan, np.nan]))], OPTIONS)
    assert none.shape == (50, 2)
    assert not none.any()
