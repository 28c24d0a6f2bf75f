"""How sure a reader is while it answers: normalised uncertainty, and the information gain of a passage.

Source: "Information Gain Pruning", §3. At step t of a greedy rollout the K most likely tokens have the
log-probabilities l_1 … l_K. They are renormalised among themselves, p_i = exp(l_i) / Σ exp(l_j), and

    u_t = −Σ p_i log p_i / log K        NU = mean of u_t over the T steps        IG(d, q) = NU(q) − NU(q | d).

The steps are those that were taken, the one that ends the answer among them **[choice]**.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragpack.errors import DataError

FloatArray = npt.NDArray[np.float64]


def step_uncertainty(logprobs: npt.ArrayLike) -> FloatArray:
    """[T] u_t in [0, 1] from [T, K] log-probabilities of the K most likely tokens of each step, in any order.

    Need not be normalised: u_t does not change when a constant is added to a row. Raises `DataError` for K < 2, where
    log K is 0, and for entries that are not finite: fewer than K tokens are then known.

    >>> step_uncertainty(np.log([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 1e-300, 1e-300]])).round(6).tolist()
    [1.0, 0.5]
    """
    rows = np.asarray(logprobs, dtype=np.float64)
    if rows.ndim != 2:
        raise DataError(f"log-probabilities of steps are a [T, K] array, got {rows.ndim} dimensions")
    k = rows.shape[1]
    if k < 2:
        raise DataError(f"uncertainty over K={k} tokens is not defined: log K is 0", "Take K of at least 2.")
    if not np.isfinite(rows).all():
        at = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        number = int(np.isfinite(rows[at]).sum())
        raise DataError(f"step {at + 1} has {number} finite log-probabilities, not K={k}")
    rows = rows - rows.max(axis=1, keepdims=True)
    weights = np.exp(rows)
    total = weights.sum(axis=1)
    # H = log Σw − Σ w l / Σw: no logarithm of a p that is 0 to the last bit.
    entropy = np.log(total) - (weights * rows).sum(axis=1) / total
    return np.asarray(np.clip(entropy / np.log(k), 0.0, 1.0))


def normalised_uncertainty(steps: Sequence[float]) -> float:
    """NU, the mean of u_t over the steps of one rollout. Raises `DataError` for a rollout without a step.

    >>> normalised_uncertainty([1.0, 0.5])
    0.75
    """
    if not steps:
        raise DataError("a rollout without a step has no uncertainty")
    return float(np.mean(steps))


def information_gain(alone: float, given: float) -> float:
    """IG = NU(q) − NU(q | d): how much surer the reader is with the passage; negative where it is less sure.

    >>> information_gain(0.75, 0.5)
    0.25
    """
    return alone - given
