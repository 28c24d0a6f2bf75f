"""Dense retrieval: cosine of question and document by a sentence-transformers model; FAISS over a corpus.

A pool's few documents are embedded for their question and compared directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from ragpack.errors import UsageError
from ragpack.flow.keys import digest
from ragpack.models.embedder import Embedder, Vectors, check_width, embedder_of, shortened
from ragpack.models.folder import fingerprint_folder, model_folder
from ragpack.models.usage import Usage, usage_of
from ragpack.records import Doc
from ragpack.retrievers.base import Found
from ragpack.retrievers.corpus import Corpus
from ragpack.retrievers.index import Manifest, open_index
from ragpack.retrievers.vectors import SHARD, Kind, Layout, Mapped, build, embed_shards

_VERSION = 1
DIGITS = 6
"""Of a score; behind them is the noise of sums in single precision."""


class Dense:
    """Ranks documents by the cosine of their vectors with the question's."""

    def __init__(
        self, embedder: Embedder, name: str, usage: Usage, fingerprint: str, docs: Sequence[Doc], index: Mapped | None
    ) -> None:
        self._embedder, self._name, self._usage, self._docs, self._index = embedder, name, usage, docs, index
        self.fingerprint = fingerprint
        self._question = lru_cache(256)(self._embedded)

    def search(self, question: str, docs: Sequence[Doc] | None, k: int) -> list[Found]:
        """The best `k` documents; ties by id. `docs` is the question's pool; None searches the corpus."""
        if docs is None:
            assert self._index is not None
            places, values = self._index.search(self._question(question), k)
            found = [(self._docs[at], value) for at, value in zip(places.tolist(), values.tolist(), strict=True)]
        else:
            found = self._pool(question, docs)
        hits = [Found(doc, score, {"dense": score}) for doc, score in ((doc, round(at, DIGITS)) for doc, at in found)]
        hits.sort(key=lambda one: (-one.score, one.doc.id))
        return hits[:k]

    def _pool(self, question: str, docs: Sequence[Doc]) -> list[tuple[Doc, float]]:
        if not docs:
            return []
        texts = [self._usage.of_passage(passage(doc)) for doc in docs]
        group = self._embedder.group(texts)
        vectors = self._cut(np.stack([group[text] for text in texts]))
        # Row by row: a product of matrices may give a row other last bits in another place.
        values = (vectors.astype(np.float64) * self._question(question).astype(np.float64)).sum(axis=1)
        return list(zip(docs, values.tolist(), strict=True))

    def _embedded(self, question: str) -> Vectors:
        vector: Vectors = self._cut(self._embedder.encode([self._usage.of_question(question)]))[0]
        return vector

    def _cut(self, vectors: Vectors) -> Vectors:
        dim = check_width("dense", self._name, self._usage.dim, vectors.shape[1])
        return shortened(vectors, dim)


def open_retriever(
    corpus: Corpus | None,
    index: Path | None = None,
    say: Callable[[str], object] = lambda text: None,  # noqa: ARG005 # nobody listens
    *,
    model: str = "BAAI/bge-small-en-v1.5",
    dim: int = -1,
    instruction: str = "auto",
    prefix: str = "auto",
    index_: Kind = "flat",
    lists: int = 0,
    probes: int = 0,
    bytes_: int = 0,
    links: int = 32,
    beam: int = 128,
) -> Dense:
    """Cosine of question and document by an embedding model (Karpukhin et al. 2020; Reimers and Gurevych 2019).

    The first `dim` dimensions, renormalised; 0 is all, -1 the model's usual number. `instruction` stands before the
    question and `prefix` before a passage: `auto` by model, `none`, or a text. `index` over a corpus: flat is exact;
    hnsw (links, beam), ivf (lists, probes) and ivfpq (bytes) are approximate.
    """
    for key, value, least in (("dim", dim, -1), ("lists", lists, 0), ("probes", probes, 0), ("bytes", bytes_, 0),
                              ("links", links, 2), ("beam", beam, 1)):  # fmt: skip
        if value < least:
            raise UsageError(f"dense: {key}={value} is less than {least}")
    folder = model_folder("dense: model", model)
    usage = usage_of(folder, model, dim, instruction, prefix)
    embedder = embedder_of("dense: model", model, folder)
    # What the last bits of scores hang on too, the device and the threads, is not in it.
    whole = fingerprint_folder(folder, f"dense/{_VERSION}")
    fingerprint = digest([whole, *usage])
    mapped = None
    if corpus is not None:
        mapped = _indexed(corpus, index, say, embedder, model, usage, whole, Layout(
            index_, usage.dim, lists, probes, bytes_, links, beam))  # fmt: skip
    return Dense(embedder, model, usage, fingerprint, corpus.docs if corpus else (), mapped)


def passage(doc: Doc) -> str:
    """What is embedded of a document."""
    return f"{doc.title}\n{doc.text}" if doc.title else doc.text


def _indexed(
    corpus: Corpus, folder: Path | None, say: Callable[[str], object], embedder: Embedder, name: str, usage: Usage,
    whole: str, layout: Layout,
) -> Mapped:  # fmt: skip
    """The index of a corpus, from its folder or built now. The vectors have a folder of their own: another index over
    them embeds nothing, and a killed run goes on from the shards that it wrote."""
    n = len(corpus.docs)
    width = check_width("dense", name, usage.dim, embedder.width)
    layout = layout._replace(dim=width)
    if layout.kind == "ivfpq" and width % layout.parts_of():
        raise UsageError(f"dense: bytes={layout.parts} does not divide the {width} dimensions")
    settings: dict[str, int | float | bool | str] = {"model": whole, "dim": width, "prefix": usage.passage}
    mark = digest(settings)[:8]

    def texts(start: int, end: int) -> list[str]:
        return [usage.of_passage(passage(doc)) for doc in corpus.docs[start:end]]

    def embed(batch: Sequence[str]) -> Vectors:
        return shortened(embedder.encode(batch), width)

    def make_shards(place: Path) -> None:
        say(f"dense: {n:,} passages of {width} dimensions: vectors {_size(4 * n * width)} on disk, "
            f"the index {layout.kind} {_size(layout.bytes_of(n))} of memory while it is built, about")  # fmt: skip
        embed_shards(place, n, texts, embed, say)

    def shards() -> Path:
        manifest = Manifest(f"vectors-{mark}", _VERSION, corpus.fingerprint, n, {**settings, "shard": SHARD})
        return open_index(folder, manifest, make_shards, say, resume=True)

    built = {"flat": {}, "hnsw": {"links": layout.links}, "ivf": {"lists": layout.lists},
             "ivfpq": {"lists": layout.lists, "bytes": layout.parts_of()}}[layout.kind]  # fmt: skip
    manifest = Manifest(f"dense-{mark}-{layout.kind}", _VERSION, corpus.fingerprint, n, {**settings, **built})
    place = open_index(folder, manifest, lambda place: build(place, shards(), n, layout), say)
    return Mapped(place, layout)


def _size(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
