"""JSON Lines that Hugging Face `datasets` loads: flat columns, the same in every row, one type in each.

    datasets.load_dataset("json", data_files="rows.jsonl")

Lists of objects become lists side by side (`hits_id`, `hits_score`); a stage's object becomes columns with its name
before them (`pack_policy`, `diagnose_f1`); `meta`, which is free, is JSON in a string.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson

from ragpack.errors import DataError
from ragpack.records import Answered, Diagnose, Diagnosed, Doc, Hits, Packed, Question, Raw, Record

_DOC = ("id", "title", "text")
_HIT = ("id", "title", "text", "score", "has_answer")
_SNIPPET = ("id", "rank", "tokens", "relevance")
_PACK = ("policy", "budget", "unit", "tokens", "context", "dropped", "objective", "bound")
_GENERATE = ("reader", "model", "answer", "finish", "logprob")
_LISTS = ("spans", "span_snippets", "key")
_DIAGNOSE = tuple(field.name for field in dataclasses.fields(Diagnose) if field.name not in _LISTS)


class Rows:
    """Hugging Face `datasets`: flat columns, the same keys in every row."""

    ACCEPTS: tuple[type[Record], ...] = (Question, Hits, Packed, Answered, Diagnosed, Doc)

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._kind: type | None = None

    def take(self, record: Any, raw: Raw, /) -> bytes:  # noqa: ANN401 # one of ACCEPTS
        """A line."""
        if self._kind not in (None, type(record)):
            assert self._kind is not None
            before = self._kind.SCHEMA  # type: ignore[attr-defined] # it is a record
            raise DataError(f"a {type(record).SCHEMA} behind {before}", "Rows of a table are of one type.")
        row = _doc(record) if isinstance(record, Doc) else _row(record, raw)
        columns = list(row)
        if self._columns and columns != self._columns:
            odd = sorted(set(columns) ^ set(self._columns))
            raise DataError(f"other columns than in the first row: {', '.join(odd)}", "Diagnose the files together.")
        self._columns, self._kind = columns, type(record)
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)

    def end(self) -> bytes:
        """Nothing."""
        return b""


def _doc(doc: Doc) -> Raw:
    return {"id": doc.id, "title": doc.title, "text": doc.text, "meta": _json(doc.meta)}


def _row(record: Any, raw: Raw) -> Raw:  # noqa: ANN401 # any record of a question
    facts = record.gold_sentences or []
    row: Raw = {
        "id": record.id,
        "question": record.question,
        "answers": record.answers,
        "gold": record.gold,
        "gold_sentences_id": [name for name, _ in facts],
        "gold_sentences_index": [index for _, index in facts],
        "group": record.group,
        "meta": _json(record.meta),
    }
    if isinstance(record, Question):
        return row | _side_by_side("docs", record.docs or [], _DOC)
    row |= _side_by_side(
        "hits", record.hits, _HIT if isinstance(record, Hits) else [one for one in _HIT if one != "text"]
    )
    made_by = record.retrieve
    row |= {f"retrieve_{name}": getattr(made_by, name, None) for name in ("retriever", "k", "index")}
    if isinstance(record, Hits):
        return row
    row |= {f"pack_{name}": _float(name, getattr(record.pack, name)) for name in _PACK}
    row |= _side_by_side("pack_snippets", record.pack.snippets, _SNIPPET)
    if not isinstance(record, Packed):
        made = record.generate
        row |= {f"generate_{name}": _float(name, getattr(made, name, None)) for name in _GENERATE}
        row |= {
            "generate_prompt_tokens": made.tokens.prompt if made else None,
            "generate_completion_tokens": made.tokens.completion if made else None,
        }
    if isinstance(record, Diagnosed):
        found = raw["diagnose"]
        # `recall@5` and its kin: which of them there are is the run's choice.
        names = [*_DIAGNOSE, *(name for name in found if name not in (*_DIAGNOSE, *_LISTS))]
        row |= {f"diagnose_{name}": found.get(name) for name in names}
    return row


def _side_by_side(field: str, parts: list[Any], names: Any) -> Raw:  # noqa: ANN401 # records and names of their fields
    return {f"{field}_{name}": [_float(name, getattr(part, name)) for part in parts] for name in names}


def _float(name: str, value: Any) -> Any:  # noqa: ANN401 # a field's value
    """A whole number in a column of floats would make another type of it."""
    is_float = name in ("score", "relevance", "objective", "bound", "logprob")
    return float(value) if is_float and value is not None else value


def _json(value: Raw | None) -> str | None:
    return orjson.dumps(value).decode() if value is not None else None
