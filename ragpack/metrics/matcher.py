"""One question's golds against many contexts: whether an answer is there, how nearly, and where.

The contexts of a question share most of their lines, one for each snippet, so what a line holds is worked out once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ragpack.metrics.matching import MATCHES, Matching, place_inside
from ragpack.metrics.normalise import cut, normalise, tokens, without_punctuation

KEPT = 4096  # lines of one question; a context has some tens


class Occurrence(NamedTuple):
    """Whether, and how nearly, an answer is in a context."""

    occurs: bool | None
    graded: float | None


class Answers(NamedTuple):
    """What of the golds is in a context, and where."""

    occurs: bool | None
    graded: float | None
    spans: list[tuple[int, int]]
    """Characters [start, end) of each occurrence, in order."""
    lines: list[int | None]
    """The line, from 0, that each occurrence is in; `None` across a line end."""
    found: list[str]
    """The golds that occur, as they were given."""


class _Line(NamedTuple):
    needles: frozenset[int]
    """The golds that occur."""
    opens: bool
    """An occurrence may begin here and end in a later line."""
    hits: list[tuple[int, str]]
    """Normalised tokens that are in a gold, by their place."""
    spans: list[tuple[int, int]]


_BARE = _Line(frozenset(), False, [], [])


class AnswerMatcher:
    """One question's golds, normalised once for many contexts; `match` is a name in `MATCHES`.

    >>> matcher = AnswerMatcher(["The U.S. Congress"])
    >>> matcher.measure("by the US Congress"), matcher.measure("a congress in Berlin")
    (Occurrence(occurs=True, graded=1.0), Occurrence(occurs=False, graded=0.5))
    """

    def __init__(self, golds: Iterable[str], match: str = "token") -> None:
        golds = list(golds)
        self._match: Matching = MATCHES[match]
        forms: dict[str, list[str]] = {}
        for gold in golds:
            form = " ".join(self._match.tokens(gold))
            if form:
                forms.setdefault(form, []).append(gold)
        # No token holds a blank, so with one at each end a substring is a run of whole tokens.
        self._edge = " " if self._match.whole else ""
        # The longest first: where two begin at one place it is taken.
        longest = sorted(forms, key=len, reverse=True)
        self._needles = [f"{self._edge}{form}{self._edge}" for form in longest]
        self._given = list(dict.fromkeys(golds))
        self._needle_of = {gold: at for at, form in enumerate(longest) for gold in forms[form]}
        self._beginnings = tuple(
            {self._edge + form[:at] for form in forms for at, char in enumerate(form) if char == " "}
        )
        plain = self._match.tokens is tokens
        words = [form.split() for form in (forms if plain else dict.fromkeys(map(normalise, golds))) if form]
        self._counts = [Counter(one) for one in words]
        self._vocabulary = frozenset(word for one in words for word in one)
        # Most lines hold no word of a gold, and that is seen before they are cut into tokens.
        self._traces = [word.encode("utf-8", "surrogatepass") for word in self._vocabulary] if plain else None
        self._lines: dict[str, _Line] = {}
        self._sizes: dict[str, int] = {}
        self._whole_tokens = plain and self._match.whole

    def occurs(self, text: str) -> bool | None:
        """`answer_in_context` of this text."""
        return bool(self._inside(self._form(text))) if self._needles else None

    def graded(self, text: str) -> float | None:
        """`graded_answer_in_context` of this text."""
        return self.measure(text).graded

    def measure(self, text: str) -> Occurrence:
        """Both at once."""
        found = self.locate(text)
        return Occurrence(found.occurs, found.graded)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """`answer_spans` of this text."""
        return self.locate(text).spans

    def locate(self, text: str) -> Answers:
        """All of it at once."""
        if not self._needles and not self._counts:
            return Answers(None, None, [], [], [])
        kept, texts = self._lines, text.split("\n")
        lines = [kept[one] if one in kept else self._line(one) for one in texts]
        inside: set[int] = set()
        opens = False
        for line in lines:
            if line is _BARE:
                continue
            inside |= line.needles
            opens = opens or line.opens
        spans: list[tuple[int, int]] = []
        numbers: list[int | None] = []
        if opens and len(lines) > 1 and (across := self._inside(self._form(text))):
            inside |= across
            # Only now is it worth the whole text: an occurrence across lines may take the place of one inside a line.
            spans, numbers = _with_lines(self._located(text, self._form(text)), texts)
        elif inside:
            start = 0
            for number, (line, one) in enumerate(zip(lines, texts, strict=True)):
                if line.spans:
                    spans += [(start + begin, start + end) for begin, end in line.spans]
                    numbers += [number] * len(line.spans)
                start += len(one) + 1
        occurs = bool(inside) if self._needles else None
        found = [gold for gold in self._given if self._needle_of.get(gold) in inside] if inside else []
        graded = 1.0 if inside and self._whole_tokens else self._graded(lines, texts)  # a window holds all of it
        return Answers(occurs, graded, spans, numbers, found)

    def _line(self, text: str) -> _Line:
        if len(self._lines) >= KEPT:
            self._lines.clear()
        self._lines[text] = line = self._looked_at(text)
        return line

    def _looked_at(self, text: str) -> _Line:
        if self._traces is None:
            form, plain = self._form(text), tokens(text)
        else:
            low = without_punctuation(text)
            for trace in self._traces:
                if trace in low:
                    break
            else:
                return _BARE
            plain = cut(low.decode("utf-8", "surrogatepass"))
            form = " ".join(plain)
        needles = self._inside(form)
        known = self._vocabulary
        hits = [] if known.isdisjoint(plain) else [(at, word) for at, word in enumerate(plain) if word in known]
        opens = (self._edge + form).endswith(self._beginnings)
        return _Line(needles, opens, hits, self._located(text, form) if needles else [])

    def _form(self, text: str) -> str:
        return " ".join(self._match.tokens(text))

    def _inside(self, form: str) -> frozenset[int]:
        haystack = f"{self._edge}{form}{self._edge}"
        return frozenset([at for at, needle in enumerate(self._needles) if needle in haystack])

    def _located(self, text: str, form: str) -> list[tuple[int, int]]:
        places = [
            (form.count(" ", 0, start), form.count(" ", 0, end), start, end) for start, end in self._occurrences(form)
        ]
        located = self._match.at(text, {at for first, last, _, _ in places for at in (first, last)})
        spans = []
        for first, last, start, end in places:
            begin, stop = located[first].start, located[last].end
            if not self._match.whole:
                # The tokens' texts, from the blank before to the blank behind.
                inner = start - form.rfind(" ", 0, start) - 1
                if inner:
                    begin = place_inside(text, located[first], inner, len(located[first].text))[0]
                inner = end - form.rfind(" ", 0, end) - 1
                if inner < len(located[last].text):
                    stop = place_inside(text, located[last], 0, inner)[1]
            spans.append((begin, stop))
        return spans

    def _occurrences(self, form: str) -> Iterator[tuple[int, int]]:
        """[start, end) in a form: the leftmost, there the longest, and so on behind it."""
        edge = len(self._edge)
        haystack = f"{self._edge}{form}{self._edge}"
        at = 0
        while True:
            best, size = -1, 0
            for needle in self._needles:
                start = haystack.find(needle, at)
                if start >= 0 and (best < 0 or start < best):
                    best, size = start, len(needle)
            if best < 0:
                return
            yield best, best + size - 2 * edge
            at = best + size - edge

    def _size(self, text: str) -> int:
        if text not in self._sizes:
            if len(self._sizes) >= KEPT:
                self._sizes.clear()
            self._sizes[text] = len(tokens(text))
        return self._sizes[text]

    def _graded(self, lines: list[_Line], texts: list[str]) -> float | None:
        if not self._counts:
            return None
        with_hits = [number for number, line in enumerate(lines) if line.hits]
        if not with_hits:
            return 0.0
        # Only the tokens of a gold can change an overlap; the others set the distance between them.
        hits = lines[with_hits[0]].hits
        if len(with_hits) > 1:
            hits, at = [], 0
            for number in range(with_hits[0], with_hits[-1] + 1):
                hits += [(at + place, word) for place, word in lines[number].hits]
                at += self._size(texts[number])
        return max([_best_overlap(hits, counts) / counts.total() for counts in self._counts])


def _with_lines(spans: list[tuple[int, int]], texts: list[str]) -> tuple[list[tuple[int, int]], list[int | None]]:
    """The spans as they are, and the line of each."""
    ends, at = [], 0
    for text in texts:
        at += len(text) + 1
        ends.append(at)
    numbers = []
    for start, end in spans:
        first = next(number for number, stop in enumerate(ends) if start < stop)
        numbers.append(first if end < ends[first] else None)
    return spans, numbers


def _best_overlap(hits: list[tuple[int, str]], wanted: Counter[str]) -> int:
    """The largest multiset overlap of a gold with a window of twice its length; `hits` by position.

    Windows that end at a hit are enough: moving any window's end back to its last hit loses nothing, and a
    window that so begins before the text is part of the first full one. Each hit enters and leaves once.
    """
    size = wanted.total()
    left, overlap, best = 0, 0, 0
    lacking = dict(wanted)
    inside = [hit for hit in hits if hit[1] in lacking]
    for at, word in inside:
        while inside[left][0] <= at - 2 * size:
            gone = inside[left][1]
            overlap -= lacking[gone] >= 0  # below 0 it was a surplus copy and never counted
            lacking[gone] += 1
            left += 1
        overlap += lacking[word] > 0
        lacking[word] -= 1
        best = max(best, overlap)
    return best
