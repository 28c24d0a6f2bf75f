"""Side files of gold documents: columns with a tab between them.

question id <tab> document id
question id <tab> 0 <tab> document id <tab> relevance      TREC's qrels, also with blanks between the columns
query-id <tab> corpus-id <tab> score                       BEIR's qrels, with this header
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from ragpack.errors import DataError
from ragpack.flow.streams import Line, check_inputs, lines
from ragpack.records import Doc, Hits, Question

Gold = Mapping[str, list[str]]
"""Question id to ids of its gold documents, each once, in the order of the file."""
Asked = TypeVar("Asked", Question, Hits, Question | Hits)
HEADER = ("query-id", "corpus-id", "score")


class Judgment(NamedTuple):
    """One line."""

    source: str
    number: int
    question: str
    doc: str
    relevance: int


def judgments(path: str) -> Iterator[Judgment]:
    """The lines of a side file. Raises `DataError` with file and line."""
    check_inputs([path])
    for line in lines([path]):
        where = f"{line.source}:{line.number}: "
        try:
            parts = line.data.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            raise DataError(f"{where}not UTF-8: {error}") from None
        if not line.data.strip() or (line.number == 1 and tuple(map(str.strip, parts)) == HEADER):
            continue
        if len(parts) == 1 and len(parts[0].split()) == 4:
            parts = parts[0].split()
        yield _judgment(line, where, parts)


def _judgment(line: Line, where: str, parts: list[str]) -> Judgment:
    relevance = "1"
    if len(parts) == 4:
        question, _, doc, relevance = parts
    elif len(parts) == 3:
        question, doc, relevance = parts
    elif len(parts) == 2:
        question, doc = parts
    else:
        raise DataError(
            f"{where}expected 2, 3 or 4 columns with a tab between them, got {len(parts)}",
            "Columns: question id, document id; or question id, document id, relevance; or TREC's qrels.",
        )
    if not relevance.strip().removeprefix("-").isdigit():
        raise DataError(f"{where}relevance: expected a whole number, got '{relevance}'")
    return Judgment(line.source, line.number, question, doc, int(relevance))


def read_gold(path: str) -> Gold:
    """Read a side file. Raises `DataError` with file and line; a relevance of 0 or less names no gold document."""
    found: dict[str, list[str]] = {}
    for one in judgments(path):
        if one.relevance > 0 and one.doc not in found.setdefault(one.question, []):
            found[one.question].append(one.doc)
    return found


def with_gold(questions: Iterator[Asked], gold: str | None) -> Iterator[Asked]:
    """The questions with the side file's gold documents in place of their own, or as they are without a side file.
    A question that it doesn't name has none known. Raises `DataError` where it names no question at all."""
    if gold is None:
        yield from questions
        return
    known = read_gold(gold)
    count = named = 0
    for question in questions:
        if isinstance(question, Doc):
            raise DataError(f"--gold {gold}: the file holds documents, not questions", "Leave --gold out.")
        found = known.get(question.id, [])
        count += 1
        named += bool(found)
        yield replace(question, gold=found, gold_sentences=None)
    if count and not named:
        raise DataError(f"--gold {gold}: it names none of the {count} questions",
                        "Its first column is the question's id, as `ragpack import` writes it.")  # fmt: skip
