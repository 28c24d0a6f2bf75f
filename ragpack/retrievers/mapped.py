"""Arrays and sorted strings in files that are mapped into memory: nothing is read before it is looked at, and processes
share what was read."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Numpy's own format, without pickle."""
    np.save(path, values, allow_pickle=False)


def mapped(path: Path) -> NDArray[Any]:
    """The array of a file, read-only."""
    # A plain array over the map: numpy's memmap class makes each look at an element five times as slow.
    found: NDArray[Any] = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    return found


def write_strings(folder: Path, name: str, strings: Sequence[bytes]) -> None:
    """Sorted strings, each once, as one run of bytes and the offsets in it."""
    offsets = np.zeros(len(strings) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, strings), dtype=np.int64, count=len(strings)), out=offsets[1:])
    write_array(folder / f"{name}.npy", offsets)
    with (folder / f"{name}.bin").open("wb") as file:
        file.writelines(strings)


class Strings(Sequence[bytes]):
    """Sorted strings in files; a look-up is a binary search."""

    def __init__(self, folder: Path, name: str) -> None:
        offsets: Any = mapped(folder / f"{name}.npy")
        self._offsets = memoryview(offsets)  # gives Python's numbers, and fast
        with (folder / f"{name}.bin").open("rb") as file:
            some = bool(self._offsets[len(self._offsets) - 1])
            self._bytes: mmap.mmap | bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if some else b""

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...
    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        return self._bytes[self._offsets[at] : self._offsets[at + 1]]

    def find(self, string: bytes) -> int | None:
        """Its place."""
        at = bisect_left(self, string)
        return at if at < len(self) and self[at] == string else None

    def begins(self, start: bytes) -> bool:
        """Does any begin so?"""
        at = bisect_left(self, start)
        return at < len(self) and self[at].startswith(start)
