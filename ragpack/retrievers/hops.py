"""Retrieval over several hops without a model: from what another retriever finds, along links between documents.

A document links to another whose title it mentions, and to those that hold names which the question lacks. A hop's
best documents hand most of their score on to what they link to, and what they lack of the question is looked for
there. Each hit says which document led to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ragpack.errors import UsageError
from ragpack.records import Doc
from ragpack.retrievers.base import Found
from ragpack.retrievers.corpus import Corpus, Passages, place_in, ranks_of
from ragpack.retrievers.index import Manifest, open_index
from ragpack.retrievers.link_index import SETTINGS, VERSION, StoredLinks, build
from ragpack.retrievers.links import STEM, LinkIndex, Links
from ragpack.retrievers.names import Name, Surface, names, surface
from ragpack.retrievers.parts import Part, open_parts, version_of
from ragpack.text import STOP_WORDS

_DEPTH = 200
"""Documents that the base retriever is asked for, or k if that is more."""
_HALF = 0.6
"""Summed rarity of shared names at which their link has half its strength."""


class Weights(NamedTuple):
    """How much each part counts; see `open_retriever`."""

    keep: float
    lift: float
    same: float
    title: float
    back: float
    names: float
    own: float
    rest: float


class Reached(NamedTuple):
    """A document that the question or a path leads to."""

    score: float
    path: tuple[int, ...] = ()
    """The documents before it, from the question on."""
    link: float | None = None
    """Strength of the last step."""


class Hops:
    """A base retriever whose hits lead on to others."""

    version = 1
    """Part of the content key: other links or scores get another number."""

    def __init__(
        self, corpus: Corpus | None, links: LinkIndex | None, base: Part, n: int, beam: int, weights: Weights
    ) -> None:
        if corpus:
            self.version = 2  # scores over a corpus are rounded otherwise than they were
        self.settings = getattr(base.retriever, "settings", None)
        """Those of the base."""
        self._base, self._n, self._beam, self._weights = base.retriever, n, beam, weights
        plain = base.spec.name == str(base.spec) and version_of(base.retriever) is None
        self.fingerprint = None if plain else base.fingerprint
        """Of a base that is more than its name."""
        self._corpus = None
        if corpus and links:
            ranks: Any = ranks_of(corpus.docs)
            self._corpus = _Searched(corpus.docs, links, memoryview(ranks), place_in(corpus.docs))

    def search(self, question: str, docs: Sequence[Doc] | None, k: int) -> list[Found]:
        """The best `k` documents that the question or a path from it leads to. `docs` is the question's pool; None
        searches the corpus."""
        searched = self._corpus if docs is None else _pool(docs)
        assert searched is not None, "no corpus"
        first, scores = self._first(question, docs, searched, max(k, _DEPTH))
        absent = dict.fromkeys((name for one in scores.values() for name in one), None)
        walk = _Walk(surface(question), searched, first, self._weights)
        for _ in range(self._n):
            walk.hop(self._beam)
        hits = []
        for at, one in walk.best(k):
            doc = searched.docs[at]
            own = {"base": walk.base.get(at), "link": one.link, "hop": len(one.path)}
            bridge = searched.docs[one.path[-1]].id if one.path else None
            hits.append(Found(doc, one.score, absent | scores.get(doc.id, {}) | own, bridge))
        return hits

    def _first(self, question: str, docs: Sequence[Doc] | None, searched: _Searched, k: int) -> _First:
        if docs is None and isinstance(self._base, _ByPlace):
            return _First(dict(self._base.places(question, k)), {})
        found = self._base.search(question, docs, k)
        return _First(
            {searched.place(one.doc.id): one.score for one in found}, {one.doc.id: one.scores or {} for one in found}
        )


@runtime_checkable
class _ByPlace(Protocol):
    """A retriever that gives places in its corpus sooner than documents."""

    def places(self, question: str, k: int) -> Sequence[tuple[int, float]]: ...


class _First(NamedTuple):
    """What the base found."""

    scores: dict[int, float]
    """By place."""
    parts: dict[str, dict[str, float | None]]
    """What the scores are made of, by id."""


class _Searched(NamedTuple):
    """Documents with their links; places are those in `docs`."""

    docs: Sequence[Doc]
    links: LinkIndex
    rank: Sequence[int]
    """[n] place of each in the order of ids."""
    place: Callable[[str], int]
    """Of an id."""


def _pool(docs: Sequence[Doc]) -> _Searched:
    ordered = sorted(docs, key=lambda doc: doc.id)
    return _Searched(ordered, Links(ordered), range(len(ordered)), place_in(ordered))


class _Walk:
    """The paths of one question. Documents are named by their places."""

    def __init__(self, question: Surface, searched: _Searched, base: dict[int, float], weights: Weights) -> None:
        self.base = base
        self._links, self._rank, self._weights = searched.links, searched.rank, weights
        self._words = frozenset(question.words)
        top = max(base.values(), default=0.0)
        self._own = {at: score / top for at, score in base.items()} if top > 0 else {}
        terms = [word for word in question.words if word not in STOP_WORDS] or question.words
        self._terms = _Terms(self._links, dict.fromkeys(term[:STEM] for term in terms))
        self._followed: dict[int, dict[int, float]] = {}
        self.reached = {at: Reached(score) for at, score in self._first(question).items() if score > 0}

    def _first(self, question: Surface) -> dict[int, float]:
        """Scores before any hop: the base's, the lift of titles that the question mentions, the names it shares."""
        found = dict(self._own)
        for at, weight in self._links.titles_in(question).items():
            found[at] = found.get(at, 0.0) + self._weights.lift * weight
        for name in dict.fromkeys(names(question)):
            holders = self._links.holding(name)
            if not holders:
                continue
            share = self._weights.same * self._links.rarity(name) * (1.0 if len(name) > 1 else 0.5)
            for at in holders:
                found[at] = found.get(at, 0.0) + share
        return found

    def best(self, k: int) -> list[tuple[int, Reached]]:
        """The best `k`, ties by id."""
        return sorted(self.reached.items(), key=lambda item: (-item[1].score, self._rank[item[0]]))[:k]

    def hop(self, beam: int) -> None:
        """Follow the links of the `beam` best, all of them with the scores that they had before this hop. None leads to
        a document on its own path, or to a better one: scores would feed on themselves."""
        found = dict(self.reached)
        for place, (at, source) in enumerate(best := self.best(beam)):
            better = {other for other, _ in best[:place]}
            for target, link in self._linked(at).items():
                if target in source.path or target in better:
                    continue
                score = self._weights.keep * source.score * link + self._weights.own * self._own.get(target, 0.0)
                score += self._weights.rest * self._terms.added(at, target)
                if target not in found or score > found[target].score:
                    found[target] = Reached(score, (*source.path, at), link)
        self.reached = found

    def _linked(self, at: int) -> dict[int, float]:
        """Documents that one links to, with strengths in (0, 1]: the strongest of title, title the other way, and
        names."""
        if at not in self._followed:
            found: dict[int, float] = {}
            for weight, mentions in ((self._weights.title, self._links.out), (self._weights.back, self._links.back)):
                for mention in mentions[at]:
                    found[mention.doc] = max(found.get(mention.doc, 0.0), weight * mention.weight)
            for other, rarity in self._shared(at).items():
                found[other] = max(found.get(other, 0.0), self._weights.names * rarity / (rarity + _HALF))
            self._followed[at] = {other: link for other, link in found.items() if link > 0}
        return self._followed[at]

    def _shared(self, at: int) -> dict[int, float]:
        """Documents that hold names which this one holds and the question lacks, with the sum of the names' rarity."""
        found: dict[int, float] = {}
        for name in self._links.names[at]:
            holders = self._links.holding(name)
            if len(holders) > 1 and not self._asked(name):
                rarity = self._links.rarity(name)
                for other in holders:
                    if other != at:
                        found[other] = found.get(other, 0.0) + rarity
        return found

    def _asked(self, name: Name) -> bool:
        return all(word in self._words for word in name)


class _Terms:
    """A question's terms, and which documents have them: sets of terms are bits of a number."""

    def __init__(self, links: LinkIndex, stems: Iterable[str]) -> None:
        self._idf = [links.idf(stem) for stem in stems]
        self._total = sum(self._idf) or 1.0
        self._docs = [links.having(stem) for stem in stems]
        self._masks: dict[int, int] = {}
        self._shares: dict[int, float] = {}

    def added(self, at: int, target: int) -> float:
        """Share of the terms, by idf, that the target has and the document that led to it lacks."""
        mask = self._mask(target) & ~self._mask(at)
        if mask not in self._shares:
            self._shares[mask] = sum(idf for bit, idf in enumerate(self._idf) if mask >> bit & 1) / self._total
        return self._shares[mask]

    def _mask(self, at: int) -> int:
        if at not in self._masks:
            self._masks[at] = sum(1 << bit for bit, docs in enumerate(self._docs) if at in docs)
        return self._masks[at]


def open_retriever(
    corpus: Corpus | None, index: Path | None = None,
    say: Callable[[str], object] = lambda text: None,  # noqa: ARG005 # nobody listens
    shard_size: int = 1_000_000,
    *, n: int = 2, beam: int = 6, base: str = "bm25", keep: float = 0.85, lift: float = 1.3,
    same: float = 0.2, title: float = 1.0, back: float = 0.6, names: float = 0.9, own: float = 0.45, rest: float = 0.5,
) -> Hops:  # fmt: skip
    """Follows links between documents for n hops, from the hits of another retriever; no model.

    s_0(d) = own score / largest own score + lift * title of d in the question + same * rarity of names in both.
    s_h(y) = max(s_{h-1}(y), keep * s_{h-1}(x) * link(x, y) + own * own score of y + rest * what y adds to x's terms),
    x the beam best of s_{h-1}; link = max(title, back, names) parts, each in [0, 1].
    """
    from ragpack.retrievers import ASKING

    if n < 0 or beam < 1:
        raise UsageError(f"hops: n={n}, beam={beam}: n is at least 0, beam at least 1")
    weights = Weights(keep, lift, same, title, back, names, own, rest)
    for key, value in weights._asdict().items():
        if value < 0 or (key in ("keep", "title", "back", "names") and value > 1):
            raise UsageError(f"hops: {key}={value}: weights are at least 0; keep, title, back and names at most 1")
    found = None
    if corpus and isinstance(corpus.docs, Passages):
        manifest = Manifest("links", VERSION, corpus.fingerprint, len(corpus.docs), SETTINGS)
        docs = corpus.docs
        found = StoredLinks(open_index(index, manifest, lambda folder: build(docs, folder), say), len(docs))
    links = found or (Links(corpus.docs) if corpus else None)
    parts = open_parts("hops: base=", base, corpus, index, say, shard_size, but=("hops", *ASKING))
    if len(parts) > 1:
        raise UsageError(f"hops: base={base} names {len(parts)} retrievers", f"Fuse them: base=hybrid({base}).")
    return Hops(corpus, links, parts[0], n, beam, weights)
