"""PopQA (Mallen et al. 2023) with paragraphs, in the layout of HippoRAG 2.

The columns of PopQA (`id, subj, prop, obj, s_pop, o_pop, question, possible_answers` as JSON in a string) and
`paragraphs [{title, text, is_supporting}]`. A title names its paragraph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from ragpack.datasets.fields import each, flag, id_of, string, strings
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question

LAYOUTS = "HippoRAG 2"


def read(path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file."""
    return each(path, fail, _question, LAYOUTS)


def _question(entry: dict[str, Any]) -> Question:
    docs: list[Doc] = []
    gold: list[str] = []
    for place, paragraph in enumerate(entry["paragraphs"]):
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
        docs=docs,
        group="popqa",
        meta={key: entry[key] for key in ("prop", "s_pop", "o_pop") if key in entry} or None,
    )


def _answers(value: object) -> list[str]:
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise DataError(f"possible_answers: not JSON: {error}") from None
    return strings(value, "possible_answers")
