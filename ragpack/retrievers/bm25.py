"""BM25: an index over a corpus; over a question's own few documents the same formula, directly.

An index for ten documents costs more than the search, so pools are scored by `candidates.lexical.bm25`; a test holds
both to the same numbers. Tokens are `text.words`: numbers, single letters and CJK characters stay in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

from ragpack.candidates.lexical import bm25, bm25_counts
from ragpack.errors import Missing, UsageError, did_you_mean
from ragpack.records import Doc
from ragpack.registry import Value
from ragpack.retrievers.base import Found
from ragpack.retrievers.corpus import Corpus, ranks_of
from ragpack.retrievers.index import Manifest, open_index
from ragpack.retrievers.postings import VERSION, Postings, Scored, Variant, build
from ragpack.text import STOP_WORDS, count_words, words

SHARD = 1_000_000
"""Passages that are laid out in memory at once."""
_TOLD = 100_000
"""The needs of an index of fewer passages are not worth a sentence."""

Stem = Callable[[str], str]
_id, _score = attrgetter("id"), attrgetter("score")


class Bm25:
    """Ranks documents by BM25 against the question's words, stop words left out."""

    def __init__(
        self, docs: Sequence[Doc], postings: Postings | None, variant: Variant, stem: Stem | None, stop: bool,
        settings: Mapping[str, Value] | None = None,
    ) -> None:  # fmt: skip
        self.version = None if postings is None else VERSION
        """Part of the content key: other scores get another number. Those of pools have kept theirs."""
        self.settings = settings
        """For the record, where there is an index."""
        self._docs, self._postings = docs, postings
        self._variant, self._stem, self._stop = variant, stem, stop

    def search(self, question: str, docs: Sequence[Doc] | None, k: int) -> list[Found]:
        """The best `k` documents that share a word with the question; ties by id, so that the order in which
        documents came changes nothing. `docs` is the question's pool; None searches the corpus."""
        if docs is None:
            return [Found(self._docs[one.place], one.score) for one in self.places(question, k)]
        query = self._query(question)
        # Subtle: sums over a pool run in the order of its ids, or the last bit of a score could follow the pool's.
        pool = sorted(docs, key=_id)
        found = [Found(doc, score) for doc, score in zip(pool, self._scores(query, pool), strict=True) if score > 0]
        found.sort(key=_score, reverse=True)  # stable: ties stay in the order of ids
        return found[:k]

    def _scores(self, query: list[str], pool: Sequence[Doc]) -> list[float]:
        k1, b = self._variant.k1, self._variant.b
        if self._stem is None and self._variant.method == "lucene":
            repeats = Counter(query)
            wanted = tuple(repeats)
            counted = [count_words(f"{doc.title or ''} {doc.text}", wanted) for doc in pool]
            lengths, times = [one.length for one in counted], [one.times for one in counted]
            return bm25_counts(list(repeats.values()), times, lengths, k1=k1, b=b)
        texts = [_tokens(doc) for doc in pool]
        if self._stem:
            texts = [list(map(self._stem, text)) for text in texts]
        scores: list[float] = bm25(query, texts, k1=k1, b=b, method=self._variant.method).tolist()
        return scores

    def places(self, question: str, k: int) -> list[Scored]:
        """The same over the corpus, without the documents: `hops` looks at few of the many that it asks for."""
        assert self._postings is not None, "no corpus"
        return self._postings.search(self._query(question), k)

    def _query(self, question: str) -> list[str]:
        query = words(question)
        if self._stop:
            query = [word for word in query if word not in STOP_WORDS] or query
        return list(map(self._stem, query)) if self._stem else query


def open_retriever(
    corpus: Corpus | None,
    index: Path | None = None,
    say: Callable[[str], object] = lambda text: None,  # noqa: ARG005 # nobody listens
    shard_size: int = SHARD,
    *,
    k1: float = 1.5,
    b: float = 0.75,
    method: Literal["lucene", "robertson", "atire", "bm25l", "bm25+"] = "lucene",
    stemmer: str = "none",
    stop: bool = True,
) -> Bm25:
    """BM25 (Robertson), by default in Lucene's variant.

    score(q, d) = sum over t in q of ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 (1 - b + b |d| / mean |d|)).
    N, df and the mean length are those of the pool, or of the corpus. Documents without a word of the question are no
    hits. `stemmer` is a language of Snowball's; `stop` leaves stop words out of the question.
    """
    if k1 < 0 or not 0 <= b <= 1:
        raise UsageError(f"bm25: k1={k1}, b={b}: k1 is at least 0, b is between 0 and 1")
    variant, stem = Variant(method, k1, b), _stemmer(stemmer)
    if corpus is None:
        return Bm25((), None, variant, stem, stop)
    known: dict[str, Value] = {"method": method, "k1": float(k1), "b": float(b), "stemmer": stemmer}
    # Stop words stand in the index: only questions do without them.
    settings = {**known, "shard_size": shard_size, "tokens": "unicode", "stop_words": "kept"}
    manifest = Manifest("bm25", VERSION, corpus.fingerprint, len(corpus.docs), settings)

    def make(folder: Path) -> None:
        if len(corpus.docs) >= _TOLD:
            say(str(needs_of(corpus.docs, shard_size)))
        build(map(_tokens, corpus.docs), folder, variant, shard_size, stem)

    folder = open_index(index, manifest, make, say)
    postings = Postings(folder, ranks_of(corpus.docs))
    return Bm25(corpus.docs, postings, variant, stem, stop, {**known, "stop": stop})


class Needs(NamedTuple):
    """What building an index takes, told from a sample."""

    passages: int
    shards: int
    memory: float
    """Bytes."""
    disk: float
    """Bytes, of the index."""
    work: float
    """Bytes on disk while it is built."""

    def __str__(self) -> str:
        shards = f"{self.shards} shard{'s' if self.shards > 1 else ''}"
        return (
            f"bm25 over {self.passages:,} passages in {shards}: building takes {_gigabytes(self.memory)} of memory "
            f"and {_gigabytes(self.work)} of disk, about; the index {_gigabytes(self.disk)}"
        )


def needs_of(docs: Sequence[Doc], shard_size: int) -> Needs:
    """An estimate from a thousand documents, evenly spread.

    A posting (word, document) takes 12 bytes in the blocks and 8 in the index, of which one shard is in memory.
    The words are extrapolated by Heaps' law with exponent 0.6; one takes some 250 bytes in the dictionary. A passage
    has 100 bytes of id and places.
    """
    step = max(1, len(docs) // 1000)
    texts = [_tokens(docs[at]) for at in range(0, len(docs), step)]
    postings = sum(len(set(text)) for text in texts) / len(texts) * len(docs)
    grown = (len(docs) / len(texts)) ** 0.6
    vocabulary = len({word for text in texts for word in text}) * grown
    shards = -(-len(docs) // shard_size)
    names = vocabulary * 20 * min(shards, shards**0.4 * 1.5)
    laid_out = postings / len(docs) * min(len(docs), shard_size)
    memory = 150e6 + 100 * len(docs) + laid_out * 10 + vocabulary * 250
    disk = postings * 8 + names
    return Needs(len(docs), shards, memory, disk, disk + postings * 12)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"


def _stemmer(name: str) -> Stem | None:
    if name == "none":
        return None
    try:
        import Stemmer
    except ImportError:
        raise Missing(f"bm25:stemmer={name}", "stem") from None
    known = ["none", *Stemmer.algorithms()]
    if name not in known:
        raise UsageError(f"bm25: stemmer={name} is no stemmer. {did_you_mean(name, known)}")
    found: Stem = Stemmer.Stemmer(name).stemWord
    return found


def _tokens(doc: Doc) -> list[str]:
    return words(f"{doc.title or ''} {doc.text}")
