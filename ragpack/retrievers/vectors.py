"""FAISS over a corpus's vectors: made in shards that outlive a killed run, searched through memory-mapped files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ragpack.errors import UsageError
from ragpack.models.embedder import Vectors

Kind = Literal["flat", "hnsw", "ivf", "ivfpq"]
SHARD = 4096
"""Passages that are embedded before they are written: what a killed run loses at most."""
_FILE = "index.faiss"
_TRAINED_BY = 64
"""Vectors for each list that the lists are learnt from."""
_BITS = 8
_PATIENCE = 16
"""Places behind the k-th that are looked at for equal scores."""


class Layout(NamedTuple):
    """How vectors are indexed."""

    kind: Kind
    dim: int
    lists: int
    """ivf, ivfpq: lists; 0: 4 sqrt(n)."""
    probes: int
    """ivf, ivfpq: lists that are searched; 0: a sixteenth of them, at least 8."""
    parts: int
    """ivfpq: bytes of a vector; 0: dim / 4."""
    links: int
    """hnsw: links of a vector."""
    beam: int
    """hnsw: candidates of a search."""

    def lists_of(self, n: int) -> int:
        """Lists for n vectors."""
        return self.lists or max(1, min(round(4 * math.sqrt(n)), n // 39))

    def probes_of(self, lists: int) -> int:
        """Lists that a search looks into."""
        return min(lists, self.probes or max(8, lists // 16))

    def parts_of(self) -> int:
        """Bytes of a vector; a divisor of its dimensions."""
        return self.parts or next(parts for parts in range(max(1, self.dim // 4), 0, -1) if self.dim % parts == 0)

    def bytes_of(self, n: int) -> int:
        """Bytes that the index takes in memory while it is built, about."""
        vector = 4 * self.dim
        if self.kind == "flat":
            return n * vector
        if self.kind == "hnsw":
            return n * (vector + 8 * self.links + 16)
        lists = self.lists_of(n)
        trained = min(n, _TRAINED_BY * lists) * vector * 2
        return trained + lists * vector + n * ((vector if self.kind == "ivf" else self.parts_of()) + 8)


def embed_shards(
    folder: Path, n: int, texts: Callable[[int, int], Sequence[str]], embed: Callable[[Sequence[str]], Vectors],
    say: Callable[[str], object],
) -> None:  # fmt: skip
    """Write `folder/00000.npy` and so on, [SHARD, dim] each. Shards that are there are kept, torn ones are made anew.

    `texts(start, end)` gives the texts of a shard, `embed` their vectors. A shard is written beside its place and
    renamed, so a name stands for the whole of it.
    """
    told = 0
    for at, start in enumerate(range(0, n, SHARD)):
        end = min(n, start + SHARD)
        path = folder / f"{at:05d}.npy"
        if _whole(path, end - start):
            continue
        beside = path.with_suffix(".part")
        with beside.open("wb") as file:
            np.save(file, embed(texts(start, end)), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
        if end * 10 // n > told and n > SHARD:
            told = end * 10 // n
            say(f"dense: {end:,} of {n:,} passages are embedded")


def _whole(path: Path, rows: int) -> bool:
    try:
        found: bool = np.load(path, mmap_mode="r", allow_pickle=False).shape[0] == rows
    except (OSError, ValueError, EOFError):
        return False
    return found


def shards_of(folder: Path) -> Iterator[Vectors]:
    """The vectors of a folder, shard by shard, mapped."""
    for path in sorted(folder.glob("*.npy")):
        yield np.load(path, mmap_mode="r", allow_pickle=False)


def build(folder: Path, shards: Path, n: int, layout: Layout) -> None:
    """Write the FAISS index of all shards. Raises `UsageError` for too few vectors to learn from."""
    import faiss

    metric, dim = faiss.METRIC_INNER_PRODUCT, layout.dim
    threads = faiss.omp_get_max_threads()
    index: Any
    if layout.kind == "flat":
        index = faiss.IndexFlatIP(dim)
    elif layout.kind == "hnsw":
        index = faiss.IndexHNSWFlat(dim, layout.links, metric)
        index.hnsw.efConstruction = 200
        faiss.omp_set_num_threads(1)  # Subtle: with several threads the graph is another one each time.
    else:
        lists = layout.lists_of(n)
        least = max(lists, 2**_BITS if layout.kind == "ivfpq" else 1)
        if n < least:
            raise UsageError(f"dense: index={layout.kind} learns from {least} passages at least, the corpus has {n}",
                             "Use index=flat: it is exact, and fast for so few.")  # fmt: skip
        coarse = faiss.IndexFlatIP(dim)
        if layout.kind == "ivf":
            index = faiss.IndexIVFFlat(coarse, dim, lists, metric)
        else:
            index = faiss.IndexIVFPQ(coarse, dim, lists, layout.parts_of(), _BITS, metric)
        index.cp.min_points_per_centroid = 1  # it warns otherwise, on descriptor 1
        index.train(_sample(shards, n, max(_TRAINED_BY * lists, 2**_BITS * _TRAINED_BY)))
    try:
        for block in shards_of(shards):
            index.add(np.ascontiguousarray(block))
    finally:
        faiss.omp_set_num_threads(threads)
    faiss.write_index(index, str(folder / _FILE))


def _sample(shards: Path, n: int, wanted: int) -> Vectors:
    """Vectors spread evenly over all."""
    step = max(1, n // wanted)
    taken, start = [], 0
    for block in shards_of(shards):
        taken.append(np.array(block[-start % step :: step]))
        start += len(block)
    return np.concatenate(taken)


class Mapped:
    """A FAISS index whose file is mapped: processes share its pages, and it is there at once."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        import faiss

        # Two ways of mapping: lists of ivf, and the flat codes of the others.
        inverted = layout.kind in ("ivf", "ivfpq")
        flag = faiss.IO_FLAG_MMAP if inverted else getattr(faiss, "IO_FLAG_MMAP_IFC", 0)
        index: Any = faiss.read_index(str(folder / _FILE), flag | faiss.IO_FLAG_READ_ONLY if inverted else flag)
        self._n = int(index.ntotal)
        self._beam = layout.beam
        if inverted:
            index.nprobe = layout.probes_of(index.nlist)
        self._index = index
        self._hnsw = layout.kind == "hnsw"

    def search(self, query: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Places and scores of the k best, and of all that tie with the k-th, best first."""
        wanted = min(self._n, k + _PATIENCE)
        while True:
            if self._hnsw:
                self._index.hnsw.efSearch = max(self._beam, wanted)
            scores, places = self._index.search(query.reshape(1, -1), wanted)
            found = places[0] >= 0
            if wanted >= self._n or not found.all() or len(scores[0]) <= k or scores[0][k - 1] > scores[0][-1]:
                return places[0][found], scores[0][found]
            wanted = min(self._n, wanted * 4)
