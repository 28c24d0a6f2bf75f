"""Submodular packing: a set function, maximised under the budget by cost-scaled greedy."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.objective import Objective, Parts
from ragpack.packers.selection import TIE, Selection, first_best

FREE = 1e-100
"""Stands for a cost of 0 in a division: such a snippet is filled first, and whole."""


def fill_bound(
    values: NDArray[np.float64], gains: NDArray[np.float64], cost: NDArray[np.int64], capacity: int, cap: int
) -> float:
    """Upper bound on F over all feasible sets, from the sets that a search went through.

    values [t] is F of each of those sets, gains [t, n] what each candidate adds to it (0 for its members). By
    submodularity no feasible set O is better than values + the gains of O, and no O gains more than filling
    the capacity by gain per token with a fraction of the last one. The lowest of the t bounds holds.

    Gains (6, 4) at costs (2, 2) in a capacity of 3, from the empty set: 6 + 4 * 1/2.
    >>> fill_bound(np.array([0.0]), np.array([[6.0, 4.0]]), np.array([2, 2]), 3, 0)
    8.0
    >>> fill_bound(np.array([0.0]), np.array([[6.0, 4.0]]), np.array([0, 2]), 2, 0)  # a cost of 0 takes no room
    10.0
    """
    gains = gains * (cost <= capacity)  # what is larger than the whole budget is in no feasible set
    price = np.maximum(cost, FREE)
    order = np.argsort(-gains / price, axis=1)
    price, sorted_gains = price[order], np.take_along_axis(gains, order, axis=1)
    room_before = capacity - (np.cumsum(price, axis=1) - price)
    fill = (sorted_gains * np.clip(room_before / price, 0.0, 1.0)).sum(axis=1)
    if cap:
        fill = np.minimum(fill, np.sort(gains, axis=1)[:, -cap:].sum(axis=1))
    return float((values + fill).min())


@lru_cache(maxsize=8)
def _objective(problem: Problem, weights: Parts, alpha: float) -> Objective:
    """One objective serves all budgets of a question; a few are kept, since questions come one after another."""
    return Objective(problem, weights, alpha)


def submod(
    problem: Problem,
    budget: int,
    *,
    rel: float = 1.0,
    qry: float = 0.5,
    cov: float = 0.4,
    div: float = 0.3,
    alpha: float = 0.3,
    cap: int = 0,
) -> Selection:
    """Relevance, question coverage, representativeness and document diversity, traded off per token.

    Source: Lin and Bilmes, NAACL 2010 and ACL 2011; weights from "Recall Is Not Enough".
    Formula: F(S) = rel * Rel + qry * Qry + cov * Cov + div * Div, each part in [0, 1] (see `objective`); a
    weight of 0 switches its part off; alpha is the share of its total similarity at which a snippet is
    saturated.
    Rule: of the snippets that still fit, take the one with the largest gain per token, until none fits,
    none gains anything, or there are `cap` of them (0: no cap). If the best single snippet that fits scores
    higher than all of that, return it instead: only then is F at least (1 - 1/e) / 2 of the best possible
    (with cap=0).
    `bound` is an upper bound on F for this budget, so objective / bound says how good a pack is at least.
    Gain: the increase of F. Complexity: O(n²) a step. Ties: rank of the hit, then position in the document.
    """
    if cap < 0:
        raise UsageError(f"cap must be a number of snippets, or 0 for none, got {cap}")
    objective = _objective(problem, Parts(rel, qry, cov, div), alpha)
    room = capacity = problem.capacity(budget)
    if problem.n == 0 or capacity == 0:
        return Selection((), (), objective=0.0, bound=0.0)

    # Costs relative to the cheapest keep gain per token of order 1, where TIE has its meaning. A snippet
    # that costs nothing counts as one token, so that its ratio stays finite.
    price = np.maximum(problem.cost, 1)
    price = price / price.min()
    outside = np.ones(problem.n, dtype=np.bool_)
    state = objective.start()
    chosen: list[int] = []
    taken: list[float] = []
    values, trail = [0.0], [objective.gains(state)]

    while not cap or len(chosen) < cap:
        fits = outside & (problem.cost <= room)
        i = first_best(np.where(fits, trail[-1] / price, -1.0))
        gain = float(trail[-1][i])
        if not fits[i] or gain <= TIE:
            break
        chosen.append(i)
        taken.append(gain)
        outside[i] = False
        room -= int(problem.cost[i])
        objective.add(state, i)
        values.append(values[-1] + gain)
        trail.append(objective.gains(state) * outside)

    value = values[-1]
    single = np.where(problem.cost <= capacity, trail[0], 0.0)
    best = first_best(single)
    if single[best] > value + TIE:
        value = float(single[best])
        chosen, taken = [best], [value]
    bound = fill_bound(np.array(values), np.array(trail), problem.cost, capacity, cap)
    bound = min(bound, objective.whole)
    # Where the bound is tight, the last bit of a sum could put it below the value that it bounds.
    return Selection(tuple(chosen), tuple(taken), objective=value, bound=max(bound, value))
