"""NQ-open with its annotated passage (Natural Questions, Kwiatkowski et al. 2019; the layout of Liu et al. 2023).

`question, answers, ctxs [{title, text, hasanswer, isgold}], nq_annotated_gold`. Questions have no id: the question's
text is its id, in the side file of gold documents too. A passage is named by its title, and by its place where two
have one title.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ragpack.datasets.fields import each, flag, string, strings
from ragpack.datasets.gold import read_gold, with_gold
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question

LAYOUTS = "NQ-open with ctxs"


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Question]:
    """The questions of a file. With a side file of gold documents they leave their own passages: those have other
    ids than the corpus that the side file is about."""
    found = each(path, fail, _question, LAYOUTS)
    if not gold:
        return found
    return with_gold((replace(question, docs=None) for question in found), read_gold(gold), gold)


def _question(entry: dict[str, Any]) -> Question:
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
