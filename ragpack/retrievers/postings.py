"""BM25 over a corpus: an index that is built in one stream, in shards, in the format of bm25s.

Each shard is a folder that `bm25s.BM25.load` opens: weights of words in documents, computed beforehand, word by word.
Document frequencies and the mean length are those of the whole corpus, so merged results are those of one shard.

Building walks through the texts once. Blocks of (word, document, count) go to a file, since weights need frequencies
that are known at the end; then each shard's blocks are laid out by word, a counting sort in linear time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from ragpack.candidates.lexical import idf, saturation
from ragpack.retrievers.mapped import Strings, mapped, write_strings

VERSION = 1
"""Counted up when words, weights or files are others."""
_BLOCK = 4096
_GROUP = 64


class Variant(NamedTuple):
    """Which BM25."""

    method: str
    k1: float
    b: float


class Scored(NamedTuple):
    """A document by its place in the corpus."""

    place: int
    score: float


class _Vocabulary(dict[str, int]):
    """Word → number of its stem, in the order of first appearance."""

    def __init__(self, stem: Callable[[str], str] | None) -> None:
        super().__init__()
        self._stem = stem
        self._stems: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        stem = self._stem(word) if self._stem else word
        number = self._stems.setdefault(stem, len(self._stems))
        self[word] = number
        return number

    def stems(self) -> list[str]:
        return list(self._stems)


class _Block(NamedTuple):
    """Of a few thousand documents: which words each holds, sorted by word, then document."""

    words: NDArray[np.int32]
    docs: NDArray[np.int32]
    counts: NDArray[np.int32]


class _Blocks:
    """The blocks of a shard, in a file until the weights are known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sizes: list[int] = []

    def append(self, block: _Block) -> None:
        with self._path.open("ab") as file:
            for values in block:
                values.tofile(file)
        self._sizes.append(len(block.words))

    def __iter__(self) -> Iterator[_Block]:
        with self._path.open("rb") as file:
            for size in self._sizes:
                yield _Block(*(np.fromfile(file, dtype=np.int32, count=size) for _ in _Block._fields))

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def build(
    texts: Iterable[list[str]],
    folder: Path,
    variant: Variant,
    shard_size: int,
    stem: Callable[[str], str] | None = None,
) -> None:
    """Write the index of documents, each given as its words."""
    texts = iter(texts)
    vocabulary = _Vocabulary(stem)
    df = np.zeros(1 << 16, dtype=np.int64)
    shards: list[_Blocks] = []
    lengths: list[NDArray[np.int64]] = []
    while True:
        blocks = _Blocks(folder / f"blocks-{len(shards)}")
        sizes: list[NDArray[np.int64]] = []
        filled = 0
        while filled < shard_size:
            counted = _count(islice(texts, min(_BLOCK, shard_size - filled)), vocabulary, filled)
            if not len(counted.lengths):
                break
            blocks.append(counted.block)
            sizes.append(counted.lengths)
            filled += len(counted.lengths)
            runs = _runs(counted.block.words)
            if len(runs.values) and runs.values[-1] >= len(df):
                df = np.concatenate([df, np.zeros(max(len(df), int(runs.values[-1])), dtype=np.int64)])
            df[runs.values] += runs.times
        if not sizes:
            break
        shards.append(blocks)
        lengths.append(np.concatenate(sizes))
    total = sum(map(len, lengths))
    mean = sum(int(one.sum()) for one in lengths) / total
    stems = [stem.encode("utf-8", "surrogatepass") for stem in vocabulary.stems()]
    del vocabulary
    weight = idf(df[: len(stems)].astype(np.float64), total, variant.method)
    for number, (blocks, length) in enumerate(zip(shards, lengths, strict=True)):
        norm = 1.0 - variant.b + variant.b * length / (mean or 1.0)
        _lay_out(blocks, folder / f"shard-{number}", stems, weight, norm, variant)
        blocks.remove()
    about = {"documents": total, "shards": [len(one) for one in lengths], "mean_length": mean}
    (folder / "about.json").write_bytes(orjson.dumps(about))


class _Counted(NamedTuple):
    block: _Block
    lengths: NDArray[np.int64]
    """Words of each document."""


def _count(texts: Iterable[list[str]], vocabulary: _Vocabulary, first: int) -> _Counted:
    """The block of a few documents, of which the first one's number is given."""
    numbers: list[int] = []
    sizes: list[int] = []
    for text in texts:
        numbers.extend(map(vocabulary.__getitem__, text))
        sizes.append(len(text))
    lengths = np.array(sizes, dtype=np.int64)
    docs = np.repeat(np.arange(first, first + len(sizes), dtype=np.int64), lengths)
    keys = _runs(np.sort(np.array(numbers, dtype=np.int64) << 32 | docs))
    words, docs = keys.values >> 32, keys.values & 0xFFFFFFFF
    return _Counted(_Block(words.astype(np.int32), docs.astype(np.int32), keys.times.astype(np.int32)), lengths)


class _Runs(NamedTuple):
    """Equal values that stand together in a sorted array."""

    values: NDArray[Any]
    starts: NDArray[np.int64]
    times: NDArray[np.int64]


def _runs(found: NDArray[Any]) -> _Runs:
    starts = np.flatnonzero(np.diff(found, prepend=-1))
    return _Runs(found[starts], starts, np.diff(starts, append=len(found)))


def _lay_out(
    blocks: _Blocks, folder: Path, stems: Sequence[bytes], weight: NDArray[np.float64], norm: NDArray[Any],
    variant: Variant,
) -> None:  # fmt: skip
    """The weights of a shard, word by word, in the format of bm25s."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    local_df = np.zeros(len(stems), dtype=np.int64)
    for block in blocks:
        runs = _runs(block.words)
        local_df[runs.values] += runs.times
    held = sorted(np.flatnonzero(local_df).tolist(), key=stems.__getitem__)
    local = np.full(len(stems), -1, dtype=np.int32)
    local[held] = np.arange(len(held), dtype=np.int32)
    indptr = np.zeros(len(held) + 1, dtype=np.int64)
    np.cumsum(local_df[held], out=indptr[1:])
    cursor = indptr[:-1].copy()
    data, indices = np.empty(indptr[-1], dtype=np.float32), np.empty(indptr[-1], dtype=np.int32)
    zero = saturation(np.zeros(1), np.ones(1), variant.k1, variant.method)[0]
    for block in blocks:
        runs = _runs(block.words)
        place = np.repeat(cursor[local[runs.values]] - runs.starts, runs.times) + np.arange(len(block.words))
        gain = saturation(block.counts.astype(np.float64), norm[block.docs], variant.k1, variant.method) - zero
        data[place] = weight[block.words] * gain
        indices[place] = block.docs
        cursor[local[runs.values]] += runs.times
    words = [stems[at] for at in held]
    index = bm25s.BM25(method=variant.method, k1=variant.k1, b=variant.b)
    index.scores = {"data": data, "indices": indices, "indptr": indptr, "num_docs": len(norm)}
    index.vocab_dict = {word.decode("utf-8", "surrogatepass"): at for at, word in enumerate(words)}
    index.nonoccurrence_array = (weight[held] * zero).astype(np.float32) if zero else None
    index.save(folder, show_progress=False)
    write_strings(folder, "words", words)


def _at_least(scores: NDArray[np.float32], k: int) -> np.float32:
    """A number above 0 that the k-th best score reaches, if k are above 0: the k-th best of the maxima of groups."""
    # Sorting out all that share a word with the question would take as long as adding the scores up.
    groups = len(scores) // _GROUP
    if groups > k:
        best = np.partition(scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0), -k)[-k]
        if best > 0:
            return np.float32(best)
    return np.finfo(np.float32).tiny


class _Shard:
    """A part of the corpus, mapped."""

    def __init__(self, folder: Path, first: int, documents: int) -> None:
        self.first = first
        self._documents = documents
        self._words = Strings(folder, "words")
        self._data, self._indices = mapped(folder / "data.csc.index.npy"), mapped(folder / "indices.csc.index.npy")
        self._indptr = mapped(folder / "indptr.csc.index.npy")
        absent = folder / "nonoccurrence_array.index.npy"
        self._absent = mapped(absent) if absent.exists() else None

    def find(self, words: Sequence[bytes]) -> list[int | None]:
        return [self._words.find(word) for word in words]

    def absent(self, word: int) -> float:
        """What a word counts in a document that lacks it."""
        return float(self._absent[word]) if self._absent is not None else 0.0

    def best(self, words: Sequence[int | None], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Places and scores of the k best above 0, and of all that tie with the last of them; in no order."""
        scores = np.zeros(self._documents, dtype=np.float32)
        for word in words:
            if word is not None:
                start, end = self._indptr[word], self._indptr[word + 1]
                # A document comes once in a word's list: plain indexing adds right, and faster than np.add.at.
                scores[self._indices[start:end]] += self._data[start:end]
        places = np.flatnonzero(scores >= _at_least(scores, k))
        found = scores[places]
        if len(found) > k:
            kept = found >= np.partition(found, -k)[-k]
            places, found = places[kept], found[kept]
        return places + self.first, found


class Postings:
    """An index that `build` wrote, mapped into memory."""

    def __init__(self, folder: Path, rank: NDArray[Any]) -> None:
        about = orjson.loads((folder / "about.json").read_bytes())
        self._rank = rank
        self._shards, first = [], 0
        for number, documents in enumerate(about["shards"]):
            self._shards.append(_Shard(folder / f"shard-{number}", first, documents))
            first += documents

    def search(self, words: Sequence[str], k: int) -> list[Scored]:
        """The k best documents that hold a word, best first; ties by rank. A word counts as often as it is given."""
        wanted = [word.encode("utf-8", "surrogatepass") for word in words]
        found = [shard.find(wanted) for shard in self._shards]
        parts = [shard.best(known, k) for shard, known in zip(self._shards, found, strict=True)]
        places = np.concatenate([part[0] for part in parts])
        scores = np.concatenate([part[1] for part in parts])
        if len(parts) > 1 and len(scores) > k:
            kept = scores >= np.partition(scores, -k)[-k]
            places, scores = places[kept], scores[kept]
        order = np.lexsort((self._rank[places], -scores))[:k]
        return [Scored(place, score) for place, score in
                zip(places[order].tolist(), (scores[order] + self._absent(found)).tolist(), strict=True)]  # fmt: skip

    def _absent(self, found: Sequence[Sequence[int | None]]) -> np.float32:
        """What the words count in a document that lacks them all; a word is known if one shard knows it."""
        total = np.float32(0)
        for known in zip(*found, strict=True):
            number, word = next(((at, word) for at, word in enumerate(known) if word is not None), (0, None))
            if word is not None:
                total += np.float32(self._shards[number].absent(word))
        return total
