"""A stage over records, in this process, as the flow runs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from ragpack.flow.mapper import Done, Mapper
from ragpack.flow.streams import Line
from ragpack.stage import Stage

Raw = dict[str, Any]


def mapped(stage: Stage, records: Iterable[Raw]) -> list[Done]:
    """What each record became."""
    lines = (Line("in", number, orjson.dumps(record)) for number, record in enumerate(records, 1))
    return list(Mapper(stage)(lines))


def rows(stage: Stage, records: Iterable[Raw]) -> list[Raw]:
    """All rows; no record may fail."""
    found = []
    for done in mapped(stage, records):
        assert done.failed is None, done.failed
        found += [orjson.loads(row) for row in done.rows]
    return found


def failure(stage: Stage, record: Raw) -> str:
    """The message of the one record, which must fail."""
    (done,) = mapped(stage, [record])
    assert done.failed is not None
    assert done.rows == []
    return done.failed.message
