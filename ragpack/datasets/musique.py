"""MuSiQue (Trivedi et al. 2022), the release's JSON Lines, answerable and full.

`id, paragraphs [{idx, title, paragraph_text, is_supporting}], question, question_decomposition, answer,
answer_aliases, answerable`. Several paragraphs of a question may share a title, so `idx` names the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ragpack.datasets.fields import each, flag, id_of, string, strings, whole
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question

LAYOUTS = "the release"


def read(path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file.

    MuSiQue-Full has each question twice under one id, with and without an answer in its paragraphs; the second of
    them gets `__unanswerable` or `__answerable` behind its id.
    """
    first: dict[str, str | None] = {}
    for question in each(path, fail, _question, LAYOUTS):
        if first.setdefault(question.id, question.group) != question.group:
            kind = "unanswerable" if question.group == UNANSWERABLE else "answerable"
            question = replace(question, id=f"{question.id}__{kind}")
        yield question


UNANSWERABLE = "musique_unanswerable"


def _question(entry: dict[str, Any]) -> Question:
    docs, gold = [], []
    for paragraph in entry["paragraphs"]:
        name = str(whole(paragraph["idx"], "paragraphs[].idx"))
        text = string(paragraph["paragraph_text"], "paragraphs[].paragraph_text")
        docs.append(Doc(id=name, title=string(paragraph["title"], "paragraphs[].title"), text=text))
        if flag(paragraph.get("is_supporting", False), "paragraphs[].is_supporting"):
            gold.append(name)
    answerable = flag(entry.get("answerable", True), "answerable")
    aliases = strings(entry.get("answer_aliases", []), "answer_aliases")
    identity = id_of(entry["id"])
    return Question(
        id=identity,
        question=string(entry["question"], "question"),
        answers=list(dict.fromkeys([string(entry["answer"], "answer"), *aliases])),
        gold=gold,
        docs=docs,
        group="musique" if answerable else UNANSWERABLE,
        meta={"answerable": answerable, "hops": len(entry["question_decomposition"])}
        if "question_decomposition" in entry
        else {"answerable": answerable},
    )
