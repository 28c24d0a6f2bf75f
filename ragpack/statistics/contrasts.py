"""Table 5: policies against one another, paired on the question."""

from __future__ import annotations

import numpy as np

from ragpack.statistics.estimates import Part, drawn, mean_interval, mean_part
from ragpack.statistics.paired import Paired, pair, paired_axes, pairs_of
from ragpack.statistics.rows import Options, Row, Rows, mean

METRICS = ("f1", "em", "answer_in_context", "gold_doc_coverage", "tokens")
ALPHA = 0.05


def contrasts(rows: Rows, options: Options) -> list[Row]:
    """Mean difference policy − baseline, with a percentile interval and a two-sided p.

    Rows pair on (model, budget, question, seed). The bootstrap draws questions, so seeds of one question stay
    together. A pair with a side that is missing or undefined is counted in `excluded`. `p_adjusted` corrects for the
    family: all contrasts of the table, or those of one metric. `significant` compares it with 0.05.
    Source: P1 §5; Holm 1979, by statsmodels.
    """
    wanted = pairs_of(rows, options)
    table: list[Row] = []
    parts: list[Part] = []
    for labels, part in rows.split(paired_axes(options)):
        for policy, baseline in wanted:
            ours = part.is_level("policy", policy)
            if ours.any():
                paired = pair(part, ours, part.is_level("policy", baseline))
                name = {**labels, "policy": policy, "baseline": baseline}
                for row, sums in _contrast(part, paired):
                    table.append(name | row | {"method": f"paired {options.method}"})
                    parts.append(sums)
    for row, draws in zip(table, drawn(parts, options), strict=True):
        if row["n"]:
            found = mean_interval(draws, options)
            row["ci"], row["p"] = [found.low, found.high], found.p
    _correct(table, options)
    return table


def _contrast(rows: Rows, paired: Paired) -> list[tuple[Row, Part]]:
    """A row less its interval, and what that is made of, for each metric that any row has."""
    found = []
    for metric in METRICS:
        column = rows.column(metric)
        if not np.isnan(column).all():
            difference = column[paired.ours] - column[paired.theirs]
            average = mean(difference)
            sums = mean_part(paired.question, difference)
            row: Row = {"metric": metric, "n": average.n, "questions": len(np.unique(sums.question)),
                        "excluded": paired.excluded + len(difference) - average.n, "difference": average.value,
                        "ci": None, "p": None, "p_adjusted": None, "significant": None, "family": None}  # fmt: skip
            found.append((row, sums))
    return found


def _correct(table: list[Row], options: Options) -> None:
    """Correct the p-values of each family for the number of its contrasts."""
    from statsmodels.stats.multitest import multipletests

    known = [row for row in table if row["p"] is not None]
    families = {"all": [known], "metric": [[row for row in known if row["metric"] == one] for one in METRICS],
                "none": [[row] for row in known]}[options.family]  # fmt: skip
    for family in filter(None, families):
        adjusted = multipletests([row["p"] for row in family], method=options.correction)[1]
        for row, p in zip(family, adjusted, strict=True):
            row["p_adjusted"], row["significant"] = float(p), bool(p <= ALPHA)
            row["family"] = f"{options.correction} over {len(family)} contrasts"
