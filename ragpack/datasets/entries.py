"""The entries of a dataset file: a JSON list, or JSON Lines, told apart by the first character."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import orjson

from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.flow.streams import Line, lines


class Entry(NamedTuple):
    """One entry of a dataset file."""

    source: str
    number: int
    """Line, or place in the list, from 1."""
    value: dict[str, Any]


def entries(path: str, fail: Fail) -> Iterator[Entry]:
    """The objects of a file; what is no object goes to `fail`. A whole JSON list is read at once."""
    stream = lines([path])
    first = next((line for line in stream if line.data.strip()), None)
    if first is None:
        return
    everything = chain([first], stream)
    if first.data.lstrip().startswith(b"["):
        found = _list(first.source, b"\n".join(line.data for line in everything), fail)
    else:
        found = _lines(everything, fail)
    for source, number, value in found:
        if isinstance(value, dict):
            yield Entry(source, number, value)
        else:
            fail(source, number, DataError("expected an object"), None)


def _list(source: str, data: bytes, fail: Fail) -> Iterator[tuple[str, int, Any]]:
    try:
        values = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        fail(source, data[: error.pos].count(b"\n") + 1, DataError(f"not JSON: {error}"), None)
        return
    for number, value in enumerate(values, 1):
        yield source, number, value


def _lines(stream: Iterator[Line], fail: Fail) -> Iterator[tuple[str, int, Any]]:
    for line in stream:
        if not line.data.strip():
            continue
        try:
            yield line.source, line.number, orjson.loads(line.data)
        except orjson.JSONDecodeError as error:
            fail(line.source, line.number, DataError(f"not JSON: {error}"), None)
