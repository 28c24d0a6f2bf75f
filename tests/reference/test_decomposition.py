"""Where a difference comes from, by hand, and mediation: what the context lets one expect."""

import numpy as np
import pytest
from measured import NAN, rows_of

from ragpack.statistics.bootstrap import counts
from ragpack.statistics.decomposition import decomposition
from ragpack.statistics.mediation import mediation
from ragpack.statistics.rows import Options

# (F1, AiC, all gold, EM, coverage) of the policy r, then of the baseline p
TEN = [
    ((1.0, 1, 1, 1, 1.0), (0.2, 0, 0, 0, 0.5)),  # entered, +.8
    ((0.5, 1, 1, 0, 1.0), (0.5, 0, 0, 0, 0.5)),  # entered, 0
    ((0.7, 1, 0, 0, 0.5), (0.1, 0, 1, 0, 1.0)),  # entered, +.6
    ((0.0, 0, 0, 0, 0.5), (0.9, 1, 1, 0, 1.0)),  # left, −.9
    ((1.0, 1, 1, 1, 1.0), (0.6, 1, 1, 0, 1.0)),  # in both, +.4
    ((0.3, 1, 1, 0, 1.0), (0.4, 1, NAN, 0, 0.0)),  # in both, −.1
    ((0.2, 0, 0, 0, 0.0), (0.0, 0, 0, 0, 0.0)),  # in neither, +.2
    ((0.0, 0, 0, 0, 0.0), (0.0, 0, 0, 0, 0.0)),  # in neither, 0
    ((0.5, 1, 1, 0, NAN), (NAN, 1, 1, NAN, 1.0)),  # no F1: excluded
    ((0.5, NAN, 1, 0, 1.0), (0.5, 1, 1, 0, 1.0)),  # no AiC: excluded
]
NAMES = ("f1", "answer_in_context", "all_gold_in_context", "em", "gold_doc_coverage")


def pairs(values, questions=None):
    found = []
    for at, sides in enumerate(values):
        question = f"q{at if questions is None else questions[at]:03}"
        for policy, side in zip("rp", sides, strict=True):
            found.append((question, policy, at, dict(zip(NAMES, map(float, side), strict=False))))
    return rows_of(found)


def asked(**options):
    return Options((("r", "p"),), **{"resamples": 300, **options})


def groups(values, **options):
    return {row["group"]: row for row in decomposition(pairs(values), asked(**options))}


def test_groups_by_hand():
    """Eight pairs; gains .8 + 0 + .6 − .9 + .4 − .1 + .2 + 0 = 1.0, so the whole difference is 1/8."""
    found = groups(TEN)
    assert list(found) == ["entered", "left", "in_both", "in_neither", "all"]
    names = ("n", "share", "gain", "contribution", "share_of_gain", "all_gold", "all_gold_baseline", "all_gold_n")
    expected = {
        "entered": (3, 3 / 8, 1.4 / 3, 1.4 / 8, 1.4, 2, 1, 3),
        "left": (1, 1 / 8, -0.9, -0.9 / 8, -0.9, 0, 1, 1),
        "in_both": (2, 2 / 8, 0.15, 0.3 / 8, 0.3, 1, 1, 1),
        "in_neither": (2, 2 / 8, 0.1, 0.2 / 8, 0.2, 0, 0, 2),
        "all": (8, 1.0, 0.125, 0.125, 1.0, 3, 3, 7),
    }
    for group, numbers in expected.items():
        assert [found[group][name] for name in names] == pytest.approx(list(numbers)), group
        assert (found[group]["excluded"], found[group]["questions"]) == (2, found[group]["n"])
    assert found["entered"]["contribution_ci"][0] < 1.4 / 8 < found["entered"]["contribution_ci"][1]
    assert found["left"]["gain_ci"] == pytest.approx([-0.9, -0.9]), "one gain in the group: resamples have it or none"
    assert found["all"]["note"] == "the whole difference is not told from 0: its shares mean little"


def test_intervals_of_groups_are_those_of_drawn_pairs():
    draw = np.random.default_rng(0)
    values = [((draw.random() + 0.3, draw.integers(2)), (draw.random(), draw.integers(2))) for _ in range(60)]
    questions = draw.integers(20, size=60)
    names, question = np.unique(questions, return_inverse=True)
    gain = np.array([ours[0] - theirs[0] for ours, theirs in values])
    entered = np.array([ours[1] > theirs[1] for ours, theirs in values])
    gains, contributions = [], []
    for drawn in np.concatenate(list(counts(len(names), 300, 0))):
        rows = np.concatenate([np.tile(np.flatnonzero(question == at), times) for at, times in enumerate(drawn)])
        rows = rows.astype(int)
        gains.append(gain[rows][entered[rows]].mean())
        contributions.append((gain[rows] * entered[rows]).mean())
    row = decomposition(pairs(values, questions), asked())[0]
    assert row["n"] == entered.sum() > row["questions"] > 1
    for name, draws in (("gain", gains), ("contribution", contributions)):
        assert row[f"{name}_ci"] == pytest.approx(list(np.quantile(draws, [0.025, 0.975])), abs=1e-12)


def test_no_difference_has_no_shares():
    found = groups([((0.5, 1), (0.5, 0)), ((0.2, 1), (0.2, 1))])
    assert [row["share_of_gain"] for row in found.values()] == [None] * 5
    assert (found["left"]["n"], found["left"]["gain"], found["left"]["gain_ci"], found["left"]["contribution"]) == (
        0, None, None, 0.0)  # fmt: skip
    assert found["all"]["all_gold"] is None, "no pair knows"
    assert found["all"]["all_gold_n"] == 0


def test_one_question_and_no_pair():
    for row in groups(TEN[:1]).values():
        assert (row["contribution_ci"], row["gain_ci"], row["method"], row["note"]) == (
            None, None, None, "one question: no interval")  # fmt: skip
    for row in groups(TEN[8:]).values():
        assert (row["n"], row["share"], row["contribution"], row["excluded"]) == (0, None, None, 2)
        assert row["note"] == "no pair has F1 and answer_in_context on both sides"
    assert decomposition(pairs([((NAN, 1), (NAN, 1))]), asked()) == []


def test_mediation_by_hand():
    """Pairs 0 … 7: q8 has no F1, q9 no AiC. the differences are by column."""
    (row,) = mediation(pairs(TEN), asked())
    assert (row["policy"], row["baseline"], row["n"], row["questions"], row["excluded"]) == ("r", "p", 8, 8, 2)
    assert row["f1"] == pytest.approx(0.125)
    assert row["em"] == pytest.approx(2 / 8)
    assert row["answer_in_context"] == pytest.approx((5 - 3) / 8)
    assert row["gold_doc_coverage"] == pytest.approx((5.0 - 4.0) / 8)
    # With the answer: 1, .5, .7, 1, .3 of the policy and .9, .6, .4 of the baseline.
    # Without: 0, .2, 0 and .2, .5, .1, 0, 0.
    given, without = (3.5 + 1.9) / 8, (0.2 + 0.8) / 8
    assert (row["f1_given_1"], row["f1_given_0"]) == pytest.approx((given, without))
    assert row["f1_expected"] == pytest.approx(0.25 * (given - without))
    for name in ("f1", "em", "answer_in_context", "gold_doc_coverage", "f1_expected"):
        assert row[f"{name}_ci"][0] <= row[name] <= row[f"{name}_ci"][1]


def test_mediation_finds_a_planted_mechanism():
    """F1 is .6 with the answer and .1 without, whatever the policy: all of ΔF1 is expected."""
    draw = np.random.default_rng(4)
    inside = draw.random((400, 2)) < (0.7, 0.4)
    values = [tuple((0.1 + 0.5 * aic + 0.05 * draw.normal(), aic) for aic in pair) for pair in inside]
    (row,) = mediation(pairs(values), asked())
    assert row["f1_expected"] == pytest.approx(row["f1"], abs=0.01)
    assert (row["f1_given_1"], row["f1_given_0"]) == pytest.approx((0.6, 0.1), abs=0.01)
    assert row["answer_in_context"] == pytest.approx(inside[:, 0].mean() - inside[:, 1].mean())
    assert row["em"] is None
    assert row["gold_doc_coverage_ci"] is None, "a metric that no pair has excludes none"


def test_mediation_where_something_is_missing():
    (row,) = mediation(pairs([((0.5, 1), (0.25, 1)), ((0.5, 1), (0.0, 1))]), asked())
    assert (row["f1"], row["answer_in_context"], row["f1_given_0"], row["f1_expected"]) == (0.375, 0.0, None, None)
    assert row["f1_expected_ci"] is None
    (row,) = mediation(pairs([((0.5, NAN), (0.25, NAN)), ((0.5, NAN), (0.0, NAN))]), asked())
    assert (row["n"], row["f1"], row["answer_in_context"], row["f1_given_1"]) == (2, 0.375, None, None)
    (row,) = mediation(pairs(TEN[:1]), asked())
    assert (row["n"], row["f1"], row["f1_ci"], row["method"]) == (1, pytest.approx(0.8), None, None)
    assert row["note"] == "one question: no interval"
    (row,) = mediation(pairs(TEN[8:9]), asked())
    assert (row["n"], row["f1"], row["excluded"], row["note"]) == (0, None, 1, "no pair has f1 on both sides")
    assert mediation(pairs([((NAN, 1), (NAN, 1))]), asked()) == []
