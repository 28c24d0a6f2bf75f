"""Submodular packing: a set function, maximised under the budget by an optimiser of one's choice."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.bound import fill_bound
from ragpack.packers.costs import Costs, relaxed
from ragpack.packers.exact import exact
from ragpack.packers.greedy import Path, greedy
from ragpack.packers.objective import Objective, Parts
from ragpack.packers.selection import TIE, Selection, first_best

Optimiser = Literal["ratio", "best", "lazy", "exact"]
OPTIMISERS: tuple[str, ...] = get_args(Optimiser)


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
    optimiser: Optimiser = "ratio",
) -> Selection:
    """Relevance, question coverage, representativeness and document diversity, traded off per token.

    Source: Lin and Bilmes, NAACL 2010 and ACL 2011; weights from "Recall Is Not Enough".
    Formula: F(S) = rel * Rel + qry * Qry + cov * Cov + div * Div, each part in [0, 1] (see `objective`); a
    weight of 0 switches its part off; alpha is the share of its total similarity at which a snippet is
    saturated. At most `cap` snippets (0: no cap).
    Optimisers: `ratio` is the papers' rule: of the snippets that still fit, take the one with the largest gain per
    token, until none fits or none gains anything; if the best single snippet that fits scores higher than all of
    that, return it instead: only then is F at least (1 - 1/e) / 2 of the best possible (with cap=0, and a cost for
    each snippet that does not depend on the others). `lazy` gives the same selection and counts fewer gains.
    `best` is the better one of that and plain greedy, which takes the largest gain that fits. `exact` is the
    optimum, for few candidates.
    `bound` is an upper bound on F for this budget, so objective / bound says how good a pack is at least.
    Gain: the increase of F. Complexity: O(n²) a step; exact: exponential. Ties: rank of the hit, then position in the
    document.
    """
    if cap < 0:
        raise UsageError(f"cap must be a number of snippets, or 0 for none, got {cap}")
    if optimiser not in OPTIMISERS:
        raise UsageError(f"optimiser must be one of {', '.join(OPTIMISERS)}, got '{optimiser}'")
    objective = _objective(problem, Parts(rel, qry, cov, div), alpha)
    if problem.n == 0 or problem.capacity(budget) == 0:
        return Selection((), (), objective=0.0, bound=0.0)

    path = greedy(objective, Costs(problem, budget), cap, lazy=optimiser == "lazy")
    paths = [path]
    chosen, gains, value = path.chosen, path.gains, path.value
    singles = path.trail[0]
    if singles[single := first_best(singles)] > value + TIE:
        value = float(singles[single])
        chosen, gains = [single], [value]
    if optimiser in ("best", "exact"):
        # The first step of plain greedy is the best single: what is better than plain greedy is better than that.
        paths.append(plain := greedy(objective, Costs(problem, budget), cap, per_token=False))
        if plain.value > value + TIE:
            chosen, gains, value = plain.chosen, plain.gains, plain.value
    bound = _bound(objective, paths, budget, cap)
    if optimiser == "exact" and value < bound - TIE:
        optimum = exact(objective, Costs(problem, budget), cap, chosen, value)
        if optimum is not chosen:
            # Snippets stand in the order in which the greedy rule would take them from this set.
            among = np.isin(np.arange(problem.n), optimum)
            path = greedy(objective, Costs(problem, budget), among=among)
            chosen, gains, value = path.chosen, path.gains, path.value
    if optimiser == "exact":
        bound = value
    # Where the bound is tight, the last bit of a sum could put it below the value that it bounds.
    reasons = _reasons(problem, budget, chosen, cap)
    return Selection(tuple(chosen), tuple(gains), objective=value, bound=max(bound, value), reasons=reasons)


def _reasons(problem: Problem, budget: int, chosen: Sequence[int], cap: int) -> dict[int, str]:
    """Why what would still fit was left out."""
    costs = Costs(problem, budget)
    for i in chosen:
        costs.take(i)
    fits = costs.fits()
    fits[chosen] = False
    reason = f"cap: cap={cap}" if len(chosen) == cap > 0 else "objective: no better set was found with it"
    return dict.fromkeys(np.flatnonzero(fits).tolist(), reason)


def _bound(objective: Objective, paths: Sequence[Path], budget: int, cap: int) -> float:
    """The lowest of the bounds that the paths of some searches give, and never above F of all candidates."""
    problem = objective.problem
    capacity = problem.capacity(budget)
    cost = relaxed(problem, capacity, cap)
    if not cap and cost.sum() <= capacity:
        return objective.whole  # each fill would be all of it
    return min(
        objective.whole,
        *(fill_bound(np.array(path.values), path.trail, cost, capacity, cap) for path in paths),
    )
