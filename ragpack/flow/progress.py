"""One line of progress on a terminal, and one line of summary."""

from __future__ import annotations

import os
import stat
import sys
import time

from ragpack.flow.streams import STDOUT

EVERY = 0.2  # seconds between two drawings


class Progress:
    """Counts on standard error: only if that is a terminal, and standard output is neither a terminal (records
    would be torn) nor a pipe (in `a | b | c` all stages share one terminal: none but the last may draw)."""

    def __init__(self, name: str, quiet: bool, to_file: bool) -> None:
        self._name = name
        self._started = time.monotonic()
        self._drawn = 0.0
        self._on = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and (to_file or _may_draw())

    def show(self, taken: int, written: int, failed: int) -> None:
        """Draw the counts, five times a second at most."""
        if not self._on:
            return
        now = time.monotonic()
        if now - self._drawn < EVERY:
            return
        self._drawn = now
        seconds = now - self._started
        bad = f", {failed} failed" if failed else ""
        rate = f", {taken / seconds:.1f}/s" if seconds > 1 else ""
        sys.stderr.write(f"\r\x1b[2K{self._name}: {taken} in, {written} out{bad}{rate}, {seconds:.0f} s")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave the line empty for what is said next."""
        if self._on and self._drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def _may_draw() -> bool:
    try:
        mode = os.fstat(STDOUT.fd).st_mode
    except OSError:
        return False
    return not stat.S_ISFIFO(mode) and not os.isatty(STDOUT.fd)
