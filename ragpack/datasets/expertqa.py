"""ExpertQA (Malaviya et al. 2024); each entry says which layout it is.

- release: `question, answers {system: {answer_string, revised_answer_string, claims [{claim_string, evidence ["[n] url
  <blank line> passage"], support, …}]}}, metadata`. The pool is the evidence that has a passage; a passage is gold
  where an expert judged that it supports its claim, completely or in part. The answer is the expert's revision. The
  question's text is its id.
- long-form: `example_id, context, question, answer`, without passages
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ragpack.datasets.fields import each, free, id_of, string, strings
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question

LAYOUTS = "release, long-form"
SUPPORTED = ("Complete", "Partial")
_NUMBER = re.compile(r"\[\d+\]\s*")


def read(path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file."""
    return each(path, fail, _question, LAYOUTS)


def _question(entry: dict[str, Any]) -> Question:
    question = string(entry["question"], "question")
    if "example_id" in entry:
        answer = string(entry["answer"], "answer")
        return Question(
            id=id_of(entry["example_id"]), question=question, answers=[answer] if answer else [], group="expertqa"
        )
    docs: dict[tuple[str, str], Doc] = {}
    gold: dict[str, None] = {}
    answers: list[str] = []
    for system in entry["answers"].values():
        revised = string(system.get("revised_answer_string") or "", "revised_answer_string")
        if revised and revised not in answers:
            answers.append(revised)
        for claim in system["claims"]:
            for evidence in strings(claim["evidence"], "claims[].evidence"):
                doc = _doc(evidence, docs)
                if doc and claim.get("support") in SUPPORTED:
                    gold[doc.id] = None
    meta = {**(free(entry.get("metadata")) or {}), "systems": list(entry["answers"])}
    return Question(
        id=question,
        question=question,
        answers=answers,
        gold=list(gold),
        docs=list(docs.values()) or None,
        group="expertqa",
        meta=meta,
    )


def _doc(evidence: str, docs: dict[tuple[str, str], Doc]) -> Doc | None:
    """The document of a piece of evidence; `None` where it is an address without a passage."""
    source, _, passage = evidence.partition("\n\n")
    source, passage = _NUMBER.sub("", source, count=1).strip(), passage.strip()
    if not passage:
        return None
    if (source, passage) not in docs:
        same = sum(url == source for url, _ in docs)
        name = source or "evidence"
        docs[source, passage] = Doc(id=f"{name} #{same + 1}" if same else name, text=passage)
    return docs[source, passage]
