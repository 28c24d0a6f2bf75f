"""Table 1: each policy's means."""

from __future__ import annotations

import numpy as np

from ragpack.statistics.rows import Options, Row, Rows, axes, mean

COLUMNS = (
    "f1",
    "em",
    "answer_in_context",
    "graded",
    "gold_doc_coverage",
    "all_gold_in_context",
    "gold_token_density",
    "tokens",
)


def policies(rows: Rows, options: Options) -> list[Row]:
    """Means by model, policy and budget, then by model and policy over all budgets where there are several.

    Each mean stands beside the number of rows it is over (`f1`, `f1_n`); `n` counts the rows, so `n - f1_n` are
    undefined. `missing` counts the instances (question, seed) that other policies of the part have and this one has
    not: they failed, or were never asked. Source: P1 §5, Table 3.
    """
    several = len(rows.levels("budget")) > 1
    own = axes(("model",), tuple(name for name in options.by if name not in ("policy", "budget")))
    table = []
    for part, within in rows.split(own):
        for labels, budgeted in [*within.split(("budget",)), *([({"budget": None}, within)] if several else [])]:
            instances = _instances(budgeted)
            for policy, mine in budgeted.split(("policy",)):
                row: Row = {**part, **policy, **labels, "n": mine.n, "questions": mine.questions}
                row["missing"] = instances - _instances(mine)
                for name in COLUMNS:
                    row[name], row[f"{name}_n"] = mean(mine.column(name))
                table.append(row)
    return table


def _instances(rows: Rows) -> int:
    """How many (question, seed, budget) there are."""
    return len(np.unique(np.stack([rows.question, rows.factors["seed"].codes, rows.factors["budget"].codes]), axis=1).T)
