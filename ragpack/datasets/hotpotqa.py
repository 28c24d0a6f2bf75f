"""HotpotQA (Yang et al. 2018), in the three layouts in which it is passed around; each entry says which it is.

- original: `_id, question, answer, type, level, supporting_facts [[title, index]], context [[title, [sentence]]]`
- columnar (Hugging Face): the same with `id`, and lists side by side in `supporting_facts` and `context`
- IRCoT: `question_id, question_text, answers_objects [{spans}], contexts [{title, paragraph_text, is_supporting}]`;
  two blanks part the sentences, and there are no gold sentences

A title names its document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ragpack.datasets.fields import each, id_of, string, strings, whole
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question

_BETWEEN = re.compile(r" {2,}")
Span = tuple[int, int]
LAYOUTS = "original, Hugging Face, IRCoT"


def read(path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file."""
    return each(path, fail, question_of, LAYOUTS)


def question_of(entry: dict[str, Any]) -> Question:
    """The question of an entry, in any of the three layouts."""
    if "question_text" in entry:
        return _ircot(entry)
    if isinstance(entry.get("context"), dict):
        pairs = _side_by_side(entry, "context", "title", "sentences")
        facts = _side_by_side(entry, "supporting_facts", "title", "sent_id")
        return _made(entry, entry["id"], pairs, facts)
    if "_id" in entry:
        return _made(entry, entry["_id"], entry["context"], entry["supporting_facts"])
    raise DataError(
        "this is none of the layouts of HotpotQA", "Layouts: original, Hugging Face, IRCoT; see docs/formats.md."
    )


def _made(entry: dict[str, Any], identity: object, pairs: Sequence[Any], facts: Sequence[Any]) -> Question:
    docs = []
    for title, sentences in pairs:
        title = string(title, "context")
        text, spans = _joined(strings(sentences, "context"))
        docs.append(Doc(id=title, title=title, text=text, sentences=spans))
    return Question(
        id=id_of(identity),
        question=string(entry["question"], "question"),
        answers=[string(entry["answer"], "answer")],
        gold=list(dict.fromkeys(string(title, "supporting_facts") for title, _ in facts)),
        gold_sentences=[(title, whole(index, "supporting_facts")) for title, index in facts],
        docs=docs,
        group="hotpotqa",
        meta={key: entry[key] for key in ("type", "level") if key in entry},
    )


def _ircot(entry: dict[str, Any]) -> Question:
    docs = []
    for one in entry["contexts"]:
        title, text = string(one["title"], "title"), string(one["paragraph_text"], "paragraph_text")
        docs.append(Doc(id=title, title=title, text=text, sentences=_parted(text)))
    return Question(
        id=id_of(entry["question_id"]),
        question=string(entry["question_text"], "question_text"),
        answers=[span for answer in entry["answers_objects"] for span in strings(answer["spans"], "spans")],
        gold=list(dict.fromkeys(one["title"] for one in entry["contexts"] if one["is_supporting"])),
        docs=docs,
        group="hotpotqa",
    )


def _joined(sentences: Sequence[str]) -> tuple[str, list[Span]]:
    """The text of a paragraph and where its sentences stand; an empty one keeps its place, since gold counts them."""
    spans = []
    at = 0
    for sentence in sentences:
        spans.append((at, at + len(sentence)))
        at += len(sentence)
    return "".join(sentences), spans


def _parted(text: str) -> list[Span]:
    """Sentences that two blanks part."""
    cuts = [match.span() for match in _BETWEEN.finditer(text)]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _side_by_side(entry: dict[str, Any], field: str, *names: str) -> list[Any]:
    """The rows of lists that stand side by side."""
    titles, others = (entry[field][name] for name in names)
    if len(titles) != len(others):
        raise DataError(f"{field}: {len(titles)} of '{names[0]}', but {len(others)} of '{names[1]}'")
    return list(zip(titles, others, strict=True))
