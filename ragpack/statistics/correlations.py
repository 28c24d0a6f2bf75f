"""Table 2: which features of retrieval and of the context go with the reader's scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ragpack.statistics.bootstrap import interval, resampled_each
from ragpack.statistics.moments import ONE, constant, correlation, defined, depth_of, gram, left_out
from ragpack.statistics.rows import Floats, Options, Row, Rows, axes

OUTCOMES = ("f1", "em")
CONTEXT = ("answer_in_context", "graded", "gold_doc_coverage", "all_gold_in_context", "gold_token_density")
RETRIEVAL = ("recall", "hit", "all_gold")
WHOLE = ("answer_in_hits", "tokens")
NAMES = ("pearson", "spearman")


class Asked(NamedTuple):
    """A row of the table whose intervals are still to come."""

    row: Row
    sums: list[Floats]
    """Of the values and of their ranks; empty where there is nothing to draw."""


def correlations(rows: Rows, options: Options) -> list[Row]:
    """Pearson and Spearman correlation of each feature with F1 and EM, over policies, budgets and questions pooled.

    Features: those of the context, recall, hit and all_gold at 5 (else at the deepest k there is), nDCG at every k,
    `answer_in_hits`, `tokens`. Rows in which the feature or the score is undefined are left out and counted in
    `undefined`. Intervals: cluster bootstrap on the question. Spearman is Pearson of mid-ranks, and ranks are taken
    once, over all rows: a resample draws ranked rows, it does not rank anew. A constant column has no correlation;
    `note` says so. Source: P1 §5.
    """
    asked = [
        _ask({**labels, "metric": outcome, "feature": feature}, part)
        for labels, part in rows.split(axes(("model",), options.by))
        for outcome in OUTCOMES
        if not np.isnan(part.column(outcome)).all()
        for feature in _features(part)
    ]
    drawn = iter(resampled_each([one for ask in asked for one in ask.sums], options.resamples, options.seed))
    for row, sums in asked:
        for name, _ in zip(NAMES, sums, strict=False):
            draws = correlation(next(drawn), 2)[:, 0, 1]
            row[f"{name}_ci"] = interval(draws, options.level).ends
            row["method"] = options.method
            row["note"] = row["note"] or left_out(draws)
    return [row for row, _ in asked]


def _features(rows: Rows) -> Iterator[str]:
    """The features that the rows have anywhere, in the order of the pipe's last stage to its first."""
    for name in CONTEXT:
        if not np.isnan(rows.column(name)).all():
            yield name
    for name in RETRIEVAL:
        depth = depth_of(rows, name)
        if depth is not None:
            yield f"{name}@{depth}"
    yield from (f"ndcg@{depth}" for depth in rows.depths("ndcg"))
    for name in WHOLE:
        if not np.isnan(rows.column(name)).all():
            yield name


def _ask(row: Row, rows: Rows) -> Asked:
    feature, outcome = rows.column(row["feature"]), rows.column(row["metric"])
    kept = defined(feature, outcome)
    x, y = feature[kept], outcome[kept]
    questions, question = np.unique(rows.question[kept], return_inverse=True)
    row |= {"n": len(x), "questions": len(questions), "undefined": int((~kept).sum()), "pearson": None,
            "pearson_ci": None, "spearman": None, "spearman_ci": None, "method": None, "note": None}  # fmt: skip
    flat = [name for name, column in ((row["feature"], x), (row["metric"], y)) if constant(column)]
    if not len(x):
        row["note"] = f"no row has both {row['feature']} and {row['metric']}"
    elif flat:
        row["note"] = f"{' and '.join(flat)} {'is' if len(flat) == 1 else 'are'} constant: no correlation"
    if row["note"]:
        return Asked(row, [])
    sums = [gram(np.column_stack(both), question, len(questions)) for both in ((x, y), (midranks(x), midranks(y)))]
    for name, one in zip(NAMES, sums, strict=True):
        row[name] = float(correlation(one.sum(axis=0), 2)[0, 1])
    if len(questions) < 2:
        row["note"] = ONE
    return Asked(row, sums)


def midranks(column: Floats) -> Floats:
    """[n] ranks from 1; equal values share the mean of their ranks.

    >>> midranks(np.array([0.5, 0.0, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, number = np.unique(column, return_inverse=True, return_counts=True)
    last = np.cumsum(number)
    return (last - (number - 1) / 2)[place].astype(np.float64)
