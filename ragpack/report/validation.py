"""Files against their record types: each line checked, findings of one kind counted together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

import orjson

from ragpack.checked import view
from ragpack.errors import DataError
from ragpack.flow.mapper import parse
from ragpack.flow.streams import Line
from ragpack.records import Finding, Raw, Record, ordered
from ragpack.report.checks import Remark, key_of, named, remarks
from ragpack.report.kinds import kind_of

SHOWN = 5  # line numbers of a finding


@dataclass
class _Group:
    """Findings of one shape in one file."""

    message: str
    record: str | None
    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass
class _File:
    lines: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    groups: dict[tuple[str, str], _Group] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)


class Validation:
    """The findings about some files. Memory grows with the keys that were seen, 16 bytes each, not with the lines."""

    def __init__(self, forced: type[Record] | None = None) -> None:
        self._forced = forced
        self._files: dict[str, _File] = {}
        self._seen: set[bytes] = set()
        self.errors = 0

    def check(self, lines: Iterable[Line]) -> None:
        """Read all lines."""
        for line in lines:
            file = self._files.setdefault(line.source, _File())
            file.lines += 1
            kind: type[Record] | None = None
            try:
                raw = parse(line)
                kind, guessed = (self._forced, False) if self._forced else kind_of(raw)
                record = view(raw, (kind,))
            except DataError as error:
                self._add(file, line.number, Remark("error", error.message), kind)
                continue
            file.kinds[kind.SCHEMA] += 1
            if guessed:
                self._add(file, line.number, Remark("note", "no schema; read by the fields that it has"), kind)
            for remark in remarks(record):
                self._add(file, line.number, remark, kind)
            key = key_of(record)
            if key is not None:
                whole = orjson.dumps([kind.SCHEMA, *key], option=orjson.OPT_SORT_KEYS)
                digest = blake2b(whole, digest_size=16).digest()
                if digest in file.seen:
                    self._add(file, line.number, Remark("error", f"{named(record)}: it is there twice"), kind)
                elif digest in self._seen:
                    self._add(file, line.number, Remark("note", f"{named(record)}: it is in another file too"), kind)
                file.seen.add(digest)
                self._seen.add(digest)

    def _add(self, file: _File, number: int, remark: Remark, kind: type[Record] | None) -> None:
        self.errors += remark.level == "error"
        shape = (remark.level, _shape(remark.message))
        group = file.groups.setdefault(shape, _Group(remark.message, kind.SCHEMA if kind else None))
        group.count += 1
        if len(group.lines) < SHOWN and number not in group.lines:
            group.lines.append(number)

    def rows(self) -> Iterator[bytes]:
        """The findings as records: counts of each file, then its errors, then its notes."""
        for source, file in self._files.items():
            for schema, count in sorted(file.kinds.items()):
                yield _row({"level": "count", "source": source, "record": schema, "count": count})
            for level, group in _sorted(file):
                yield _row({"level": level, "source": source, "record": group.record, "message": group.message,
                            "count": group.count, "lines": group.lines})  # fmt: skip

    def text(self) -> Iterator[str]:
        """The findings for a person."""
        for source, file in self._files.items():
            kinds = ", ".join(f"{count} {schema}" for schema, count in sorted(file.kinds.items()))
            yield f"{source}: {file.lines} lines" + (f"; {kinds}" if kinds else "")
            for level, group in _sorted(file):
                more = ", …" if group.count > len(group.lines) else ""
                word = "line" if group.count == 1 else "lines"
                places = f"({word} {', '.join(map(str, group.lines))}{more})"
                yield f"  {level:<5} {group.count:>6} ×  {group.message}  {places}"
        found = f"{self.errors} errors" if self.errors else "no errors"
        yield found if self._files else "no lines"


def _sorted(file: _File) -> list[tuple[str, _Group]]:
    """Errors first, then by how many."""
    found = [(level, group) for (level, _), group in file.groups.items()]
    return sorted(found, key=lambda one: (one[0], -one[1].count, one[1].message))


def _row(fields: Raw) -> bytes:
    return orjson.dumps(ordered(Finding, fields), option=orjson.OPT_APPEND_NEWLINE)


def _shape(message: str) -> str:
    """A message without what differs from line to line.

    >>> _shape('hits[3].rank: expected a whole number, got 1.5')
    'hits[].rank: expected a whole number, got …'
    """
    text = re.sub(r"\[\d+\]", "[]", message.split(", got ")[0] + (", got …" if ", got " in message else ""))
    text = re.sub(r"'.*'|\".*\"", "'…'", text)  # a name may hold quotes: from the first to the last
    text = re.sub(r"^id .*?: it is", "id: it is", text)
    return re.sub(r"-?\d+(?:\.\d+)?(?:, -?\d+(?:\.\d+)?)*(?:, …)?", "N", text)
