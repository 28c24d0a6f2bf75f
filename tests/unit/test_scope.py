"""The scope map: the four conditions by hand."""

import pytest
from diagnosed import row, stats


def scope(rows, **params):
    return stats(rows, "scope", **params)[0]


# Two golds on a, b, c; one on d. All gold retrieved for a, b, d.
MADE = [
    row("a", "p", gold=("x", "y"), all_gold_in_hits=1.0, all_gold_in_context=1.0, gold_doc_coverage=1.0, f1=0.6,
        answer_in_context=1.0, dropped=3, group="g"),
    row("b", "p", gold=("x", "y"), all_gold_in_hits=1.0, all_gold_in_context=0.0, gold_doc_coverage=0.5, f1=0.2,
        answer_in_context=0.0, dropped=1, group="g"),
    row("c", "p", gold=("x", "y"), all_gold_in_hits=0.0, all_gold_in_context=0.0, gold_doc_coverage=0.5, f1=0.9,
        answer_in_context=1.0, kind="yes_no", dropped=0, tokens=9, group="g"),
    row("d", "p", gold=("x", "x"), all_gold_in_hits=1.0, all_gold_in_context=1.0, gold_doc_coverage=1.0, f1=0.4,
        answer_in_context=1.0, dropped=0, tokens=3, group="g"),
]  # fmt: skip


def test_conditions_by_hand():
    (one,) = scope(MADE)
    assert (one["dataset"], one["budget"], one["n"], one["questions"]) == ("g", 9, 4, 4)
    assert (one["several_gold"], one["complementary"]) == (0.75, True)
    assert (one["all_gold_in_hits"], one["surfaced"]) == (0.75, True)
    assert (one["left_out"], one["binds"]) == (0.75, True), "a and b drop something, c fills its budget"
    assert (one["lost_gold"], one["lost_gold_n"]) == (pytest.approx(1 / 3), 3)
    assert (one["f1_given_1"], one["f1_given_1_n"], one["reader_limits"]) == (pytest.approx(0.5), 2, True)
    assert one["all_four"] is True
    assert "policy" not in one


def test_a_question_counts_once_however_many_rows_it_has():
    """d, or a, has four rows: its one gold document, or its two, must not outweigh the others."""
    for id, gold in (("d", ("x",)), ("a", ("x", "y"))):
        rows = MADE + [row(id, policy, gold=gold, all_gold_in_hits=1.0, group="g") for policy in "rst"]
        assert (scope(rows)[0]["several_gold"], scope(rows)[0]["all_gold_in_hits"]) == (0.75, 0.75)


def test_what_cannot_be_measured_is_unknown():
    packs = [one | {"generate": None} for one in MADE]
    for one in packs:
        one["diagnose"] = {name: value for name, value in one["diagnose"].items() if name != "f1"}
    (one,) = scope(packs)
    assert (one["f1_given_1"], one["reader_limits"], one["all_four"]) == (None, None, None)
    single = [one | {"gold": ["x"]} for one in packs]
    assert scope(single)[0]["all_four"] is False, "one condition that fails is enough"


def test_the_contrast_stands_beside():
    rows = MADE + [row(id, "r", gold=("x", "y"), all_gold_in_hits=1.0, f1=f1, group="g") for id, f1 in
                   [("a", 0.8), ("b", 0.2), ("c", None)]]  # fmt: skip
    one, other = scope(rows, contrasts=("r,p", "p,r"))
    assert (one["policy"], one["baseline"], one["score"]) == ("r", "p", "f1")
    assert (one["pairs"], one["excluded"], one["difference"]) == (2, 2, pytest.approx(0.1))
    assert one["ci"] == pytest.approx([0.0, 0.2])
    assert other["difference"] == pytest.approx(-0.1)
    assert {name: one[name] for name in ("several_gold", "left_out", "n")} == {
        name: other[name] for name in ("several_gold", "left_out", "n")
    }, "the conditions are those of all rows"


def test_datasets_are_apart():
    rows = MADE + [one | {"group": "h", "gold": ["x"], "id": one["id"] + "h"} for one in MADE]
    assert [(one["dataset"], one["complementary"]) for one in scope(rows)] == [("g", True), ("h", False)]
