"""A corpus file: `ragpack.doc/1` lines, each id once.

The file is read once from end to end, which checks every line and notes where it stands. After that documents are read
from the file when somebody asks for them.
"""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, overload

import numpy as np
import orjson
from numpy.typing import NDArray

from ragpack.checked import view
from ragpack.errors import DataError, UsageError
from ragpack.flow.keys import fingerprint_file
from ragpack.flow.mapper import parse
from ragpack.flow.streams import BOM, GZIP, ZSTD, Line, check_inputs, lines
from ragpack.records import Doc
from ragpack.retrievers.index import Manifest, open_index
from ragpack.retrievers.mapped import mapped, write_array

DUPLICATES = ("refuse", "first", "last")
BLOCK = 4096
"""Documents that a walk through the corpus reads at once."""
_VERSION = 1
_WHOLE = 256 * 2**20
"""A file up to this size is hashed whole each time; a bigger one is known by its ends, its size and its date."""
_TEXT = "text.jsonl"
_SPOOLED: dict[str, tempfile.TemporaryDirectory[str]] = {}

Fail = Callable[[str, int, DataError, object], None]
"""(source, number, error, id or None): a bad line that is passed over."""


class Corpus(NamedTuple):
    """The documents of a corpus, and a hash of all that retrieval reads of them."""

    docs: Sequence[Doc]
    fingerprint: str


class Passages(Sequence[Doc]):
    """Documents of a file, in its order, each parsed when it is asked for. Memory: 28 bytes a document, in files that
    are mapped and so shared by all processes."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._source = source
        self._offsets, self._sizes = mapped(folder / "offsets.npy"), mapped(folder / "sizes.npy")
        hashes: Any = mapped(folder / "hashes.npy")
        self._hashes, self._hashed = memoryview(hashes), mapped(folder / "hashed.npy")
        self.rank: NDArray[np.int32] = mapped(folder / "rank.npy")
        """[n] place of each document in the order of ids."""
        with source.open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, at: int) -> Doc: ...
    @overload
    def __getitem__(self, at: slice) -> list[Doc]: ...
    def __getitem__(self, at: int | slice) -> Doc | list[Doc]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        start = int(self._offsets[at])
        return self._doc(self._text[start : start + int(self._sizes[at])])

    def __iter__(self) -> Iterator[Doc]:
        # By blocks and not through the map: whoever walks through all of it keeps none of it in memory.
        with self._source.open("rb") as file:
            for first in range(0, len(self), BLOCK):
                starts = self._offsets[first : first + BLOCK].tolist()
                sizes = self._sizes[first : first + BLOCK].tolist()
                file.seek(starts[0])
                block = file.read(starts[-1] + sizes[-1] - starts[0])
                for start, size in zip(starts, sizes, strict=True):
                    yield self._doc(block[start - starts[0] : start - starts[0] + size])

    def place(self, identity: str) -> int:
        """Where the document of this id, which must be one of the corpus, stands in the file."""
        hashed = _hash(identity)
        first = bisect_left(self._hashes, hashed)
        end = first
        while end < len(self) and self._hashes[end] == hashed:
            end += 1
        for at in range(first, end):
            # Two ids with one hash are as good as never; only then is the text asked.
            if end == first + 1 or self[int(self._hashed[at])].id == identity:
                return int(self._hashed[at])
        raise KeyError(identity)

    def _doc(self, data: bytes) -> Doc:
        try:
            found: Doc = view(orjson.loads(data), (Doc,))
        except (orjson.JSONDecodeError, DataError):
            raise DataError(f"{self._source} was changed while it was searched", "Run it again.") from None
        return found


def read_corpus(
    path: str,
    index: Path | None = None,
    say: Callable[[str], object] = lambda text: None,  # noqa: ARG005 # nobody listens
    *,
    duplicates: str = "refuse",
    skip: bool = False,
    fail: Fail = lambda *failed: None,  # noqa: ARG005 # told elsewhere
) -> Corpus:
    """Read a corpus, or what `index` knows of it.

    `skip` passes over bad lines, each told to `fail`, whether they are found now or were found when the index was
    built. `duplicates`: an id that comes twice is refused, or the first or the last document of that id is kept. A
    compressed file is unpacked into the index. Raises `DataError` with file and line for a bad document.
    """
    check_inputs([path])
    source = _regular(path)
    reading = _Reading(path, source, duplicates, skip)
    manifest = Manifest("corpus", _VERSION, _bytes_of(source), None, {"duplicates": duplicates})
    folder = open_index(index, manifest, reading.build, say)
    for failed in map(orjson.loads, (folder / "failures.jsonl").read_bytes().splitlines()):
        number, message, hint, identity = failed
        if not skip:
            raise DataError(f"{path}:{number}: {message}", hint)
        fail(path, number, DataError(message, hint), identity)
    about = orjson.loads((folder / "about.json").read_bytes())
    if about["dropped"]:
        say(f"{path}: {about['dropped']} documents have the id of another; the {duplicates} of each id counts")
    text = folder / _TEXT
    return Corpus(Passages(text if text.exists() else source, folder), about["fingerprint"])


def ranks_of(docs: Sequence[Doc]) -> NDArray[np.int32]:
    """[n] place of each document in the order of ids."""
    if isinstance(docs, Passages):
        return docs.rank
    return _ranks([doc.id.encode("utf-8", "surrogatepass") for doc in docs])


def place_in(docs: Sequence[Doc]) -> Callable[[str], int]:
    """From an id to a place in the sequence."""
    return docs.place if isinstance(docs, Passages) else {doc.id: at for at, doc in enumerate(docs)}.__getitem__


class _Reading:
    """One pass over a corpus file."""

    def __init__(self, path: str, source: Path, duplicates: str, skip: bool) -> None:
        self._path, self._source, self._duplicates, self._skip = path, source, duplicates, skip
        self._ids: list[bytes] = []
        self._numbers, self._offsets, self._sizes = array("q"), array("q"), array("q")

    def build(self, folder: Path) -> None:
        state = blake2b(digest_size=16)
        with (folder / "failures.jsonl").open("wb") as failures:
            for offset, line in self._lines(folder):
                raw: object = None
                try:
                    raw = parse(line)
                    doc = view(raw, (Doc,))
                except DataError as error:
                    if not self._skip:
                        raise DataError(f"{self._path}:{line.number}: {error.message}", error.hint) from None
                    identity = raw.get("id") if isinstance(raw, dict) else None
                    row = [line.number, error.message, error.hint, identity if isinstance(identity, str) else None]
                    failures.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
                    continue
                self._ids.append(doc.id.encode("utf-8", "surrogatepass"))
                self._numbers.append(line.number)
                self._offsets.append(offset)
                self._sizes.append(len(line.data))
                state.update(_hashable(doc))
        if not self._ids:
            raise UsageError(f"--corpus {self._path}: no documents in it")
        kept = self._kept()
        dropped = len(self._ids) - len(kept)
        if dropped:
            self._ids = [self._ids[at] for at in kept.tolist()]
        hashes = np.fromiter(map(_hash, self._ids), dtype=np.uint64, count=len(kept))
        order = np.argsort(hashes, kind="stable")
        arrays: dict[str, NDArray[Any]] = {
            "offsets": np.array(self._offsets, dtype=np.int64)[kept],
            "sizes": np.array(self._sizes, dtype=np.int32)[kept],
            "rank": _ranks(self._ids),
            "hashes": hashes[order],
            "hashed": order.astype(np.int32),
        }
        for name, values in arrays.items():
            write_array(folder / f"{name}.npy", values)
        if dropped:
            text = folder / _TEXT
            state = blake2b(digest_size=16)
            for doc in Passages(text if text.exists() else self._source, folder):
                state.update(_hashable(doc))
        about = {"documents": len(kept), "dropped": dropped, "fingerprint": state.hexdigest()}
        (folder / "about.json").write_bytes(orjson.dumps(about))

    def _lines(self, folder: Path) -> Iterator[tuple[int, Line]]:
        """Each line with its place in the file that will be read later."""
        at = 0
        with self._source.open("rb") as file:
            packed = file.read(4).startswith((GZIP, ZSTD))
            file.seek(0)
            if not packed:
                for number, raw in enumerate(file, 1):
                    data = raw.rstrip(b"\n").removesuffix(b"\r")
                    bom = number == 1 and data.startswith(BOM)
                    yield at + len(BOM) * bom, Line(self._path, number, data.removeprefix(BOM) if bom else data)
                    at += len(raw)
                return
        with (folder / _TEXT).open("wb") as copy:
            for line in lines([str(self._source)]):
                copy.write(line.data + b"\n")
                yield at, Line(self._path, line.number, line.data)
                at += len(line.data) + 1

    def _kept(self) -> NDArray[np.int64]:
        """Places of the documents that stay."""
        # Ids by their hash, and the few that agree in it one by one: a dictionary of all would be the bulk of memory.
        hashes = np.fromiter(map(_hash, self._ids), dtype=np.uint64, count=len(self._ids))
        order = np.argsort(hashes, kind="stable")
        again = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        groups: dict[bytes, list[int]] = {}
        for at in sorted({int(one) for place in again.tolist() for one in order[place : place + 2]}):
            groups.setdefault(self._ids[at], []).append(at)
        twice = [places for places in groups.values() if len(places) > 1]
        if twice and self._duplicates == "refuse":
            first, second = min((places[:2] for places in twice), key=lambda pair: pair[1])
            raise DataError(
                f"{self._path}:{self._numbers[second]}: id={self._ids[first].decode('utf-8', 'replace')}: "
                f"the id is on line {self._numbers[first]} too",
                "Ids name documents: make each one unique, or keep one with --duplicates first or last.",
            )
        drop = [at for places in twice for at in (places[1:] if self._duplicates == "first" else places[:-1])]
        return np.delete(np.arange(len(self._ids)), drop)


def _hashable(doc: Doc) -> bytes:
    return repr((doc.id, doc.title, doc.text, doc.sentences)).encode("utf-8", "surrogatepass")


def _hash(identity: str | bytes) -> int:
    data = identity.encode("utf-8", "surrogatepass") if isinstance(identity, str) else identity
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _ranks(ids: Sequence[bytes]) -> NDArray[np.int32]:
    """UTF-8 sorts as code points do."""
    ranks = np.empty(len(ids), dtype=np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return ranks


def _bytes_of(source: Path) -> str:
    """A hash that tells a changed file."""
    if source.stat().st_size > _WHOLE:
        return f"{fingerprint_file(source)}-{source.stat().st_mtime_ns}"
    state = blake2b(digest_size=16)
    with source.open("rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _regular(path: str) -> Path:
    """The file itself; what can be read only once, such as a pipe, is copied first."""
    if stat.S_ISREG(os.stat(path).st_mode):
        return Path(path).absolute()
    if path not in _SPOOLED:
        folder = tempfile.TemporaryDirectory(prefix="ragpack-corpus-")
        with open(path, "rb") as reader, (Path(folder.name) / "corpus").open("wb") as writer:
            _copy(reader, writer)
        _SPOOLED[path] = folder
    return Path(_SPOOLED[path].name) / "corpus"


def _copy(reader: BinaryIO, writer: BinaryIO) -> None:
    while block := reader.read(1 << 20):
        writer.write(block)
