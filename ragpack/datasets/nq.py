"""NQ-open (Natural Questions, Kwiatkowski et al. 2019; Lee et al. 2019); each entry says which layout it is.

- with its annotated passage (Liu et al. 2023): `question, answers, ctxs [{title, text, hasanswer, isgold}],
  nq_annotated_gold`. A passage is named by its title, and by its place where two have one title.
- DPR, FlashRAG, and the release: `question, answer []`

A question without id is named by its text, in the side file of gold documents too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ragpack.datasets import openqa
from ragpack.datasets.fields import each, flag, string, strings
from ragpack.datasets.gold import with_gold
from ragpack.flow.run import Fail
from ragpack.records import Doc, Hits, Question

LAYOUTS = f"annotated passage, {openqa.LAYOUTS}"


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Question | Hits]:
    """The questions of a file. With a side file of gold documents they leave their own passages: those have other
    ids than the corpus that the side file is about."""
    found = each(path, fail, _question, LAYOUTS)
    if not gold:
        return found
    return with_gold((replace(one, docs=None) if isinstance(one, Question) else one for one in found), gold)


def is_annotated(entry: dict[str, Any]) -> bool:
    """The layout with gold passages."""
    passages = entry.get("ctxs")
    return "nq_annotated_gold" in entry or (
        isinstance(passages, list) and any(isinstance(one, dict) and "isgold" in one for one in passages)
    )


def _question(entry: dict[str, Any]) -> Question | Hits:
    if not is_annotated(entry):
        return openqa.question_of(entry, "nq")
    text = string(entry["question"], "question")
    docs: list[Doc] = []
    gold: list[str] = []
    for place, passage in enumerate(entry["ctxs"]):
        title = string(passage["title"], "ctxs[].title")
        name = title if title and all(doc.id != title for doc in docs) else f"{title} #{place + 1}".strip()
        docs.append(Doc(id=name, title=title or None, text=string(passage["text"], "ctxs[].text")))
        if flag(passage.get("isgold", False), "ctxs[].isgold"):
            gold.append(name)
    return Question(
        id=text, question=text, answers=strings(entry["answers"], "answers"), gold=gold, docs=docs, group="nq"
    )
