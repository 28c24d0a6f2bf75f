"""The context metrics against slow and obvious implementations."""

import unicodedata
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from ragpack.metrics.context import AnswerMatcher
from ragpack.metrics.matching import MATCHES, dpr_tokens, located_dpr_tokens
from ragpack.metrics.normalise import located_tokens, normalise, tokens, tokens_at

# Few words, so that golds do occur; pieces with every trap of the normaliser. No "Σ": its lower case depends
# on the letters around it, also across an article that is cut out.
PIECES = st.sampled_from(
    ["x", "y", "Y", "z", "xy", "the", "A", "an", "U.S.", "us", "x-y", "(x)", "y,", "z.", "“the”", "x–a",
     "a–y", "–", "“", "İ", "İa", "e\u0301", "a\u0301", "...", "_", "the_", "、", "\u22125", "\x00a", "😀"]
)  # fmt: skip
GAPS = st.sampled_from([" ", " ", " ", "  ", "\n", "\u00a0", "\u3000", "\x1c", "", "-"])


@st.composite
def texts(draw, longest=14):
    return "".join(piece + draw(GAPS) for piece in draw(st.lists(PIECES, max_size=longest)))


any_text = texts() | st.text(max_size=20).filter(lambda text: "Σ" not in text)
gold_lists = st.lists(texts(longest=4), max_size=3)


def naive_occurs(words, gold):
    return any(words[at : at + len(gold)] == gold for at in range(len(words) - len(gold) + 1))


def naive_graded(words, gold):
    width = 2 * len(gold)
    windows = [words[at : at + width] for at in range(max(1, len(words) - width + 1))]
    return max((Counter(window) & Counter(gold)).total() for window in windows) / len(gold)


@given(any_text, gold_lists)
@example("york york new x", ["New York New York"])
def test_against_naive(context, golds):
    words = tokens(context)
    known = [gold for gold in map(tokens, golds) if gold]
    measured = AnswerMatcher(golds).measure(context)
    if not known:
        assert measured == (None, None)
        return
    assert measured.occurs is any(naive_occurs(words, gold) for gold in known)
    assert measured.graded == max(naive_graded(words, gold) for gold in known)


@given(
    st.lists(st.sampled_from("bcdexxxx"), max_size=40),
    st.lists(st.lists(st.sampled_from("bcde"), min_size=1, max_size=6), min_size=1, max_size=3),
)
def test_graded_against_naive_windows(words, golds):
    matcher = AnswerMatcher([" ".join(gold) for gold in golds])
    assert matcher.graded(" ".join(words)) == max(naive_graded(words, gold) for gold in golds)


@given(any_text, gold_lists)
def test_the_parts_agree_with_measure(context, golds):
    matcher = AnswerMatcher(golds)
    assert (matcher.occurs(context), matcher.graded(context)) == matcher.measure(context)


@given(texts(), texts(longest=4), texts())
def test_a_planted_gold_occurs_and_grades_one(before, gold, after):
    measured = AnswerMatcher([gold]).measure(f"{before} {gold} {after}")
    assert measured == ((True, 1.0) if normalise(gold) else (None, None))


@given(any_text, gold_lists)
def test_spans_exist_just_when_the_answer_occurs(context, golds):
    matcher = AnswerMatcher(golds)
    assert bool(matcher.spans(context)) is bool(matcher.occurs(context))


@given(any_text, gold_lists)
def test_the_text_at_a_span_normalises_to_a_gold(context, golds):
    spans = AnswerMatcher(golds).spans(context)
    wanted = {normalise(gold) for gold in golds}
    for start, end in spans:
        assert normalise(context[start:end]) in wanted
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)  # in order, none inside another
    assert all(start < end <= len(context) for start, end in spans)


@given(any_text | st.text())
def test_located_tokens_are_the_tokens(context):
    located = located_tokens(context)
    assert [token.text for token in located] == tokens(context)
    edges = [edge for token in located for edge in (token.start, token.end)]
    assert edges == sorted(edges)


@given(st.text())
def test_normalise_twice_deletes_no_more_punctuation(text):
    once = normalise(text)
    assert once == " ".join(once.split())
    assert not set(once) & set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def regex_dpr(text):
    """DPR's tokens, character by character."""
    found, word = [], ""
    for char in unicodedata.normalize("NFD", text) + " ":
        if unicodedata.category(char)[0] in "LNM":
            word += char
            continue
        found += [word.lower()] if word else []
        found += [char.lower()] if unicodedata.category(char)[0] not in "ZC" else []
        word = ""
    return found


@given(any_text, gold_lists)
def test_dpr_against_naive(context, golds):
    known = [gold for gold in map(regex_dpr, golds) if gold]
    words = regex_dpr(context)
    assert dpr_tokens(context) == words
    expected = any(naive_occurs(words, gold) for gold in known) if known else None
    assert AnswerMatcher(golds, "dpr").occurs(context) is expected
    assert [token.text for token in located_dpr_tokens(context)] == words


@given(any_text, gold_lists)
def test_substring_against_naive(context, golds):
    known = [gold for gold in map(normalise, golds) if gold]
    expected = any(gold in normalise(context) for gold in known) if known else None
    assert AnswerMatcher(golds, "substring").occurs(context) is expected


@given(any_text, gold_lists, st.sampled_from(["token", "substring", "dpr"]))
def test_places_by_brute_force(context, golds, match):
    matcher = AnswerMatcher(golds, match)
    found = matcher.locate(context)
    assert found.occurs is matcher.occurs(context)
    assert bool(found.spans) is bool(found.occurs)
    ends = [at for at, char in enumerate(context) if char == "\n"]
    for (start, end), line in zip(found.spans, found.lines, strict=True):
        assert 0 <= start < end <= len(context)
        inside = context[start:end]
        assert line == (None if "\n" in inside else sum(stop < start for stop in ends))
        if match == "substring":
            assert any(normalise(gold) in normalise(inside) for gold in golds if normalise(gold))
        else:
            assert MATCHES[match].tokens(inside) in [MATCHES[match].tokens(gold) for gold in golds]
    assert found.found == [gold for gold in dict.fromkeys(golds) if AnswerMatcher([gold], match).occurs(context)]


@given(any_text, gold_lists, st.sampled_from(["token", "substring", "dpr"]))
def test_lines_kept_change_nothing(context, golds, match):
    """The second look at a text is from memory; so are lines that other texts share."""
    matcher = AnswerMatcher(golds, match)
    first = matcher.locate(context)
    matcher.locate("\n".join(reversed(context.split("\n"))))
    assert matcher.locate(context) == first == AnswerMatcher(golds, match).locate(context)


@given(any_text, st.data())
def test_some_tokens_are_those_of_all(context, data):
    located = located_tokens(context)
    wanted = data.draw(st.sets(st.integers(0, len(located) - 1))) if located else set()
    assert tokens_at(context, wanted) == {at: located[at] for at in wanted}
