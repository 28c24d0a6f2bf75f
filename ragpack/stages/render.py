"""From a selection to the context: lines joined, counted as a whole, cut or repaired until the budget holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragpack.candidates.problem import Problem
from ragpack.candidates.snippet import Candidate, Document, span_of_beginning
from ragpack.packers.selection import Selection
from ragpack.records import Raw
from ragpack.tokens import Counter, LineCount, cut


@dataclass
class Candidates:
    """The candidates of one question in one space, shared by all policies and budgets."""

    documents: Sequence[Document]
    found: Sequence[Candidate]
    counts: Sequence[LineCount]
    """Tokens of each candidate's line."""
    problem: Problem
    counter: Counter
    counted: dict[str, int] = field(default_factory=dict)
    """Cut lines and whole contexts that were counted; policies often agree."""


def render(candidates: Candidates, selection: Selection, budget: int) -> Raw:
    """The part of a pack that the selection decides. `tokens` counts the context as it stands, and is at most
    `budget` whatever the costs promised: tokens of a join are not the sum of tokens of its parts for every
    tokenizer."""
    chosen = list(selection.chosen)
    lines = [candidates.found[at].line for at in chosen]
    if selection.cut_last:
        _cut_last(candidates, chosen, lines, budget)
    parts = _parts(candidates, chosen, lines)
    while sum(parts) > budget:
        chosen.pop()
        lines.pop()
        parts = _parts(candidates, chosen, lines)
    repaired = len(chosen) < len(selection.chosen)
    gains = selection.gains
    snippets = [
        _snippet(candidates, at, line, tokens, gains[place] if gains is not None else None)
        for place, (at, line, tokens) in enumerate(zip(chosen, lines, parts, strict=True))
    ]
    pack: Raw = {
        "tokens": sum(parts),
        "context": "\n".join(lines),
        "snippets": snippets,
        "dropped": len(candidates.found) - len(chosen),
    }
    if selection.objective is not None and not repaired:  # F of another set is no number of this pack
        pack["objective"], pack["bound"] = selection.objective, selection.bound
    return pack


def _parts(candidates: Candidates, chosen: Sequence[int], lines: Sequence[str]) -> list[int]:
    """Tokens that each line accounts for; their sum is the count of the joined lines."""
    if not lines:
        return []
    counter = candidates.counter
    if counter.lines_add_up:
        parts = [candidates.counts[at].inside for at in chosen]
        whole = lines[-1] == candidates.found[chosen[-1]].line
        parts[-1] = candidates.counts[chosen[-1]].last if whole else _count(candidates, lines[-1])
        return parts
    # The count of each beginning, less the one before it.
    sums = [_count(candidates, "\n".join(lines[: end + 1])) for end in range(len(lines))]
    return [now - before for before, now in zip([0, *sums], sums, strict=False)]


def _count(candidates: Candidates, text: str) -> int:
    if text not in candidates.counted:
        candidates.counted[text] = candidates.counter.count(text)
    return candidates.counted[text]


def _cut_last(candidates: Candidates, chosen: list[int], lines: list[str], budget: int) -> None:
    """Shorten the last line until the whole fits; leave it out where nothing but its header would be left."""
    counter = candidates.counter
    last = candidates.found[chosen[-1]]
    if counter.lines_add_up:
        before = sum(candidates.counts[at].inside for at in chosen[:-1])
        line, tokens = cut(counter, last.line, budget - before)
        candidates.counted[line] = tokens
    else:
        above = "".join(line + "\n" for line in lines[:-1])
        line = cut(counter, above + last.line, budget).text[len(above) :]
    if len(line) > len(last.header):
        lines[-1] = line
    else:
        chosen.pop()
        lines.pop()


def _snippet(candidates: Candidates, at: int, line: str, tokens: int, gain: float | None) -> Raw:
    candidate = candidates.found[at]
    document = candidates.documents[candidate.document]
    span = candidate.span
    if len(line) < len(candidate.line):
        span = span_of_beginning(document.text, span, line[len(candidate.header) :])
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
    return snippet
