"""Rows of one question come one after another and begin with the same bytes: those are read and written once.

`pack` writes a line for each policy and budget; only its last fields differ. A line whose beginning is that of the line
before needs only its end parsed, and its row is that beginning, its own end as it came, and what the stage adds. Every
doubt (other keys, other types, a beginning that is spelled otherwise) sends the line down the plain way, so that no
check is lost and rows that ragpack wrote give the same bytes on both.
"""

from __future__ import annotations

import dataclasses
import types
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
import orjson

from ragpack.records import Raw, Record, field_names
from ragpack.stage import Stage


class Known(NamedTuple):
    """A line of which the beginning was known."""

    raw: Raw
    """Its fields less the tail."""
    record: Any
    """Has the fields of the record type, by name."""
    before: bytes
    """The output row up to what the stage adds."""


class Heads:
    """The beginning of the last line that was read in full."""

    def __init__(self, stage: Stage) -> None:
        self._tail = stage.tail
        self._writes = stage.writes
        self._kinds = {kind: _Kind(kind, stage.tail) for kind in stage.reads if stage.name not in _names(kind)}
        self._begins: bytes | None = None
        self._kind: _Kind
        self._raw: Raw
        self._record: Any
        self._written: bytes

    def keep(self, data: bytes, raw: Raw, record: Record) -> None:
        """Remember a line that was read in full, if it is spelled as a row is written."""
        self._begins = None
        kind = self._kinds.get(type(record))
        if kind is None:
            return
        names = [name for name in _names(type(record)) if name in raw and name not in self._tail]
        head = {name: raw[name] for name in names}
        begins = b'{"schema":"%b",%b,"%b":' % (
            type(record).SCHEMA.encode(), orjson.dumps(head)[1:-1], self._tail[0].encode(),
        )  # fmt: skip
        if not data.startswith(begins) or len(raw) != 1 + len(head) + sum(name in raw for name in self._tail):
            return
        self._kind, self._raw, self._begins = kind, head, begins
        self._written = b'{"schema":"%b"%b' % (
            self._writes.SCHEMA.encode(), begins[len(type(record).SCHEMA) + len('{"schema":""') :],
        )  # fmt: skip
        self._record = kind.whole(**{name: getattr(record, name) for name in _names(type(record))})

    def read(self, data: bytes) -> Known | None:
        """The line, if it begins as the last one did and its end is beyond doubt."""
        if self._begins is None or not data.startswith(self._begins):
            return None
        size = len(self._begins)
        end = data[size:]
        # msgspec is as strict as orjson where every field has its type, but orjson writes an escape as the character.
        if not end.endswith(b"}") or b"\\u" in end:
            return None
        try:
            tail = self._kind.decode(b'{"%b":%b' % (self._tail[0].encode(), end))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        record = self._record.__copy__()
        for name in self._kind.names:
            setattr(record, name, getattr(tail, name))
        return Known(self._raw, record, self._written + end[:-1])


class _Kind:
    """A record type whose tail is read by itself, nothing unknown allowed."""

    def __init__(self, kind: type[Record], tail: tuple[str, ...]) -> None:
        hints = get_type_hints(kind)
        fields = {field.name: field for field in dataclasses.fields(kind)}
        self.names = [name for name in fields if name in tail]
        self.whole = msgspec.defstruct(kind.__name__, [(name, Any) for name in fields])
        self.decode = msgspec.json.Decoder(
            msgspec.defstruct(
                f"{kind.__name__}Tail",
                [_field(fields[name], hints[name]) for name in self.names],
                forbid_unknown_fields=True,
            )
        ).decode


def _names(kind: type[Record]) -> tuple[str, ...]:
    return field_names(kind)  # type: ignore[arg-type] # mypy takes a dataclass for unhashable


def _field(field: dataclasses.Field[Any], hint: object) -> Any:  # noqa: ANN401 # what defstruct takes
    if field.default is not dataclasses.MISSING:
        return field.name, _strict(hint), field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.name, _strict(hint), msgspec.field(default_factory=field.default_factory)
    return field.name, _strict(hint)


def _strict(hint: Any) -> Any:  # noqa: ANN401 # a type of any form
    """The type with each dataclass in it as a struct of the same fields and no others."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint)
        fields = sorted(dataclasses.fields(hint), key=lambda field: _has_default(field))
        # gc: a record is a tree, and there is nothing for the collector to find in it.
        return msgspec.defstruct(
            hint.__name__,
            [_field(field, hints[field.name]) for field in fields],
            forbid_unknown_fields=True,
            gc=False,
        )
    inside = tuple(_strict(part) for part in get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return Union[inside]  # noqa: UP007 # made at run time
    return get_origin(hint)[inside] if inside else hint


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
