"""Replies that outlive a run: one sqlite file in a folder of the user's, shared by runs, policies and processes.

Values are JSON, never pickle. Each is written through as it comes: in sqlite's write-ahead log that costs no wait for
the disk, and a killed process loses nothing that it had written (a machine that loses power may lose its last moments).
Several processes may use one file. Two that ask the same prompt at the same time both ask; the first reply stays.
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import time
import zlib
from typing import Any, get_type_hints

import msgspec

from ragpack.errors import BackendError, UsageError
from ragpack.readers.base import Completion

FILE = "replies.sqlite"
FORMAT = 1
"""Raised when a stored reply or its key means something else than before."""
MARK = 0x72706B31
"""sqlite's application id: a database without it is not ours."""
PATIENCE = 30.0  # seconds to wait for other processes; each holds the file for a moment only
LONG = 1024  # bytes from which a value is compressed: prompts and log-probabilities, not answers

_FIELDS = [field for field in dataclasses.fields(Completion) if field.name != "id"]
_HINTS = get_type_hints(Completion)
_Kept: Any = msgspec.defstruct(
    "Kept",
    [
        (field.name, _HINTS[field.name])
        if field.default is dataclasses.MISSING
        else (field.name, _HINTS[field.name], field.default)
        for field in _FIELDS
    ],
    omit_defaults=True,
    forbid_unknown_fields=True,
)
_DECODER = msgspec.json.Decoder(_Kept)


def packed(reply: Completion) -> bytes | None:
    """A completion less its id, as JSON, compressed where it is long. None where JSON can't hold it: a number that is
    not finite would come back as another one, and half a surrogate pair not at all."""
    try:
        # float: numpy's numbers
        data = msgspec.json.encode(_Kept(*(getattr(reply, field.name) for field in _FIELDS)), enc_hook=float)
        if unpacked(data, reply.id) != reply:
            return None
    except (BackendError, UnicodeEncodeError):
        return None
    return zlib.compress(data) if len(data) > LONG else data


def unpacked(data: bytes, number: int) -> Completion:
    """The completion again, for the request of this number. Raises `BackendError` for bytes that are none."""
    try:
        kept = _DECODER.decode(data if data.startswith(b"{") else zlib.decompress(data))
    except (msgspec.MsgspecError, zlib.error) as error:
        raise BackendError(
            f"a kept reply can't be read: {error}", "Was it kept by another ragpack? Name another folder: --cache DIR."
        ) from None
    return Completion(number, *(getattr(kept, field.name) for field in _FIELDS))


class Store:
    """Packed replies by key, in `FOLDER/replies.sqlite`. Nothing in the file is used that can't be trusted."""

    def __init__(self, folder: str) -> None:
        """Open the file, or make it. Raises `UsageError` for a folder that can't be, `BackendError` for a file that is
        damaged, of another format, or can't be written."""
        if not folder:
            raise UsageError("--cache: the name is empty")
        self._path = os.path.join(folder, FILE)
        self._trouble: str | None = None
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--cache {folder}: {error.strerror}", "Name a folder that can be written.") from None
        try:
            self._base = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._base.close()
            raise self._unusable(error) from None
        except BackendError:
            self._base.close()
            raise

    def get(self, key: bytes) -> bytes | None:
        """What was put under this key. Raises `BackendError` where it is damaged."""
        try:
            row = self._base.execute("SELECT value, crc FROM reply WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        if row is None:
            return None
        value, crc = row
        if not isinstance(value, bytes) or _crc(key, value) != crc:
            raise self._damaged("a reply is not what was written")
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Write through. Where the disk is full or the file locked, the run goes on without: `notes` says so."""
        if self._trouble is not None:
            return
        try:
            self._base.execute("INSERT OR IGNORE INTO reply VALUES (?, ?, ?)", (key, value, _crc(key, value)))
        except sqlite3.Error as error:
            if _is_damage(error):
                raise self._unusable(error) from None
            self._trouble = str(error)

    @property
    def notes(self) -> list[str]:
        """What the user should know at the end."""
        if self._trouble is None:
            return []
        return [f"replies were no longer kept in {self._path}: {self._trouble}; the output has them all"]

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        self._base.close()

    def _prepare(self) -> None:
        # One process makes the table, others wait. A file that is not ours is left as it is.
        self._base.execute("BEGIN IMMEDIATE")
        mark, form = self._pragma("application_id"), self._pragma("user_version")
        (tables,) = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not (mark or form or tables):
            self._base.execute("CREATE TABLE reply (key BLOB PRIMARY KEY, value BLOB NOT NULL, crc INT NOT NULL)")
            self._base.execute(f"PRAGMA application_id = {MARK}")
            self._base.execute(f"PRAGMA user_version = {FORMAT}")
        elif mark != MARK:
            raise BackendError(f"{self._path} is a database of something else", "Name another folder: --cache DIR.")
        elif form != FORMAT:
            raise BackendError(
                f"{self._path} is of format {form}, and this ragpack reads {FORMAT}",
                "Name another folder: --cache DIR; or remove that file, and the prompts are asked again.",
            )
        self._base.execute("COMMIT")
        self._log_ahead()
        self._base.execute("PRAGMA synchronous = NORMAL")

    def _log_ahead(self) -> None:
        """Readers and one writer at once. The switch does not wait for other processes by itself."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._base.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def _pragma(self, name: str) -> int:
        (value,) = self._base.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    def _unusable(self, error: sqlite3.Error) -> BackendError:
        if _is_damage(error):
            return self._damaged(str(error))
        if _is_busy(error):
            return BackendError(
                f"{self._path} has been locked for {PATIENCE:g} s", "Does another program hold it? End that, or wait."
            )
        return BackendError(
            f"{self._path} can't be used: {error}",
            "Name a folder that can be written, on a disk with room: --cache DIR.",
        )

    def _damaged(self, what: str) -> BackendError:
        return BackendError(f"{self._path} is damaged: {what}", "Remove it, and the prompts are asked again.")


def _crc(key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key))


def _code(error: sqlite3.Error) -> int:
    """sqlite's primary error code; 0 for the module's own errors."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _is_damage(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
