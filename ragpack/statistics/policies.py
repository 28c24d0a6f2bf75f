"""Table 1: each policy's means."""

from __future__ import annotations

import numpy as np

from ragpack.statistics.rows import Options, Row, Rows, mean

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
    undefined. Source: P1 §5, Table 3.
    """
    del options
    groups: dict[tuple[str, str, int | None], list[int]] = {}
    for at, label in enumerate(rows.labels):
        groups.setdefault((label.model, label.policy, label.budget), []).append(at)
        groups.setdefault((label.model, label.policy, None), []).append(at)
    several = len({label.budget for label in rows.labels}) > 1
    table = []
    for (model, policy, budget), members in sorted(groups.items(), key=lambda item: _order(item[0])):
        if budget is None and not several:
            continue
        row: Row = {"model": model or None, "policy": policy, "budget": budget, "n": len(members)}
        row["questions"] = len(np.unique(rows.question[members]))
        for name in COLUMNS:
            row[name], row[f"{name}_n"] = mean(rows.columns[name][members])
        table.append(row)
    return table


def _order(key: tuple[str, str, int | None]) -> tuple[str, float, str]:
    model, policy, budget = key
    return model, float("inf") if budget is None else budget, policy
