"""What an export is, and the loop that feeds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ragpack.checked import view
from ragpack.errors import DataError, UsageError, did_you_mean
from ragpack.flow.mapper import parse
from ragpack.flow.run import Fail
from ragpack.flow.streams import lines
from ragpack.metrics.context import lines_of_snippets
from ragpack.records import Answered, Diagnosed, Hits, Packed, Raw, Record

Row = Packed | Answered | Diagnosed
Ranked = Hits | Row
RANKED: tuple[type[Record], ...] = (Hits, Packed, Answered, Diagnosed)


class Export(Protocol):
    """A format."""

    ACCEPTS: tuple[type[Record], ...]
    """Record types; the first is that of a line without `schema`."""

    def take(self, record: Any, raw: Raw, /) -> bytes | None:  # noqa: ANN401 # one of ACCEPTS
        """What a record adds; empty where that went to a file of its own, `None` for nothing. Raises `DataError`."""

    def end(self) -> bytes:
        """What stands at the end."""


class Passage(NamedTuple):
    """A passage as the reader was given it."""

    id: str
    title: str | None
    text: str
    score: float | None


class Selection(NamedTuple):
    """Rows of contexts that are wanted; every record that is no context is."""

    policies: frozenset[str] = frozenset()
    budgets: frozenset[int] = frozenset()

    def has(self, record: Record) -> bool:
        """Is this record wanted?"""
        pack = getattr(record, "pack", None)
        return pack is None or (
            (not self.policies or pack.policy in self.policies) and (not self.budgets or pack.budget in self.budgets)
        )


def exported(
    export: Export, files: Sequence[str], wanted: Selection, fail: Fail, count: Callable[[], None]
) -> Iterator[bytes]:
    """The export of all files, a block for each record that adds something. Raises `UsageError` where no row is of the
    wanted policies and budgets."""
    policies: set[str] = set()
    budgets: set[int] = set()
    chosen = 0
    last: bytes | None = None  # kept back, so that the end of a format is no row of its own
    for line in lines(files):
        raw: Raw = {}
        try:
            raw = parse(line)
            record = view(raw, export.ACCEPTS)
            pack = getattr(record, "pack", None)
            if pack is not None:
                policies.add(pack.policy)
                budgets.add(pack.budget)
            is_wanted = wanted.has(record)
            chosen += is_wanted
            block = export.take(record, raw) if is_wanted else None
        except DataError as error:
            if last is not None:
                yield last
                last = None
            fail(line.source, line.number, error, raw.get("id"))
            continue
        count()
        if block is not None:
            if last is not None:
                yield last
            last = block
    if policies and not chosen:
        for policy in wanted.policies - policies:
            raise UsageError(f"--policy: no row of '{policy}'. {did_you_mean(policy, policies)}")
        raise UsageError("no row has this policy and budget", f"Budgets: {', '.join(map(str, sorted(budgets)))}.")
    end = export.end()
    if last is not None or end:
        yield (last or b"") + end


class Once:
    """Each question once: rows of several policies and budgets repeat its hits."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._seen: dict[str, int] = {}

    def is_new(self, identity: str, value: object) -> bool:
        """Is this question new? Raises `DataError` where it is not, and has another value than before."""
        digest = hash(repr(value))
        if identity not in self._seen:
            self._seen[identity] = digest
            return True
        if self._seen[identity] != digest:
            raise DataError(f"the question is there already, with {self._what}", "Export the files one by one.")
        return False


class OneRow:
    """One context of each question."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def check(self, record: Any) -> None:  # noqa: ANN401 # a record with an id
        """Raises `DataError` for the second row of a question."""
        pack = getattr(record, "pack", None)
        own = f"{pack.policy} at {pack.budget}" if pack else "the same question"
        if record.id in self._seen:
            before = self._seen[record.id]
            raise DataError(
                f"a second row of this question: {before}, and {own}",
                "Choose one context with --policy and --budget." if pack and before != own else "Ids are unique here.",
            )
        self._seen[record.id] = own


def passages(record: Ranked) -> list[Passage]:
    """What the reader was given: the documents of the context, in its order, each with its lines as they stand there
    (header included); of hits, the hits. Raises `DataError` for a hit without text."""
    if isinstance(record, Hits):
        found = []
        for place, hit in enumerate(record.hits):
            if hit.text is None:
                raise DataError(f"hits[{place}]: the field 'text' is missing", "Export what `retrieve` wrote.")
            found.append(Passage(hit.id, hit.title, hit.text, hit.score))
        return found
    pack = record.pack
    titles = {snippet.id: snippet.title for snippet in pack.snippets}
    lines_of_context = pack.context.split("\n")
    owners = lines_of_snippets(lines_of_context, [(one.id, one.title or "") for one in pack.snippets])
    scores = {hit.id: hit.score for hit in record.hits}
    if owners is None:  # a compressor's context: its lines are no snippets
        return [Passage("context", None, pack.context, None)] if pack.context else []
    texts: dict[str, list[str]] = {}
    for line, owner in zip(lines_of_context, owners, strict=True):
        texts.setdefault(pack.snippets[owner].id, []).append(line)
    return [Passage(name, titles[name], "\n".join(parts), scores.get(name)) for name, parts in texts.items()]
