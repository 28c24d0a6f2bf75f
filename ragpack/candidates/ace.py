"""The source-linked claim/entity graph: sentences that touch the question, and those that an entity ties to them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

from ragpack.candidates.entities import Kind, entities, key_of, without_parenthesis
from ragpack.candidates.snippet import Candidate, Document, header_of, one_line
from ragpack.text import Span, content_terms, words


class Source(NamedTuple):
    """Where a near-duplicate stood."""

    document: int
    """Index of its document."""
    span: Span
    """[start, end) in the document's text."""


class Bridge(NamedTuple):
    """An entity over which the graph was expanded."""

    entity: int
    """Its place in `Graph.names`."""
    documents: int
    """Distinct documents with a claim that mentions it."""
    claims: int
    """Claims that mention it: its degree."""


class Origin(NamedTuple):
    """Why a claim is a candidate."""

    kind: Literal["question", "bridge", "rank"]
    """`question`: shares a content term or an entity with it; `bridge`: mentions a bridge; `rank`: no claim shares
    anything with the question, so all stand in rank order."""
    entity: int | None = None
    """The bridge's place in `Graph.names`."""


@dataclass(frozen=True)
class Graph:
    """Candidates with the edges that led to them."""

    candidates: list[Candidate]
    """Claims in canonical order: document, position. A claim is a sentence; `position` is its index."""
    merged: list[list[Source]]
    """[candidates] the near-duplicates for which each stands, in canonical order."""
    names: list[str]
    """The entities, as first written, in the order of first mention."""
    mentions: list[list[int]]
    """[candidates] the entities of each claim, ascending: the edges."""
    bridges: list[Bridge]
    """The entities used for expansion, best-connected first."""
    origin: list[Origin]
    """[candidates] why each is there; with near-duplicates, the strongest reason among them."""
    cut: int
    """Claims (near-duplicates not counted) left out because there were more than `nodes`."""
    unconnected: int
    """Claims that neither touch the question nor mention a bridge."""


class _Claim(NamedTuple):
    document: int
    position: int
    span: Span
    tokens: list[str]
    mentions: dict[int, None]
    """Entities in the order of mention."""


# A claim with one of these speaks of what its page is about.
_PRONOUN = re.compile(r"\b(?:he|she|it|they|his|her|hers|him|its|their|them)\b", re.IGNORECASE)


def ace(
    documents: Sequence[Document],
    question: str,
    *,
    expand: int = 5,
    nodes: int = 48,
    merge: float = 0.8,
    header: bool = True,
) -> Graph:
    if expand < 0 or nodes < 1 or not 0 < merge <= 1:
        raise ValueError(
            f"expand={expand}, nodes={nodes}, merge={merge}: expand is at least 0, nodes at least 1, "
            "merge above 0 and at most 1"
        )
    names, asked, claims = _graph(documents, question)
    degree = _degrees(claims)
    terms = set(content_terms(question) or words(question))
    start = [not terms.isdisjoint(claim.tokens) or not asked.isdisjoint(claim.mentions) for claim in claims]
    origin: dict[int, Origin] = {at: Origin("question") for at, touched in enumerate(start) if touched}
    bridges: list[Bridge] = []
    if not origin:
        origin = {at: Origin("rank") for at in range(len(claims))}
    else:
        bridges = _bridges(claims, start, degree, names)[:expand]
        for bridge in bridges:
            for at in degree[bridge.entity]:
                origin.setdefault(at, Origin("bridge", bridge.entity))
    order = {bridge.entity: at for at, bridge in enumerate(bridges)}
    chosen = sorted(origin)
    groups = near_duplicates([claims[at].tokens for at in chosen], merge)
    kept: list[tuple[int, int, list[int]]] = []
    for group in groups:
        members = [chosen[at] for at in group]
        strength = min((-1 if origin[at].entity is None else order[origin[at].entity], at) for at in members)
        kept.append((strength[0], members[0], members))
    kept.sort()
    cut = len(kept) - nodes
    left = sorted(kept[:nodes], key=lambda one: one[1])
    return Graph(
        candidates=[_candidate(documents, claims[first], header) for _, first, _ in left],
        merged=[[Source(claims[at].document, claims[at].span) for at in members[1:]] for _, _, members in left],
        names=[name for name, _, _ in names],
        mentions=[sorted(claims[first].mentions) for _, first, _ in left],
        bridges=bridges,
        origin=[min((origin[at] for at in members), key=lambda one: -1 if one.entity is None else order[one.entity]) for _, _, members in left],
        cut=max(cut, 0),
        unconnected=len(claims) - len(chosen),
    )


import os
V = dict(a.split("=") for a in os.environ.get("ACE","").split(",") if a)

def _graph(documents, question):
    titles = [without_parenthesis(document.title) for document in documents]
    keys = [key_of(title) for title in titles]
    known = set(keys)
    names = []
    index = {}
    def node(key, name, kind):
        at = index.get(key)
        if at is None:
            at = index[key] = len(names)
            names.append([name, kind, key])
        return at
    sequences = defaultdict(list)
    for title, key in zip(titles, keys):
        if not key: continue
        seq = words(title)
        if len(seq) > 1 and seq[0] in ("the", "a", "an"): seq = seq[1:]
        if len(seq) > 1:
            sequences[seq[0]].append((seq, key, title))
    claims = []
    titlekeys = {}
    for d, document in enumerate(documents):
        found = entities(document.text, document.sentences, known=known)
        own = None
        if keys[d]:
            own = node(keys[d], titles[d], "title")
            titlekeys[own] = d
        it = 0
        for p, span in enumerate(document.sentences):
            body = document.text[span[0]:span[1]]
            tokens = words(body)
            m = {}
            while it < len(found) and found[it].span[0] < span[1]:
                e = found[it]; it += 1
                m[node(e.key, e.name, e.kind)] = None
            for first in sequences.keys() & tokens:
                for seq, key, title in sequences[first]:
                    i = -1
                    while True:
                        try: i = tokens.index(first, i + 1)
                        except ValueError: break
                        if tokens[i:i+len(seq)] == seq:
                            m[node(key, title, "title")] = None
                            break
            mode = V.get("own", "pron")
            if own is not None and (p == 0 or mode == "all" or (mode == "pron" and _PRONOUN.search(body)) or (mode=="start" and _PRONOUN.match(body))):
                m[own] = None
            claims.append(_Claim(d, p, span, tokens, m))
    asked = set()
    q = entities(question, [(0, len(question))], known=known)
    for e in q:
        if e.key in index: asked.add(index[e.key])
    qt = words(question)
    for first in sequences.keys() & set(qt):
        for seq, key, title in sequences[first]:
            for i, t in enumerate(qt):
                if t == first and qt[i:i+len(seq)] == seq: asked.add(index[key])
    if V.get("alias"):
        last = defaultdict(set)
        for at,(n,k,key) in enumerate(names):
            if k in ("name","title") and " " in key: last[key.split()[-1]].add(at)
        al = {index[w]: next(iter(s)) for w,s in last.items() if len(s)==1 and w in index}
        if al:
            asked |= {al[a] for a in asked if a in al}
            for c in claims:
                for a in [a for a in c.mentions if a in al]: c.mentions[al[a]]=None
    for at in titlekeys: names[at][1]="title*"
    return names, asked, claims

def _degrees(claims):
    degree = defaultdict(list)
    for at, c in enumerate(claims):
        for e in c.mentions: degree[e].append(at)
    return degree

def _bridges(claims, start, degree, names):
    out = []
    kinds = V.get("kinds","nonum")
    for e, at in degree.items():
        k = names[e][1]
        if kinds == "nonum" and k == "number": continue
        if kinds == "noyear" and k in ("number","year"): continue
        if kinds == "names" and k in ("number","year","date"): continue
        if all(start[i] for i in at) or not any(start[i] for i in at): continue
        docs = len({claims[i].document for i in at})
        b = Bridge(e, docs, len(at))
        o = V.get("order","docs")
        if o == "docs": s = (-docs, -len(at))
        elif o == "title": s = (k != "title*", -docs, -len(at))
        elif o == "starts": s = (-sum(start[i] for i in at), -docs)
        elif o == "rare": s = (k != "title*", docs == 1, docs, -len(at))
        elif o == "startdocs": s = (-len({claims[i].document for i in at if start[i]}), -docs,-len(at))
        out.append((s, names[e][2], b))
    out.sort()
    return [b for _, _, b in out]

def _candidate(documents, claim, header):
    document = documents[claim.document]
    return Candidate(claim.document, claim.position, claim.span, header_of(document.title) if header else "", one_line(document.text[claim.span[0]:claim.span[1]]))


def near_duplicates(texts: Sequence[Sequence[str]], merge: float) -> list[list[int]]:
    return [[i] for i in range(len(texts))] if V.get("nomerge") else _nd(texts, merge)

def _nd(texts, merge):
    sets = [frozenset(text) for text in texts]
    count = Counter(t for s in sets for t in s)
    groups = []
    index = defaultdict(list)
    for at, s in enumerate(sets):
        n = len(s)
        prefix = sorted(s, key=lambda t: (count[t], t))[: n - ceil(merge * n - 1e-9) + 1]
        home = None
        for g in sorted({g for t in prefix for g in index[t]}):
            other = sets[groups[g][0]]
            both = len(s & other)
            if both >= merge * (n + len(other) - both):
                home = g; break
        if home is not None:
            groups[home].append(at); continue
        for t in prefix: index[t].append(len(groups))
        groups.append([at])
    return groups
