"""Table 1: each policy's means, what they cost, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from ragpack.statistics.bootstrap import interval
from ragpack.statistics.estimates import Part, drawn, ends, mean_interval, mean_part
from ragpack.statistics.paired import pair
from ragpack.statistics.rows import Floats, Ints, Level, Options, Row, Rows, axes, mean

COLUMNS = (
    "f1",
    "em",
    "answer_in_context",
    "graded",
    "gold_doc_coverage",
    "all_gold_in_context",
    "gold_token_density",
    "tokens",
    "prompt_tokens",
)
OPTIONAL = ("probe_calls", "probe_tokens", "certified")
"""Columns that are there where any row has them."""
WITH_INTERVAL = ("f1", "answer_in_context")

Finish = Callable[[Floats], None]


def policies(rows: Rows, options: Options) -> list[Row]:
    """Means by model, policy and budget, then by model and policy over all budgets where there are several.

    Each mean stands beside the number of rows it is over (`f1`, `f1_n`); `n` counts the rows, so `n - f1_n` are
    undefined. `missing` counts the instances (question, seed) that other policies of the part have and this one has
    not; `failed` those of which a stage said that it failed. `certified` is objective / bound, a lower bound on how
    near a pack is to the best one. `nte` is (F1 / F1 of the baseline) / (its prompt tokens / those of the baseline), on
    the instances that both have. Intervals: cluster bootstrap on the question. Source: P1 §5, Table 3; P2 §4 (NTE).
    """
    rows = _certified(rows)
    optional = [name for name in OPTIONAL if not np.isnan(rows.column(name)).all()]
    own = axes(("model",), tuple(name for name in options.by if name not in ("policy", "budget")))
    base = _base(rows, options)
    table: list[Row] = []
    parts: list[Part] = []
    finish: list[Finish] = []

    def later(part: Part, done: Finish) -> None:
        parts.append(part)
        finish.append(done)

    for part, within in rows.split(own):
        failed = _failed_here(rows, part)
        over_budgets: Counter[Level] = Counter()
        several = len(rows.levels("budget")) > 1
        for labels, budgeted in [*within.split(("budget",)), *([({"budget": None}, within)] if several else [])]:
            for policy, mine in budgeted.split(("policy",)):
                row: Row = {**part, **policy, **labels, "n": mine.n, "questions": mine.questions}
                row["missing"] = len(_instances(budgeted)) - len(_instances(mine))
                if labels["budget"] is None:
                    row["failed"] = over_budgets[policy["policy"]]
                else:
                    row["failed"] = _failed(budgeted, mine, failed)
                    over_budgets[policy["policy"]] += row["failed"]
                for name in (*COLUMNS, *optional):
                    row[name], row[f"{name}_n"] = mean(mine.column(name))
                    if name in WITH_INTERVAL:
                        row[f"{name}_ci"] = None
                        later(mean_part(mine.question, mine.column(name)), _mean_into(row, name, options))
                if "certified" in optional:
                    known = mine.column("certified")[~np.isnan(mine.column("certified"))]
                    row["certified_p05"] = float(np.quantile(known, 0.05)) if len(known) else None
                if base is not None:
                    row |= {"nte": None, "nte_n": 0, "nte_ci": None, "nte_baseline": base}
                    sums = _nte(within, base, row)
                    if sums is not None:
                        later(sums, _nte_into(row, options))
                row["method"] = options.method
                table.append(row)
    for done, draws in zip(finish, drawn(parts, options), strict=True):
        done(draws)
    return table


def _mean_into(row: Row, name: str, options: Options) -> Finish:
    def done(draws: Floats) -> None:
        row[f"{name}_ci"] = ends(mean_interval(draws, options))

    return done


def _nte_into(row: Row, options: Options) -> Finish:
    def done(draws: Floats) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = interval((draws[:, 0] / draws[:, 1]) / (draws[:, 2] / draws[:, 3]), options.level)
        row["nte_ci"] = ends(found)

    return done


def _certified(rows: Rows) -> Rows:
    """The rows with objective / bound as a column."""
    objective, bound = rows.column("objective"), rows.column("bound")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(bound > 0, objective / bound, np.nan)
    return Rows(rows.question, rows.factors, rows.columns | {"certified": ratio}, rows.names, rows.failed)


def _base(rows: Rows, options: Options) -> str | None:
    """The baseline of `nte`: that of `--baseline`, or the only one of the contrasts; None without F1 or a choice."""
    named = list(dict.fromkeys(baseline for policy, baseline in options.pairs if policy == "*"))
    named = named or list(dict.fromkeys(baseline for _, baseline in options.pairs))
    known = not np.isnan(rows.column("f1") + rows.column("prompt_tokens")).all()
    return named[0] if len(named) == 1 and known else None


def _nte(within: Rows, base: str, row: Row) -> Part | None:
    """Fill in `nte`; its sums, or None where there is none. The baseline is taken at the same budget, or, where it has
    only one, at that."""
    if row["budget"] is None:
        return None
    theirs = within.is_level("policy", base)
    budgets = within.where(theirs).levels("budget")
    theirs &= within.is_level("budget", budgets[0] if len(budgets) == 1 else row["budget"])
    ours = within.is_level("policy", row["policy"]) & within.is_level("budget", row["budget"])
    paired = pair(within, ours, theirs)
    f1, tokens = within.column("f1"), within.column("prompt_tokens")
    columns = np.column_stack([f1[paired.ours], f1[paired.theirs], tokens[paired.ours], tokens[paired.theirs]])
    defined = ~np.isnan(columns).any(axis=1)
    columns = columns[defined]
    row["nte_n"] = len(columns)
    mine, other, cost, other_cost = columns.sum(axis=0)
    if not len(columns) or not other or not cost or not other_cost:
        return None
    row["nte"] = float((mine / other) / (cost / other_cost))
    return Part(paired.question[defined], columns)


def _instances(rows: Rows) -> Ints:
    """Each (question, seed, budget) that there is, as one number, ascending."""
    seed, budget = rows.factors["seed"], rows.factors["budget"]
    return np.unique((rows.question * len(seed.levels) + seed.codes) * len(budget.levels) + budget.codes)


def _failed_here(rows: Rows, part: Row) -> Ints:
    """The failed questions that may belong to a part: those with a row in it, of whatever model, and those without any
    row, of which nothing more is known."""
    here = np.ones(rows.n, np.bool_)
    for name, level in part.items():
        if name != "model":
            here &= rows.is_level(name, level)
    elsewhere = np.setdiff1d(rows.question, rows.question[here])
    return np.setdiff1d(rows.failed, elsewhere)


def _failed(budgeted: Rows, mine: Rows, failed: Ints) -> int:
    """Instances that a policy lacks and that failed. A failure names no policy: it counts wherever its question is
    lacking."""
    lacking = np.setdiff1d(_instances(budgeted), _instances(mine))
    per_question = len(budgeted.factors["seed"].levels) * len(budgeted.factors["budget"].levels)
    nowhere = np.setdiff1d(failed, budgeted.question)
    return int(np.isin(lacking // per_question, failed).sum()) + len(nowhere)
