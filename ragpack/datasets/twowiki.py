"""2WikiMultihopQA (Ho et al. 2020): the release with its own ten paragraphs, the IRCoT layout, and bare questions.

- release: as HotpotQA's original layout, with `evidences`; sentences come without the blank between them
- IRCoT: as HotpotQA's
- bare (LinearRAG, SeRAG): `id, question_type, question, answer, evidence [[subject, relation, object]]`; no
  paragraphs: search `2wiki-corpus`, and take the gold titles from `--gold FILE`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ragpack.datasets import hotpotqa
from ragpack.datasets.fields import each, id_of, string, strings
from ragpack.datasets.gold import with_gold
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question, Raw

LAYOUTS = "release, Hugging Face, IRCoT, bare questions"


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Question]:
    """The questions of a file, with the gold titles of a side file if `gold` names one."""
    found = each(path, fail, _question, LAYOUTS)
    return with_gold(found, gold)


def _question(entry: dict[str, Any]) -> Question:
    if "question_text" in entry or "context" in entry:
        found = hotpotqa.question_of(entry)
        docs = [_spaced(doc) for doc in found.docs or []] if "context" in entry else found.docs
        return replace(found, docs=docs, group="2wiki")
    meta: Raw = {"type": string(entry["question_type"], "question_type")} if "question_type" in entry else {}
    if "evidence" in entry:
        meta["evidence"] = [strings(triple, "evidence") for triple in entry["evidence"]]
    return Question(
        id=id_of(entry.get("_id", entry.get("id"))),
        question=string(entry["question"], "question"),
        answers=[string(entry["answer"], "answer")],
        group="2wiki",
        meta=meta or None,
    )


def _spaced(doc: Doc) -> Doc:
    """The document with a blank between two sentences where there is none."""
    text, spans = "", []
    for start, end in doc.sentences or []:
        piece = doc.text[start:end]
        if text and piece and not text[-1].isspace() and not piece[0].isspace():
            text += " "
        spans.append((len(text), len(text) + len(piece)))
        text += piece
    return replace(doc, text=text, sentences=spans)
