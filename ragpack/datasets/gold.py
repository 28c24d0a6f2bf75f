"""A side file of gold documents: tab-separated, one document a line, in the form of TREC's qrels or in two columns.

question id <tab> 0 <tab> document id <tab> relevance
question id <tab> document id
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ragpack.errors import DataError
from ragpack.flow.streams import check_inputs, lines
from ragpack.records import Question

Gold = Mapping[str, list[str]]
"""Question id to ids of its gold documents, each once, in the order of the file."""


def read_gold(path: str) -> Gold:
    """Read a side file. Raises `DataError` with file and line; a relevance of 0 or less names no gold document."""
    check_inputs([path])
    found: dict[str, list[str]] = {}
    for line in lines([path]):
        where = f"{line.source}:{line.number}: "
        try:
            parts = line.data.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            raise DataError(f"{where}not UTF-8: {error}") from None
        if parts == [""]:
            continue
        if len(parts) == 4:
            question, _, doc, relevance = parts
            if not relevance.strip().lstrip("-").isdigit():
                raise DataError(f"{where}relevance: expected a whole number, got '{relevance}'")
            if int(relevance) <= 0:
                continue
        elif len(parts) == 2:
            question, doc = parts
        else:
            raise DataError(
                f"{where}expected 2 or 4 columns with a tab between them, got {len(parts)}",
                "Columns: question id, document id; or question id, 0, document id, relevance.",
            )
        if doc not in found.setdefault(question, []):
            found[question].append(doc)
    return found


def with_gold(questions: Iterator[Question], gold: Gold, path: str) -> Iterator[Question]:
    """The questions with the side file's gold documents in place of their own. A question that it doesn't name has
    none known. Raises `DataError` where it names no question at all."""
    count = named = 0
    for question in questions:
        found = gold.get(question.id, [])
        count += 1
        named += bool(found)
        yield replace(question, gold=found, gold_sentences=None)
    if count and not named:
        raise DataError(f"--gold {path}: it names none of the {count} questions",
                        "Its first column is the question's id, as `ragpack import` writes it.")  # fmt: skip
