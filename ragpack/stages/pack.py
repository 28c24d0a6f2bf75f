"""pack: hits in, one context for each policy and budget out, never a token over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import orjson

from ragpack.candidates.lexical import bm25, tfidf
from ragpack.candidates.problem import Problem
from ragpack.candidates.snippet import Candidate, Document
from ragpack.compressors.base import Compressor
from ragpack.errors import DataError, UsageError
from ragpack.metrics.context import AnswerMatcher
from ragpack.records import Hit, Hits, Packed, Raw, field_names
from ragpack.stage import Payload, Stage, each
from ragpack.stages.compress import render_compressed
from ragpack.stages.policies import Policy, parse_policies
from ragpack.stages.render import Candidates, render
from ragpack.text import checked, content_terms, sentences, words
from ragpack.tokens import Counter, open_counter


@dataclass(frozen=True)
class PackParams:
    """What decides a pack."""

    policies: tuple[str, ...]
    """Policy specs, in the order of the output."""
    budgets: tuple[int, ...]
    """Budgets in tokens, in the order of the output."""
    tokenizer: str = "regex"
    """`regex`, a tokenizer.json, a model folder, or a model id."""


class Cell(NamedTuple):
    """One output row of a record."""

    policy: Policy
    budget: int


def open_pack(params: PackParams) -> Stage:
    """Open the stage. Raises `UsageError` for policies or budgets that can't be."""
    policies = parse_policies(params.policies)
    if not policies:
        raise UsageError("--policy: name at least one policy", "`ragpack list policies` shows them.")
    for budget in params.budgets:
        if budget < 0:
            raise UsageError(f"--budget: {budget} is negative")
    if not params.budgets or len(set(params.budgets)) < len(params.budgets):
        raise UsageError("--budget: give different whole numbers")
    counter = open_counter(params.tokenizer)
    cells = [Cell(policy, budget) for policy in policies for budget in params.budgets]

    compressors = {policy.name: policy.compress(counter) for policy in policies if policy.compress}

    def pack(record: Hits, wanted: Sequence[int]) -> list[Payload]:
        return [{"pack": packed} for packed in _pack(record, [cells[at] for at in wanted], counter, compressors)]

    return Stage(
        name="pack",
        version=1,
        reads=(Hits,),
        writes=Packed,
        run=each(pack),
        projection=_projection,
        cells=tuple(_canonical(cell, compressors.get(cell.policy.name)) for cell in cells),
        fingerprints={"tokenizer": counter.fingerprint},
        base=_base,
    )


def _canonical(cell: Cell, compressor: Compressor | None) -> str:
    """A model counts for its own rows: those of other policies keep their keys."""
    return f"{cell.policy.name} {cell.budget}" + (f" {compressor.fingerprint}" if compressor else "")


def _projection(record: Hits) -> object:
    hits = sorted(record.hits, key=_place)
    return [record.question, [[hit.id, hit.rank, hit.title, hit.text, hit.sentences] for hit in hits]]


def _base(raw: Raw, record: Hits) -> Raw:
    """The question's fields and its hits less their texts, with `has_answer` set while the texts are there."""
    matcher = _matcher(tuple(record.answers))
    hits = []
    for given, hit in zip(raw["hits"], record.hits, strict=True):
        light = {key: value for key, value in given.items() if key not in ("text", "sentences")}
        light["has_answer"] = matcher.occurs(f"{hit.title or ''}\n{hit.text}") if record.answers else None
        hits.append({name: light[name] for name in _HIT if name in light} | light)
    # One question gives many rows: its hits are written to bytes once.
    return {**raw, "hits": orjson.Fragment(orjson.dumps(hits))}


def _pack(record: Hits, cells: Sequence[Cell], counter: Counter, compressors: Mapping[str, Compressor]) -> list[Raw]:
    documents = _documents(record)
    shared: dict[str, Candidates] = {}
    packs = []
    for policy, budget in cells:
        if policy.space not in shared:
            shared[policy.space] = _candidates(record.question, documents, policy.candidates(documents), counter)
        candidates = shared[policy.space]
        if policy.name in compressors:
            filled = render_compressed(compressors[policy.name], record.question, candidates, budget)
        else:
            filled = render(candidates, policy.select(candidates.problem, budget), budget)
        packs.append({"policy": policy.name, "budget": budget, "unit": counter.unit, **filled})
    return packs


def _place(hit: Hit) -> tuple[int, str, str]:
    """Where a hit stands: its place in the line decides nothing, not even among hits of one rank and id."""
    return hit.rank, hit.id, repr((hit.text, hit.title, hit.sentences))


def _documents(record: Hits) -> list[Document]:
    """The hits in rank order, each document once."""
    found = []
    seen = set()
    for at, hit in sorted(enumerate(record.hits), key=lambda pair: _place(pair[1])):
        if hit.text is None:
            raise DataError(
                f"hits[{at}]: the field 'text' is missing", "`pack` reads what `retrieve` wrote, with the texts."
            )
        if (hit.id, hit.text) in seen:
            continue
        seen.add((hit.id, hit.text))
        spans = checked(hit.text, hit.sentences, f"hits[{at}].sentences") if hit.sentences else sentences(hit.text)
        found.append(Document(hit.id, hit.title or "", hit.text, hit.rank, spans))
    return found


def _candidates(question: str, documents: list[Document], found: list[Candidate], counter: Counter) -> Candidates:
    """The arrays that packers see. Relevance: BM25 of the line against the question, scaled to a maximum of 1."""
    lines = [candidate.line for candidate in found]
    counts = counter.lines(lines)
    tokens = [words(line) for line in lines]
    terms = content_terms(question) or list(dict.fromkeys(words(question)))
    relevance = bm25(terms, tokens)
    if len(found) and relevance.max() > 0:
        relevance = relevance / relevance.max()
    column = {term: at for at, term in enumerate(terms)}
    incidence = np.zeros((len(found), len(terms)), dtype=np.bool_)
    for row, line in enumerate(tokens):
        incidence[row, [column[word] for word in column.keys() & set(line)]] = True
    problem = Problem(
        relevance=relevance,
        cost=np.array([count.inside for count in counts], dtype=np.int64),
        document=np.array([candidate.document for candidate in found], dtype=np.int64),
        rank=np.array([documents[candidate.document].rank for candidate in found], dtype=np.int64),
        position=np.array([candidate.position for candidate in found], dtype=np.int64),
        terms=incidence,
        vectors=tfidf(tokens),
        # What every line saves when it is the last one: the sum of costs may exceed the budget by so much.
        slack=min((count.inside - count.last for count in counts), default=0),
    )
    return Candidates(documents, found, counts, problem, counter)


@lru_cache(maxsize=64)
def _matcher(answers: tuple[str, ...]) -> AnswerMatcher:
    return AnswerMatcher(list(answers))


_HIT = field_names(Hit)
