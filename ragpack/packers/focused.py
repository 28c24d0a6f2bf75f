"""Question-term coverage, one snippet at a time."""

import numpy as np

from ragpack.candidates.problem import Problem
from ragpack.packers.selection import Knapsack, Overflow, Selection, descending


def focused(problem: Problem, budget: int, *, overflow: Overflow = "truncate") -> Selection:
    """The snippet that covers most question terms not covered yet, again and again.

    Source: the `focused` policy of "Recall Is Not Enough".
    Rule: take argmax |terms(i) minus covered|, then look at the budget. With overflow=truncate the snippet
    that exceeds it is the last one and is cut to fit; with stop it is left out and the packing ends; with
    skip it is left out and the packing goes on. When nothing new can be covered, the tie rule alone
    decides.
    Gain: the number of newly covered terms. Complexity: O(n q) in all for the coverage, and O(n) a step.
    Ties: a document not used yet, then higher relevance, then rank of the hit, then position in the document.
    """
    sack = Knapsack(problem, budget, overflow)
    n, terms, document = problem.n, problem.terms, problem.document
    # The tie rule as one integer: (new terms, document unused, place by relevance), each in a digit of its
    # own. No two candidates have the same one, and a pick changes only the digits it touches.
    place = np.empty(n, dtype=np.int64)
    place[descending(problem.relevance)] = np.arange(n - 1, -1, -1)
    key = 2 * n * terms.sum(axis=1) + n + place
    uncovered = np.ones(terms.shape[1], dtype=np.bool_)
    used: set[int] = set()

    while sack.open:
        i = int(np.where(sack.available, key, -1).argmax())
        gain = int(key[i]) // (2 * n)
        if not sack.offer(i, float(gain)):
            continue
        if gain:
            new = terms[i] & uncovered
            uncovered &= ~new
            key -= 2 * n * terms[:, new].sum(axis=1)
        if (its := int(document[i])) not in used:
            used.add(its)
            key -= n * (document == its)
    return sack.selection()
