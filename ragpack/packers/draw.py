"""The floor: snippets in random order."""

import numpy as np

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.selection import Knapsack, Overflow, Selection


def draw(problem: Problem, budget: int, *, seed: int = 0, overflow: Overflow = "stop") -> Selection:
    """Snippets in an order that is drawn: the floor that a packer must beat.

    The draw follows the seed and the question's own text and hits: the same in every process, another one for each
    question. Complexity: O(n). Ties: none.
    """
    if seed < 0:
        raise UsageError(f"seed must be at least 0, got {seed}")
    sack = Knapsack(problem, budget, overflow)
    for i in np.random.default_rng([seed, problem.salt]).permutation(problem.n).tolist():
        if not sack.open:
            break
        if sack.available[i]:
            sack.offer(i, 0.0)
    return sack.selection()._replace(gains=None)
