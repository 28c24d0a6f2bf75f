"""diagnose: what survived into the context, where the answer was lost, and how the reader did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragpack.errors import UsageError, did_you_mean
from ragpack.metrics.answer import PROFILES, AnswerScorer, answer_kind
from ragpack.metrics.context import AnswerMatcher, all_gold_in_context, gold_doc_coverage, gold_token_density
from ragpack.metrics.retrieval import all_gold_at, answer_in_hits_at, hit_at, ndcg_at, recall_at
from ragpack.metrics.verdict import verdict
from ragpack.records import Answered, Diagnosed, Hit, Packed, Raw
from ragpack.stage import Payload, Stage, each


@dataclass(frozen=True)
class DiagnoseParams:
    """What decides the numbers."""

    profile: str = "squad"
    """Rules of EM and F1."""
    ks: tuple[int, ...] = (1, 2, 5, 10)
    """Depths of the retrieval metrics."""


def open_diagnose(params: DiagnoseParams) -> Stage:
    """Open the stage. Raises `UsageError` for an unknown profile."""
    if params.profile not in PROFILES:
        raise UsageError(f"unknown profile '{params.profile}'. {did_you_mean(params.profile, PROFILES)}")
    if not params.ks or min(params.ks) < 1:
        raise UsageError("-k: depths are whole numbers from 1")
    ks = tuple(sorted(set(params.ks)))

    def diagnose(record: Packed | Answered, cells: Sequence[int]) -> list[Payload]:
        del cells
        return [{"diagnose": _diagnosed(record, params.profile, ks)}]

    return Stage(
        name="diagnose",
        version=1,
        reads=(Answered, Packed, Diagnosed),
        writes=Diagnosed,
        run=each(diagnose),
        projection=_projection,
        cells=(f"{params.profile} {','.join(map(str, ks))}",),
    )


def _projection(record: Packed | Answered) -> object:
    return [
        record.answers,
        record.gold,
        [[hit.rank, hit.id, hit.has_answer] for hit in _ranked(record)],
        record.retrieve.k if record.retrieve else None,
        record.pack.context,
        [[snippet.id, snippet.tokens] for snippet in record.pack.snippets],
        record.pack.tokens,
        _answer(record),
    ]


def _ranked(record: Packed | Answered) -> list[Hit]:
    # str: two hits of one rank and id may differ in has_answer, and None has no order.
    return sorted(record.hits, key=lambda hit: (hit.rank, hit.id, str(hit.has_answer)))


def _answer(record: Packed | Answered) -> str | None:
    generate = getattr(record, "generate", None)
    return generate.answer if generate is not None else None


def _diagnosed(record: Packed | Answered, profile: str, ks: Sequence[int]) -> Raw:
    pack, gold, golds = record.pack, record.gold, tuple(record.answers)
    hits = _ranked(record)
    ranked = [hit.id for hit in hits]
    # How deep the ranking goes: beyond that a metric at k would repeat the one at the end.
    depth = max(record.retrieve.k if record.retrieve else 0, len(hits))
    has_answer = [hit.has_answer for hit in hits]
    matcher, scorer, kind = _golds(golds, profile)
    found = matcher.measure(pack.context)
    from_docs = [snippet.id for snippet in pack.snippets]
    in_hits = None if found.occurs is None else answer_in_hits_at(has_answer, max(1, len(hits)))
    all_in_context = all_gold_in_context(from_docs, gold)
    all_in_hits = all_gold_at(ranked, gold, max(1, len(ranked)))
    row: Raw = {
        "profile": profile,
        "answer_kind": kind,
        "answer_in_context": None if found.occurs is None else float(found.occurs),
        "graded": found.graded,
        "gold_doc_coverage": gold_doc_coverage(from_docs, gold),
        "all_gold_in_context": all_in_context,
        "gold_token_density": gold_token_density([(one.id, one.tokens) for one in pack.snippets], pack.tokens, gold),
        "answer_in_hits": in_hits,
        "all_gold_in_hits": all_in_hits,
    }
    for name, metric in (("recall", recall_at), ("hit", hit_at), ("all_gold", all_gold_at), ("ndcg", ndcg_at)):
        row |= {f"{name}@{k}": metric(ranked, gold, k) if k <= depth else None for k in ks}
    known = found.occurs is not None
    row |= {f"answer_in_hits@{k}": answer_in_hits_at(has_answer, k) if known and k <= depth else None for k in ks}
    answer = _answer(record)
    if answer is not None:
        score = scorer.score(answer) if golds else None
        row |= {"em": score.em if score else None, "f1": score.f1 if score else None}
    row["verdict"] = verdict(
        kind=kind,
        em=row.get("em"),
        in_context=found.occurs,
        in_hits=in_hits,
        all_gold_in_context=all_in_context,
        all_gold_in_hits=all_in_hits,
    )
    row["spans"] = matcher.spans(pack.context) if found.occurs else []
    return row


@lru_cache(maxsize=64)
def _golds(golds: tuple[str, ...], profile: str) -> tuple[AnswerMatcher, AnswerScorer, str | None]:
    """Rows of one question come one after another: its golds are normalised once."""
    return AnswerMatcher(golds), AnswerScorer(golds, profile), answer_kind(golds)
