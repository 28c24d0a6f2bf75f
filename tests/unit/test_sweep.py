"""Sweeps: iso-quality and the Pareto frontier by hand, and against loops."""

import numpy as np
import pytest
from diagnosed import row, stats
from hypothesis import given
from hypothesis import strategies as st

from ragpack.statistics.sweep import on_frontier


def sweep(rows, kind, **params):
    return [one for one in stats(rows, "sweep", **params)[0] if one["kind"] == kind]


def grid(points, questions=20, model="m"):
    """Rows whose score is the same for every question: then intervals are points."""
    return [row(f"q{at}", policy, budget, model=model, f1=f1, tokens=tokens) for at in range(questions)
            for (policy, budget), (f1, tokens) in points.items()]  # fmt: skip


POINTS = {("p", 96): (0.40, 90), ("p", 160): (0.50, 150), ("p", 224): (0.55, 210),
          ("r", 96): (0.495, 95), ("r", 160): (0.55, 140), ("r", 224): (0.56, 200)}  # fmt: skip


def test_iso_quality_by_hand():
    found = {one["baseline_budget"]: one for one in sweep(grid(POINTS), "iso", baseline="p")}
    assert {one["policy"] for one in found.values()} == {"r"}
    # r at 96 has .495 against p's .50 at 160: within the margin, with 95 tokens in place of 150.
    assert (found[160]["budget"], found[160]["tried"]) == (96, 2)
    assert found[160]["saved"] == pytest.approx(1 - 95 / 150)
    assert found[160]["difference"] == pytest.approx(-0.005)
    assert found[160]["ci"] == pytest.approx([-0.005, -0.005])
    assert (found[160]["tokens"], found[160]["baseline_tokens"], found[160]["margin"]) == (95.0, 150.0, 0.01)
    # At 224 p has .55: r at 96 falls short, r at 160 equals it.
    assert (found[224]["budget"], found[224]["saved"]) == (160, pytest.approx(1 - 140 / 210))
    assert 96 not in found, "nothing is cheaper than p at 96"


def test_no_margin():
    found = {one["baseline_budget"]: one for one in sweep(grid(POINTS), "iso", baseline="p", margin=0.0)}
    assert found[160]["budget"] == 160, "r at 96 falls short of p at 160 by .005"


def test_iso_says_where_nothing_is_as_good():
    points = POINTS | {("r", 96): (0.1, 95), ("r", 160): (0.1, 140), ("r", 224): (0.1, 200)}
    found = sweep(grid(points), "iso", baseline="p")
    assert [(one["baseline_budget"], one["budget"], one["saved"], one["tried"]) for one in found] == [
        (160, None, None, 2), (224, None, None, 3)
    ]  # fmt: skip


def test_iso_needs_evidence():
    """Equal on average, but scattered: the interval reaches far below the margin, so nothing is claimed."""
    scattered = [row(f"q{at}", policy, budget, f1=float((at + shift) % 2), tokens=budget)
                 for at in range(20) for policy, budget, shift in (("p", 160, 0), ("r", 96, 1))]  # fmt: skip
    (one,) = sweep(scattered, "iso", baseline="p")
    assert (one["tried"], one["budget"]) == (1, None)


def test_without_contrasts_a_policy_is_compared_with_itself():
    points = {("p", 96): (0.5, 90), ("p", 160): (0.5, 150), ("r", 96): (0.1, 90), ("r", 160): (0.9, 150)}
    found = sweep(grid(points), "iso")
    assert [(one["policy"], one["baseline"], one["baseline_budget"], one["budget"]) for one in found] == [
        ("p", "p", 160, 96), ("r", "r", 160, None)
    ]  # fmt: skip


def test_the_contrast_at_each_budget():
    found = sweep(grid(POINTS), "contrast", contrasts=("r,p",))
    assert [(one["budget"], one["n"]) for one in found] == [(96, 20), (160, 20), (224, 20)]
    assert [one["difference"] for one in found] == pytest.approx([0.095, 0.05, 0.01])
    lone = grid(POINTS | {("r", 320): (0.6, 300)})
    assert 320 not in [one["budget"] for one in sweep(lone, "contrast", baseline="p")]


def test_means_and_contrasts_need_several_budgets():
    rows = grid({("p", 96): (0.4, 90), ("r", 96): (0.5, 80)})
    assert {one["kind"] for one in stats(rows, "sweep", baseline="p")[0]} == {"iso", "pareto"}


def test_pareto_by_hand():
    found = {(one["policy"], one["budget"]): one for one in sweep(grid(POINTS), "pareto")}
    # p 160 costs more than r 96 at nearly the same, and more than r 160 for less; p 224 loses to r 160.
    assert {at for at, one in found.items() if one["on_frontier"]} == {("p", 96), ("r", 96), ("r", 160), ("r", 224)}
    assert {one["frontier_share"] for one in found.values()} == {0.0, 1.0}
    assert found["r", 96]["f1"] == pytest.approx(0.495)


def test_pareto_takes_the_instances_that_all_points_have():
    """q99 would lift p alone; it is excluded. Its mean row has it."""
    rows = [*grid(POINTS), row("q99", "p", 96, f1=1.0, tokens=1)]
    found = {(one["policy"], one["budget"]): one for one in sweep(rows, "pareto")}
    assert (found["p", 96]["f1"], found["p", 96]["n"], found["p", 96]["excluded"]) == (pytest.approx(0.4), 20, 1)
    assert sweep(rows, "mean")[0]["n"] == 21


def test_models_are_apart():
    rows = grid(POINTS) + grid({at: (1 - f1, tokens) for at, (f1, tokens) in POINTS.items()}, model="n")
    found = [one for one in sweep(rows, "pareto") if one["on_frontier"]]
    assert {(one["model"], one["policy"], one["budget"]) for one in found if one["model"] == "n"} == {("n", "p", 96)}


def test_packs_sweep_the_answer_in_the_context():
    rows = [row(f"q{at}", "p", budget, model="", answer_in_context=float(at < budget / 10), tokens=budget)
            for at in range(20) for budget in (96, 160)]  # fmt: skip
    found = sweep(rows, "pareto")
    assert [(one["score"], one["answer_in_context"]) for one in found] == [
        ("answer_in_context", 0.5), ("answer_in_context", 0.8)
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_frontier_is_the_definition(points):
    score = np.array([[one / 3 for one, _ in points]])
    tokens = np.array([[float(one) for _, one in points]])
    expected = [
        not any(a >= b and s <= t and (a > b or s < t) for a, s in points) for b, t in points
    ]  # fmt: skip
    assert on_frontier(score, tokens)[0].tolist() == expected
