"""The optimisers of `submod` by hand and by brute force: the numbers in the docstrings are the hand computation."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from ragpack.candidates.problem import Problem
from ragpack.errors import DataError, UsageError
from ragpack.packers import exact as branch_and_bound
from ragpack.packers.costs import Costs, relaxed
from ragpack.packers.exact import MOST
from ragpack.packers.greedy import greedy
from ragpack.packers.objective import Objective, Parts
from ragpack.packers.submod import submod

WEIGHTS = Parts(1.0, 0.5, 0.4, 0.3)
REL: dict[str, Any] = {"qry": 0.0, "cov": 0.0, "div": 0.0}
"""Relevance alone: F is the sum of relevance over its total, and the packing a knapsack."""


def knapsack(value: list[float], cost: list[int], document: list[int] | None = None, header: int = 0) -> Problem:
    n = len(value)
    its = np.array(document if document is not None else range(n), dtype=np.int64)
    problem = Problem(
        relevance=np.array(value, dtype=np.float64),
        cost=np.array(cost, dtype=np.int64),
        document=its,
        rank=its + 1,
        position=np.arange(n, dtype=np.int64),
        terms=np.zeros((n, 0), dtype=np.bool_),
        vectors=np.eye(n),
    )
    if header:
        object.__setattr__(problem, "header", np.full(n, header, dtype=np.int64))
    return problem


def at_random(n: int, seed: int, header: bool = False) -> Problem:
    """Correlated terms, vectors and relevance, so that gains shrink a lot."""
    rng = np.random.default_rng([n, seed])
    vectors = rng.random((n, 8)) * (rng.random((n, 8)) < 0.5) + 1e-3
    document = np.sort(rng.integers(0, max(1, n // 4), n))
    document = np.unique(document, return_inverse=True)[1].astype(np.int64)
    problem = Problem(
        relevance=rng.random(n),
        cost=rng.integers(3, 20, n),
        document=document,
        rank=document + 1,
        position=np.arange(n, dtype=np.int64),
        terms=rng.random((n, 6)) < 0.3,
        vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
    )
    if header:
        object.__setattr__(problem, "header", rng.integers(1, 12, n)[document])
    return problem


def optimum(problem: Problem, budget: int, cap: int) -> float:
    objective, best = Objective(problem, WEIGHTS, 0.3), 0.0
    for size in range(1, (cap or problem.n) + 1):
        for chosen in combinations(range(problem.n), size):
            costs = Costs(problem, budget)
            for i in chosen:
                costs.take(i)
            if costs.room >= 0:
                best = max(best, objective.value(chosen))
    return best


def test_best_takes_plain_greedy_where_the_ratio_fills_up_with_crumbs() -> None:
    """Values 2, 6, 6 at costs 1, 5, 5 in 10. By ratio: 2.0 first, then 1.2; 4 tokens are left and 5 do not fit: 8.

    By gain: 6, then 6: 12. The best single is 6. Bound from nothing: 2 + 6 + 6 * 4/5 = 12.8; F is over 14.
    """
    problem = knapsack([2 / 6, 1.0, 1.0], [1, 5, 5])
    ratio, best, exact = (submod(problem, 10, **REL, optimiser=name) for name in ("ratio", "best", "exact"))  # type: ignore[arg-type] # words of the literal
    assert ratio.chosen == (0, 1)
    assert ratio.objective == pytest.approx(8 / 14)
    assert best.chosen == (1, 2)
    assert best.gains == pytest.approx((6 / 14, 6 / 14))
    assert best.objective == pytest.approx(12 / 14)
    assert ratio.bound == best.bound == pytest.approx(12.8 / 14)
    # The optimum is what plain greedy found; exact stands in the order of gain per token, and knows that it is one.
    assert exact.chosen == (1, 2)
    assert exact.bound == exact.objective == best.objective


def test_exact_finds_what_both_greedy_rules_miss() -> None:
    """Values 7, 5, 5 at costs 6, 5, 5 in 10. Both rules take the 7 and then have 4 tokens left. 5 + 5 is 10.

    Bound from nothing: 7 + 5 * 4/5 = 11, all over 17.
    """
    problem = knapsack([1.0, 5 / 7, 5 / 7], [6, 5, 5])
    best, exact = submod(problem, 10, **REL, optimiser="best"), submod(problem, 10, **REL, optimiser="exact")
    assert (best.chosen, exact.chosen) == ((0,), (1, 2))
    assert best.objective == pytest.approx(7 / 17)
    assert best.bound == pytest.approx(11 / 17)
    assert exact.objective == exact.bound == pytest.approx(10 / 17)
    assert exact.gains == pytest.approx((5 / 17, 5 / 17))
    assert submod(problem, 10, **REL, optimiser="exact", cap=1).chosen == (0,)


def test_exact_stands_in_the_order_of_gain_per_token() -> None:
    """Values 9, 5, 6 at costs 8, 5, 5 in 10: by ratio 1.2 for 2, 1.125 for 0. 2 first, then 1 fits: 11, the optimum."""
    assert submod(knapsack([1.0, 5 / 9, 6 / 9], [8, 5, 5]), 10, **REL, optimiser="exact").chosen == (2, 1)


@pytest.mark.parametrize("optimiser", ["ratio", "best", "lazy", "exact"])
def test_the_second_snippet_of_a_document_pays_no_header(optimiser: Any) -> None:
    """Values 1, 0.9 in document 0 and 1 in document 1, 3 tokens each, a header of 4; 10 tokens.

    0 and 2 cost 7 and tie: 0 by rank. Then 1 costs 3 and is in; 2 would cost 7. F = 1.9 / 2.9. Bound: two snippets
    share the header of document 0, 5 tokens each, so the fill from nothing is 0 and 1 whole: tight.
    """
    problem = knapsack([1.0, 0.9, 1.0], [3, 3, 3], document=[0, 0, 1], header=4)
    assert relaxed(problem, 10).tolist() == [5.0, 5.0, 7.0]
    assert relaxed(problem, 9).tolist() == [7.0, 7.0, 7.0]  # no two of document 0 fit behind its header
    assert relaxed(problem, 10, cap=1).tolist() == [7.0, 7.0, 7.0]
    selection = submod(problem, 10, **REL, optimiser=optimiser)
    assert selection.chosen == (0, 1)
    assert selection.objective == selection.bound == pytest.approx(1.9 / 2.9)
    assert submod(problem, 6, **REL, optimiser=optimiser).chosen == ()  # 3 + 4 tokens do not fit


@pytest.mark.parametrize("optimiser", ["ratio", "lazy"])
def test_an_open_document_is_cheaper_per_token(optimiser: Any) -> None:
    """Values 1, 0.5 at 3 and 1 tokens in document 0, and 0.6 at 1 token in document 1, a header of 4.

    1 / 7 = 0.143 is first, before 0.5 / 5 and 0.6 / 5. Then 1 costs 1: 0.5 against 0.12.
    """
    problem = knapsack([1.0, 0.5, 0.6], [3, 1, 1], document=[0, 0, 1], header=4)
    assert submod(problem, 100, **REL, optimiser=optimiser).chosen == (0, 1, 2)


def test_costs_change_for_the_document_of_a_pick_only() -> None:
    costs = Costs(knapsack([1.0, 1.0, 1.0], [3, 2, 5], document=[0, 0, 1], header=4), 20)
    assert costs.now.tolist() == [7, 6, 9]
    twin = costs.copy()
    assert (costs.take(0), costs.room, costs.now.tolist()) == (7, 13, [3, 2, 9])
    assert (costs.take(1), costs.room, costs.now.tolist()) == (2, 11, [3, 2, 9])  # once, not twice
    assert costs.fits().tolist() == [True, True, True]
    assert (costs.take(2), costs.fits().tolist()) == (9, [False, True, False])
    assert (twin.room, twin.now.tolist()) == (20, [7, 6, 9])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("cap", [0, 3])
def test_exact_is_the_optimum_of_brute_force(seed: int, header: bool, cap: int) -> None:
    problem = at_random(11, seed, header)
    selection = submod(problem, 45, cap=cap, optimiser="exact")
    assert selection.objective == selection.bound == pytest.approx(optimum(problem, 45, cap), abs=1e-11)


@pytest.mark.parametrize("seed", range(12))
def test_exact_with_relevance_alone_is_the_knapsack_of_dynamic_programming(seed: int) -> None:
    """The textbook table over budgets, for whole numbers as values; costs near values make it hard for greedy rules."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(10, 40, 30)
    value = cost + rng.integers(0, 6, 30)
    table = np.zeros(101, dtype=np.int64)
    for v, c in zip(value, cost, strict=True):
        table[c:] = np.maximum(table[c:], table[:-c] + v)
    problem = knapsack((value / value.max()).tolist(), cost.tolist())
    selection = submod(problem, 100, **REL, optimiser="exact")
    assert selection.objective == selection.bound == pytest.approx(table[100] / value.sum(), abs=1e-12)
    assert problem.cost[list(selection.chosen)].sum() <= 100


def test_lazy_does_not_let_an_old_bound_tie() -> None:
    """Terms a, -, a; a is worth 0.5; relevance as it is. 2 is first: 1.5 against 0.6 and 0.6 + 5e-13.

    Then 0 is worth 0.1, but its old 0.6 is closer than TIE to the true score of 1, and 0 would win the tie.
    """
    problem = knapsack([0.1, 0.6 + 5e-13, 1.0], [1, 1, 1])
    object.__setattr__(problem, "terms", np.array([[True, False], [False, False], [True, False]]))
    objective = Objective(problem, Parts(float(problem.relevance.sum()), 1.0, 0.0, 0.0), 0.3)
    assert greedy(objective, Costs(problem, 3), lazy=True).chosen == [2, 1, 0]
    assert greedy(objective, Costs(problem, 3)).chosen == [2, 1, 0]


@pytest.mark.parametrize("header", [False, True])
def test_lazy_counts_few_gains(header: bool) -> None:
    """200 candidates and some 30 picks: the plain search counts all 200 after each pick."""
    problem = at_random(200, 0, header)
    objective = Objective(problem, WEIGHTS, 0.3)
    plain, lazy = (greedy(objective, Costs(problem, 200), lazy=lazy) for lazy in (False, True))
    assert plain.chosen == lazy.chosen
    assert len(plain.chosen) >= 15
    assert plain.evaluations == 200 * (len(plain.chosen) + 1)
    assert lazy.evaluations < plain.evaluations / 4


@pytest.mark.parametrize("block", [1, 100, 10_000])
def test_gains_in_blocks_are_the_gains(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 candidates and 36 receivers: one row, two rows, and all rows at a time."""
    problem = at_random(30, 3)
    whole = submod(problem, 150)
    monkeypatch.setattr("ragpack.packers.objective.BLOCK", block)
    assert submod(problem, 150, optimiser="lazy")[:4] == submod(problem, 150)[:4] == whole[:4]


def test_a_switched_off_part_adds_nothing_and_costs_nothing() -> None:
    problem = at_random(10, 1)
    for name in Parts._fields:
        weights = WEIGHTS._replace(**{name: 0.0})
        objective = Objective(problem, weights, 0.3)
        chosen = submod(problem, 60, **weights._asdict()).chosen
        parts = objective.parts(chosen)
        assert objective.value(chosen) == pytest.approx(sum(w * p for w, p in zip(weights, parts, strict=True)))
        assert objective.whole == pytest.approx(sum(weights))
    assert Objective(problem, Parts(1, 0, 0, 1), 0.3).supply.shape == (10, 0)
    assert submod(problem, 60, rel=0, qry=0, cov=0, div=0).chosen == ()


@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e-9, 0.3, 1.0, 2.0, 1e300])
def test_any_alpha_gives_finite_numbers(alpha: float) -> None:
    problem = at_random(10, 2)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        selection = submod(problem, 60, alpha=alpha)
        value = Objective(problem, WEIGHTS, alpha).value(selection.chosen)
    assert selection.objective == pytest.approx(value, abs=1e-12)
    assert selection.bound is not None
    assert selection.bound >= value - 1e-12


def test_exact_refuses_what_it_cannot_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    many = knapsack([1.0] * (MOST + 2), [1] * (MOST + 1) + [99])
    with pytest.raises(DataError, match=f"takes at most {MOST} snippets that fit, here are {MOST + 1}") as refused:
        branch_and_bound.exact(Objective(many, Parts(1, 0, 0, 0), 0.3), Costs(many, 20), 0, [], 0.0)
    assert "nodes=" in str(refused.value)
    assert "optimiser=best" in str(refused.value)
    monkeypatch.setattr(branch_and_bound, "STEPS", 3)
    with pytest.raises(DataError, match="gave up after 3 sets of 30 snippets"):
        submod(at_random(30, 0), 60, optimiser="exact")


def test_an_unknown_optimiser_is_named() -> None:
    with pytest.raises(UsageError, match="optimiser must be one of ratio, best, lazy, exact, got 'greedy'"):
        submod(knapsack([1.0], [1]), 1, optimiser="greedy")  # type: ignore[arg-type] # the point of the test
