"""Deployed practice: the first documents, as they are."""

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.scores import scores_of
from ragpack.packers.selection import Knapsack, Selection, descending


def topk(problem: Problem, budget: int, *, by: str = "rank", m: int = 0) -> Selection:
    """Whole documents in rank order until the budget is full; the last one is cut at exactly the budget.

    Meant for a problem whose candidates are whole documents.

    Source: what most RAG systems do by default; with `by`, the baselines of "Information Gain Pruning", §4.1.
    Rule: take candidates 1, 2, 3, …, at most `m` (0: no limit); the first that does not fit is the last one, cut to
    fit. `by` names another score to go by, largest first: one of `hits[].scores`, as `qlm`, `yesno`, `ce`.
    Complexity: O(n log n). Ties: rank.
    """
    if m < 0:
        raise UsageError(f"m={m}: m is at least 0")
    sack = Knapsack(problem, budget, "truncate")
    order = list(range(problem.n))
    if by != "rank" and order:
        order = descending(scores_of(problem, by, "topk")).tolist()
    reasons = dict.fromkeys(order[m:], f"cap: m={m}") if m else {}
    for i in order[: m or None]:
        if not (sack.open and sack.offer(i, 0.0)):
            break
    found = sack.selection()
    # The rule looks at an order only: there is no gain to report.
    return found._replace(gains=None, reasons={**reasons, **found.reasons})
