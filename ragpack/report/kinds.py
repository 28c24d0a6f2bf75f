"""Which record a line is, where a command reads all of them."""

from __future__ import annotations

from typing import NamedTuple

from ragpack.errors import DataError, UsageError, did_you_mean
from ragpack.records import RECORDS, Raw, Record

NAMES: dict[str, type[Record]] = {kind.SCHEMA.removeprefix("ragpack.").partition("/")[0]: kind for kind in RECORDS}
# A line without `schema` is the record whose own field it has; the last stage first.
_OWN = {"diagnose": "diagnosis", "generate": "answer", "pack": "pack", "hits": "hits", "question": "question",
        "text": "doc"}  # fmt: skip


class Kind(NamedTuple):
    """A line's record type."""

    record: type[Record]
    guessed: bool
    """The line has no `schema`."""


def kind_named(name: str) -> type[Record]:
    """The record type of a name such as `pack`. Raises `UsageError`.

    >>> kind_named("pack").SCHEMA
    'ragpack.pack/1'
    """
    short = name.removeprefix("ragpack.").partition("/")[0]
    if short not in NAMES:
        raise UsageError(f"--type: unknown record '{name}'. {did_you_mean(short, NAMES)}")
    return NAMES[short]


def kind_of(raw: Raw) -> Kind:
    """By `schema`, or by the fields that the line has. Raises `DataError`."""
    schema = raw.get("schema")
    if schema is None:
        name = next((name for own, name in _OWN.items() if own in raw), None)
        if name is None:
            raise DataError("no schema, and no field tells what record it is", "Write the schema into each line.")
        return Kind(NAMES[name], True)
    for kind in RECORDS:
        # Another version of a known record: `view` says what to do.
        if str(schema).partition("/")[0] == kind.SCHEMA.partition("/")[0]:
            return Kind(kind, False)
    raise DataError(f"unknown schema '{schema}'. {did_you_mean(str(schema), [kind.SCHEMA for kind in RECORDS])}")
