"""Error types, each with a next step, and the exit codes.

Everything below `__main__` returns or raises; only `main` exits.
"""

from __future__ import annotations

import copyreg
import difflib
from collections.abc import Iterable
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    SOME_FAILED = 3
    INTERRUPTED = 130
    READER_WENT_AWAY = 141
    TERMINATED = 143


class RagpackError(Exception):
    """Anything that ends a command with one sentence and no traceback."""

    code = Exit.FAILED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers send errors: made again from its fields, since the arguments differ from class to class.
        return copyreg.__newobj__, (type(self),), self.__dict__  # type: ignore[attr-defined] # a name of pickle's protocol


class UsageError(RagpackError):
    """The words of the command line are off."""

    code = Exit.USAGE


class DataError(RagpackError):
    """One record is wrong. The flow adds file, line and id."""


class BackendError(RagpackError):
    """A model, a server or a library can't do what was asked."""


class Missing(RagpackError):
    """A package that only this feature needs is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra '{extra}': pip install 'ragpack[{extra}]'")
        self.feature = feature
        self.extra = extra


def in_a_line(error: BaseException) -> str:
    """What another library's error says, in a line: its first one, or its kind where it says nothing.

    >>> in_a_line(ValueError("\\nno such file\\nTraceback")), in_a_line(KeyError())
    ('no such file', 'KeyError')
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that names the closest known names, or all of them.

    >>> did_you_mean("chunk_pakced", ["chunk_packed", "chunk_mmr", "topk"])
    "Did you mean 'chunk_packed'?"
    >>> did_you_mean("xyz", ["b", "a"])
    'Known: a, b.'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(names)}."
