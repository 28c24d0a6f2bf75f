"""FlashRAG (Jin et al. 2024): the items of a dataset, its results, a corpus, and the cache of a retriever."""

from __future__ import annotations

import orjson

from ragpack.datasets.flashrag import OURS
from ragpack.errors import DataError
from ragpack.exports.base import RANKED, OneRow, Passage, Ranked, Row, passages
from ragpack.records import Answered, Diagnosed, Doc, Hits, Question, Raw, Record


class Items:
    """FlashRAG JSON Lines: an item for each question, with `output.retrieval_result` where there are hits or contexts,
    and `output.pred` where there is an answer; documents become its corpus, `id, contents`."""

    ACCEPTS: tuple[type[Record], ...] = (Question, *RANKED, Doc)

    def __init__(self) -> None:
        self._rows = OneRow()

    def take(self, record: Doc | Question | Ranked, _raw: Raw, /) -> bytes:
        """A line."""
        if isinstance(record, Doc):
            return _line({"id": record.id, "contents": contents(record.title, record.text)})
        self._rows.check(record)
        # What FlashRAG has no field for, under a name of its own: `import flashrag` reads it again.
        ours = {"gold": record.gold, "gold_sentences": record.gold_sentences, "group": record.group}
        item: Raw = {
            "id": record.id,
            "question": record.question,
            "golden_answers": record.answers,
            "metadata": dict(record.meta or {}),
        }
        if any(ours.values()):
            item["metadata"][OURS] = {name: value for name, value in ours.items() if value}
        if not isinstance(record, Question):
            item["output"] = {"retrieval_result": results(passages(record)), **_answer(record)}
        return _line(item)

    def end(self) -> bytes:
        """Nothing."""
        return b""


class Cache:
    """FlashRAG's retrieval cache, one JSON object: `question -> [{id, contents, score}]`."""

    ACCEPTS: tuple[type[Record], ...] = (Hits,)

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def take(self, record: Hits, _raw: Raw, /) -> bytes:
        """A question with its passages."""
        if record.question in self._seen:
            raise DataError(f"the question '{record.question}' is there already, as id={self._seen[record.question]}",
                            "The cache names a question by its text.")  # fmt: skip
        found = results(passages(record))
        begins = b",\n" if self._seen else b"{\n"
        self._seen[record.question] = record.id
        return begins + orjson.dumps(record.question) + b": " + orjson.dumps(found)

    def end(self) -> bytes:
        """The end of the object."""
        return b"\n}\n" if self._seen else b"{}\n"


def contents(title: str | None, text: str) -> str:
    """A passage as FlashRAG writes it: the title in quotes, a line end, the text. The first line is the title's even
    where there is none."""
    return (f'"{" ".join(title.split())}"' if title else "") + "\n" + text


def results(found: list[Passage]) -> list[Raw]:
    """FlashRAG's list of passages, best first."""
    rows: list[Raw] = []
    for one in found:
        score = {} if one.score is None else {"score": one.score}
        rows.append({"id": one.id, "contents": contents(one.title, one.text), **score})
    return rows


def _answer(record: Hits | Row) -> Raw:
    if isinstance(record, (Answered, Diagnosed)) and record.generate:
        return {"pred": record.generate.answer}
    return {}


def _line(row: Raw) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
