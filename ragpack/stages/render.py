"""From a selection to the context: lines joined, counted as a whole, cut or repaired until the budget holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragpack.candidates.snippet import span_of_beginning
from ragpack.packers.selection import Selection
from ragpack.records import Raw
from ragpack.stages.candidates import Candidates
from ragpack.tokens import cut


@dataclass
class Page:
    """Chosen candidates as lines of a context."""

    candidates: Candidates
    order: str
    taken: list[int]
    """Candidates in the order in which they were taken."""
    bodies: dict[int, str] = field(default_factory=dict)
    """Text of those that were cut."""

    def body(self, at: int) -> str:
        """What is printed of a candidate."""
        return self.bodies.get(at, self.candidates.found[at].body)

    def lines(self) -> list[list[int]]:
        """The candidates of each line, in the order of presentation."""
        found = self.candidates.found
        if not self.candidates.grouped:
            lines = [[at] for at in self.taken]
        else:
            shared: dict[int, list[int]] = {}
            for at in self.taken:
                shared.setdefault(found[at].document, []).append(at)
            lines = [sorted(line) for line in shared.values()]
        if self.order == "document":
            lines.sort()
        elif self.order == "edges":
            # 1st, 3rd, 5th, …, 6th, 4th, 2nd: what was taken last stands in the middle.
            lines = lines[::2] + lines[1::2][::-1]
        return lines

    def text(self, line: Sequence[int]) -> str:
        """A line as it is printed."""
        return self.candidates.found[line[0]].header + " ".join(map(self.body, line))


def render(candidates: Candidates, selection: Selection, budget: int, order: str = "score") -> Raw:
    """The part of a pack that the selection decides. `tokens` counts the context as it stands in a prompt, and is at
    most `budget` whatever the costs promised: tokens of a join are not the sum of tokens of its parts for every
    tokenizer, nor in every layout."""
    page = Page(candidates, order, list(selection.chosen))
    if selection.cut_last:
        _cut_last(page, budget)
    lines = page.lines()
    tokens = _tokens(page, lines)
    while sum(tokens) > budget:
        page.taken.pop()
        lines = page.lines()
        tokens = _tokens(page, lines)
    repaired = len(page.taken) < len(selection.chosen)
    step = {at: place for place, at in enumerate(selection.chosen)}
    snippets = []
    for line, size in zip(lines, tokens, strict=True):
        for at, part in zip(line, _shares(page, line, size), strict=True):
            gain = selection.gains[step[at]] if selection.gains is not None else None
            snippets.append(_snippet(page, at, part, gain))
    pack: Raw = {
        "tokens": sum(tokens),
        "context": "\n".join(page.text(line) for line in lines),
        "snippets": snippets,
        "dropped": len(candidates.found) - len(page.taken),
    }
    if selection.objective is not None and not repaired:  # F of another set is no number of this pack
        pack["objective"], pack["bound"] = selection.objective, selection.bound
    return pack


def _tokens(page: Page, lines: Sequence[Sequence[int]]) -> list[int]:
    """Tokens that each line accounts for; their sum is the count of the joined lines."""
    if not lines:
        return []
    candidates, texts = page.candidates, [page.text(line) for line in lines]
    counter = candidates.counter
    if counter.lines_add_up:
        return [*counter.lines(texts[:-1]), counter.count(texts[-1])]
    # Tokens belong to the line in which they end; a line end to the line before it.
    ends, stop, shares, before = counter.ends("\n".join(texts)), 0, [], 0
    for text in texts:
        stop += len(text) + 1
        place = sum(end.at <= stop for end in ends)
        shares.append(place - before)
        before = place
    return shares


def _shares(page: Page, line: Sequence[int], tokens: int) -> list[int]:
    """Tokens of each snippet of a line, which add up to the line's: those that end in it. The header belongs to the
    first snippet, the line end to the last."""
    if len(line) == 1:
        return [tokens]
    ends = page.candidates.counter.ends(page.text(line))
    stop, place, shares = len(page.candidates.found[line[0]].header), 0, []
    for at in line[:-1]:
        stop += len(page.body(at)) + 1
        before, place = place, sum(end.at < stop for end in ends)
        shares.append(place - before)
    return [*shares, tokens - sum(shares)]


def _cut_last(page: Page, budget: int) -> None:
    """Shorten the candidate taken last until the whole fits; leave it out where only its header would be left."""
    candidates, last = page.candidates, page.taken[-1]
    found, counter = candidates.found[last], candidates.counter
    without = Page(candidates, page.order, page.taken[:-1])
    whole_line = not candidates.grouped or all(candidates.found[at].document != found.document for at in without.taken)
    head = found.header if whole_line else ""
    if counter.lines_add_up or page.order != "score" or candidates.grouped:
        above, limit = "", budget - sum(_tokens(without, without.lines())) - (counter.slack if without.taken else 0)
    else:
        above, limit = "".join(without.text(line) + "\n" for line in without.lines()), budget
    while limit > 0:
        printed = cut(counter, above + head + found.body, limit).text[len(above) + len(head) :].rstrip()
        if not printed.strip():
            break
        page.bodies[last] = printed
        excess = sum(_tokens(page, page.lines())) - budget
        if excess <= 0:
            return
        limit -= excess
    page.taken.pop()
    page.bodies.pop(last, None)


def _snippet(page: Page, at: int, tokens: int, gain: float | None) -> Raw:
    candidates, candidate = page.candidates, page.candidates.found[at]
    document = candidates.documents[candidate.document]
    span = candidate.span
    if at in page.bodies:
        span = span_of_beginning(document.text, span, page.bodies[at])
    snippet: Raw = {
        "id": document.id,
        "title": document.title,
        "rank": document.rank,
        "span": span,
        "tokens": tokens,
        "relevance": float(candidates.problem.relevance[at]),
    }
    if gain is not None:
        snippet["gain"] = gain
    if candidate.also:
        snippet["also"] = [{"id": candidates.documents[at].id, "span": span} for at, span in candidate.also]
    return snippet
