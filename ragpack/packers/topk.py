"""Deployed practice: the first documents, as they are."""

from ragpack.candidates.problem import Problem
from ragpack.packers.selection import Knapsack, Selection


def topk(problem: Problem, budget: int) -> Selection:
    """Whole documents in rank order until the budget is full; the last one is cut at exactly the budget.

    Meant for a problem whose candidates are whole documents.

    Source: what most RAG systems do by default.
    Rule: take candidates 1, 2, 3, …; the first that does not fit is the last one, cut to fit.
    Complexity: O(n). Ties: none, since ranks differ.
    """
    sack = Knapsack(problem, budget, "truncate")
    for i in range(problem.n):
        if not (sack.open and sack.offer(i, 0.0)):
            break
    return sack.selection()._replace(gains=None)  # the rule looks at ranks only: there is no score to report
