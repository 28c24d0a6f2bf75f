"""The entries of a dataset file: a JSON list, JSON Lines, or objects written over several lines, told apart by the
first line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import orjson

from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.flow.streams import Line, lines

_BLANK = re.compile(r"[\s,]*")
_END = json.JSONDecoder()


class Entry(NamedTuple):
    """One entry of a dataset file."""

    source: str
    number: int
    """Line, or place in the list, from 1."""
    value: dict[str, Any]


def entries(path: str, fail: Fail) -> Iterator[Entry]:
    """The objects of a file; what is no object goes to `fail`, and so does an empty file. What is not JSON Lines is
    read at once."""
    stream = lines([path])
    first = next((line for line in stream if line.data.strip()), None)
    if first is None:
        fail("<stdin>" if path == "-" else path, 1, DataError("the file is empty"), None)
        return
    ahead = list(islice(stream, 1))
    everything = chain([first], ahead, stream)
    if first.data.lstrip().startswith(b"["):
        found = _whole(everything, fail, True)
    elif _goes_on(first, ahead):
        found = _whole(everything, fail, False)
    else:
        found = _lines(everything, fail)
    for source, number, value in found:
        if isinstance(value, dict):
            yield Entry(source, number, value)
        else:
            fail(source, number, DataError("expected an object"), None)


def head(path: str) -> dict[str, Any] | bytes | None:
    """The first entry of a file, read no further than needed; its first line where that is no JSON, `None` for an
    empty file. Objects that are no entry are passed over."""
    text, last, tried = "", None, 0
    for line in lines([path]):
        last = line.data if last is None and line.data.strip() else last
        text += line.data.decode("utf-8", "replace") + "\n"
        # Twice as much each time: a list of one entry a line costs no more than its first entry.
        if last is not None and len(text) >= 2 * tried:
            tried = len(text)
            found = _first_of(text)
            if found is not None:
                return found
            if not text.lstrip().startswith(("[", "{")):
                return last
    return _first_of(text) or last


def _first_of(text: str) -> dict[str, Any] | None:
    start = text.lstrip()
    start = start[1:].lstrip() if start.startswith("[") else start
    try:
        value = _END.raw_decode(start)[0]
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _goes_on(first: Line, ahead: list[Line]) -> bool:
    """The first line is the beginning of an object that ends on a later one. Where the next line is an object by
    itself, it is a torn line of JSON Lines."""
    if not first.data.lstrip().startswith(b"{") or not ahead or _is_json(first.data):
        return False
    return not _is_json(ahead[0].data) or not ahead[0].data.lstrip().startswith(b"{")


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def _whole(stream: Iterator[Line], fail: Fail, listed: bool) -> Iterator[tuple[str, int, Any]]:
    """The entries of a list, or objects one after another, each written over several lines."""
    first = next(stream)
    data = b"\n".join([first.data, *(line.data for line in stream)])
    try:
        values = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        yield from _parts(first, data, error, fail, listed)
        return
    for number, value in enumerate(values if listed else [values], 1):
        yield first.source, number, value


def _parts(first: Line, data: bytes, error: ValueError, fail: Fail, listed: bool) -> Iterator[tuple[str, int, Any]]:
    """Entry by entry, as far as they go: what stands before the place where a file was cut is not lost."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as broken:
        fail(first.source, first.number + data[: broken.start].count(b"\n"), DataError(f"not UTF-8: {broken}"), None)
        return
    at, number = text.find("[") + 1 if listed else 0, 0
    while True:
        at = _BLANK.match(text, at).end()  # type: ignore[union-attr] # it matches nothing as well
        if at >= len(text) or (listed and text[at] == "]"):
            break
        try:
            end = _END.raw_decode(text, at)[1]
        except json.JSONDecodeError as reason:
            why = f"not JSON: entry {number + 1} begins at {_place(first, text, at)}, and then: {reason}"
            _tell(fail, first, text, reason.pos, why)
            return
        number += 1
        piece = text[at:end]
        try:
            yield first.source, number, orjson.loads(piece)
        except orjson.JSONDecodeError as reason:
            fail(first.source, number, DataError(f"not JSON: {reason}"), None)
        at = end
    if listed and at >= len(text):
        _tell(fail, first, text, len(text), f"the list is cut off after entry {number}, at {_place(first, text, at)}")
    elif listed and text[at + 1 :].strip():
        _tell(fail, first, text, at + 1, f"not JSON: {error}")


def _tell(fail: Fail, first: Line, text: str, at: int, message: str) -> None:
    fail(first.source, first.number + text.count("\n", 0, at), DataError(message), None)


def _place(first: Line, text: str, at: int) -> str:
    """Line and column from 1, and the byte from 0."""
    line = first.number + text.count("\n", 0, at)
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return f"line {line}, column {column} (byte {len(text[:at].encode())})"


def _lines(stream: Iterator[Line], fail: Fail) -> Iterator[tuple[str, int, Any]]:
    for line in stream:
        if not line.data.strip():
            continue
        try:
            yield line.source, line.number, orjson.loads(line.data)
        except orjson.JSONDecodeError as error:
            fail(line.source, line.number, DataError(f"not JSON: {error}"), None)
