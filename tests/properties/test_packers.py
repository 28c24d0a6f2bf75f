"""What must hold for every packer, and what the theory promises for the submodular one."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragpack.candidates.problem import Problem
from ragpack.packers import PACKERS
from ragpack.packers.costs import Costs, header_of, relaxed
from ragpack.packers.focused import focused
from ragpack.packers.greedy import greedy
from ragpack.packers.mmr import mmr
from ragpack.packers.objective import Objective, Parts, State
from ragpack.packers.packed import packed
from ragpack.packers.submod import OPTIMISERS, submod
from ragpack.registry import load, parameters_of
from tests.properties.strategies import Row, budgets, build, problems, slacks, tables

FUNCTIONS = {name: load(PACKERS, name) for name in PACKERS}
# Every packer with its defaults, and with each word that one of its options can take.
CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in PACKERS] + [
    (name, {option.name: choice})
    for name, function in FUNCTIONS.items()
    for option in parameters_of(function).values()
    for choice in option.choices
]
every_packer = pytest.mark.parametrize(("name", "options"), CASES)
with_overflow = pytest.mark.parametrize(
    "packer", [f for f in FUNCTIONS.values() if "overflow" in parameters_of(f)], ids=lambda f: f.__name__
)
grid = st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.0])
weights = st.builds(Parts, grid, grid, grid, grid)


def with_header(problem: Problem, header: Any) -> Problem:
    """The problem in a grouped layout: the first snippet of document d pays header[d] on top."""
    tokens = np.asarray(header, dtype=np.int64)[problem.document]
    object.__setattr__(problem, "header", tokens)
    return problem


headers = st.just([0] * 4) | st.lists(st.integers(0, 5), min_size=4, max_size=4)
grouped = st.builds(with_header, problems(), headers)


def true_cost(problem: Problem, chosen: tuple[int, ...]) -> int:
    header = header_of(problem)
    opened = {int(problem.document[i]): int(header[i]) for i in chosen} if header is not None else {}
    return int(problem.cost[list(chosen)].sum()) + sum(opened.values())


def feasible(problem: Problem, budget: int, cap: int = 0) -> list[tuple[int, ...]]:
    sizes = range(1, (cap or problem.n) + 1)
    sets = [s for size in sizes for s in combinations(range(problem.n), size)] if budget > 0 else []
    return [(), *(s for s in sets if true_cost(problem, s) <= problem.capacity(budget))]


@every_packer
@given(problem=problems(), budget=budgets)
def test_a_selection_is_valid_fits_and_repeats(
    name: str, options: dict[str, Any], problem: Problem, budget: int
) -> None:
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        selection = FUNCTIONS[name](problem, budget, **options)
    chosen = selection.chosen
    assert all(type(i) is int and 0 <= i < problem.n for i in chosen)
    assert len(set(chosen)) == len(chosen)
    costs = problem.cost[list(chosen)]
    assert costs[: len(chosen) - selection.cut_last].sum() <= problem.capacity(budget)
    if selection.cut_last:  # it did not fit, and yet the cut leaves something of it
        assert problem.capacity(budget) < costs.sum()
        assert costs[:-1].sum() + problem.slack < problem.capacity(budget)
    if budget == 0:
        assert chosen == ()
    if selection.gains is not None:
        assert len(selection.gains) == len(chosen)
        assert np.isfinite(selection.gains).all()
    assert selection == FUNCTIONS[name](problem, budget, **options)


@every_packer
@given(table=tables(), slack=slacks, budget=budgets, data=st.data())
def test_the_order_of_hits_terms_and_dimensions_changes_nothing(
    name: str, options: dict[str, Any], table: list[Row], slack: int, budget: int, data: st.DataObject
) -> None:
    """Terms and dimensions in another order make sums run in another order: only the last bit may move."""
    before, shuffled = build(table, slack), data.draw(st.permutations(table))
    q, v = before.terms.shape[1], before.vectors.shape[1]
    columns, axes = data.draw(st.permutations(range(q))), data.draw(st.permutations(range(v)))
    after = build(
        [
            r._replace(terms=tuple(r.terms[c] for c in columns), vector=tuple(r.vector[a] for a in axes))
            for r in shuffled
        ],
        slack,
    )
    one, other = (FUNCTIONS[name](problem, budget, **options) for problem in (before, after))
    assert (one.chosen, one.cut_last) == (other.chosen, other.cut_last)
    assert (one.gains is None) == (other.gains is None)
    assert np.allclose(one.gains or (), other.gains or (), rtol=0, atol=1e-12)


@with_overflow
@given(problem=problems(), budget=budgets)
def test_skip_and_truncate_continue_where_stop_ends(packer: Any, problem: Problem, budget: int) -> None:
    found = [packer(problem, budget, overflow=how) for how in ("stop", "skip", "truncate")]
    stop, skip, cut = (one.chosen for one in found)
    assert skip[: len(stop)] == stop
    assert cut[: len(stop)] == stop
    assert len(cut) <= len(stop) + 1
    room = problem.capacity(budget) - problem.cost[list(skip)].sum()
    barred = [i for i, why in found[1].reasons.items() if not why.startswith("budget")]
    left = np.setdiff1d(np.arange(problem.n), [*skip, *barred])
    assert budget == 0 or (problem.cost[left] > room).all()


@given(problem=problems(), budget=budgets, overflow=st.sampled_from(["stop", "skip", "truncate"]))
def test_mmr_with_lambda_1_is_relevance_order(problem: Problem, budget: int, overflow: Any) -> None:
    one, other = (
        mmr(problem, budget, lambda_=1.0, overflow=overflow),
        packed(problem, budget, overflow=overflow),
    )
    assert one == other


@given(problem=problems(), lambda_=st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_mmr_is_the_loop_of_its_formula(problem: Problem, lambda_: float) -> None:
    chosen: list[int] = []
    for _ in range(problem.n):
        score = {
            i: round(
                lambda_ * problem.relevance[i]
                - (1 - lambda_) * max((problem.similarity[i, j] for j in chosen), default=0.0),
                10,
            )
            for i in set(range(problem.n)) - set(chosen)
        }
        chosen.append(min(score, key=lambda i: (-score[i], i)))
    assert mmr(problem, 1000, lambda_=lambda_).chosen == tuple(chosen)


@given(problem=problems())
def test_focused_is_the_loop_of_its_rule(problem: Problem) -> None:
    chosen: list[int] = []
    gains: list[float] = []
    for _ in range(problem.n):
        covered = problem.terms[chosen].any(axis=0)
        used = set(problem.document[chosen].tolist())
        new = {i: (problem.terms[i] & ~covered).sum() for i in set(range(problem.n)) - set(chosen)}
        key = {i: (-new[i], problem.document[i] in used, -problem.relevance[i], i) for i in new}
        chosen.append(min(new, key=lambda i: key[i]))
        gains.append(new[chosen[-1]])
    assert focused(problem, 1000)[:2] == (tuple(chosen), tuple(gains))


@settings(deadline=None)  # brute force: slow on a busy machine
@given(problem=problems(max_size=5), alpha=st.sampled_from([0.0, 0.1, 0.3, 1.0, 1.5]))
def test_each_part_of_the_objective_is_normal_monotone_and_submodular(problem: Problem, alpha: float) -> None:
    objective, n = Objective(problem, Parts(1, 1, 1, 1), alpha), problem.n
    part = np.array([objective.parts([i for i in range(n) if s >> i & 1]) for s in range(2**n)])
    assert (part[0] == 0).all()
    assert ((part >= 0) & (part <= 1 + 1e-12)).all()
    for s in range(2**n):
        outside = [1 << i for i in range(n) if not s >> i & 1]
        for i in outside:
            assert (part[s | i] >= part[s] - 1e-12).all()
            # Gains that shrink with every single j shrink along every chain.
            for j in outside:
                if i != j:
                    assert (part[s | i] - part[s] >= part[s | i | j] - part[s | j] - 1e-12).all()


@given(problem=problems(), weights=weights, alpha=st.sampled_from([0.0, 0.3, 1.0]), data=st.data())
def test_running_gains_are_differences_of_values(
    problem: Problem, weights: Parts, alpha: float, data: st.DataObject
) -> None:
    objective = Objective(problem, weights, alpha)
    state = State(objective)
    first = state.gains()
    inside: list[int] = []
    for i in data.draw(st.permutations(range(problem.n))):
        bounds, gains, value = state.bounds(), state.gains(), objective.value(inside)
        assert (gains <= bounds).all()
        for j in set(range(problem.n)) - set(inside):
            assert gains[j] == pytest.approx(objective.value([*inside, j]) - value, abs=1e-12)
            assert state.count(np.array([j])) == gains[j]  # alone and in the product: the same bits
        twin = state.copy()
        twin.add(i)
        assert (state.gains() == gains).all()  # a copy leaves nothing to the state it came from
        state.add(i)
        inside.append(i)
    assert (State(objective).gains() == first).all()  # one search leaves nothing to the next
    assert objective.whole == pytest.approx(objective.value(inside), abs=1e-12)


@settings(max_examples=200, deadline=None)  # brute force: slow on a busy machine
@given(problem=grouped, budget=budgets, weights=weights, cap=st.integers(0, 3))
def test_submod_keeps_its_promises(problem: Problem, budget: int, weights: Parts, cap: int) -> None:
    objective = Objective(problem, weights, 0.3)
    values = {s: objective.value(s) for s in feasible(problem, budget, cap)}
    optimum, single = max(values.values()), max(v for s, v in values.items() if len(s) <= 1)
    found = {}
    for optimiser in OPTIMISERS:
        selection = submod(problem, budget, **weights._asdict(), cap=cap, optimiser=optimiser)  # type: ignore[arg-type] # a word of the literal
        found[optimiser] = selection
        value, bound = selection.objective, selection.bound
        assert value is not None
        assert bound is not None
        assert tuple(sorted(selection.chosen)) in values  # it fits
        assert value == pytest.approx(objective.value(selection.chosen), abs=1e-12)
        assert sum(selection.gains or ()) == pytest.approx(value, abs=1e-12)
        assert value <= bound
        assert optimum <= bound + 1e-12
        assert value >= single - 1e-12
        if not cap and header_of(problem) is None:
            assert value >= (1 - 1 / np.e) / 2 * optimum - 1e-12
    ratio, best, lazy, exact = (found[name] for name in ("ratio", "best", "lazy", "exact"))
    assert ratio[:4] == lazy[:4]
    assert best.objective >= ratio.objective
    assert best.bound <= ratio.bound <= lazy.bound + 1e-12
    assert exact.objective == exact.bound == pytest.approx(optimum, abs=2e-12)


@st.composite
def rounded(draw: st.DrawFn) -> Problem:
    """Up to 40 candidates whose numbers are rounded so coarsely that scores tie, or differ in the last bits."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, digits = draw(st.integers(1, 40)), draw(st.integers(0, 2))
    documents = np.sort(rng.integers(0, draw(st.integers(1, 8)), n))
    vectors = np.round(rng.random((n, 6)) * (rng.random((n, 6)) < 0.5), digits)
    document = np.unique(documents, return_inverse=True)[1].astype(np.int64)
    problem = Problem(
        relevance=np.round(rng.random(n), digits),
        cost=rng.integers(0, draw(st.integers(2, 30)), n),
        document=document,
        rank=document + 1,
        position=np.arange(n),
        terms=rng.random((n, 5)) < 0.3,
        vectors=vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9),
    )
    return with_header(problem, rng.integers(0, 9, 8)) if draw(st.booleans()) else problem


@settings(deadline=None)
@given(problem=rounded(), budget=st.integers(1, 300), weights=weights, cap=st.integers(0, 9))
def test_lazy_is_ratio_to_the_last_bit_and_counts_no_more(
    problem: Problem, budget: int, weights: Parts, cap: int
) -> None:
    objective = Objective(problem, weights, 0.3)
    plain, lazy = (greedy(objective, Costs(problem, budget), cap, lazy=lazy) for lazy in (False, True))
    assert (plain.chosen, plain.gains, plain.values) == (lazy.chosen, lazy.gains, lazy.values)
    assert lazy.evaluations <= plain.evaluations
    assert (plain.trail <= lazy.trail).all()


@given(problem=grouped, budget=budgets, cap=st.integers(0, 3))
def test_relaxed_costs_never_exceed_true_ones(problem: Problem, budget: int, cap: int) -> None:
    capacity = problem.capacity(budget)
    cost = relaxed(problem, capacity, cap)
    for chosen in feasible(problem, budget, cap):
        assert cost[list(chosen)].sum() <= true_cost(problem, chosen) + 1e-9
        within = Costs(problem, budget)
        left = np.array(chosen, dtype=np.intp)
        for i in chosen:  # what is left of the set, from each of its beginnings
            assert within.shared(left).sum() <= within.room + 1e-9
            within.take(i)
            left = left[1:]
        assert within.room == capacity - true_cost(problem, chosen)


@given(problem=st.builds(with_header, problems(cheapest=1), headers), budget=budgets)
def test_submod_is_the_loop_of_its_rule(problem: Problem, budget: int) -> None:
    objective = Objective(problem, Parts(1.0, 0.5, 0.4, 0.3), 0.3)
    chosen: list[int] = []
    room = capacity = problem.capacity(budget)
    while True:
        cost = {
            i: true_cost(problem, (*chosen, i)) - true_cost(problem, tuple(chosen))
            for i in set(range(problem.n)) - set(chosen)
        }
        gain = {i: objective.value([*chosen, i]) - objective.value(chosen) for i in cost if cost[i] <= room}
        if max(gain.values(), default=0) <= 1e-12:
            break
        best = min(gain, key=lambda i: (-round(gain[i] / cost[i], 10), i))
        chosen.append(best)
        room -= cost[best]
    singles = {i: objective.value([i]) for i in range(problem.n) if true_cost(problem, (i,)) <= capacity}
    if singles and max(singles.values()) > objective.value(chosen) + 1e-10:
        chosen = [min(singles, key=lambda i: (-round(singles[i], 10), i))]
    assert submod(problem, budget).chosen == tuple(chosen)
