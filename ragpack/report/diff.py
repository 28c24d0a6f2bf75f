"""Two policies side by side: what each of them alone put into the context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ragpack.errors import UsageError, did_you_mean
from ragpack.records import Diagnosed, Snippet
from ragpack.report.paint import DIM, GREEN, RED, Paint
from ragpack.report.show import ROWS, Page, Row, Shown, shown_number, spans_of, text_of


class Policies(NamedTuple):
    """The two that are compared."""

    left: str
    right: str


class Diff:
    """Pairs of rows that differ in the policy alone: same question, budget, tokenizer, reader."""

    def __init__(self, paint: Paint, page: Page, policies: Policies) -> None:
        self._paint = paint
        self._page = page
        self._policies = policies

    def blocks(self, shown: Iterable[Shown]) -> Iterator[str]:
        """One block for each pair, as soon as both are there. Raises `UsageError` where a policy has no rows."""
        waiting: dict[tuple[object, ...], Row] = {}
        seen: set[str] = set()
        pairs = 0
        for one in shown:
            row: Row = one.record
            if type(row) not in ROWS:
                continue
            seen.add(row.pack.policy)
            if row.pack.policy not in self._policies:
                continue
            generate = getattr(row, "generate", None)
            rest = (row.id, row.pack.budget, row.pack.unit, generate.model if generate else None)
            other = self._policies[row.pack.policy == self._policies.left]
            partner = waiting.pop((other, *rest), None)
            if partner is None:
                waiting[row.pack.policy, *rest] = row
                continue
            pairs += 1
            left, right = (row, partner) if row.pack.policy == self._policies.left else (partner, row)
            yield "\n".join(self._pair(left, right)) + "\n\n"
        for name in self._policies:
            if seen and name not in seen:
                raise UsageError(f"--diff: no row of the policy '{name}'. {did_you_mean(name, seen)}")
        if seen and not pairs:
            raise UsageError("--diff: no question has rows of both policies at one budget, tokenizer and reader")

    def _pair(self, left: Row, right: Row) -> Iterator[str]:
        yield from self._page.head(left)
        width = max(len(f"{row.pack.policy} {row.pack.budget}") for row in (left, right))
        for row in (left, right):
            yield self._page.line(row, width)
        if isinstance(left, Diagnosed) and isinstance(right, Diagnosed):
            ours, theirs = left.diagnose, right.diagnose
            verdicts = f"{self._page.verdict(ours.verdict)} → {self._page.verdict(theirs.verdict)}"
            yield f"  verdict {verdicts}   F1 {shown_number(ours.f1)} → {shown_number(theirs.f1)}"
        mine, others = _pieces(left), _pieces(right)
        alone = [(left, mine[key]) for key in mine if key not in others]
        new = [(right, others[key]) for key in others if key not in mine]
        both = [(left, mine[key]) for key in mine if key in others]
        for title, style, sign, found in (
            (f"only {left.pack.policy}", RED, "-", alone),
            (f"only {right.pack.policy}", GREEN, "+", new),
            ("both", DIM, "=", both),
        ):
            yield self._paint.set(style, f"  {title}: {len(found)}")
            yield from (f"    {self._paint.set(style, sign)} {self._snippet(row, one)}" for row, one in found)

    def _snippet(self, row: Row, snippet: Snippet) -> str:
        text = text_of(row, snippet)
        start = row.pack.context.find(text) if text else -1
        end = start + len(text)
        spans = [(a - start, b - start) for a, b in spans_of(row) if 0 <= start <= a and b <= end]
        shown = self._paint.answers(text, spans) if text else f"[{snippet.span[0]}, {snippet.span[1]}]"
        return f"{snippet.rank:>2} {self._paint.gold(snippet.id in row.gold)} {shown}"


def _pieces(row: Row) -> dict[tuple[str, int, tuple[int, int]], Snippet]:
    """Snippets by document and span: one that was cut to fit is another one."""
    return {(snippet.id, snippet.rank, snippet.span): snippet for snippet in row.pack.snippets}
