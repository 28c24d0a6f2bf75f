"""Table 4: what the context tells about the reader's scores that recall does not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragpack.statistics.bootstrap import interval, resampled_each
from ragpack.statistics.correlations import CONTEXT, OUTCOMES
from ragpack.statistics.moments import (
    ONE,
    constant,
    correlation,
    defined,
    depth_of,
    fit,
    gram,
    left_out,
    standardised,
)
from ragpack.statistics.rows import Floats, Ints, Options, Row, Rows, axes

VALUES = ("r2_base", "r2_full", "delta_r2", "delta_r2_ci", "beta_base", "beta_base_se", "beta_base_ci", "beta",
          "beta_se", "beta_ci", "p", "partial", "partial_ci", "corr")  # fmt: skip
COEFFICIENTS = 3
INTERVALS = ("delta_r2", "beta_base", "beta", "partial")


class Asked(NamedTuple):
    """A row of the table, and the sums that its intervals are to be drawn from."""

    row: Row
    sums: Floats | None


def incremental(rows: Rows, options: Options) -> list[Row]:
    """R² of F1 (and EM) on recall, then on recall and one feature of the context.

    `base` is recall@5, or at the deepest k there is. All three are z-scored over the rows used, so `beta_base` and
    `beta` are standardised coefficients of recall and of the feature in one regression. `*_se`: least squares by
    statsmodels, `cov_type="cluster"` on the question with its defaults (times g/(g − 1) · (n − 1)/(n − 3) for g
    questions). `*_ci` and `p` (that `beta` is 0): cluster bootstrap, z-scored anew in each resample. ΔR² is never
    below 0, so its interval does not reach 0 even where there is no effect: judge that by `p`. `partial` is the
    correlation of score and feature with recall taken out of both, `corr` that of recall and feature.

    Rows in which one of the three is undefined are counted in `undefined`. Where one is constant, or recall and the
    feature are the same up to scale, numbers are None and `note` says why. Source: P1 §5.
    """
    asked = [
        _ask({**labels, "metric": outcome, "base": f"recall@{depth}", "feature": feature}, part, options)
        for labels, part in rows.split(axes(("model",), options.by))
        if (depth := depth_of(part, "recall")) is not None
        for outcome in OUTCOMES
        if not np.isnan(part.column(outcome)).all()
        for feature in CONTEXT
        if not np.isnan(part.column(feature)).all()
    ]
    waiting = [(ask.row, ask.sums) for ask in asked if ask.sums is not None]
    drawn = resampled_each([sums for _, sums in waiting], options.resamples, options.seed)
    for (row, _), sums in zip(waiting, drawn, strict=True):
        found = fit(correlation(sums, 3))
        for name in INTERVALS:
            draws: Floats = getattr(found, name)
            ends = interval(draws, options.level)
            row[f"{name}_ci"] = ends.ends
            if name == "beta":
                row["p"] = ends.p
                row["note"] = row["note"] or left_out(draws)
    return [row for row, _ in asked]


def _ask(row: Row, rows: Rows, options: Options) -> Asked:
    names = (row["base"], row["feature"], row["metric"])
    columns = np.column_stack([rows.column(name) for name in names])
    kept = defined(*columns.T)
    values = columns[kept]
    questions, question = np.unique(rows.question[kept], return_inverse=True)
    row |= {"n": len(values), "questions": len(questions), "undefined": int((~kept).sum()), **dict.fromkeys(VALUES),
            "method": None, "note": None}  # fmt: skip
    flat = [name for name, column in zip(names, values.T, strict=True) if constant(column)]
    if not len(values):
        row["note"] = f"no row has {names[0]}, {names[1]} and {names[2]}"
    elif flat:
        row["note"] = f"{' and '.join(flat)} {'is' if len(flat) == 1 else 'are'} constant: no R²"
    if row["note"]:
        return Asked(row, None)
    sums = gram(values, question, len(questions))
    found = fit(correlation(sums.sum(axis=0), 3))
    row |= {name: None if np.isnan(value) else float(value) for name, value in found._asdict().items()}
    if row["beta"] is None:
        row["note"] = f"{names[0]} and {names[1]} are the same up to scale: {names[1]} adds nothing"
        row["r2_full"], row["delta_r2"] = row["r2_base"], 0.0
        return Asked(row, None)
    if len(questions) < 2:
        row["note"] = ONE
        return Asked(row, None)
    row["method"] = f"{options.method}; standard errors: OLS, cluster-robust (statsmodels)"
    row["beta_base_se"], row["beta_se"] = robust(values, question)
    return Asked(row, sums)


class Errors(NamedTuple):
    """Standard errors of the coefficients of x₁ and x₂; None where there are too few questions to tell."""

    base: float | None
    feature: float | None


def robust(values: Floats, question: Ints) -> Errors:
    """Cluster-robust standard errors of y on 1, x₁, x₂, all z-scored; `values` [n, 3] = (x₁, x₂, y).

    With no more questions than coefficients the scores of the questions, which add up to 0, leave a covariance that is
    singular: its errors are no errors.
    """
    from statsmodels.regression.linear_model import OLS

    if len(np.unique(question)) <= COEFFICIENTS:
        return Errors(None, None)
    z = np.column_stack([standardised(column) for column in values.T])
    design = np.column_stack([np.ones(len(z)), z[:, :2]])
    fitted = OLS(z[:, 2], design).fit(cov_type="cluster", cov_kwds={"groups": question})
    # Rounding takes the variance of an exact fit below 0.
    errors = np.sqrt(np.maximum(np.diag(fitted.cov_params()), 0.0))
    return Errors(float(errors[1]), float(errors[2]))
