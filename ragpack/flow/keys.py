"""Content keys: a stable hash of everything that decides a row."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import orjson

from ragpack.stage import Stage

BIG = 16 * 2**20
END = 2**20


def digest(value: object) -> str:
    """128-bit hash of a value's canonical JSON (sorted keys).

    >>> digest({"b": 1, "a": [2, None]}) == digest({"a": [2, None], "b": 1})
    True
    """
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def stage_digest(name: str, version: int, fingerprints: Mapping[str, str]) -> str:
    """The part of a row's key that is the same for all records of a run."""
    return digest([name, version, dict(fingerprints)])


def row_keys(stage: Stage, head: str, record: object) -> list[str]:
    """The key of each of a record's output rows: what all read, then each cell's parameters and what it reads more."""
    body = blake2b(orjson.dumps([head, stage.projection(record)], option=orjson.OPT_SORT_KEYS), digest_size=16)
    keys = []
    for at, cell in enumerate(stage.cells):
        one = body.copy()
        one.update(cell.encode())
        more = stage.more(record, at)
        if more is not None:
            one.update(orjson.dumps(more, option=orjson.OPT_SORT_KEYS))
        keys.append(one.hexdigest())
    return keys


def fingerprint_file(path: Path) -> str:
    """Hash of a file: all of a small one, size and both ends of a big one (weights of many GB)."""
    size = path.stat().st_size
    state = blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as file:
        if size <= BIG:
            state.update(file.read())
        else:
            state.update(file.read(END))
            file.seek(-END, 2)
            state.update(file.read())
    return state.hexdigest()
