"""Normalised uncertainty and information gain, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.errors import DataError
from ragpack.metrics.uncertainty import information_gain, normalised_uncertainty, step_uncertainty

logs = st.floats(-30, 0)


@pytest.mark.parametrize("k", [2, 3, 20, 128])
def test_uniform_over_k_is_1_and_one_hot_is_0(k: int) -> None:
    assert step_uncertainty(np.full((3, k), -7.5)).tolist() == pytest.approx([1.0] * 3, abs=1e-12)
    sure = np.full((1, k), -400.0)
    sure[0, k // 2] = 0.0
    assert step_uncertainty(sure).tolist() == pytest.approx([0.0], abs=1e-12)


def test_by_hand() -> None:
    # p = 1/2, 1/4, 1/4: H = 1/2 ln 2 + 2 · 1/4 ln 4 = 1.5 ln 2; over ln 3.
    assert step_uncertainty(np.log([[0.5, 0.25, 0.25]]))[0] == pytest.approx(1.5 * math.log(2) / math.log(3))
    # The K tokens hold 0.8 of the mass: 0.4, 0.4 become 1/2, 1/2.
    assert step_uncertainty(np.log([[0.4, 0.4]]))[0] == pytest.approx(1.0)
    # p = 0.9, 0.1: H = 0.325083 nats; over ln 2 = 0.693147.
    assert step_uncertainty(np.log([[0.9, 0.1]]))[0] == pytest.approx(0.468996, abs=1e-6)
    assert normalised_uncertainty([1.0, 0.0, 0.5]) == 0.5
    assert information_gain(0.3, 0.5) == pytest.approx(-0.2)


@given(st.lists(st.lists(logs, min_size=5, max_size=5), min_size=1, max_size=4), st.floats(-50, 50), st.randoms())
def test_neither_order_nor_a_constant_matters(rows, constant, random) -> None:
    found = step_uncertainty(rows)
    assert ((found >= 0) & (found <= 1)).all()
    mixed = [random.sample(row, len(row)) for row in rows]
    assert step_uncertainty(np.add(mixed, constant)) == pytest.approx(found, abs=1e-9)


@given(st.lists(logs, min_size=3, max_size=9))
def test_it_is_scipys_entropy(row) -> None:
    from scipy.stats import entropy

    assert step_uncertainty([row])[0] == pytest.approx(entropy(np.exp(row), base=len(row)), abs=1e-9)


def test_what_is_no_distribution_is_an_error() -> None:
    with pytest.raises(DataError, match="K=1 tokens is not defined"):
        step_uncertainty([[0.0]])
    for bad in (math.nan, -math.inf, math.inf):
        with pytest.raises(DataError, match="step 2 has 1 finite log-probabilities, not K=2"):
            step_uncertainty([[-1.0, -2.0], [-1.0, bad]])
    with pytest.raises(DataError, match="array, got 1 dim"):
        step_uncertainty([-1.0, -2.0])
    with pytest.raises(DataError, match="without a step"):
        normalised_uncertainty([])
