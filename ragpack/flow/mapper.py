"""Lines through a stage: parse, check, key, look up, compute what is missing, write in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from ragpack.checked import view
from ragpack.errors import DataError, RagpackError
from ragpack.flow.heads import Heads
from ragpack.flow.keys import row_keys, stage_digest
from ragpack.flow.resume import Earlier
from ragpack.flow.streams import Line
from ragpack.records import Raw, ordered
from ragpack.stage import Outcome, Payload, Stage, Task


class Failed(NamedTuple):
    """Why a line gave no rows."""

    kind: str
    message: str
    hint: str | None
    id: str | None


class Done(NamedTuple):
    """What one line became."""

    source: str
    number: int
    rows: list[bytes]
    cached: int
    failed: Failed | None


@dataclass(slots=True)
class _Entry:
    """A line on its way."""

    line: Line
    raw: Raw = field(default_factory=dict)
    record: Any = None
    before: bytes | None = None
    """The row up to what the stage adds, where that need not be written anew."""
    keys: list[str] = field(default_factory=list)
    found: list[Payload | None] = field(default_factory=list)
    error: RagpackError | None = None

    @property
    def wanted(self) -> list[int]:
        return [cell for cell, payload in enumerate(self.found) if payload is None]


class Mapper:
    """A stage over lines. Lazy: it reads no further ahead than the stage asks."""

    def __init__(self, stage: Stage, earlier: Earlier | None = None) -> None:
        self._stage = stage
        self._earlier = earlier
        self._head = stage_digest(stage.name, stage.version, stage.fingerprints)
        self._heads = Heads(stage) if stage.tail else None

    def __call__(self, lines: Iterator[Line]) -> Iterator[Done]:
        """One `Done` a line, in order."""
        waiting: deque[_Entry] = deque()

        def tasks() -> Iterator[Task]:
            for line in lines:
                entry = self._prepare(line)
                waiting.append(entry)
                yield Task(entry.raw, entry.record, () if entry.error else entry.wanted)

        for outcome in self._stage.run(tasks()):
            yield self._finish(waiting.popleft(), outcome)

    def _prepare(self, line: Line) -> _Entry:
        entry = _Entry(line)
        try:
            known = self._heads.read(line.data) if self._heads else None
            if known:
                entry.raw, entry.record, entry.before = known
            else:
                entry.raw = parse(line)
                entry.record = view(entry.raw, self._stage.reads)
                if self._heads:
                    self._heads.keep(line.data, entry.raw, entry.record)
            entry.keys = row_keys(self._stage, self._head, entry.record)
            entry.found = [self._earlier.get(key) if self._earlier else None for key in entry.keys]
        except DataError as error:
            entry.error = error
        except orjson.JSONEncodeError as error:
            entry.error = _unwritable(error)
        return entry

    def _finish(self, entry: _Entry, outcome: Outcome) -> Done:
        error = entry.error
        rows: list[bytes] = []
        cached = 0
        if error is None and isinstance(outcome, RagpackError):
            error = outcome
        elif error is None and not isinstance(outcome, RagpackError):
            wanted = entry.wanted
            assert len(outcome) == len(wanted), f"{self._stage.name} gave {len(outcome)} of {len(wanted)} rows"
            cached = len(entry.found) - len(wanted)
            for cell, payload in zip(wanted, outcome, strict=True):
                payload[self._stage.name]["key"] = entry.keys[cell]
                entry.found[cell] = payload
            try:
                if entry.before is not None:
                    rows = [self._added(entry.before, payload) for payload in entry.found if payload is not None]
                    return Done(entry.line.source, entry.line.number, rows, cached, None)
                base = self._stage.base(entry.raw, entry.record) if self._stage.base else entry.raw
                rows = [self._row(base, payload) for payload in entry.found if payload is not None]
            except orjson.JSONEncodeError as failure:
                error = _unwritable(failure)
        failed = None
        if error is not None:
            identity = entry.raw.get("id")
            failed = Failed(
                type(error).__name__, error.message, error.hint, identity if isinstance(identity, str) else None
            )
        return Done(entry.line.source, entry.line.number, rows, cached, failed)

    def _row(self, base: Raw, payload: Payload) -> bytes:
        fields = {**base, **payload}
        return orjson.dumps(ordered(self._stage.writes, fields), option=orjson.OPT_APPEND_NEWLINE)

    def _added(self, before: bytes, payload: Payload) -> bytes:
        return b'%b,"%b":%b}\n' % (before, self._stage.name.encode(), orjson.dumps(payload[self._stage.name]))


def _unwritable(error: orjson.JSONEncodeError) -> DataError:
    """orjson reads deeper nesting than it writes."""
    return DataError(f"can't be written as JSON: {error}", "More than 250 levels of nesting are too many.")


def parse(line: Line) -> Raw:
    """A line's object. Raises `DataError`."""
    if not line.data.strip():
        raise DataError("the line is empty", "Remove it, or pass over such lines with --on-error skip.")
    try:
        raw = orjson.loads(line.data)
    except orjson.JSONDecodeError as error:
        raise DataError(f"not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise DataError("expected an object", "Each line is one JSON object.")
    return raw
