"""Rows of tables as `stats` writes them, made by rule: every table that a plot reads."""

from __future__ import annotations

import random
from typing import Any

HOW = "cluster bootstrap on question, 1000 resamples, seed 0"
POLICIES = ("topk", "chunk_packed", "chunk_mmr:lambda=0.5,overflow=skip", "igp:m=5,threshold=0.05")


def stat_rows(
    models: tuple[str | None, ...] = ("a", "b"), budgets: tuple[int, ...] = (96, 160), names: tuple[str, ...] = POLICIES
) -> dict[str, list[dict[str, Any]]]:
    """Tables by name."""
    draw = random.Random(0)
    baseline = names[min(1, len(names) - 1)]
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("policies", "sweep", "conditional", "incremental", "contrasts", "ig")
    }
    for model in models:
        for budget in budgets:
            for name in names:
                f1 = round(draw.uniform(0.2, 0.5), 3)
                labels = {"model": model, "policy": name, "budget": budget, "n": 40, "questions": 20}
                means = {"f1": f1, "answer_in_context": f1 + 0.1, "tokens": budget - draw.uniform(1, 20)}
                ends = {"f1_ci": [f1 - 0.05, f1 + 0.05], "answer_in_context_ci": [f1, f1 + 0.2], "method": HOW}
                tables["policies"].append({"table": "policies", **labels, **means})
                tables["sweep"].append({"table": "sweep", "kind": "mean", **labels, **means, **ends})
                front = name == names[0]
                tables["sweep"].append({"table": "sweep", "kind": "pareto", **labels, **means, "on_frontier": front})
                for metric in ("f1", "tokens") if name != baseline else ():
                    found = {"metric": metric, "difference": 0.02, "ci": [-0.01, 0.05], "p": 0.2, "significant": False,
                             "family": "holm over 12 contrasts", "method": HOW}  # fmt: skip
                    tables["contrasts"].append({"table": "contrasts", **labels, "baseline": baseline, **found})
        for subset in ("span", "all"):
            tables["conditional"].append(
                {"table": "conditional", "model": model, "subset": subset, "metric": "f1", "n": 80, "questions": 20,
                 "given_1": 0.6, "given_1_n": 50, "given_0": 0.1, "given_0_n": 30, "difference": 0.5,
                 "difference_ci": [0.4, 0.6], "ratio": 6.0, "method": HOW}
            )  # fmt: skip
        for metric in ("f1", "em"):
            for feature in ("answer_in_context", "gold_token_density"):
                tables["incremental"].append(
                    {"table": "incremental", "model": model, "metric": metric, "base": "recall@5", "feature": feature,
                     "n": 80, "questions": 20, "r2_base": 0.1, "r2_full": 0.2, "delta_r2": 0.1,
                     "delta_r2_ci": [0.05, 0.15], "method": HOW}
                )  # fmt: skip
    for question in range(20):
        for _ in range(3):
            gain = draw.gauss(0, 0.1)
            tables["ig"].append({"id": str(question), "ig": gain, "has_answer": gain > 0.05, "thresholds": [0.05]})
    return tables
