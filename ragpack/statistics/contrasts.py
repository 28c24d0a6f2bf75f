"""Table 5: each policy against the baseline, paired on the question."""

from __future__ import annotations

import numpy as np

from ragpack.statistics.bootstrap import cluster_sums, interval, resampled
from ragpack.statistics.rows import Options, Row, Rows

METRICS = ("f1", "em", "answer_in_context", "gold_doc_coverage", "tokens")


def contrasts(rows: Rows, options: Options) -> list[Row]:
    """Mean difference policy − baseline, with a percentile interval and a two-sided p.

    Rows pair on (model, budget, question, seed). The bootstrap draws questions, so seeds of one question stay
    together. A pair with a side that is missing or undefined is counted in `excluded`. `p_holm` corrects for all
    contrasts of the table that have the same metric. Source: P1 §5; Holm 1979, by statsmodels.
    """
    baseline = options.baseline
    if baseline is None:
        return []
    pairs: dict[tuple[str, int, str], dict[tuple[int, int | None], list[int | None]]] = {}
    others = sorted({label.policy for label in rows.labels} - {baseline})
    for at, label in enumerate(rows.labels):
        instance = (int(rows.question[at]), label.seed)
        for policy in others if label.policy == baseline else [label.policy]:
            pair = pairs.setdefault((label.model, label.budget, policy), {}).setdefault(instance, [None, None])
            pair[label.policy == baseline] = at
    table = [
        row
        for (model, budget, policy), found in sorted(pairs.items())
        if any(ours is not None for ours, _ in found.values())
        for row in _contrast(
            rows, options, list(found.items()), {"model": model or None, "policy": policy, "budget": budget}
        )
    ]
    _holm(table)
    return table


def _contrast(
    rows: Rows, options: Options, found: list[tuple[tuple[int, int | None], list[int | None]]], label: Row
) -> list[Row]:
    table = []
    for metric in METRICS:
        column = rows.columns[metric]
        if np.isnan(column).all():
            continue
        whole = [(key[0], ours, theirs) for key, (ours, theirs) in found if ours is not None and theirs is not None]
        paired = [(question, column[ours] - column[theirs]) for question, ours, theirs in whole]
        kept = [(question, difference) for question, difference in paired if not np.isnan(difference)]
        row: Row = {**label, "baseline": options.baseline, "metric": metric, "n": len(kept),
                    "excluded": len(found) - len(kept), "difference": None, "ci": None, "p": None,
                    "p_holm": None}  # fmt: skip
        if kept:
            questions, question = np.unique([question for question, _ in kept], return_inverse=True)
            differences = np.array([difference for _, difference in kept])
            sums = cluster_sums(np.column_stack([differences, np.ones(len(kept))]), question, len(questions))
            drawn = resampled(sums, options.resamples, options.seed)
            found_interval = interval(drawn[:, 0] / drawn[:, 1], options.level)
            row |= {"difference": float(differences.mean()), "ci": [found_interval.low, found_interval.high],
                    "p": found_interval.p}  # fmt: skip
        row["method"] = f"paired cluster bootstrap on question, {options.resamples} resamples, seed {options.seed}"
        table.append(row)
    return table


def _holm(table: list[Row]) -> None:
    """Correct the p-values of each metric for the number of its contrasts."""
    from statsmodels.stats.multitest import multipletests

    for metric in METRICS:
        family = [row for row in table if row["metric"] == metric and row["p"] is not None]
        if family:
            adjusted = multipletests([row["p"] for row in family], method="holm")[1]
            for row, p in zip(family, adjusted, strict=True):
                row["p_holm"] = float(p)
