"""Where a question was lost."""

import itertools
from typing import get_args

import pytest

from ragpack.metrics.verdict import Verdict, verdict

CASES = {  # em, supported by the context, supported by the hits
    "correct": (1.0, True, True, "correct"),
    "right_without_support": (1.0, False, True, "unsupported_correct"),
    "right_without_any_support": (1.0, False, False, "unsupported_correct"),
    "reader_missed": (0.0, True, True, "in_context_missed"),
    "packing_lost": (0.0, False, True, "dropped_by_packing"),
    "retrieval_lost": (0.0, False, False, "not_retrieved"),
    "no_reader_in_context": (None, True, True, "in_context"),
    "no_reader_packing_lost": (None, False, True, "dropped_by_packing"),
    "no_reader_retrieval_lost": (None, False, False, "not_retrieved"),
    "context_unknown": (0.0, None, True, None),
    "right_but_context_unknown": (1.0, None, True, None),
    "hits_unknown": (0.0, False, None, None),
    "hits_unknown_not_needed": (0.0, True, None, "in_context_missed"),
    "right_hits_unknown_not_needed": (1.0, False, None, "unsupported_correct"),
}


@pytest.mark.parametrize(("em", "in_context", "in_hits", "expected"), CASES.values(), ids=CASES)
def test_a_span_is_judged_by_the_answer(em, in_context, in_hits, expected):
    for gold_context, gold_hits in itertools.product((None, 0.0, 1.0), repeat=2):
        given = {"all_gold_in_context": gold_context, "all_gold_in_hits": gold_hits}
        assert verdict(kind="span", em=em, in_context=in_context, in_hits=in_hits, **given) == expected


@pytest.mark.parametrize(("em", "gold_context", "gold_hits", "expected"), CASES.values(), ids=CASES)
def test_yes_no_is_judged_by_the_gold_documents(em, gold_context, gold_hits, expected):
    for in_context, in_hits in itertools.product((None, False, True), repeat=2):
        given = {"all_gold_in_context": gold_context, "all_gold_in_hits": gold_hits}
        assert verdict(kind="yes_no", em=em, in_context=in_context, in_hits=in_hits, **given) == expected


def test_zeros_and_ones_serve_as_truth_values():
    given = {"all_gold_in_context": 0.0, "all_gold_in_hits": 1.0}
    assert verdict(kind="yes_no", em=0.0, in_context=True, in_hits=True, **given) == "dropped_by_packing"


def test_an_answer_of_no_kind_has_no_verdict():
    nothing = {"in_context": None, "in_hits": None, "all_gold_in_context": 1.0, "all_gold_in_hits": 1.0}
    assert verdict(kind="empty", em=1.0, **nothing) is None
    assert verdict(kind=None, em=None, **nothing) is None


def test_every_verdict_is_reached():
    assert {expected for *_, expected in CASES.values()} - {None} == set(get_args(Verdict))
