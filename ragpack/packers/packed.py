"""The naive packer: the most relevant snippets first."""

from ragpack.candidates.problem import Problem
from ragpack.packers.selection import Knapsack, Overflow, Selection, descending


def packed(problem: Problem, budget: int, *, overflow: Overflow = "stop") -> Selection:
    """Snippets by descending relevance until the budget is hit.

    Source: the `packed` baseline of "Recall Is Not Enough".
    Rule: sort by relevance; take from the top. A snippet that does not fit ends the packing
    (overflow=stop), is passed over (skip), or is the last one and is cut to fit (truncate).
    Gain: the relevance. Complexity: O(n log n). Ties: rank of the hit, then position in the document.
    """
    sack = Knapsack(problem, budget, overflow)
    relevance = problem.relevance.tolist()
    for i in descending(problem.relevance).tolist():
        if not sack.open:
            break
        if sack.available[i]:
            sack.offer(i, relevance[i])
    return sack.selection()
