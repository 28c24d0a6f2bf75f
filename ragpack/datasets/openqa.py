"""Open-domain questions in the layouts in which all of them are passed around: DPR's `ctxs`, FlashRAG's items and
results, and bare questions with their answers."""

from __future__ import annotations

from typing import Any

from ragpack.datasets import dpr, flashrag
from ragpack.datasets.fields import id_of, string, texts
from ragpack.errors import DataError
from ragpack.records import Hits, Question

LAYOUTS = "DPR, FlashRAG, bare questions with answers"


def question_of(entry: dict[str, Any], group: str) -> Question | Hits:
    """The question of an entry, or its hits. A bare question without id is named by its text."""
    if "ctxs" in entry:
        return dpr.hits_of(entry, group)
    if "golden_answers" in entry or "output" in entry:
        return flashrag.item_of(entry, group)
    question = string(entry["question"], "question")
    answers = entry.get("answers", entry.get("answer"))
    if answers is None:
        raise DataError("there are no answers", f"Layouts: {LAYOUTS}; see docs/formats.md.")
    identity = entry.get("id", entry.get("question_id"))
    return Question(
        id=id_of(identity) if identity is not None else question,
        question=question,
        answers=texts(answers, "answers"),
        group=group,
    )
