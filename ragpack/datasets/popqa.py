"""PopQA (Mallen et al. 2023); each entry says which layout it is.

- its columns: `id, subj, prop, obj, s_pop, o_pop, question, possible_answers` as JSON in a string, and with HippoRAG 2
  `paragraphs [{title, text, is_supporting}]`. A title names its paragraph.
- DPR, FlashRAG, bare questions
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from ragpack.datasets import openqa
from ragpack.datasets.fields import each, flag, id_of, string, texts
from ragpack.datasets.gold import with_gold
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Doc, Hits, Question

LAYOUTS = f"its columns, HippoRAG 2, {openqa.LAYOUTS}"


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Question | Hits]:
    """The questions of a file."""
    return with_gold(each(path, fail, _question, LAYOUTS), gold)


def _question(entry: dict[str, Any]) -> Question | Hits:
    if "possible_answers" not in entry:
        return openqa.question_of(entry, "popqa")
    docs: list[Doc] = []
    gold: list[str] = []
    for place, paragraph in enumerate(entry.get("paragraphs", [])):
        title = string(paragraph["title"], "paragraphs[].title")
        name = title if all(doc.id != title for doc in docs) else f"{title} #{place + 1}"
        docs.append(Doc(id=name, title=title, text=string(paragraph["text"], "paragraphs[].text")))
        if flag(paragraph.get("is_supporting", False), "paragraphs[].is_supporting"):
            gold.append(name)
    return Question(
        id=id_of(entry["id"]),
        question=string(entry["question"], "question"),
        answers=_answers(entry["possible_answers"]),
        gold=gold,
        docs=docs or None,
        group="popqa",
        meta={key: entry[key] for key in ("prop", "s_pop", "o_pop") if key in entry} or None,
    )


def _answers(value: object) -> list[str]:
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise DataError(f"possible_answers: not JSON: {error}") from None
        if isinstance(value, str):
            raise DataError(f"possible_answers: expected a list of strings, got {value!r}")
    return texts(value, "possible_answers")
