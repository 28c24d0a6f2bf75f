"""SQuAD (Rajpurkar et al. 2016), version 1.1 and 2.0, and everything in its layout.

- release: `{data: [{title, paragraphs: [{context, qas: [{id, question, answers: [{text, answer_start}]}]}]}]}`
- rows (Hugging Face): `id, title, context, question, answers {text [], answer_start []}`

A paragraph is a document: `TITLE #n`, the n-th paragraph of its article in the file, or its `document_id`. It is its
question's own pool, and gold. `import corpus` reads the same file as passages, under the same ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ragpack.datasets.fields import each, flag, id_of, string, texts
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question

LAYOUTS = "release, rows with 'context' and 'answers'"


def read(path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file."""
    return read_as("squad", path, fail)


def read_as(group: str, path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file of this layout."""
    paragraphs = Paragraphs()

    def question(entry: dict[str, Any]) -> Question:
        doc, _ = paragraphs.doc(entry)
        impossible = flag(entry.get("is_impossible", False), "is_impossible")
        return Question(
            id=id_of(entry["id"]),
            question=string(entry["question"], "question"),
            answers=[] if impossible else _answers(entry["answers"]),
            gold=[doc.id],
            docs=[doc],
            group=group,
            meta={"is_impossible": True} if impossible else None,
        )

    return each(path, fail, question, LAYOUTS, inside)


def inside(entry: dict[str, Any]) -> Iterator[dict[str, Any]] | None:
    """The questions of a release, or of one of its articles, as rows."""
    if isinstance(entry.get("data"), list):
        return (row for article in entry["data"] for row in _rows(article))
    return _rows(entry) if "paragraphs" in entry and "question" not in entry else None


def _rows(article: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "paragraphs" not in article:
        yield article
        return
    for paragraph in article["paragraphs"]:
        shared = {"title": article.get("title"), "context": paragraph["context"]}
        if "document_id" in paragraph:
            shared["document_id"] = paragraph["document_id"]
        for question in paragraph["qas"]:
            yield {**shared, **question}


class Paragraphs:
    """Names of the paragraphs of a file, in the order in which they come."""

    def __init__(self) -> None:
        self._named: dict[str, dict[str, Doc]] = defaultdict(dict)

    def doc(self, row: dict[str, Any]) -> tuple[Doc, bool]:
        """A row's paragraph, and whether it is seen for the first time."""
        title = string(row.get("title") or "", "title")
        context = string(row["context"], "context")
        name = id_of(row["document_id"]) if "document_id" in row else title or "paragraph"
        known = self._named[name]
        if context in known:
            return known[context], False
        number = len(known) + 1
        shown = title.replace("_", " ") if " " not in title else title
        known[context] = Doc(
            id=name if "document_id" in row and number == 1 else f"{name} #{number}", title=shown or None, text=context
        )
        return known[context], True


def _answers(value: Any) -> list[str]:  # noqa: ANN401 # rows, or columns of the same
    if isinstance(value, dict):
        return texts(value["text"], "answers.text")
    return texts([answer["text"] for answer in value], "answers[].text")
