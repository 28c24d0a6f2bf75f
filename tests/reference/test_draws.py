"""Bootstrap draws against the multinomial distribution that they promise."""

import numpy as np
import pytest
from scipy.stats import binom, chisquare, poisson

from ragpack.statistics import draws
from ragpack.statistics.draws import multinomial


def drawn(clusters, resamples, seed):
    return np.concatenate(list(multinomial(clusters, resamples, seed))).astype(np.int64)


@pytest.mark.parametrize("short", [3.5, 0.0])
@pytest.mark.parametrize(("clusters", "resamples"), [(2, 40_000), (5, 40_000), (60, 20_000), (1500, 1000)])
def test_counts_are_multinomial(clusters, resamples, short, monkeypatch):
    """Each row adds up; one cluster's counts are binomial, and two vary against each other: n p (δ − p). With `short` 0
    half of the resamples are thrown away first, and it is the same."""
    monkeypatch.setattr(draws, "SHORT", short)
    found = drawn(clusters, resamples, seed=clusters)
    assert found.shape == (resamples, clusters)
    assert (found.sum(axis=1) == clusters).all()
    number = np.bincount(found[:, :60].ravel(), minlength=7)
    expected = binom.pmf(range(len(number)), clusters, 1 / clusters) * number.sum()
    often = expected > 20
    assert chisquare([*number[often], number[~often].sum() + 1e-9],
                     [*expected[often], number.sum() - expected[often].sum() + 1e-9]).pvalue > 0.001  # fmt: skip
    few = found[:, : min(clusters, 8)]
    p = 1 / clusters
    assert np.cov(few.T) == pytest.approx(clusters * p * (np.eye(few.shape[1]) - p), abs=5 / np.sqrt(resamples))


def test_the_table_is_a_poisson_distribution():
    """Words that decide, and parts of those that don't, have the counts' probabilities to a rounding error."""
    made = draws._poisson(0.9)
    ends = np.concatenate([[0.0], made.ends]) / draws.WORDS
    assert np.diff(ends)[:30] == pytest.approx(poisson.pmf(range(30), 0.9), abs=1e-15)
    for word in np.flatnonzero(made.table != draws.OPEN):
        count = made.table[word]
        assert ends[count] * draws.WORDS <= word
        assert word + 1 <= ends[count + 1] * draws.WORDS
    assert 5 <= (made.table == draws.OPEN).sum() <= 12


def test_every_place_is_drawn_alike():
    """No place of a row, and no row of a batch, is favoured: a position's total over many resamples."""
    found = drawn(50, 20_000, 0)
    assert chisquare(found.sum(axis=0)).pvalue > 0.001
    assert np.corrcoef(found[:-1, 3], found[1:, 3])[0, 1] == pytest.approx(0, abs=0.03)


def test_a_seed_is_the_same_draws():
    assert (drawn(40, 300, 7) == drawn(40, 300, 7)).all()
    assert (drawn(40, 300, 7) != drawn(40, 300, 8)).any()
    assert drawn(1, 3, 0).tolist() == [[1], [1], [1]]
