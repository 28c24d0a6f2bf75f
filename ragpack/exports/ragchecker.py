"""RAGChecker (Ru et al. 2024): one JSON object, `results [{query_id, query, gt_answer, response, retrieved_context
[{doc_id, text}]}]`."""

from __future__ import annotations

import orjson

from ragpack.errors import DataError
from ragpack.exports.base import OneRow, passages
from ragpack.records import Answered, Diagnosed, Raw, Record


class Results:
    """RAGChecker's input: the answers, with the documents of the context; the first gold answer is the reference."""

    ACCEPTS: tuple[type[Record], ...] = (Answered, Diagnosed)

    def __init__(self) -> None:
        self._rows = OneRow()
        self._any = False

    def take(self, record: Answered | Diagnosed, _raw: Raw, /) -> bytes:
        """A result."""
        if record.generate is None:
            raise DataError("there is no answer in this row", "`ragpack generate` adds one to each context.")
        if not record.answers:
            raise DataError("no gold answer is known", "RAGChecker compares the response with one.")
        self._rows.check(record)
        result = {
            "query_id": record.id,
            "query": record.question,
            "gt_answer": record.answers[0],
            "response": record.generate.answer,
            "retrieved_context": [{"doc_id": one.id, "text": one.text} for one in passages(record)],
        }
        begins = b",\n" if self._any else b'{"results": [\n'
        self._any = True
        return begins + orjson.dumps(result)

    def end(self) -> bytes:
        """The end of the object."""
        return b"\n]}\n" if self._any else b'{"results": []}\n'
