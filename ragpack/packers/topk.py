"""Deployed practice: the first documents, as they are."""

import numpy as np
import numpy.typing as npt

from ragpack.candidates.problem import Problem
from ragpack.errors import DataError, UsageError
from ragpack.packers.selection import Knapsack, Selection, descending

MADE_BY = {
    **dict.fromkeys(("ig", "nu", "qlm", "yesno"), "`ragpack generate --probe {by}` adds it, before `pack`."),
    **dict.fromkeys(("ce", "bge"), "`ragpack retrieve --rerank` adds it."),
}


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
    order = list(range(problem.n)) if by == "rank" or not problem.n else descending(_scores(problem, by)).tolist()
    reasons = dict.fromkeys(order[m:], f"cap: m={m}") if m else {}
    for i in order[: m or None]:
        if not (sack.open and sack.offer(i, 0.0)):
            break
    found = sack.selection()
    # The rule looks at an order only: there is no gain to report.
    return found._replace(gains=None, reasons={**reasons, **found.reasons})


def _scores(problem: Problem, by: str) -> npt.NDArray[np.float64]:
    found = problem.scores.get(by)
    lacking = problem.n if found is None else int(np.isnan(found).sum())
    if found is None or lacking:
        known = ", ".join(sorted(problem.scores)) or "none"
        raise DataError(
            f"topk: {lacking} of {problem.n} hits have no scores.{by}",
            MADE_BY.get(by, "Scores of these hits: {known}.").format(by=by if by != "nu" else "ig", known=known),
        )
    return found
