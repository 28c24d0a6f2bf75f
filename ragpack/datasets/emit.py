"""Records as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import orjson

from ragpack.datasets.sample import Imported, sample, unique
from ragpack.records import Raw, ordered


def written(records: Iterable[Imported], n: int | None, seed: int) -> Iterator[bytes]:
    """One line a record; of `n` questions drawn by `seed`, if `n` is given. Ids that come twice are refused."""
    found = unique(records, {})
    for record in sample(list(found), n, seed) if n is not None else found:
        yield orjson.dumps(ordered(type(record), _plain(asdict(record))), option=orjson.OPT_APPEND_NEWLINE)


def _plain(fields: Raw) -> Raw:
    """Without the fields that are not known."""
    for part in [*(fields.get("docs") or []), *(fields.get("hits") or [])]:
        for name in [name for name, value in part.items() if value is None]:
            del part[name]
    return {name: value for name, value in fields.items() if value is not None}
