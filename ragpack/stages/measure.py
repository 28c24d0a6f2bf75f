"""The diagnostic of one row: what is the same for all rows of its question, and what is its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from operator import lt
from typing import NamedTuple

from ragpack.metrics.answer import AnswerScore, AnswerScorer, answer_kind
from ragpack.metrics.context import AnswerMatcher, answer_position, lines_of_snippets
from ragpack.metrics.matcher import Answers
from ragpack.metrics.retrieval import AtK, Ranking, answer_in_hits_at
from ragpack.metrics.verdict import verdict
from ragpack.records import Answered, Hit, Packed, Raw, Snippet


class Measured(NamedTuple):
    """What is asked for."""

    profile: str
    ks: tuple[int, ...]
    match: str
    extras: tuple[str, ...] = ()
    """Fields that are off by default, in their order."""


_NOWHERE = AtK(None, None, None, None)


class Question:
    """What rows of one question share: golds, and all that was measured before packing."""

    def __init__(self, record: Packed | Answered, asked: Measured) -> None:
        golds = tuple(record.answers)
        self.matcher, self.scorer, self.kind, self.known = _golds(golds, asked.profile, asked.match)
        self.gold = frozenset(record.gold)
        self.supported = "supported_answer_in_context" in asked.extras
        self.hits = hits = ranked(record)
        ids = [hit.id for hit in hits]
        has_answer = [hit.has_answer for hit in hits]
        # How deep the ranking goes: beyond that a metric at k would repeat the one at the end.
        depth = max(record.retrieve.k if record.retrieve else 0, len(hits))
        self.in_hits = answer_in_hits_at(has_answer, max(1, len(hits))) if self.known else None
        ranking = Ranking(ids, record.gold)
        self.all_in_hits = ranking.at(max(1, len(ids))).all_gold
        # The keys of a row in their order; those that are its own come later.
        self.row: Raw = {
            "profile": asked.profile,
            "match": asked.match,
            "answer_kind": self.kind,
            "answer_in_context": None,
            "graded": None,
            "gold_doc_coverage": None,
            "all_gold_in_context": None,
            "gold_token_density": None,
            "answer_in_hits": self.in_hits,
            "all_gold_in_hits": self.all_in_hits,
        }
        for name in asked.extras:
            self.row[name] = None
        at = [ranking.at(k) if k <= depth else _NOWHERE for k in asked.ks]
        values = [value for metric in zip(*at, strict=True) for value in metric]
        values += [answer_in_hits_at(has_answer, k) if self.known and k <= depth else None for k in asked.ks]
        self.row.update(zip(_names_at(asked.ks), values, strict=True))


def ranked(record: Packed | Answered) -> list[Hit]:
    """The hits by rank."""
    ranks = [hit.rank for hit in record.hits]
    if all(map(lt, ranks, ranks[1:])):
        return record.hits
    # str: two hits of one rank and id may differ in has_answer, and None has no order.
    return sorted(record.hits, key=lambda hit: (hit.rank, hit.id, str(hit.has_answer)))


def measured(record: Packed | Answered, question: Question) -> Raw:
    """The diagnostic of a row of this question."""
    pack, gold = record.pack, question.gold
    context, snippets = pack.context, pack.snippets
    found = question.matcher.locate(context)
    row = question.row.copy()
    occurs = found.occurs
    row["answer_in_context"] = None if occurs is None else float(occurs)
    row["graded"] = found.graded
    all_in_context = None
    if gold:
        docs = gold.intersection([snippet.id for snippet in snippets])
        row["gold_doc_coverage"] = len(docs) / len(gold)
        row["all_gold_in_context"] = all_in_context = float(len(docs) == len(gold))
        if pack.tokens > 0:
            inside = sum([snippet.tokens for snippet in snippets if snippet.id in docs])
            # Counted apart, snippets can come to a token or two more than joined; a share stays one.
            row["gold_token_density"] = min(1.0, inside / pack.tokens)
    generate = getattr(record, "generate", None)
    em = None
    if generate is not None:
        score = question.scorer.score(generate.answer)
        em = score.em  # the verdict is about one answer, the first
        if generate.samples:
            score = _expected([question.scorer.score(sample.answer) for sample in generate.samples])
        row["em"], row["f1"] = score.em, score.f1
        if question.scorer.has_acc:
            row["acc"] = score.acc
    row["verdict"] = verdict(
        kind=question.kind,
        em=em,
        in_context=occurs,
        in_hits=question.in_hits,
        all_gold_in_context=all_in_context,
        all_gold_in_hits=question.all_in_hits,
    )
    owners = owners_of(context, snippets) if occurs else None
    row["spans"] = found.spans
    row["span_snippets"] = [None if owners is None or line is None else owners[line] for line in found.lines]
    row["answer_position"] = answer_position(context, found.spans)
    row["answers_found"] = found.found
    if question.supported:
        row["supported_answer_in_context"] = _supported(found, context, snippets, owners, question)
    return row


def _expected(scores: Sequence[AnswerScore]) -> AnswerScore:
    """The mean of each score over the answers that were drawn; undefined for one is undefined for all."""
    columns = ([value for value in column if value is not None] for column in zip(*scores, strict=True))
    return AnswerScore(*(sum(column) / len(column) if column else None for column in columns))


def owners_of(context: str, snippets: Sequence[Snippet]) -> list[int] | None:
    """The snippet that each line of a context belongs to; `None` where that can't be told."""
    lines = context.split("\n")
    if len(lines) == len(snippets):
        return list(range(len(lines)))
    return lines_of_snippets(lines, [(snippet.id, snippet.title or "") for snippet in snippets])


def _supported(
    found: Answers, context: str, snippets: Sequence[Snippet], owners: list[int] | None, question: Question
) -> float | None:
    """1.0 if a snippet of a gold document has the answer by itself."""
    if found.occurs is None or not question.gold:
        return None
    if not found.occurs:
        return 0.0
    if owners is None:
        return None
    texts: dict[int, list[str]] = {}
    for owner, line in zip(owners, context.split("\n"), strict=True):
        texts.setdefault(owner, []).append(line)
    return float(
        any(
            question.matcher.occurs("\n".join(lines))
            for owner, lines in texts.items()
            if snippets[owner].id in question.gold
        )
    )


@cache
def _names_at(ks: tuple[int, ...]) -> list[str]:
    return [f"{name}@{k}" for name in (*AtK._fields, "answer_in_hits") for k in ks]


class _Golds(NamedTuple):
    matcher: AnswerMatcher
    scorer: AnswerScorer
    kind: str | None
    known: bool
    """A gold gives a token: that an answer is in a text is defined."""


@lru_cache(maxsize=64)
def _golds(golds: tuple[str, ...], profile: str, match: str) -> _Golds:
    """A question's golds are normalised once, whether or not its rows share more."""
    matcher = AnswerMatcher(golds, match)
    return _Golds(matcher, AnswerScorer(golds, profile), answer_kind(golds), matcher.occurs("") is not None)
