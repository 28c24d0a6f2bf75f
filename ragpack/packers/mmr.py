"""Maximal marginal relevance."""

import numpy as np

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.selection import Knapsack, Overflow, Selection, first_best


def mmr(problem: Problem, budget: int, *, lambda_: float = 0.7, overflow: Overflow = "stop") -> Selection:
    """Relevance against redundancy: lambda=1 is relevance order, lambda=0 looks at redundancy alone.

    Source: Carbonell and Goldstein, SIGIR 1998.
    Rule: take the i with the largest lambda * relevance(i) - (1 - lambda) * max of similarity(i, j) over the
    chosen j, until the budget is hit. The maximum over nothing is 0. Lengths play no part. overflow: as in
    `packed`.
    Gain: that score, which may be negative. Complexity: O(n) a step.
    Ties: rank of the hit, then position in the document.
    """
    if not 0.0 <= lambda_ <= 1.0:
        raise UsageError(f"lambda must be from 0 to 1, got {lambda_}")
    sack = Knapsack(problem, budget, overflow)
    wanted = lambda_ * problem.relevance
    repelled = (1.0 - lambda_) * problem.similarity
    redundancy = np.zeros(problem.n)  # running maximum over the chosen: similarities are never below 0

    while sack.open:
        score = np.where(sack.available, wanted - redundancy, -np.inf)
        i = first_best(score)
        if sack.offer(i, float(score[i])):
            np.maximum(redundancy, repelled[i], out=redundancy)
    return sack.selection()
