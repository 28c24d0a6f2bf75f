"""Links of a corpus in files, mapped by all processes; built in two walks through the documents, in linear time.

The same links as `ragpack.retrievers.links.Links`, looked up instead of held. Titles, names and stems are sorted
strings; what belongs to each is a run in an array.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ragpack.records import Doc
from ragpack.registry import Value
from ragpack.retrievers.links import (
    COMMON,
    PREFIX,
    STEM,
    Mention,
    Owned,
    Titles,
    forms_in,
    idf,
    mentioned,
    rarity,
    read_doc,
    titles_of,
    weight,
)  # fmt: skip
from ragpack.retrievers.mapped import Strings, mapped, write_array, write_strings
from ragpack.retrievers.names import Name, Surface

VERSION = 1
"""Counted up when links or files are others."""
SETTINGS: dict[str, Value] = {"common": COMMON, "stem": STEM}
_KEPT = 100_000
"""Numbers of names that are remembered between questions."""

T = TypeVar("T")


class _Pairs:
    """Which documents hold which strings."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._strings, self._docs = array("i"), array("i")

    def add(self, doc: int, strings: Iterable[str]) -> None:
        for string in strings:
            self._strings.append(self._numbers.setdefault(string, len(self._numbers)))
            self._docs.append(doc)

    def write(self, folder: Path, name: str, both: bool) -> None:
        """The strings, sorted; the documents of each; and, if `both`, the strings of each document as they came."""
        ordered = sorted((string.encode(), number) for string, number in self._numbers.items())
        write_strings(folder, name, [string for string, _ in ordered])
        rank = np.empty(len(ordered), dtype=np.int32)
        rank[[number for _, number in ordered]] = np.arange(len(ordered), dtype=np.int32)
        numbers = rank[np.frombuffer(self._strings, dtype=np.int32)] if len(self._strings) else rank
        docs = np.frombuffer(self._docs, dtype=np.int32) if len(self._docs) else np.empty(0, dtype=np.int32)
        _write_runs(folder, f"{name}-docs", numbers, len(ordered), docs)
        if both:
            _write_runs(folder, f"{name}-of", docs, int(docs.max(initial=-1)) + 1, numbers)


class _Mentions:
    """Who mentions whom."""

    def __init__(self) -> None:
        self._from, self._to = array("i"), array("i")
        self._places, self._owners = array("i"), array("i")

    def add(self, doc: int, found: dict[int, Owned]) -> None:
        for target, owned in found.items():
            self._from.append(doc)
            self._to.append(target)
            self._places.append(owned.place)
            self._owners.append(owned.owners)

    def write(self, folder: Path, count: int) -> None:
        targets = np.array(self._to, dtype=np.int32)
        times = np.bincount(targets, minlength=count)
        # One by one and not by numpy: its powers differ from Python's in the last bit, and pools use Python's.
        owned = map(Owned, self._places, self._owners)
        weights = np.array(list(map(weight, times[targets].tolist(), owned)), dtype=np.float64)
        sources = np.array(self._from, dtype=np.int32)
        _write_runs(folder, "out", sources, count, targets, weights)
        led = times[targets] <= COMMON
        _write_runs(folder, "back", targets[led], count, sources[led], weights[led])


def build(docs: Sequence[Doc], folder: Path) -> None:
    """Write the links of documents."""
    titles = Titles()
    for at, doc in enumerate(docs):
        titles.add(doc.title or "", at)
    names, stems, mentions = _Pairs(), _Pairs(), _Mentions()
    for at, doc in enumerate(docs):
        read = read_doc(doc)
        mentions.add(at, mentioned(at, forms_in(read.text, titles.numbers.get), titles.owners.__getitem__))
        names.add(at, map(" ".join, read.names))
        stems.add(at, sorted(read.stems))
    forms = sorted((key.encode(), number) for key, number in titles.numbers.items() if number != PREFIX)
    write_strings(folder, "titles", [key for key, _ in forms])
    owners = [titles.owners[number] for _, number in forms]
    lengths = np.fromiter(map(len, owners), dtype=np.int64, count=len(owners))
    flat = np.fromiter((one for found in owners for one in found), dtype=np.int32, count=int(lengths.sum()))
    _write_runs(folder, "titles-docs", np.repeat(np.arange(len(owners)), lengths), len(owners), flat)
    del titles, forms, owners
    names.write(folder, "names", both=True)
    del names
    stems.write(folder, "stems", both=False)
    del stems
    mentions.write(folder, len(docs))


def _write_runs(folder: Path, name: str, keys: NDArray[Any], count: int, *columns: NDArray[Any]) -> None:
    """What belongs to each key, in the order in which it came, as runs of arrays."""
    ends = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=ends[1:])
    write_array(folder / f"{name}.npy", ends)
    order = np.sort(keys.astype(np.int64) << 32 | np.arange(len(keys))) & 0xFFFFFFFF
    for number, column in enumerate(columns):
        write_array(folder / f"{name}-{number}.npy", column[order])


class _Runs:
    """Runs of an array, by number; one past the end is empty."""

    def __init__(self, folder: Path, name: str, columns: int = 1) -> None:
        ends: Any = mapped(folder / f"{name}.npy")
        self._ends = memoryview(ends)
        self._columns = [mapped(folder / f"{name}-{number}.npy") for number in range(columns)]

    def size(self, at: int) -> int:
        return int(self._ends[at + 1] - self._ends[at]) if at < len(self._ends) - 1 else 0

    def __call__(self, at: int, column: int = 0) -> list[Any]:
        if at >= len(self._ends) - 1:
            return []
        found: list[Any] = self._columns[column][self._ends[at] : self._ends[at + 1]].tolist()
        return found

    def sorted(self, at: int) -> Container[int]:
        values: Any = self._columns[0][self._ends[at] : self._ends[at + 1]]
        return _Sorted(memoryview(values))


class _Sorted(Container[int]):
    """Numbers in ascending order."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = values

    def __contains__(self, number: object) -> bool:
        assert isinstance(number, int)
        at = bisect_left(self._values, number)
        return at < len(self._values) and self._values[at] == number


class _OfEach(Sequence[T]):
    """What belongs to each document, looked up when it is asked for."""

    def __init__(self, count: int, look_up: Callable[[int], T]) -> None:
        self._count, self._look_up = count, look_up

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        if isinstance(at, slice):
            return [self._look_up(one) for one in range(*at.indices(self._count))]
        if not 0 <= at < self._count:
            raise IndexError(at)
        return self._look_up(at)


class StoredLinks:
    """Links that `build` wrote."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self._titles, self._owners = Strings(folder, "titles"), _Runs(folder, "titles-docs")
        self._names, self._holders = Strings(folder, "names"), _Runs(folder, "names-docs")
        self._names_of = _Runs(folder, "names-of")
        self._stems, self._stemmed = Strings(folder, "stems"), _Runs(folder, "stems-docs")
        self._out, self._back = _Runs(folder, "out", 2), _Runs(folder, "back", 2)
        self._numbers: dict[Name, int] = {}
        self.names: Sequence[Sequence[Name]] = _OfEach(count, self._named)
        self.out: Sequence[Sequence[Mention]] = _OfEach(count, lambda at: _mentions(self._out, at))
        self.back: Sequence[Sequence[Mention]] = _OfEach(count, lambda at: _mentions(self._back, at))

    def titles_in(self, text: Surface) -> dict[int, float]:
        return titles_of(forms_in(text, self._form), self._owners)

    def holding(self, name: Name) -> Sequence[int]:
        number = self._number(name)
        return self._holders(number) if number is not None and self._holders.size(number) <= COMMON else []

    def rarity(self, name: Name) -> float:
        number = self._number(name)
        assert number is not None, name
        return rarity(self._holders.size(number), self.count)

    def having(self, stem: str) -> Container[int]:
        number = self._stems.find(stem.encode())
        return () if number is None else self._stemmed.sorted(number)

    def idf(self, stem: str) -> float:
        number = self._stems.find(stem.encode())
        return idf(0 if number is None else self._stemmed.size(number), self.count)

    def _form(self, key: str) -> int | None:
        data = key.encode()
        number = self._titles.find(data)
        return number if number is not None else PREFIX if self._titles.begins(data + b" ") else None

    def _named(self, at: int) -> list[Name]:
        if len(self._numbers) > _KEPT:
            self._numbers.clear()
        numbers = self._names_of(at)
        found = [tuple(self._names[number].decode().split(" ")) for number in numbers]
        self._numbers.update(zip(found, numbers, strict=True))
        return found

    def _number(self, name: Name) -> int | None:
        number = self._numbers.get(name)
        return self._names.find(" ".join(name).encode()) if number is None else number


def _mentions(runs: _Runs, at: int) -> list[Mention]:
    return [Mention(doc, weighed) for doc, weighed in zip(runs(at), runs(at, 1), strict=True)]
