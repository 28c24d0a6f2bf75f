"""Correlations and regressions of a few variables, from sums over clusters.

Everything second-order about k variables is in the sums of 1, v_i and v_i v_j: a cluster's row of the Gram matrix of
(1, v). Sums over clusters add up, so a resample of clusters needs no row of the data again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragpack.statistics.bootstrap import cluster_sums
from ragpack.statistics.rows import Bools, Floats, Ints, Rows

FLAT = 1e-10
"""A variance below this share of the mean square is rounding error, not spread."""
DEPTH = 5
"""The k of retrieval metrics, where the rows have it."""

ONE = "one question: no interval"
"""Note of a row that has an estimate, and nothing to tell its error from."""


def left_out(draws: Floats) -> str | None:
    """Note on the resamples in which a statistic is undefined."""
    lost = int(np.isnan(draws).sum())
    return f"undefined in {lost} of {len(draws)} resamples, which are left out" if lost else None


def defined(*columns: Floats) -> Bools:
    """[n] rows in which all the columns are defined: pairwise deletion."""
    kept: Bools = np.logical_and.reduce(~np.isnan(np.column_stack(columns)), axis=1)
    return kept


def constant(column: Floats) -> bool:
    """No two values differ."""
    return not len(column) or bool(column.min() == column.max())


def depth_of(rows: Rows, name: str) -> int | None:
    """The k at which `name@k` is taken: 5 where the rows have it, else the deepest; None where they have none."""
    depths = rows.depths(name)
    return DEPTH if DEPTH in depths else max(depths, default=None)


def standardised(column: Floats) -> Floats:
    """[n] z-scores; the population's standard deviation (n, not n − 1)."""
    centred = column - column.mean()
    found: Floats = centred / np.sqrt((centred**2).mean())
    return found


def gram(variables: Floats, question: Ints, clusters: int) -> Floats:
    """[clusters, 1 + k + k (k + 1) / 2] sums of 1, v_i, and v_i v_j (i ≤ j) of `variables` [n, k] in each cluster.

    The variables are standardised first: correlations stay as they are, and sums of squares keep their digits.
    """
    z = np.column_stack([standardised(column) for column in variables.T])
    upper = np.triu_indices(z.shape[1])
    products = z[:, upper[0]] * z[:, upper[1]]
    return cluster_sums(np.column_stack([np.ones(len(z)), z, products]), question, clusters)


def correlation(sums: Floats, variables: int) -> Floats:
    """[..., k, k] Pearson correlations of k variables from sums [..., 1 + k + k (k + 1) / 2] as `gram` makes them.

    NaN where a variable has no spread.
    """
    upper = np.triu_indices(variables)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums[..., 1:] / sums[..., :1]
        first, second = means[..., :variables], means[..., variables:]
        covariance = np.empty((*sums.shape[:-1], variables, variables))
        covariance[..., upper[0], upper[1]] = second - first[..., upper[0]] * first[..., upper[1]]
        covariance[..., upper[1], upper[0]] = covariance[..., upper[0], upper[1]]
        squares = second[..., upper[0] == upper[1]]
        variance = np.diagonal(covariance, axis1=-2, axis2=-1)
        spread = np.sqrt(np.where(variance > FLAT * squares, variance, np.nan))
        found: Floats = covariance / (spread[..., :, None] * spread[..., None, :])
    return found.clip(-1.0, 1.0)


class Fit(NamedTuple):
    """y on x₁, and on x₁ and x₂, all standardised; each [...], NaN where x₁ and x₂ are one line or have no spread."""

    r2_base: Floats
    """R² of y on x₁."""
    r2_full: Floats
    """R² of y on x₁ and x₂."""
    delta_r2: Floats
    """What x₂ adds: the square of its semi-partial correlation."""
    beta_base: Floats
    """Coefficient of x₁ beside x₂."""
    beta: Floats
    """Coefficient of x₂ beside x₁."""
    partial: Floats
    """Correlation of y and x₂ after x₁ is taken out of both."""
    corr: Floats
    """Correlation of x₁ and x₂."""


def fit(correlations: Floats) -> Fit:
    """Least squares of y on one and two variables, from correlations [..., 3, 3] of (x₁, x₂, y), in closed form.

    β₂ = (r_y2 − r_y1 r_12) / (1 − r_12²), ΔR² = (r_y2 − r_y1 r_12)² / (1 − r_12²),
    partial = (r_y2 − r_y1 r_12) / √((1 − r_12²)(1 − r_y1²)). Source: any text on regression.
    """
    r12, r1, r2 = correlations[..., 0, 1], correlations[..., 0, 2], correlations[..., 1, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(1 - r12**2 > FLAT, 1 - r12**2, np.nan)
        left = np.where(1 - r1**2 > FLAT, 1 - r1**2, np.nan)
        own = r2 - r1 * r12
        delta = own**2 / free
        return Fit(r1**2, r1**2 + delta, delta, (r1 - r2 * r12) / free, own / free,
                   np.clip(own / np.sqrt(free * left), -1.0, 1.0), r12)  # fmt: skip
