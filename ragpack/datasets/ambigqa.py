"""AmbigQA (Min et al. 2020), light and full, original and Hugging Face; and DPR and FlashRAG layouts.

`id, question, annotations [{type: "singleAnswer", answer []} or {type: "multipleQAs", qaPairs [{question, answer
[]}]}]`; on Hugging Face the annotations stand in columns. `answers` are those of every annotator and every reading of
the question: a reader that finds one of them is right about one reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragpack.datasets import openqa
from ragpack.datasets.fields import each, id_of, string, texts
from ragpack.datasets.gold import with_gold
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Hits, Question, Raw

LAYOUTS = f"original, Hugging Face, {openqa.LAYOUTS}"


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Question | Hits]:
    """The questions of a file."""
    return with_gold(each(path, fail, _question, LAYOUTS), gold)


def _question(entry: dict[str, Any]) -> Question | Hits:
    if "annotations" not in entry:
        return openqa.question_of(entry, "ambigqa")
    answers: list[str] = []
    readings: list[Raw] = []
    for one in _rows(entry["annotations"]):
        if one["type"] == "singleAnswer":
            answers += texts(one["answer"], "annotations[].answer")
        elif one["type"] == "multipleQAs":
            for pair in _rows(one["qaPairs"]):
                found = texts(pair["answer"], "annotations[].qaPairs[].answer")
                readings.append({"question": string(pair["question"], "qaPairs[].question"), "answers": found})
                answers += found
        else:
            raise DataError(f"annotations[].type: expected singleAnswer or multipleQAs, got {one['type']!r}")
    return Question(
        id=id_of(entry["id"]),
        question=string(entry["question"], "question"),
        answers=list(dict.fromkeys(answers)),
        group="ambigqa",
        meta={"ambiguous": bool(readings), **({"readings": readings} if readings else {})},
    )


def _rows(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 # rows, or columns of the same
    if not isinstance(value, dict):
        return list(value)
    return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
