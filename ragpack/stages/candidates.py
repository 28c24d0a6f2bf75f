"""From the hits of a question to the candidates that all policies of one space share, with scores and costs."""

from __future__ import annotations

import dataclasses
import functools
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np

from ragpack.candidates.clues import clues_of
from ragpack.candidates.lexical import tfidf
from ragpack.candidates.problem import Labels, Problem
from ragpack.candidates.relevance import relevance_of, scaled
from ragpack.candidates.snippet import Candidate, Document, span_of_beginning
from ragpack.encoders.base import Encoder, Pair
from ragpack.errors import DataError
from ragpack.metrics.context import AnswerMatcher
from ragpack.records import Hit, Hits
from ragpack.stages.policies import Policy
from ragpack.text import checked, content_terms, sentences, trim, words
from ragpack.tokens import Counter
from ragpack.tokens.remembered import Remembered


@dataclass
class Candidates:
    """The candidates of one question in one space, shared by all policies and budgets."""

    documents: Sequence[Document]
    found: Sequence[Candidate]
    problem: Problem
    counter: Remembered
    grouped: bool
    """A document's title is printed once, before all of its snippets, which share its line."""
    terms: Sequence[str]
    """The question's content terms: the columns of `problem.terms`."""
    graph: Callable[[], Mapping[str, Any]] | None = None
    """Gives what the space saw, for `--explain`."""


def documents_of(record: Hits) -> list[Document]:
    """The hits in rank order, each document once. Raises `DataError` for a hit without text, or with a
    rank below 1."""
    found = []
    seen = set()
    for at, hit in ranked(record.hits):
        if hit.text is None:
            raise DataError(
                f"hits[{at}]: the field 'text' is missing", "`pack` reads what `retrieve` wrote, with the texts."
            )
        if hit.rank < 1:
            raise DataError(f"hits[{at}].rank: ranks count from 1, got {hit.rank}", "Add 1 to ranks that count from 0.")
        if (hit.id, hit.text) in seen:
            continue
        seen.add((hit.id, hit.text))
        spans = checked(hit.text, hit.sentences, f"hits[{at}].sentences") if hit.sentences else sentences(hit.text)
        found.append(Document(hit.id, hit.title or "", hit.text, hit.rank, spans, hit.score, hit.scores or {}))
    return found


def ranked(hits: Sequence[Hit]) -> list[tuple[int, Hit]]:
    """The hits with their places in the line, by rank and id: the place decides nothing, not even among hits of one
    rank and id."""
    places = list(enumerate(hits))
    if len({(hit.rank, hit.id) for hit in hits}) == len(hits):
        return sorted(places, key=lambda pair: (pair[1].rank, pair[1].id))
    return sorted(places, key=lambda pair: (pair[1].rank, pair[1].id, repr(pair[1])))


def candidates_of(
    record: Hits, documents: Sequence[Document], policy: Policy, counter: Remembered, encoder: Encoder | None = None
) -> Candidates:
    """The arrays that packers see. `encoder` is the policy's embedder, where it names one."""
    space = policy.candidates(documents, record.question)
    found = space.candidates
    if policy.preparation.max_tokens:
        found = _cut_long(found, documents, counter, policy.preparation.max_tokens)[: policy.nodes]
    grouped = policy.preparation.layout == "grouped"
    lines = [candidate.line for candidate in found]
    tokens = [words(line) for line in lines]
    terms = content_terms(record.question) or list(dict.fromkeys(words(record.question)))
    column = {term: at for at, term in enumerate(terms)}
    incidence = np.zeros((len(found), len(terms)), dtype=np.bool_)
    for row, line in enumerate(tokens):
        incidence[row, [column[word] for word in column.keys() & set(line)]] = True
    if grouped:
        cost, header = _grouped_costs(found, documents, counter)
    else:
        counts = _line_counts(found, lines, counter)
        counter.know(dict(zip(lines, counts, strict=True)))
        cost, header = np.array(counts, dtype=np.int64), None
    problem = Problem(
        relevance=(
            # The make-up of a batch moves the last bits of an embedding.
            scaled(np.round(encoder.scores([Pair(record.question, line) for line in lines]), 4))
            if encoder
            else relevance_of(policy.preparation.relevance, terms, tokens, documents, found)
        ),
        cost=cost,
        document=np.array([candidate.document for candidate in found], dtype=np.int64),
        rank=np.array([documents[candidate.document].rank for candidate in found], dtype=np.int64),
        position=np.array([candidate.position for candidate in found], dtype=np.int64),
        terms=incidence,
        vectors=functools.partial(tfidf, tokens),
        slack=counter.slack,
        header=header,
        prior=_prior(documents, found),
        scores=_scores(documents, found),
        nu0=_nu0(record),
        salt=_salt(record.question, documents),
        find_clues=functools.partial(clues_of, record.question, found, documents),
    )
    return Candidates(documents, found, problem, counter, grouped, terms, space.graph)


def labelled(candidates: Candidates, record: Hits) -> Problem:
    """The problem with what only the ceilings may know."""
    gold, matcher = set(record.gold), matcher_of(tuple(record.answers))
    labels = Labels(
        np.array([candidates.documents[one.document].id in gold for one in candidates.found], dtype=np.bool_),
        np.array([bool(matcher.occurs(one.line)) for one in candidates.found], dtype=np.bool_),
    )
    return dataclasses.replace(candidates.problem, labels=labels)


@functools.lru_cache(maxsize=64)
def matcher_of(answers: tuple[str, ...]) -> AnswerMatcher:
    """Rows of one question come one after another: its answers are normalised once."""
    return AnswerMatcher(list(answers))


def _line_counts(found: Sequence[Candidate], lines: Sequence[str], counter: Counter) -> list[int]:
    """Tokens of each line with its line end. Where words stand alone a header is counted once for its document."""
    if not counter.words_add_up or not all(one.header for one in found):
        return counter.lines(lines)
    heads = list(dict.fromkeys(one.header for one in found))
    sizes = counter.lines([*(head.rstrip() for head in heads), *(" " + one.body for one in found)])
    of_head = {head: size - counter.slack for head, size in zip(heads, sizes, strict=False)}
    return [of_head[one.header] + size for one, size in zip(found, sizes[len(heads) :], strict=True)]


def _grouped_costs(found: Sequence[Candidate], documents: Sequence[Document], counter: Counter) -> tuple[Any, Any]:
    """Tokens that a snippet adds to its document's line, and those that the line itself costs: title and line end."""
    bodies = counter.lines([" " + one.body for one in found])
    heads = [next((one.header for one in found if one.document == at), "") for at in range(len(documents))]
    lines = counter.lines([head.rstrip() for head in heads])
    cost = np.array([max(count - counter.slack, 0) for count in bodies], dtype=np.int64)
    header = np.array([lines[one.document] for one in found], dtype=np.int64)
    return cost, header


def _cut_long(
    found: Sequence[Candidate], documents: Sequence[Document], counter: Counter, limit: int
) -> list[Candidate]:
    """The candidates, those of more than `limit` tokens of text in pieces: cut between words where there are any,
    else where a token ends."""
    pieces: list[Candidate] = []
    position: dict[int, int] = {}
    for one in found:
        span = one.span
        for body in _pieces(one.body, counter, limit):
            text = documents[one.document].text
            part = span_of_beginning(text, span, body)
            at = position.get(one.document, 0)
            position[one.document] = at + 1
            pieces.append(one._replace(position=at, span=part, body=body))
            span = trim(text, (part[1], span[1]))
    return pieces


def _pieces(body: str, counter: Counter, limit: int) -> list[str]:
    ends = [end.at for end in counter.ends(body)]
    if len(ends) <= limit:
        return [body]
    found: list[str] = []
    before = start = 0
    while start < len(body):
        start += len(body[start : start + 1]) - len(body[start : start + 1].lstrip())  # bodies have single blanks
        first = bisect_right(ends, start)
        stop = _piece_end(body, start, ends[first : first + limit + 1], counter, limit)
        if first == len(ends) and found:  # what has no token of its own goes with what has
            found.pop()
            start, stop = before, len(body)
        found.append(body[start:stop].strip())
        before, start = start, stop
    return found


def _piece_end(body: str, start: int, ends: Sequence[int], counter: Counter, limit: int) -> int:
    """Where a piece that starts here ends. `ends` are those of the next tokens, one more than it may have."""
    last = min(limit, len(ends))
    places = [ends[at] for at in range(last - 1, -1, -1) if at + 1 == len(ends) or ends[at + 1] > ends[at]]
    between = [at for at in places if at == len(body) or body[at] == " "]
    # A piece alone may have more tokens than inside the whole: then it ends earlier, inside a token if need be.
    inside = range(ends[0] - 1 if ends else len(body), start + 1, -1)
    for stop in chain(between, places, inside):
        if counter.count(body[start:stop]) <= limit:
            return stop
    return start + 1


def _scores(documents: Sequence[Document], found: Sequence[Candidate]) -> dict[str, Any]:
    names = sorted({name for one in documents for name in one.scores})
    return {
        name: np.array([_number(documents[one.document].scores.get(name)) for one in found], dtype=np.float64)
        for name in names
    }


def _prior(documents: Sequence[Document], found: Sequence[Candidate]) -> Any:  # noqa: ANN401 # an array
    """Retrieval score of each candidate's document; 1 / rank where a hit has none."""
    scores = [one.score for one in documents]
    known = [score for score in scores if score is not None and np.isfinite(score)]
    values = known if len(known) == len(scores) else [1.0 / max(one.rank, 1) for one in documents]
    scale = scaled(np.array(values, dtype=np.float64))
    return scale[[one.document for one in found]] if found else np.zeros(0)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _nu0(record: Hits) -> float | None:
    return record.probe.nu0 if record.probe else None


def _salt(question: str, documents: Sequence[Document]) -> int:
    text = "\0".join([question, *(one.id for one in documents)])
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
