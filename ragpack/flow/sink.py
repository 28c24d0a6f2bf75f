"""Bytes out: whole lines to standard output, or to a file that appears complete or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from typing import Protocol

from ragpack.errors import UsageError
from ragpack.flow.streams import STDOUT, compress_file, compressed, require_compression

BLOCK = 1 << 16
PATIENCE = 0.05  # seconds that a finished row may wait in the buffer while others come


class Sink(Protocol):
    """Where rows go."""

    def write(self, data: bytes) -> None:
        """Take whole lines."""

    def finish(self) -> None:
        """Everything is written: make it last."""

    def abandon(self) -> None:
        """Stop here: keep the whole lines written so far."""


class _Buffer:
    """Whole lines on their way to a descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting: list[bytes] = []
        self._size = 0
        self._last = 0.0  # the first row goes at once

    def write(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= BLOCK or time.monotonic() - self._last > PATIENCE:
            self.flush()

    def flush(self) -> None:
        block = memoryview(b"".join(self._waiting))
        self._waiting, self._size = [], 0
        while block:
            block = block[os.write(self._fd, block) :]
        self._last = time.monotonic()


class DescriptorSink(_Buffer):
    """Standard output, or a file that can't be replaced (a pipe, a device)."""

    def finish(self) -> None:
        self.flush()

    def abandon(self) -> None:
        self.flush()


class FileSink(_Buffer):
    """Rows go to `FILE.part`, plain JSONL whatever the suffix; `finish` makes it FILE in one step.

    Whole buffers of whole lines are written at once, so a killed run leaves at most one torn line, at the end.
    The target may be the input: it is not touched before the end.
    """

    def __init__(self, name: str, option: str = "-o") -> None:
        require_compression(name)
        self.target = os.path.realpath(name)
        folder = os.path.dirname(self.target)
        if not os.path.isdir(folder):
            raise UsageError(f"{option} {name}: no such folder: {os.path.dirname(name) or folder}")
        self.part = self.target + ".part"
        fd = os.open(self.part, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(fd), os.stat(self.part)):  # the other run has just renamed it
                raise BlockingIOError
        except OSError:
            os.close(fd)
            raise UsageError(f"another run is writing {name}.part", f"Wait for it, or name another {option}.") from None
        super().__init__(fd)
        self._stale = True
        self._finished = False

    def restart(self) -> None:
        """Begin with an empty file."""
        os.ftruncate(self._fd, 0)
        self._stale = False

    def flush(self) -> None:
        # What an interrupted run left goes when there is something better: not for a typo in a policy's name.
        if self._stale and self._waiting:
            self.restart()
        super().flush()

    def finish(self) -> None:
        self.flush()
        if self._stale:
            self.restart()
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(self._fd, stat.S_IMODE(os.stat(self.target).st_mode))
        os.fsync(self._fd)
        if compressed(self.target):
            packed = self.part + ".z"
            compress_file(self.part, packed, os.path.splitext(self.target)[1])
            os.replace(packed, self.target)
            os.unlink(self.part)
        else:
            os.replace(self.part, self.target)
        folder = os.open(os.path.dirname(self.target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        os.close(self._fd)
        self._finished = True

    def abandon(self) -> None:
        if self._finished:
            return
        self.flush()
        if not os.fstat(self._fd).st_size:
            os.unlink(self.part)
        os.close(self._fd)


def open_sink(name: str | None, option: str = "-o") -> Sink:
    """Standard output for None and `-`; else a file."""
    if name is None or name == "-":
        return DescriptorSink(STDOUT.fd)
    if not name:
        raise UsageError(f"{option}: the name is empty")
    if os.path.isdir(name):
        raise UsageError(f"{option} {name} is a folder")
    if os.path.exists(name) and not os.path.isfile(name):
        return DescriptorSink(os.open(name, os.O_WRONLY))
    return FileSink(name, option)
