"""A parsed line against the record types that a command accepts: what is wrong, where, what was found, what to do."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ragpack.errors import DataError
from ragpack.records import Answered, Diagnosed, Hits, Packed, Question, Raw, Record

MADE_BY = {Question: "import", Hits: "retrieve", Packed: "pack", Answered: "generate", Diagnosed: "diagnose"}

_EXPECTED = re.compile(
    r"Expected `(?P<type>[^`]+)`(?: of length (?P<length>\d+))?, got (?P<got>.+?)(?: - at `(?P<path>.+)`)?$"
)
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`(?: - at `(?P<path>.+)`)?$")
_WORDS = {"str": "a string", "float": "a number", "int": "a whole number", "array": "a list", "object": "an object",
          "bool": "true or false", "null": "null"}  # fmt: skip


def view(raw: object, accepted: tuple[type[Record], ...]) -> Any:  # noqa: ANN401 # one of `accepted`
    """Check a parsed line against the record types that a command accepts.

    A line without `schema` is read as the first of them. Raises `DataError` with the path of the first field
    that is wrong, the value found, and what to do.
    """
    if not isinstance(raw, dict):
        raise DataError(f"expected an object, got {_shown(raw)}", "Each line is one JSON object.")
    kind = _kind(raw.get("schema"), accepted)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _explain(str(error), raw) from None


def _kind(schema: object, accepted: tuple[type[Record], ...]) -> type[Record]:
    if schema is None:
        return accepted[0]
    for kind in accepted:
        if schema == kind.SCHEMA:
            return kind
    wanted = " or ".join(kind.SCHEMA for kind in accepted)
    name, _, version = str(schema).partition("/")
    for kind in accepted:
        if name == kind.SCHEMA.partition("/")[0] and version.isdigit():
            raise DataError(f"schema {schema} is another version; this ragpack reads {kind.SCHEMA}",
                            "Use the ragpack that wrote the file, or a newer one.")  # fmt: skip
    maker = MADE_BY.get(accepted[0])
    hint = f"`ragpack {maker}` writes {accepted[0].SCHEMA}." if maker else None
    raise DataError(f"expected {wanted}, got {_shown(schema)}", hint)


def _explain(message: str, raw: Raw) -> DataError:
    """msgspec's sentence in the words of the command line, with the value that was found."""
    missing = _MISSING.match(message)
    if missing:
        path = _path(missing["path"])
        return DataError(f"{path + ': ' if path else ''}the field '{missing['field']}' is missing")
    expected = _EXPECTED.match(message)
    if not expected:
        return DataError(message)
    path = _path(expected["path"])
    names = [part.strip() for part in expected["type"].split("|")]
    wanted = " or ".join(_WORDS.get(name, name) for name in names)
    if expected["length"]:
        wanted = f"{wanted} of {expected['length']}"
    found = _at(raw, path)
    hint = None
    if names[0] == "str" and isinstance(found, int) and not isinstance(found, bool):
        hint = f'Write "{found}": ids and texts are strings, since long numbers lose digits in JSON.'
    where = f"{path}: " if path else ""
    return DataError(f"{where}expected {wanted}, got {_shown(found)}", hint)


def _path(path: str | None) -> str:
    return (path or "$").removeprefix("$").removeprefix(".")


def _at(raw: Raw, path: str) -> object:
    value: Any = raw
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode() if not isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
