"""What survives into the context: worked cases."""

import pytest

from ragpack.metrics.context import (
    AnswerMatcher,
    Occurrence,
    all_gold_in_context,
    answer_in_context,
    answer_spans,
    gold_doc_coverage,
    gold_token_density,
    graded_answer_in_context,
)

OCCURS = {
    "token_boundary": ("at the party", ["art"], False),
    "no_is_not_in_know": ("we know", ["no"], False),
    "first_token": ("art at last", ["art"], True),
    "last_token": ("at last art", ["art"], True),
    "whole_context": ("Art!", ["art"], True),
    "contiguous": ("New and York", ["New York"], False),
    "order": ("York New", ["New York"], False),
    "article_between_is_transparent": ("Alexander the Great", ["Alexander Great"], True),
    "punctuation_between_is_transparent": ("Paris, France", ["Paris France"], True),
    "across_sentences": ("He saw Paris. France was far.", ["Paris France"], True),
    "abbreviation": ("in the U.S. then", ["US"], True),
    "hyphen_joins": ("the-end", ["end"], False),
    "curly_quotes_hide": ("“Paris”", ["Paris"], False),
    "any_gold": ("in Rome", ["Paris", "Rome"], True),
    "one_gold_empty": ("in Rome", ["The", "Paris"], False),
    "empty_context": ("", ["Paris"], False),
    "no_golds": ("in Rome", [], None),
    "all_golds_empty": ("in Rome", ["The", "..."], None),
}


@pytest.mark.parametrize(("context", "golds", "expected"), OCCURS.values(), ids=OCCURS)
def test_answer_in_context(context, golds, expected):
    assert answer_in_context(context, golds) is expected
    assert AnswerMatcher(golds).measure(context).occurs is expected
    assert bool(answer_spans(context, golds)) is bool(expected)


GRADED = {
    # m = 2, windows of 4 tokens
    "occurs": ("x x x Barack Obama x", ["Barack Obama"], 1.0),
    "reordered_in_window": ("Obama x x Barack", ["Barack Obama"], 1.0),
    "one_token_too_far": ("Obama x x x Barack", ["Barack Obama"], 0.5),
    "articles_take_no_room": ("Obama x the x a Barack", ["Barack Obama"], 1.0),
    "half": ("Obama won", ["Barack Obama"], 0.5),
    "none": ("someone won", ["Barack Obama"], 0.0),
    "one_token_gold": ("we know", ["no"], 0.0),
    # m = 4 with a repeat: the window holds new ×1, york ×2, so 1 + 2
    "multiset_lacks_a_copy": ("york york new x", ["New York New York"], 0.75),
    "multiset_surplus_not_counted": ("york york york x", ["New York New York"], 0.5),
    # m = 3, windows of 6: the surplus copies of "b" that leave must not lower the overlap
    "surplus_leaves": ("b b b x x c x d x", ["b c d"], 1.0),
    "shorter_than_window": ("d x b", ["b c d e"], 0.5),
    "best_gold": ("b x x", ["b c d", "b e"], 0.5),
    "empty_context": ("", ["Paris"], 0.0),
    "no_golds": ("x", [], None),
    "all_golds_empty": ("x", ["The"], None),
}


@pytest.mark.parametrize(("context", "golds", "expected"), GRADED.values(), ids=GRADED)
def test_graded(context, golds, expected):
    assert graded_answer_in_context(context, golds) == expected


SPANS = {
    "plain": ("He saw Paris today", ["paris"], ["Paris"]),
    "end_punctuation_left_out": ('In "Paris", he', ["Paris"], ["Paris"]),
    "abbreviation_keeps_its_dot": ("the (U.S.) army", ["US"], ["U.S."]),
    "abbreviation_loses_other_signs": ("the U.S., then", ["US"], ["U.S."]),
    "decimal_loses_the_stop": ("It is 3.14.", ["3.14"], ["3.14"]),
    "inner_punctuation": ("x the-end y", ["theend"], ["the-end"]),
    "article_inside": ("Alexander the Great!", ["Alexander Great"], ["Alexander the Great"]),
    "leading_article_left_out": ("saw The Beatles", ["The Beatles"], ["Beatles"]),
    "punctuation_between": ("Paris , -- France", ["Paris France"], ["Paris , -- France"]),
    "each_occurrence": ("Rome, rome ROME", ["rome"], ["Rome", "rome", "ROME"]),
    "longest_at_a_place": ("New York City", ["New York", "New York City"], ["New York City"]),
    "leftmost_of_overlaps": ("New York City", ["York City", "New York"], ["New York"]),
    "self_overlap": ("x x x", ["x x"], ["x x"]),
    "lower_lengthens_before": ("İİİ Paris", ["Paris"], ["Paris"]),
    "lower_lengthens_inside": ("in İzmir.", ["İzmir"], ["İzmir"]),
    "article_beside_a_dash": ("see x–a–İ. now", ["–i\u0307 now"], ["–İ. now"]),
    "article_in_curly_quotes": ("“The” end", ["” end"], ["” end"]),
    "long_piece_beside_an_article": ("in x.yz–a. now", ["xyz–"], ["x.yz–"]),
    "astral": ("😀 Paris 😀", ["Paris"], ["Paris"]),
    "absent": ("in Rome", ["Paris"], []),
    "undefined": ("in Rome", ["The"], []),
}


@pytest.mark.parametrize(("context", "golds", "expected"), SPANS.values(), ids=SPANS)
def test_spans(context, golds, expected):
    assert [context[start:end] for start, end in answer_spans(context, golds)] == expected


def test_span_offsets():
    assert answer_spans("Rome, the U.S. of Rome", ["Rome", "U.S."]) == [(0, 4), (10, 14), (18, 22)]


def test_one_matcher_serves_many_contexts():
    matcher = AnswerMatcher(["New York", "NYC"])
    for _ in range(2):  # no state is left behind
        assert matcher.measure("in NYC") == Occurrence(True, 1.0)
        assert matcher.measure("York x x x New") == Occurrence(False, 0.5)
    assert matcher.graded("York x New") == 1.0
    assert matcher.occurs("York x New") is False


def test_gold_documents():
    assert gold_doc_coverage(["a", "x", "a"], ["a", "b"]) == 0.5
    assert gold_doc_coverage(["b", "a"], ["a", "b", "a"]) == 1.0  # a repeated gold is one document
    assert gold_doc_coverage([], ["a"]) == 0.0
    assert gold_doc_coverage(["a"], []) is None
    assert all_gold_in_context(["b", "x", "a"], ["a", "b"]) == 1.0
    assert all_gold_in_context(["a"], ["a", "b"]) == 0.0
    assert all_gold_in_context([], ["a"]) == 0.0
    assert all_gold_in_context(["a"], []) is None


def test_gold_token_density():
    # 30 + 20 of 125: 50 elsewhere, 25 between the snippets
    assert gold_token_density([("a", 30), ("x", 50), ("a", 20)], 125, ["a", "b"]) == 0.4
    assert gold_token_density([("x", 50)], 50, ["a"]) == 0.0
    assert gold_token_density([], 0, ["a"]) is None
    assert gold_token_density([("a", 5)], 5, []) is None
    assert gold_token_density([("a", 6)], 5, ["a"]) == 1.0  # counted apart a snippet can be a token longer
