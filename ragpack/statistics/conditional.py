"""Table 3: how well the reader does with the answer in its context, and without."""

from __future__ import annotations

import numpy as np

from ragpack.statistics.bootstrap import Interval, cluster_sums, interval, resampled
from ragpack.statistics.rows import Floats, Options, Row, Rows, axes, mean


def conditional(rows: Rows, options: Options) -> list[Row]:
    """F1 and EM given answer_in_context = 1 and 0, for each model: over the rows whose answer is a span, over the
    retrieval-perfect ones of these (every gold document among the hits), and over all rows.

    `lost` is the share of the rows without the answer in the context. `ratio` is mean given 1 / mean given 0.
    Intervals: cluster bootstrap on the question. Source: P1 §3 and §5.
    """
    table = []
    for labels, mine in rows.split(axes(("model",), options.by)):
        span = mine.spans
        perfect = span & (mine.column("all_gold_in_hits") == 1)
        subsets = {"span": span, "span, retrieval-perfect": perfect, "all": np.ones(mine.n, dtype=np.bool_)}
        for subset, mask in subsets.items():
            part = mine.where(mask)
            for metric in ("f1", "em"):
                defined = ~np.isnan(part.column("answer_in_context")) & ~np.isnan(part.column(metric))
                if defined.any():
                    found = _split(part.where(defined), metric, options)
                    table.append({**labels, "subset": subset, **found, "undefined": int((~defined).sum())})
    return table


def _split(rows: Rows, metric: str, options: Options) -> Row:
    inside = rows.column("answer_in_context") == 1
    values = rows.column(metric)
    given, without = mean(values[inside]), mean(values[~inside])
    difference, ratio = _intervals(rows, inside.astype(np.float64), values, options)
    both = given.value is not None and without.value is not None
    return {
        "metric": metric,
        "n": len(values),
        "questions": rows.questions,
        "given_1": given.value,
        "given_1_n": given.n,
        "given_0": without.value,
        "given_0_n": without.n,
        "difference": given.value - without.value if both else None,  # type: ignore[operator] # both are numbers
        "difference_ci": [difference.low, difference.high] if both else None,
        "ratio": given.value / without.value if both and without.value else None,  # type: ignore[operator] # same
        "ratio_ci": [ratio.low, ratio.high] if both and without.value else None,
        "lost": without.n / len(values),
        "method": options.method,
    }


def _intervals(rows: Rows, inside: Floats, values: Floats, options: Options) -> tuple[Interval, Interval]:
    _, question = np.unique(rows.question, return_inverse=True)
    outside = 1 - inside
    columns = np.column_stack([values * inside, inside, values * outside, outside])
    drawn = resampled(cluster_sums(columns, question, int(question.max()) + 1), options.resamples, options.seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        given, without = drawn[:, 0] / drawn[:, 1], drawn[:, 2] / drawn[:, 3]
        return interval(given - without, options.level), interval(given / without, options.level)
