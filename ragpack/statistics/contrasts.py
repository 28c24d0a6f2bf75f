"""Table 5: policies against one another, paired on the question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragpack.statistics.bootstrap import cluster_sums, interval, resampled_each
from ragpack.statistics.paired import Paired, pair, paired_axes, pairs_of
from ragpack.statistics.rows import Floats, Options, Row, Rows

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
    asked = []
    for labels, part in rows.split(paired_axes(options)):
        for policy, baseline in wanted:
            ours = part.is_level("policy", policy)
            if ours.any():
                paired = pair(part, ours, part.is_level("policy", baseline))
                name = {"policy": policy, "baseline": baseline}
                asked += _ask({**labels, **name}, part, paired, options)
    # One pass over the draws for the whole table: most of its contrasts are over equally many questions.
    for (row, _), drawn in zip(
        asked, resampled_each([ask.sums for ask in asked], options.resamples, options.seed), strict=True
    ):
        if row["n"]:
            found = interval(drawn[:, 0] / drawn[:, 1], options.level)
            row |= {"ci": [found.low, found.high], "p": found.p}
    table = [ask.row for ask in asked]
    _correct(table, options)
    return table


class Asked(NamedTuple):
    """A row of the table, and the sums that its interval is to be drawn from."""

    row: Row
    sums: Floats
    """[questions, 2] sum of differences, number of pairs."""


def _ask(labels: Row, rows: Rows, paired: Paired, options: Options) -> list[Asked]:
    asked = []
    for metric in METRICS:
        column = rows.column(metric)
        if np.isnan(column).all():
            continue
        difference = column[paired.ours] - column[paired.theirs]
        kept = ~np.isnan(difference)
        questions, question = np.unique(paired.question[kept], return_inverse=True)
        row: Row = {**labels, "metric": metric, "n": int(kept.sum()), "questions": len(questions),
                    "excluded": paired.excluded + int((~kept).sum()), "difference": None, "ci": None, "p": None,
                    "p_adjusted": None, "significant": None, "method": f"paired {options.method}"}  # fmt: skip
        if kept.any():
            row["difference"] = float(difference[kept].mean())
        values = np.column_stack([difference[kept], np.ones(kept.sum())])
        asked.append(Asked(row, cluster_sums(values, question, len(questions))))
    return asked


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
