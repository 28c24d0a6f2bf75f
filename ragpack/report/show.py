"""Records as a person reads them: a question, its hits, and what each policy did with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from ragpack.records import Answered, Diagnosed, Packed

Row = Packed | Answered | Diagnosed
BOLD, GREEN, END = "\x1b[1m", "\x1b[32m", "\x1b[0m"


class Page:
    """How the text is set: with colours for a terminal, with marks elsewhere."""

    def __init__(self, colour: bool, context: bool) -> None:
        self._colour = colour
        self._context = context

    def blocks(self, rows: Iterable[Row]) -> Iterator[str]:
        """One block for each question; rows of one question stand together in a file."""
        for _, group in groupby(rows, key=lambda row: row.id):
            yield "\n".join(self._block(list(group))) + "\n\n"

    def _block(self, rows: list[Row]) -> Iterator[str]:
        first = rows[0]
        yield self._set(BOLD, f"{first.id}  {first.question}")
        if first.answers:
            yield f"  answer  {' | '.join(first.answers)}"
        if first.hits:
            gold = set(first.gold)
            names = [f"{hit.rank} {hit.title or hit.id}{' *' if hit.id in gold else ''}" for hit in first.hits]
            yield f"  hits    {'; '.join(names)}" + ("   (* gold)" if gold else "")
            missing = [one for one in first.gold if one not in {hit.id for hit in first.hits}]
            if missing:
                yield f"  missed  {'; '.join(missing)}"
        width = max(len(f"{row.pack.policy} {row.pack.budget}") for row in rows)
        for row in rows:
            yield self._line(row, width)
            if self._context:
                yield from (f"    | {line}" for line in self._marked(row).split("\n"))

    def _line(self, row: Row, width: int) -> str:
        pack = row.pack
        parts = [f"  {f'{pack.policy} {pack.budget}':<{width}}  {pack.tokens:>5} tokens"]
        if isinstance(row, Diagnosed):
            found = row.diagnose
            parts.append(
                self._set(GREEN if found.verdict in ("correct", "in_context") else "", f"{found.verdict or '–':<19}")
            )
            for name, value in (
                ("AiC", found.answer_in_context),
                ("coverage", found.gold_doc_coverage),
                ("F1", found.f1),
            ):
                parts.append(f"{name} {'–' if value is None else f'{value:.2f}'}")
        generate = getattr(row, "generate", None)
        if generate is not None:
            parts.append("→ " + " ".join(generate.answer.split()))
        return "  ".join(parts).rstrip()

    def _marked(self, row: Row) -> str:
        """The context with the places of the answer marked."""
        text = row.pack.context or "(empty)"
        spans = row.diagnose.spans if isinstance(row, Diagnosed) else None
        for start, end in reversed(spans or []):
            inside = f"{BOLD}{GREEN}{text[start:end]}{END}" if self._colour else f"[[{text[start:end]}]]"
            text = text[:start] + inside + text[end:]
        return text

    def _set(self, style: str, text: str) -> str:
        return f"{style}{text}{END}" if self._colour and style else text
