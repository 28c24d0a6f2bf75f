"""From a method that knows rates to a context that keeps a budget: search the rate, count what comes out.

No method promises a number of tokens, least of all of the reader's. So the rate is searched, and what counts is the
count of the whole context by the reader's tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragpack.candidates.snippet import Document, header_of, one_line
from ragpack.compressors.base import Compressed, Kept
from ragpack.tokens import Counter, cut


class Words(NamedTuple):
    """What a method keeps of one document."""

    document: int
    text: str
    aligned: bool = True


class Line(NamedTuple):
    """A line of the context."""

    document: int
    header: str
    body: str

    @property
    def text(self) -> str:
        """As it is printed."""
        return self.header + self.body


def fit(
    counter: Counter,
    documents: Sequence[Document],
    budget: int,
    *,
    header: bool,
    levels: int,
    at_rate: Callable[[float], list[Words]],
) -> Compressed:
    """The largest rate k / levels whose context has at most `budget` reader tokens: k / levels fits, and the next
    one was tried and does not.

    `at_rate(rate)` gives what is kept of the documents that have text, in the order of their lines. Everything that
    fits uncompressed is left as it is, and the method is not asked. The count is taken to grow with the rate; where
    it does not, the context found still fits, but a larger rate may fit too.
    """
    whole = [
        Line(at, header_of(one.title) if header else "", one_line(one.text))
        for at, one in enumerate(documents)
        if one.text.strip()
    ]
    original = counter.count(_joined(whole))
    if original <= budget:
        return _compressed(counter, whole, original, 1.0 if whole else None, 0)
    if budget <= 0:
        return _compressed(counter, [], original, None, 0)

    headers = {line.document: line.header for line in whole}
    tried: dict[int, tuple[list[Words], list[Line]]] = {}

    def lines_at(level: int) -> list[Line]:
        words = at_rate(level / levels)
        lines = [Line(one.document, headers[one.document], one_line(one.text)) for one in words]
        lines = [line for line in lines if line.body]
        tried[level] = words, lines
        return lines

    fits, over, stays = _Tried(0, 0), _Tried(levels, original), 0
    while over.level - fits.level > 1:
        level = _next(fits, over, budget, stays)
        tokens = counter.count(_joined(lines_at(level)))
        if tokens <= budget:
            fits, stays = _Tried(level, tokens), max(stays, 0) + 1
        else:
            over, stays = _Tried(level, tokens), min(stays, 0) - 1
    words, lines = tried[fits.level or 1]
    if not fits.level:
        lines = _cut(counter, lines, budget)
    unaligned = sum(not one.aligned for one in words)
    return _compressed(counter, lines, original, (fits.level or 1) / levels, len(tried), not fits.level, unaligned)


class _Tried(NamedTuple):
    level: int
    tokens: int


def _next(fits: _Tried, over: _Tried, budget: int, stays: int) -> int:
    """The level to try between one that fits and one that is over: where a line through both meets the budget.

    `stays` says how many tries in a row have fitted, or (negative) were over. While one end stays where it is, its
    distance from the budget is halved each time, so that the next try falls beyond the budget (the Illinois method).
    On simulated counts it took about 5 tries and 9 at most, where halving takes 7 or 8.

    >>> _next(_Tried(0, 0), _Tried(100, 500), 160, 0), _next(_Tried(32, 160), _Tried(100, 500), 160, 1)
    (32, 33)
    >>> [_next(_Tried(0, 60), _Tried(60, 260), 160, stays) for stays in (1, 2, -2)]
    [30, 40, 20]
    """
    below = (budget - fits.tokens) * 0.5 ** max(0, -stays - 1)
    above = (over.tokens - budget) * 0.5 ** max(0, stays - 1)
    share = below / (below + above) if below + above > 0 else 0.5
    level = fits.level + round(share * (over.level - fits.level))
    return min(max(level, fits.level + 1), over.level - 1)


def _joined(lines: Sequence[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _cut(counter: Counter, lines: Sequence[Line], budget: int) -> list[Line]:
    """The lines that a beginning of the context within the budget still shows; no line with a header alone."""
    left = cut(counter, _joined(lines), budget).text
    found: list[Line] = []
    start = 0
    for line in lines:
        shown = left[start : start + len(line.text)]
        if len(shown) <= len(line.header):
            break
        found.append(line._replace(body=shown[len(line.header) :]))
        start += len(line.text) + 1
    # Subtle: without the line that only had its header left, the end may be counted otherwise.
    while found and counter.count(_joined(found)) > budget:
        found.pop()
    return found


def _compressed(
    counter: Counter,
    lines: Sequence[Line],
    original: int,
    asked: float | None,
    steps: int,
    truncated: bool = False,
    unaligned: int = 0,
) -> Compressed:
    # The count of each beginning, less the one before it: for any tokenizer they add up to the count of the whole.
    sums = [counter.count(_joined(lines[: end + 1])) for end in range(len(lines))]
    parts = [now - before for before, now in zip([0, *sums], sums, strict=False)]
    kept = [Kept(line.document, line.body, tokens) for line, tokens in zip(lines, parts, strict=True)]
    total = sums[-1] if sums else 0
    return Compressed(_joined(lines), kept, total, original, asked, steps, truncated, unaligned)
