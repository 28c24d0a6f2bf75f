"""The output is the cache: rows of an earlier run, found by content key.

The index is a temporary sqlite file, so memory stays constant and every worker can read it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

import orjson

from ragpack.flow.streams import compressed, lines
from ragpack.stage import Payload


class Shelf(NamedTuple):
    """Where earlier rows lie. Plain strings, so that it can be sent to a worker."""

    base: str
    """The sqlite file: key, file, offset, length."""
    files: tuple[str, ...]
    """JSONL files that the offsets are in."""


class Earlier:
    """Looks rows up on a shelf; each worker opens its own."""

    def __init__(self, shelf: Shelf, name: str, fields: Sequence[str]) -> None:
        self._name = name
        self._fields = fields
        self._index = sqlite3.connect(f"file:{shelf.base}?mode=ro&immutable=1", uri=True)
        self._files: list[BinaryIO] = [open(file, "rb") for file in shelf.files]  # noqa: SIM115 # closed in close

    def get(self, key: str) -> Payload | None:
        """The payload that an earlier run computed under this key."""
        found = self._index.execute("SELECT file, at, size FROM row WHERE key = ?", (bytes.fromhex(key),)).fetchone()
        if found is None:
            return None
        file, at, size = found
        self._files[file].seek(at)
        row = orjson.loads(self._files[file].read(size))
        return {field: row[field] for field in self._fields}

    def close(self) -> None:
        self._index.close()
        for file in self._files:
            file.close()


@contextlib.contextmanager
def shelf_of(target: str, part: str, name: str, fields: Sequence[str]) -> Iterator[Shelf]:
    """Index the rows of FILE and of what interrupted runs left.

    The caller holds the lock on `FILE.part`. Its lines move to `FILE.part.earlier` first, so that a second
    interruption loses nothing; `FILE.part.earlier` goes when the run is finished (`drop_earlier`).
    """
    earlier = part + ".earlier"
    with open(part, "rb") as source, open(earlier, "ab") as kept:
        if kept.tell() and not _ends_whole(earlier):
            kept.write(b"\n")  # a torn line stays torn, but does not spoil the next one
        shutil.copyfileobj(source, kept, 1 << 20)
        kept.flush()
        os.fsync(kept.fileno())
    with tempfile.TemporaryDirectory(prefix="ragpack-resume-") as folder:
        files = [earlier]
        if os.path.exists(target):
            files.append(_plain(target, folder))
        index = os.path.join(folder, "index")
        base = sqlite3.connect(index)
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("PRAGMA synchronous = OFF")
        base.execute("CREATE TABLE row (key BLOB PRIMARY KEY, file INT, at INT, size INT) WITHOUT ROWID")
        for number, file in enumerate(files):
            base.executemany(
                "INSERT OR IGNORE INTO row VALUES (?, ?, ?, ?)",
                ((key, number, at, size) for key, at, size in _rows(file, name, fields)),
            )
        base.commit()
        base.close()
        yield Shelf(index, tuple(files))


def drop_earlier(part: str) -> None:
    """The run is finished: what interrupted runs left is in it."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part + ".earlier")


def _rows(file: str, name: str, fields: Sequence[str]) -> Iterator[tuple[bytes, int, int]]:
    """Key, offset and length of each whole row; a torn or foreign line is passed over."""
    at = 0
    with open(file, "rb") as stream:
        for line in stream:
            with contextlib.suppress(orjson.JSONDecodeError, KeyError, TypeError, ValueError):
                row = orjson.loads(line)
                if line.endswith(b"\n") and all(field in row for field in fields):
                    yield bytes.fromhex(row[name]["key"]), at, len(line)
            at += len(line)


def _plain(target: str, folder: str) -> str:
    """The file itself, or a decompressed copy: offsets need plain bytes."""
    if not compressed(target):
        return target
    copy = os.path.join(folder, "rows")
    with open(copy, "wb") as out:
        out.writelines(line.data + b"\n" for line in lines([target]))
    return copy


def _ends_whole(file: str) -> bool:
    with open(file, "rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
