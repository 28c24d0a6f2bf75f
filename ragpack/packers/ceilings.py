"""What a packer could do that knew what is right: ceilings for comparison, never deployable."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.problem import Labels, Problem
from ragpack.packers.selection import Knapsack, Overflow, Selection, descending


def gold(problem: Problem, budget: int, *, overflow: Overflow = "skip") -> Selection:
    """Snippets of gold documents only, by descending relevance. A ceiling: it knows the gold documents.

    Gain: the relevance. Complexity: O(n log n). Ties: rank of the hit, then position in the document.
    """
    labels = _labels(problem)
    return _in_order(problem, budget, overflow, np.where(labels.gold, 1.0, -1.0))


def answer(problem: Problem, budget: int, *, overflow: Overflow = "skip") -> Selection:
    """Snippets that hold an answer first, of gold documents before others; then the rest of the gold documents; then
    all others; each by descending relevance. A ceiling: it knows the answers.

    Gain: the relevance. Complexity: O(n log n). Ties: rank of the hit, then position in the document.
    """
    labels = _labels(problem)
    return _in_order(problem, budget, overflow, 2.0 * labels.answer + 1.0 * labels.gold)


def _labels(problem: Problem) -> Labels:
    nothing = np.zeros(problem.n, dtype=np.bool_)
    return problem.labels or Labels(nothing, nothing)


def _in_order(problem: Problem, budget: int, overflow: str, class_: NDArray[np.floating[Any]]) -> Selection:
    """By (class, relevance); a class below 0 is left out."""
    sack = Knapsack(problem, budget, overflow)
    # Relevance is at most 1, so twice the class outweighs it.
    for i in descending(2.0 * class_ + problem.relevance).tolist():
        if not sack.open:
            break
        if sack.available[i] and class_[i] >= 0:
            sack.offer(i, float(problem.relevance[i]))
    found = sack.selection()
    return found._replace(reasons=dict.fromkeys(np.flatnonzero(class_ < 0).tolist(), "not of a gold document")
                          | dict(found.reasons))  # fmt: skip
