"""The source-linked claim/entity graph: sentences that touch the question, and those that an entity ties to them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from ragpack.candidates.duplicates import near_duplicates
from ragpack.candidates.entities import Kind, entities, key_of, without_parenthesis
from ragpack.candidates.snippet import Candidate, Document, Space, header_of, one_line
from ragpack.text import Span, content_terms, words


class Node(NamedTuple):
    """An entity of the graph."""

    name: str
    """The title, without its parenthesis, or the name as first written."""
    key: str
    """What its mentions have in common."""
    kind: Kind
    """`title` for titles of hits."""


class Source(NamedTuple):
    """Where a near-duplicate stood."""

    document: int
    """Index of its document."""
    span: Span
    """[start, end) in the document's text."""


class Bridge(NamedTuple):
    """An entity over which the graph was expanded."""

    entity: int
    """Its place in `Graph.entities`."""
    documents: int
    """Distinct documents with a claim that mentions it."""
    claims: int
    """Claims that mention it."""


class Origin(NamedTuple):
    """Why a claim is a candidate."""

    kind: Literal["question", "bridge", "rank"]
    """`question`: shares a content term or an entity with it; `bridge`: mentions a bridge; `rank`: no claim shares
    anything with the question, so all stand there in rank order."""
    entity: int | None = None
    """The place of the bridge in `Graph.entities`."""


@dataclass(frozen=True)
class Graph:
    """The candidates, and the nodes and edges that led to them."""

    candidates: list[Candidate]
    """Claims in canonical order: document, position. A claim is one sentence; `position` is its index."""
    merged: list[list[Source]]
    """[candidates] the near-duplicates that each stands for, in canonical order."""
    entities: list[Node]
    """The titles of the hits, then the entities of their claims in the order of first mention."""
    mentions: list[list[int]]
    """[candidates] edges: the entities that each claim mentions, ascending."""
    bridges: list[Bridge]
    """The entities used for expansion, best-connected first."""
    origin: list[Origin]
    """[candidates] why each is there; the strongest reason among its near-duplicates."""
    cut: int
    """Claims left out because there were more than `nodes`; their near-duplicates are not counted."""
    unconnected: int
    """Claims left out because they neither touch the question nor mention a bridge."""


class _Claim(NamedTuple):
    """A sentence."""

    document: int
    position: int
    tokens: list[str]
    mentions: list[int]


# A claim with one of these speaks of what its page is about.
_PRONOUNS = frozenset(("he", "she", "it", "they", "his", "her", "hers", "him", "its", "their", "them"))


def ace(
    documents: Sequence[Document],
    question: str,
    *,
    expand: int = 5,
    nodes: int = 48,
    merge: float = 0.8,
    header: bool = True,
) -> Space:
    """The claims of `graph_of`, each with the places of its near-duplicates."""
    graph = graph_of(documents, question, expand=expand, nodes=nodes, merge=merge, header=header)
    found = [one._replace(also=tuple(others)) for one, others in zip(graph.candidates, graph.merged, strict=True)]
    return Space(found, partial(_shown, graph, documents))


def graph_of(
    documents: Sequence[Document],
    question: str,
    *,
    expand: int = 5,
    nodes: int = 48,
    merge: float = 0.8,
    header: bool = True,
) -> Graph:
    """Sentences that share a content term or an entity with the question, and those that mention a *bridge*: one of
    the `expand` best-connected other entities. Printed as `Title: sentence`, unless `header=false`.

    Source: the `ace` space of "Recall Is Not Enough" (version 1). Its wide setting is nodes=64, expand=8 over 12 hits.
    Ours, where it is silent:

    - A claim mentions what `entities` finds in it, and the titles of hits that occur in it, capitals or not where they
      have several words. It mentions its own title if it opens the document or has a pronoun of the third person.
    - Bridges tie a claim of the question to one that is not: all others would add nothing. An entity of the question is
      never one: its claims are there already. Best-connected: most documents, then most claims, then the key. A number
      that is no year or date is too common to be a bridge.
    - Near-duplicates: Jaccard coefficient of the words of at least `merge`, against the claim that stays. The one of
      the better-ranked document stays.
    - Of more than `nodes` claims the first in canonical order stay, as in `chunk`.
    - If no claim shares anything with the question, all are taken as they are ranked, and `origin` says so.

    O(length of the texts), but for the sorting of bridges and the pairs of claims that share rare words.
    Raises `ValueError` for a parameter out of range.
    """
    if expand < 0 or nodes < 1 or not 0 < merge <= 1:
        raise ValueError(
            f"expand={expand}, nodes={nodes}, merge={merge}: expand is at least 0, nodes at least 1, "
            "merge above 0 and at most 1"
        )
    titles = _Titles(documents)
    found, claims = _claims(documents, titles)
    touched = _touched(question, titles, found, claims)
    bridges: list[Bridge] = []
    if touched:
        mentioning: defaultdict[int, list[int]] = defaultdict(list)
        for at, claim in enumerate(claims):
            for entity in claim.mentions:
                mentioning[entity].append(at)
        bridges = _bridges(found, claims, mentioning, touched)[:expand]
        origin = dict.fromkeys(touched, Origin("question"))
        for bridge in bridges:
            for at in mentioning[bridge.entity]:
                origin.setdefault(at, Origin("bridge", bridge.entity))
    else:
        origin = dict.fromkeys(range(len(claims)), Origin("rank"))
    strength = {why: at for at, why in enumerate(dict.fromkeys(origin.values()))}  # in the order of expansion
    chosen = sorted(origin)
    groups = [[chosen[at] for at in group] for group in near_duplicates([claims[at].tokens for at in chosen], merge)]
    kept = groups[:nodes]
    return Graph(
        candidates=[_candidate(documents, claims[group[0]], header) for group in kept],
        merged=[[_source(documents, claims[at]) for at in group[1:]] for group in kept],
        entities=found,
        mentions=[claims[group[0]].mentions for group in kept],
        bridges=bridges,
        origin=[min((origin[at] for at in group), key=strength.__getitem__) for group in kept],
        cut=len(groups) - len(kept),
        unconnected=len(claims) - len(chosen),
    )


class _Titles:
    """The titles of the hits, to be found in claims and in the question."""

    def __init__(self, documents: Sequence[Document]) -> None:
        names = [without_parenthesis(document.title.strip()) for document in documents]
        self.keys = [key_of(name) for name in names]
        """[documents] each one's key, or nothing."""
        first = dict(reversed(list(zip(self.keys, names, strict=True))))
        self.nodes = [Node(first[key], key, "title") for key in dict.fromkeys(self.keys) if key]
        self.known = frozenset(node.key for node in self.nodes)
        self._beginning: defaultdict[str, list[tuple[list[str], str]]] = defaultdict(list)
        for node in self.nodes:
            sequence = words(node.name)
            if sequence[0] in ("the", "a", "an"):
                del sequence[0]
            if len(sequence) > 1:  # one word alone may be a common word: its capital must say that it is a name
                self._beginning[sequence[0]].append((sequence, node.key))

    def within(self, tokens: Sequence[str]) -> list[str]:
        """The keys of titles of several words that occur in these, in the order of the hits' first words."""
        found: list[str] = []
        if self._beginning.keys().isdisjoint(tokens):
            return found
        for at, token in enumerate(tokens):
            for sequence, key in self._beginning.get(token, ()):
                if tokens[at : at + len(sequence)] == sequence:
                    found.append(key)
        return found


def _claims(documents: Sequence[Document], titles: _Titles) -> tuple[list[Node], list[_Claim]]:
    """Nodes of both kinds; the edges are in the claims."""
    nodes = list(titles.nodes)
    place = {node.key: at for at, node in enumerate(nodes)}
    claims = []
    for number, document in enumerate(documents):
        found = entities(document.text, document.sentences, known=titles.known)
        starts = [one.span[0] for one in found]
        own = titles.keys[number]
        for position, (start, end) in enumerate(document.sentences):
            body = document.text[start:end]
            tokens = words(body)
            mentions = {place[key] for key in titles.within(tokens)}
            for one in found[bisect_left(starts, start) : bisect_left(starts, end)]:
                if one.key not in place:
                    place[one.key] = len(nodes)
                    nodes.append(Node(one.name, one.key, one.kind))
                mentions.add(place[one.key])
            if own and (position == 0 or not _PRONOUNS.isdisjoint(tokens)):
                mentions.add(place[own])
            claims.append(_Claim(number, position, tokens, sorted(mentions)))
    return nodes, claims


def _touched(question: str, titles: _Titles, nodes: Sequence[Node], claims: Sequence[_Claim]) -> list[int]:
    """The claims that share a content term or an entity with the question. Without a content term every word is one."""
    tokens = words(question)
    keys = {one.key for one in entities(question, [(0, len(question))], known=titles.known)}
    keys.update(titles.within(tokens))
    asked = {at for at, node in enumerate(nodes) if node.key in keys}
    terms = set(content_terms(question) or tokens)
    return [
        at
        for at, claim in enumerate(claims)
        if not terms.isdisjoint(claim.tokens) or not asked.isdisjoint(claim.mentions)
    ]


def _bridges(
    nodes: Sequence[Node], claims: Sequence[_Claim], mentioning: Mapping[int, Sequence[int]], touched: Sequence[int]
) -> list[Bridge]:
    """The entities that tie a claim of the question to another one, best-connected first."""
    start = frozenset(touched)
    found = []
    for entity, at in mentioning.items():
        if nodes[entity].kind != "number" and 0 < sum(one in start for one in at) < len(at):
            found.append(Bridge(entity, len({claims[one].document for one in at}), len(at)))
    return sorted(found, key=lambda one: (-one.documents, -one.claims, nodes[one.entity].key))


def _candidate(documents: Sequence[Document], claim: _Claim, header: bool) -> Candidate:
    document = documents[claim.document]
    span = document.sentences[claim.position]
    body = one_line(document.text[span[0] : span[1]])
    return Candidate(claim.document, claim.position, span, header_of(document.title) if header else "", body)


def _source(documents: Sequence[Document], claim: _Claim) -> Source:
    return Source(claim.document, documents[claim.document].sentences[claim.position])


def _shown(graph: Graph, documents: Sequence[Document]) -> dict[str, Any]:
    """The graph by names, for a record."""
    names = [node.name for node in graph.entities]
    claims = []
    for one, mentions, origin in zip(graph.candidates, graph.mentions, graph.origin, strict=True):
        because = "question" if origin.kind == "question" else "rank order"
        claims.append(
            {
                "id": documents[one.document].id,
                "span": one.span,
                "because": because if origin.entity is None else f"bridge {names[origin.entity]}",
                "mentions": [names[at] for at in mentions],
            }
        )
    bridges = [{"entity": names[one.entity], "documents": one.documents, "claims": one.claims} for one in graph.bridges]
    return {
        "claims": claims,
        "entities": [{"name": node.name, "kind": node.kind} for node in graph.entities],
        "bridges": bridges,
        "cut": graph.cut,
        "unconnected": graph.unconnected,
    }
