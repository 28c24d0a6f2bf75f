"""Records as a person reads them: a question, its hits, and what each policy did with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from ragpack.metrics.context import AnswerMatcher
from ragpack.records import Answered, Diagnosed, Doc, Hit, Hits, Packed, Question, Raw, Record, Snippet
from ragpack.report.paint import BOLD, DIM, GREEN, RED, Paint
from ragpack.stages.measure import owners_of
from ragpack.text import Span

ROWS = (Packed, Answered, Diagnosed)
Row = Packed | Answered | Diagnosed


class Shown(NamedTuple):
    """A record, and the line that it came from: it may have fields that this version doesn't know."""

    record: Any
    raw: Raw


class Page:
    """How records are set."""

    def __init__(self, paint: Paint, context: bool, snippets: bool) -> None:
        self._paint = paint
        self._context = context
        self._snippets = snippets

    def blocks(self, shown: Iterable[Shown]) -> Iterator[str]:
        """One block for each question; rows of one question stand together in a file."""
        for (kind, _), group in groupby(shown, key=_together):
            records = list(group)
            if kind in ROWS:
                yield "\n".join(self._rows(records)) + "\n\n"
            else:
                for one in records:
                    yield "\n".join(self._other(one)) + ("\n\n" if self._is_long(one.record) else "\n")

    def _is_long(self, record: Record) -> bool:
        return isinstance(record, (Question, Hits)) or (isinstance(record, Doc) and self._context)

    # Rows of packs, answers and the diagnostic

    def _rows(self, shown: list[Shown]) -> Iterator[str]:
        first: Row = shown[0].record
        yield from self.head(first)
        width = max(len(f"{one.record.pack.policy} {one.record.pack.budget}") for one in shown)
        for one in shown:
            row: Row = one.record
            yield self.line(row, width)
            if self._context:
                yield from (f"    | {line}" for line in self._marked(row).split("\n"))
            if self._snippets:
                yield from self._choice(row, one.raw)

    def head(self, record: Question | Hits | Row) -> Iterator[str]:
        """The question, its answers and its hits."""
        paint = self._paint
        yield paint.set(BOLD, f"{record.id}  {record.question}")
        if record.answers:
            yield paint.set("", f"  answer  {' | '.join(record.answers)}")
        if isinstance(record, Question):
            return
        if record.hits:
            gold = set(record.gold)
            names = [f"{hit.rank} {hit.title or hit.id}{' *' if hit.id in gold else ''}" for hit in record.hits]
            yield paint.set("", f"  hits    {'; '.join(names)}" + ("   (* gold)" if gold else ""))
        found = {hit.id for hit in record.hits}
        missing = [one for one in record.gold if one not in found]
        if missing:
            yield paint.set("", f"  missed  {'; '.join(missing)}")
        yield from self._probed(record)

    def _probed(self, record: Hits | Row) -> Iterator[str]:
        """What the reader said of each hit, a line a kind; `answer` where the hit has one."""
        probe = record.probe
        for kind, sign in (("ig", "+"), ("qlm", ""), ("yesno", "")):
            scores = [(hit, (hit.scores or {}).get(kind)) for hit in record.hits]
            if not any(score is not None for _, score in scores):
                continue
            said = [f"{hit.rank} {'–' if score is None else f'{score:{sign}.3f}'}{' answer' * bool(hit.has_answer)}"
                    for hit, score in scores]  # fmt: skip
            alone = f"   (alone NU {probe.nu0:.3f})" if kind == "ig" and probe and probe.nu0 is not None else ""
            yield self._paint.set("", f"  {kind:<7} {'; '.join(said)}{alone}")

    def line(self, row: Row, width: int) -> str:
        """What a policy did, in one line."""
        pack = row.pack
        parts = [self._paint.set("", f"  {f'{pack.policy} {pack.budget}':<{width}}  {pack.tokens:>5} tokens")]
        if isinstance(row, Diagnosed):
            found = row.diagnose
            parts.append(self.verdict(found.verdict, 19))
            for name, value in (
                ("AiC", found.answer_in_context),
                ("coverage", found.gold_doc_coverage),
                ("F1", found.f1),
            ):
                parts.append(f"{name} {shown_number(value)}")
        generate = getattr(row, "generate", None)
        if generate is not None:
            parts.append(self._paint.set("", "→ " + " ".join(generate.answer.split())))
        return "  ".join(parts).rstrip()

    def verdict(self, verdict: str | None, width: int = 0) -> str:
        """Green where the answer is there, red where packing lost it."""
        good = verdict in ("correct", "in_context")
        style = GREEN if good else RED if verdict == "dropped_by_packing" else ""
        return self._paint.set(style, f"{verdict or '–':<{width}}")

    def _marked(self, row: Row) -> str:
        context = row.pack.context
        return self._paint.answers(context, spans_of(row)) if context else "(empty)"

    def _choice(self, row: Row, raw: Raw) -> Iterator[str]:
        """What was kept, in the order of the text, and what was not, where the pack tells."""
        gold = set(row.gold)
        marked = [owner for owner in owners_of_spans(row) if owner is not None]
        for at, snippet in enumerate(row.pack.snippets):
            answer = self._paint.set(GREEN, "  answer") if at in marked else ""
            gain = "" if snippet.gain is None else f"  gain {snippet.gain:.3f}"
            yield (
                f"    + {self._piece(snippet.rank, snippet.id in gold, snippet.title or snippet.id, snippet.span)}"
                f"  {snippet.tokens} tokens  relevance {snippet.relevance:.3f}{gain}{answer}"
            )
        kept = {(snippet.id, tuple(snippet.span)) for snippet in row.pack.snippets}
        titles = {hit.id: hit.title or hit.id for hit in row.hits}
        explained = raw["pack"].get("explain")
        for one in explained if isinstance(explained, list) else []:
            if not isinstance(one, dict) or (one.get("id"), tuple(one.get("span") or ())) in kept:
                continue
            name = titles.get(str(one.get("id")), str(one.get("id")))
            facts = [f"{word} {_number(one[key])}" for word, key in _FACTS if one.get(key) is not None]
            piece = self._piece(one.get("rank", 0), one.get("id") in gold, name, one.get("span") or (0, 0))
            yield (
                self._paint.set(DIM, "    - ")
                + piece
                + self._paint.set(DIM, f"  {'  '.join([str(one.get('reason') or 'dropped'), *facts])}")
            )
        if explained is None and row.pack.dropped:
            yield self._paint.set(DIM, f"    - {row.pack.dropped} more (`pack --explain` says why)")

    def _piece(self, rank: int, is_gold: bool, title: str, span: Any) -> str:  # noqa: ANN401 # a list or a tuple
        return f"{rank:>2} {self._paint.gold(is_gold)} {self._paint.set('', title)} [{span[0]}, {span[1]}]"

    # Other records

    def _other(self, shown: Shown) -> Iterator[str]:
        record = shown.record
        if isinstance(record, (Question, Hits)):
            yield from self.head(record)
            yield from self._documents(record)
        elif isinstance(record, Doc):
            yield from self._document(record, False, [])
        else:
            pairs = {key: value for key, value in shown.raw.items() if key != "schema" and value is not None}
            title = pairs.pop("table", None) or pairs.pop("level", None) or pairs.pop("stage", None) or ""
            words = [f"{name} {_number(value)}" for name, value in pairs.items()]
            yield f"{self._paint.set(BOLD, title)}  {self._paint.set('', '  '.join(words))}"

    def _documents(self, record: Question | Hits) -> Iterator[str]:
        gold = set(record.gold)
        if isinstance(record, Hits):
            if self._context:
                for hit in record.hits:
                    yield from self._document(hit, hit.id in gold, record.answers)
            return
        missing = [name for name in record.gold if record.docs is None or name not in {doc.id for doc in record.docs}]
        if missing:
            yield self._paint.set("", f"  gold    {'; '.join(missing)}")
        for doc in record.docs or []:
            yield from self._document(doc, doc.id in gold, record.answers)

    def _document(self, doc: Doc | Hit, is_gold: bool, answers: list[str]) -> Iterator[str]:
        size = f"{len(doc.text)} characters" if doc.text is not None else "no text"
        title = f" {doc.title}" if doc.title and doc.title != doc.id else ""
        yield f"  {self._paint.gold(is_gold)} {self._paint.set('', doc.id + title)}  {self._paint.set(DIM, size)}"
        if self._context and doc.text:
            text = self._paint.answers(doc.text, AnswerMatcher(answers).spans(doc.text))
            yield from (f"    | {line}" for line in text.split("\n"))


def spans_of(row: Row) -> list[Span]:
    """Where the answer is: as `diagnose` found it, else by token match."""
    if isinstance(row, Diagnosed) and row.diagnose.spans is not None:
        size = len(row.pack.context)
        return sorted(span for span in row.diagnose.spans if 0 <= span[0] <= span[1] <= size)
    return AnswerMatcher(row.answers).spans(row.pack.context)


def owners_of_spans(row: Row) -> list[int | None]:
    """The snippet of each of `spans_of`."""
    if isinstance(row, Diagnosed) and row.diagnose.span_snippets is not None:
        return row.diagnose.span_snippets
    owners = owners_of(row.pack.context, row.pack.snippets)
    lines = AnswerMatcher(row.answers).locate(row.pack.context).lines
    return [None if owners is None or line is None else owners[line] for line in lines]


def text_of(row: Row, snippet: Snippet) -> str:
    """A snippet's lines in the context; nothing where they can't be told."""
    owners = owners_of(row.pack.context, row.pack.snippets) or []
    at = next(at for at, one in enumerate(row.pack.snippets) if one is snippet)
    lines = [line for owner, line in zip(owners, row.pack.context.split("\n"), strict=False) if owner == at]
    return " ".join(lines)


def shown_number(value: float | None) -> str:
    """Two digits, or a dash for what is undefined."""
    return "–" if value is None else f"{value:.2f}"


def _together(shown: Shown) -> tuple[type, str | None]:
    kind = type(shown.record)
    return (ROWS[0] if kind in ROWS else kind), getattr(shown.record, "id", None)


def _number(value: object) -> str:
    if isinstance(value, dict):
        return ": ".join(map(_number, value.values()))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_FACTS = (("step", "step"), ("relevance", "relevance"), ("cost", "cost"), ("gain", "gain"))
