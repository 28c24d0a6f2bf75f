"""TriviaQA (Joshi et al. 2017); each entry says which layout it is.

- release: `{Data: [{Question, QuestionId, Answer: {Value, Aliases}}]}`
- Hugging Face: `question, question_id, answer {value, aliases}`
- DPR, FlashRAG, bare questions
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragpack.datasets import openqa
from ragpack.datasets.fields import each, id_of, string, texts
from ragpack.datasets.gold import with_gold
from ragpack.flow.run import Fail
from ragpack.records import Hits, Question

LAYOUTS = f"release, Hugging Face, {openqa.LAYOUTS}"


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Question | Hits]:
    """The questions of a file."""
    return with_gold(each(path, fail, _question, LAYOUTS, _inside), gold)


def _inside(entry: dict[str, Any]) -> Iterator[dict[str, Any]] | None:
    return iter(entry["Data"]) if isinstance(entry.get("Data"), list) else None


def _question(entry: dict[str, Any]) -> Question | Hits:
    if "QuestionId" in entry:
        answer, names = entry["Answer"], ("Value", "Aliases")
        identity, question = entry["QuestionId"], entry["Question"]
    elif isinstance(entry.get("answer"), dict):
        answer, names = entry["answer"], ("value", "aliases")
        identity, question = entry["question_id"], entry["question"]
    else:
        return openqa.question_of(entry, "triviaqa")
    value, aliases = (answer[name] for name in names)
    return Question(
        id=id_of(identity),
        question=string(question, "question"),
        answers=texts([value, *aliases], "answer"),
        group="triviaqa",
    )
