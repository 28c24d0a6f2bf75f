"""SIGINT and SIGTERM: stop taking input, keep whole lines, say one sentence."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ragpack.errors import Exit


class Interrupted(BaseException):
    """A signal asked to stop. Not an `Exception`: no library may swallow it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = Exit.INTERRUPTED if number == signal.SIGINT else Exit.TERMINATED


class Signals:
    """Raises `Interrupted` in the main thread, but never in the middle of a write."""

    def __init__(self) -> None:
        self._writing = False
        self._seen = 0

    def _on(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._seen:
            os._exit(128 + number)  # asked twice: leave at once
        self._seen = number
        if not self._writing:
            raise Interrupted(number)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Handle signals inside, restore what was there outside."""
        before = {number: signal.signal(number, self._on) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def writing(self) -> Signals:
        """A signal that comes inside is raised at the end."""
        return self

    # Entered once a row: a generator would cost more than the write.
    def __enter__(self) -> None:
        self._writing = True

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self._writing = False
        if self._seen and kind is None:
            raise Interrupted(self._seen)
