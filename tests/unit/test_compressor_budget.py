"""Compression under a budget, without a model: the search for a rate, and the source's spacing."""

import pytest
import trained
from ostra import TEXTS, documents

from ragpack.compressors.budget import Words, fit
from ragpack.compressors.perplexity import segment
from ragpack.compressors.spacing import as_in_source, between
from ragpack.tokens.regex import RegexCounter


def words(kept):
    """A method that keeps the first kept(rate) words of each text."""

    def at_rate(rate, texts=TEXTS):
        return [Words(at, " ".join(text.split()[: kept(rate, len(text.split()))])) for at, text in enumerate(texts)]

    return at_rate


@pytest.mark.parametrize("name", trained.NAMES)
def test_every_budget_is_kept_and_no_larger_rate_fits(name):
    counter, found = trained.counter(name), documents(*TEXTS)
    at_rate = words(lambda rate, n: int(rate * n))
    for budget in range(0, 90, 3):
        done = fit(counter, found, budget, header=True, levels=100, at_rate=at_rate)
        assert done.tokens == counter.count(done.text) <= budget
        assert sum(one.tokens for one in done.kept) == done.tokens
        assert done.text == "\n".join(f"Ostra: {one.text}" for one in done.kept)
        if done.asked is None or done.asked == 1:
            continue
        # By brute force over all rates; where a larger text may have fewer tokens, the next rate at least is over.
        counts = [
            counter.count("\n".join(f"Ostra: {one.text}" for one in at_rate(level / 100) if one.text))
            for level in range(100)
        ]
        level = round(done.asked * 100)
        assert level == 99 or counts[level + 1] > budget
        if counts == sorted(counts):
            assert level == max(at for at in range(100) if counts[at] <= budget)
        assert done.steps <= 14


def test_what_fits_is_left_as_it_is_and_the_method_is_not_asked():
    def never(rate):
        raise AssertionError("asked")

    done = fit(RegexCounter(), documents("a  b", " ", "c"), 99, header=True, levels=100, at_rate=never)
    assert (done.text, done.asked, done.achieved, done.steps) == ("Ostra: a b\nOstra: c", 1.0, 1.0, 0)
    nothing = fit(RegexCounter(), documents("", " "), 9, header=True, levels=100, at_rate=never)
    assert (nothing.text, nothing.kept, nothing.asked, nothing.achieved) == ("", [], None, None)
    closed = fit(RegexCounter(), documents("a b"), 0, header=True, levels=100, at_rate=never)
    assert (closed.text, closed.asked, closed.achieved, closed.original) == ("", None, 0.0, 4)


def test_a_method_that_never_fits_is_cut_and_says_so():
    """`Ostra` `:` and words; the second line has no room for a word behind its header."""
    stubborn = words(lambda rate, n: 4)
    done = fit(RegexCounter(), documents(*TEXTS), 8, header=True, levels=100, at_rate=stubborn)
    assert (done.text, done.tokens, done.truncated, done.asked) == ("Ostra: Ostra Bridge crosses the", 6, True, 0.01)
    done = fit(RegexCounter(), documents(*TEXTS), 9, header=True, levels=100, at_rate=stubborn)
    assert (done.text.split("\n")[1], done.tokens) == ("Ostra: A", 9)


def test_spacing_is_the_source_s():
    source = "The U.S. Army, in 東京 (1,500)."
    cut = ["The", "U", ".", "S", ".", "Army", ",", "in", "東", "京", "(", "1", ",", "500", ")", "."]
    assert as_in_source(source, cut, [True] * len(cut)) == source.replace("in ", "in ")
    assert as_in_source(source, cut, [one not in ("Army", "in", "(") for one in cut]) == "The U.S. , 東京 1,500)."
    assert as_in_source(source, ["the"], [True]) is None


def test_pieces_of_tokens():
    """Tokens of `ab cd`: `ab`, ` c`, `d`; a character of two tokens goes with the first of them."""
    assert between([2, 4, 5], [True, True, True], 0, 5) == [(0, 5)]
    assert between([2, 4, 5], [False, True, False], 0, 5) == [(2, 4)]
    assert between([1, 1, 2], [True, False, True], 0, 2) == [(0, 2)]
    assert between([1, 1, 2], [False, True, True], 0, 2) == [(1, 2)]
    assert between([3, 7], [True, True], 1, 4) == [(1, 4)], "clipped to the document"


def test_segments_leave_no_tail():
    for tokens in range(1, 3000):
        assert tokens % segment(tokens) < tokens / segment(tokens), tokens
