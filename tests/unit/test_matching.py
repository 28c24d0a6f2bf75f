"""When an answer counts as being in a context: `substring` and `dpr` beside `token`."""

import pytest

from ragpack.metrics.context import AnswerMatcher, answer_in_context, answer_position, answer_spans, lines_of_snippets
from ragpack.metrics.matcher import KEPT
from ragpack.metrics.matching import dpr_tokens

# (context, golds, token, substring, dpr)
CASES = {
    "inside a word": ("at the party", ["art"], False, True, False),
    "across a word's end": ("Paris Tower", ["is tow"], False, True, False),
    "an article between": ("Alexander the Great", ["Alexander Great"], True, True, False),
    "a leading article": ("saw Beatles", ["The Beatles"], True, True, False),
    "an article alone": ("saw the sea", ["The"], None, None, True),
    "a dot": ("the U.S. army", ["US"], True, True, False),
    "the same dots": ("the u.s. army", ["U.S."], True, True, True),
    "without the last dot": ("in the U.S", ["U.S."], True, True, False),
    "a hyphen": ("a well-known man", ["known man"], False, True, True),
    "NFC and NFD": ("in Orle\u0301ans", ["Orl\u00e9ans"], False, False, True),
    "case": ("PARIS", ["paris"], True, True, True),
    "curly quotes": ("“Paris”", ["Paris"], False, True, True),
    "number in a number": ("in 1984", ["98"], False, True, False),
    "across lines": ("x New\nYork x", ["New York"], True, True, True),
    "punctuation alone": ("so ... then", ["..."], None, None, True),
    "no golds": ("x", [], None, None, None),
    "empty context": ("", ["x"], False, False, False),
    "one gold of two": ("in Rome", ["Paris", "Rome"], True, True, True),
    "control characters part": ("New\x00York", ["New York"], False, False, True),
    "underscore": ("a_b", ["b"], False, True, True),
}


@pytest.mark.parametrize(("context", "golds", "token", "substring", "dpr"), CASES.values(), ids=CASES)
def test_in_context(context, golds, token, substring, dpr):
    for match, expected in (("token", token), ("substring", substring), ("dpr", dpr)):
        assert answer_in_context(context, golds, match) is expected, match
        assert bool(answer_spans(context, golds, match)) is bool(expected), match


SPANS = {
    "part of a word": ("At the Party!", ["art"], "substring", ["art"]),
    "over a word's end": ("Paris, Tower", ["is tow"], "substring", ["is, Tow"]),
    "twice in a word": ("banana", ["na"], "substring", ["na", "na"]),
    "behind punctuation": ("O'Neill", ["neil"], "substring", ["Neil"]),
    "a lower case that is longer": ("xİz", ["z"], "substring", ["z"]),
    "whole tokens": ("in Orle\u0301ans.", ["Orléans"], "dpr", ["Orle\u0301ans"]),
    "with its dots": ("(U.S.)", ["U.S."], "dpr", ["U.S."]),
    "leftmost and longest": ("New York City", ["New York", "New York City"], "dpr", ["New York City"]),
    "across lines": ("New\nYork", ["New York"], "dpr", ["New\nYork"]),
}


@pytest.mark.parametrize(("context", "golds", "match", "expected"), SPANS.values(), ids=SPANS)
def test_spans(context, golds, match, expected):
    assert [context[start:end] for start, end in answer_spans(context, golds, match)] == expected


def test_dpr_tokens():
    assert dpr_tokens("A-1, 東京 ½\u200b_x") == ["a", "-", "1", ",", "東京", "½", "_", "x"]
    assert dpr_tokens(" \n\x00") == []


def test_graded_is_always_by_normalised_tokens():
    found = AnswerMatcher(["art"], "substring").locate("at the party")
    assert (found.occurs, found.graded) == (True, 0.0)
    found = AnswerMatcher(["the U.S."], "dpr").locate("by US")
    assert (found.occurs, found.graded) == (False, 1.0)


def test_what_is_found_and_on_which_line():
    matcher = AnswerMatcher(["NYC", "New York", "The NYC", "Rome"])
    found = matcher.locate("x nyc\nin New\nYork, NYC NYC\n\nend")
    assert found.found == ["NYC", "New York", "The NYC"]
    assert found.lines == [0, None, 2, 2]
    assert [found.spans[0], found.spans[1]] == [(2, 5), (9, 17)]


def test_position():
    assert answer_position("x" * 10, [(5, 6), (8, 9)]) == 0.5
    assert answer_position("Rome", [(0, 4)]) == 0.0
    assert answer_position("", []) is None


OWNERS = {
    "a line each": (["A: x", "B: y"], [("a", "A"), ("b", "B")], [0, 1]),
    "headers": (["A", "x", "y", "B:", "z"], [("a", "A"), ("a", "A"), ("b", "B")], [0, 0, 1, 2, 2]),
    "a document comes again": (
        ["# A", "x", "B", "y", "A", "z"],
        [("a", "A"), ("b", "B"), ("a", "A")],
        [0, 0, 1, 1, 2, 2],
    ),
    "a snippet that is its title": (["A", "A", "x"], [("a", "A"), ("a", "A")], [0, 0, 1]),
    "no title": (["a", "x"], [("a", "")], [0, 0]),
    "one has none": (["A", "x", "y"], [("a", "A"), ("b", "")], [0, 0, 1]),
    "lines that nobody made": (["one", "two"], [("a", "A")], None),
    "fewer lines than snippets": (["one"], [("a", "A"), ("b", "B")], None),
    "an empty context": ([""], [], None),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "titles", "expected"), OWNERS.values(), ids=OWNERS)
def test_lines_of_snippets(lines, titles, expected):
    assert lines_of_snippets(lines, titles) == expected


@pytest.mark.parametrize("match", ["token", "substring", "dpr"])
def test_lone_surrogates_pass_through(match):
    found = AnswerMatcher(["x\ud800 y", "y"], match).locate("a x\ud800 y\n\udfff")
    assert found.occurs is True
    assert found.spans[0][1] == 6
    assert AnswerMatcher(["\ud800"], match).occurs("\ud800 b") is (None if match == "dpr" else True)


def test_many_lines_are_not_kept_for_ever():
    matcher = AnswerMatcher(["x y"])
    for at in range(2 * KEPT):
        assert matcher.occurs(f"{at} x y {at}")
        matcher.locate(f"{at} x y {at}\n{at} x {at}")
    assert len(matcher._lines) <= KEPT
    assert len(matcher._sizes) <= KEPT
