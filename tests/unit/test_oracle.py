"""The oracle: by hand, and against a loop over questions."""

import random

import pytest
from diagnosed import row, stats

from ragpack.statistics.oracle import ORACLE

# f1 of p, r, s; tokens of p, r, s
FOUR = {"a": ((1.0, 1.0, 0.0), (9, 5, 1)), "b": ((0.2, 0.5, 0.0), (9, 5, 1)), "c": ((0.0, 0.0, 0.0), (9, 5, 5)),
        "d": ((0.0, 0.4, 0.6), (9, 5, 1))}  # fmt: skip
ROWS = [
    row(id, policy, f1=f1, em=float(f1 == 1), tokens=tokens, answer_in_context=float(f1 > 0))
    for id, (scores, costs) in FOUR.items()
    for policy, f1, tokens in zip("prs", scores, costs, strict=True)
]


def oracle(rows, **params):
    return {one["policy"]: one for one in stats(rows, "oracle", **params)[0]}


def test_by_hand():
    found = oracle(ROWS)
    assert list(found) == ["p", "r", "s", ORACLE]
    best = found[ORACLE]
    assert best["f1"] == pytest.approx((1.0 + 0.5 + 0.0 + 0.6) / 4)
    # a: r, at 5 tokens, ties with p; b: r; c: all tie, r and s are cheapest, r is first; d: s.
    assert (best["tokens"], best["em"], best["answer_in_context"]) == ((5 + 5 + 5 + 1) / 4, 0.25, 0.75)
    assert (best["headroom"], best["best"], best["sole_best"], best["all_tied"]) == (None, None, None, 0.25)
    r = found["r"]
    assert r["f1"] == pytest.approx(1.9 / 4)
    assert r["headroom"] == pytest.approx((0 + 0 + 0 + 0.2) / 4)
    assert (r["best"], r["sole_best"]) == (0.75, 0.25)
    assert (found["p"]["best"], found["p"]["sole_best"]) == (0.5, 0.0)
    assert (found["s"]["best"], found["s"]["sole_best"]) == (0.5, 0.25)
    assert {(one["n"], one["questions"], one["excluded"], one["score"]) for one in found.values()} == {(4, 4, 0, "f1")}


def test_only_what_all_policies_have():
    """e lacks s, f has an undefined score: both are excluded, though others are perfect there."""
    more = [row("e", "p", f1=1.0), row("e", "r", f1=1.0), row("f", "p", f1=1.0), row("f", "r", f1=1.0), row("f", "s")]
    whole, cut = oracle(ROWS), oracle(ROWS + more)
    assert {one["excluded"] for one in cut.values()} == {2}
    for policy, one in whole.items():
        assert cut[policy] == one | {"excluded": 2}


def test_seeds_are_instances_of_their_question():
    rows = [row("a", policy, seed=seed, f1=f1) for policy, seed, f1 in
            [("p", 1, 0.0), ("p", 2, 1.0), ("r", 1, 0.5), ("r", 2, 0.5), ("r", 3, 1.0)]]  # fmt: skip
    found = oracle(rows)
    assert (found[ORACLE]["n"], found[ORACLE]["questions"], found[ORACLE]["excluded"]) == (2, 1, 1)
    assert found[ORACLE]["f1"] == 0.75


def test_without_a_reader_the_answer_in_the_context_counts():
    rows = [row(id, policy, model="", answer_in_context=value) for id, policy, value in
            [("a", "p", 1.0), ("a", "r", 0.0), ("b", "p", 0.0), ("b", "r", 0.0)]]  # fmt: skip
    found = oracle(rows)
    assert found["r"]["score"] == "answer_in_context"
    assert (found["r"]["answer_in_context"], found["r"]["headroom"], found["r"]["f1"]) == (0.0, 0.5, None)
    assert found["r"]["answer_in_context_ci"] == [0.0, 0.0]
    assert "f1_ci" not in found["r"]


def test_models_and_budgets_apart():
    rows = [row(id, policy, budget, model=model, f1=f1) for id in "ab" for policy, budget, model, f1 in
            [("p", 9, "m", 0.1), ("r", 9, "m", 0.2), ("p", 18, "m", 0.4), ("r", 18, "m", 0.3), ("p", 9, "n", 0.5),
             ("r", 9, "n", 0.6), ("p", 27, "n", 1.0)]]  # fmt: skip
    found = [one for one in stats(rows, "oracle")[0] if one["policy"] == ORACLE]
    assert [(one["model"], one["budget"], one["f1"]) for one in found] == [
        ("m", 9, pytest.approx(0.2)), ("m", 18, pytest.approx(0.4)), ("n", 9, pytest.approx(0.6))
    ], "a part with one policy has no oracle"  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_against_a_loop(seed):
    draw = random.Random(seed)
    policies = ["p", "r", "s", "t"]
    scores = {
        (f"q{at}", policy): draw.choice([0.0, 1 / 3, 0.5, 1.0, None])
        for at in range(30) for policy in policies if draw.random() < 0.95
    }  # fmt: skip
    cost = {key: draw.randint(1, 5) for key in scores}
    found = oracle([row(id, policy, f1=f1, tokens=cost[id, policy]) for (id, policy), f1 in scores.items()])
    shared = [id for id in {id for id, _ in scores} if all(scores.get((id, one)) is not None for one in policies)]
    largest = {id: max(scores[id, one] for one in policies) for id in shared}
    assert found[ORACLE]["n"] == len(shared)
    assert found[ORACLE]["excluded"] == len({id for id, _ in scores}) - len(shared)
    assert found[ORACLE]["f1"] == pytest.approx(sum(largest.values()) / len(shared))
    cheapest = [min((cost[id, one], one) for one in policies if scores[id, one] == largest[id])[0] for id in shared]
    assert found[ORACLE]["tokens"] == pytest.approx(sum(cheapest) / len(shared))
    for policy in policies:
        reached = [id for id in shared if scores[id, policy] == largest[id]]
        alone = [id for id in reached if sum(scores[id, one] == largest[id] for one in policies) == 1]
        one = found[policy]
        assert one["best"] == pytest.approx(len(reached) / len(shared))
        assert one["sole_best"] == pytest.approx(len(alone) / len(shared))
        assert one["headroom"] == pytest.approx(sum(largest[id] - scores[id, policy] for id in shared) / len(shared))
        assert one["headroom_ci"][0] <= one["headroom"] <= one["headroom_ci"][1]
