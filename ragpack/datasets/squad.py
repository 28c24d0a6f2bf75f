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

    def inside(entry: dict[str, Any]) -> Iterator[dict[str, Any]] | None:
        articles = _articles(entry)
        return None if articles is None else asked(articles)

    def asked(articles: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for article in articles:
            for row, questions in _paragraphs(article):
                if not questions:
                    paragraphs.doc(row)  # it counts: `corpus` has it, and numbers are the same there
                for one in questions:
                    yield {**row, **one}

    return each(path, fail, question, LAYOUTS, inside)


def passages(entry: dict[str, Any]) -> Iterator[dict[str, Any]] | None:
    """The paragraphs of a release, or of one of its articles; those without a question too."""
    articles = _articles(entry)
    return None if articles is None else (row for article in articles for row, _ in _paragraphs(article))


def _articles(entry: dict[str, Any]) -> list[dict[str, Any]] | None:
    if isinstance(entry.get("data"), list):
        return list(entry["data"])
    return [entry] if "paragraphs" in entry and "question" not in entry else None


def _paragraphs(article: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each paragraph as a row without a question, and its questions."""
    if "paragraphs" not in article:
        yield article, [article]
        return
    for paragraph in article["paragraphs"]:
        row = {"title": article.get("title"), "context": paragraph["context"]}
        if "document_id" in paragraph:
            row["document_id"] = paragraph["document_id"]
        yield row, paragraph["qas"]


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
