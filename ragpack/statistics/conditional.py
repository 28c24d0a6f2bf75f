"""Table 3: how well the reader does with the answer in its context, and without."""

from __future__ import annotations

import numpy as np

from ragpack.statistics.bootstrap import interval
from ragpack.statistics.estimates import Part, drawn, ends, ratio
from ragpack.statistics.rows import Floats, Options, Row, Rows, axes, mean


def conditional(rows: Rows, options: Options) -> list[Row]:
    """F1 and EM given answer_in_context = 1 and 0, for each model: over the rows whose answer is a span, over the
    retrieval-perfect ones of these (every gold document among the hits), and over all rows.

    `lost` is the share of the rows without the answer in the context. `ratio` is mean given 1 / mean given 0.
    Intervals: cluster bootstrap on the question. Source: P1 §3 and §5.
    """
    table: list[Row] = []
    parts: list[Part] = []
    for labels, mine in rows.split(axes(("model",), options.by)):
        span = mine.spans
        perfect = span & (mine.column("all_gold_in_hits") == 1)
        subsets = {"span": span, "span, retrieval-perfect": perfect, "all": np.ones(mine.n, dtype=np.bool_)}
        for subset, mask in subsets.items():
            part = mine.where(mask)
            for metric in ("f1", "em"):
                defined = ~np.isnan(part.column("answer_in_context")) & ~np.isnan(part.column(metric))
                if defined.any():
                    row, sums = _split(part.where(defined), metric)
                    undefined = int((~defined).sum())
                    table.append({**labels, "subset": subset, **row, "undefined": undefined, "method": options.method})
                    parts.append(sums)
    for row, draws in zip(table, drawn(parts, options), strict=True):
        _intervals(row, draws, options)
    return table


def _split(rows: Rows, metric: str) -> tuple[Row, Part]:
    """A row less its intervals, and the sums that these are made of."""
    inside = rows.column("answer_in_context") == 1
    values = rows.column(metric)
    given, without = mean(values[inside]), mean(values[~inside])
    row: Row = {
        "metric": metric,
        "n": len(values),
        "questions": rows.questions,
        "given_1": given.value,
        "given_1_n": given.n,
        "given_0": without.value,
        "given_0_n": without.n,
        "difference": None,
        "difference_ci": None,
        "ratio": None,
        "ratio_ci": None,
        "lost": without.n / len(values),
    }
    if given.value is not None and without.value is not None:
        row["difference"] = given.value - without.value
        row["ratio"] = given.value / without.value if without.value else None
    return row, Part(rows.question, np.column_stack([values * inside, inside, values * ~inside, ~inside]))


def _intervals(row: Row, draws: Floats, options: Options) -> None:
    given, without = ratio(draws, 0, 1), ratio(draws, 2, 3)
    if row["difference"] is not None:
        row["difference_ci"] = ends(interval(given - without, options.level))
    if row["ratio"] is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            row["ratio_ci"] = ends(interval(given / without, options.level))
