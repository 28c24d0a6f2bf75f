"""Which format a file is, by its first entry."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ragpack.datasets import beir, nq, trec
from ragpack.datasets.corpus import TEXTS, text_files
from ragpack.datasets.entries import head
from ragpack.datasets.gold import HEADER
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.flow.streams import lines

SAME = ({"corpus", "2wiki-corpus", "beir"}, {"dpr", "nq", "triviaqa", "popqa", "ambigqa"},
        {"flashrag", "nq", "triviaqa", "popqa", "ambigqa"}, {"squad", "covidqa", "corpus"})  # fmt: skip
"""Formats that read one layout under several names."""


def detect(path: str) -> str:
    """The name of a file's or folder's format. Raises `DataError` where it is none that is known."""
    if os.path.isdir(path):
        if beir.is_folder(path):
            return "beir"
        if text_files(path):
            return "corpus"
        raise DataError(f"{path}: neither queries.jsonl (BEIR) nor text files (a corpus) are in this folder")
    found = head(path)
    if found is None:
        raise DataError(f"{path}: the file is empty")
    if isinstance(found, bytes):
        return _of_line(path, found)
    try:
        name = format_of(found)
    except DataError as error:
        raise DataError(f"{path}: {error.message}", error.hint) from None
    if name is None:
        keys = ", ".join(list(found)[:8])
        raise DataError(f"{path}: no known format has the keys {keys}",
                        "See `ragpack list formats` and docs/formats.md; --format forces one.")  # fmt: skip
    return name


def _of_line(path: str, line: bytes) -> str:
    try:
        parts = trec.columns(line)
    except UnicodeDecodeError:
        raise DataError(f"{path}: neither JSON nor text in UTF-8") from None
    if trec.is_run(parts):
        return "trec"
    is_qrels = len(parts) == 4 and parts[1] in ("0", "Q0") and parts[3].removeprefix("-").isdigit()
    if is_qrels or tuple(parts[:2]) == HEADER[:2]:
        raise DataError(f"{path}: this is a file of qrels", "Give it as --gold FILE, beside the questions.")
    if path.lower().endswith(TEXTS):
        return "corpus"
    raise DataError(f"{path}: neither JSON nor a TREC run", "`ragpack list formats` has all formats.")


def format_of(entry: dict[str, Any]) -> str | None:
    """The format of an entry, `None` for one that is not known. Raises `DataError` for one of ragpack's records.

    >>> format_of({"id": "1", "question": "?", "golden_answers": []})
    'flashrag'
    """
    if str(entry.get("schema", "")).startswith("ragpack."):
        raise DataError(f"this is {entry['schema']} already", "The next stage reads it without import.")
    return next((name for name, is_it in _RULES if is_it(entry)), None)


def _has(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda entry: all(name in entry for name in names)


def _ircot(entry: dict[str, Any]) -> bool:
    """IRCoT's layout is the same for HotpotQA, 2Wiki and MuSiQue; their ids have 24 digits, 32 digits, and `2hop__`."""
    return _has("question_id", "question_text", "contexts")(entry)


def _inner(entry: dict[str, Any], field: str) -> dict[str, Any]:
    """The first object of a list in a field."""
    found = entry.get(field)
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}


def _first(entry: dict[str, Any]) -> dict[str, Any]:
    """The first value of an object, where that is an object too."""
    found = next(iter(entry.values()), None)
    return found if isinstance(found, dict) else {}


def _squad(entry: dict[str, Any]) -> str | None:
    article = _inner(entry, "data") or (entry if "paragraphs" in entry else {})
    paragraph = _inner(article, "paragraphs")
    if "qas" in paragraph:
        return "covidqa" if "document_id" in paragraph else "squad"
    if "context" in article and "answers" in article:
        return "covidqa"
    return "squad" if isinstance(entry.get("context"), str) and isinstance(entry.get("answers"), dict) else None


def _is_cache(entry: dict[str, Any]) -> bool:
    found = [passages for passages in entry.values() if passages]
    return bool(found) and all(
        isinstance(passages, list) and isinstance(passages[0], dict) and "contents" in passages[0] for passages in found
    )


_RULES: tuple[tuple[str, Callable[[dict[str, Any]], bool]], ...] = (
    ("ragbench", _has("documents_sentences", "all_relevant_sentence_keys")),
    ("musique", lambda entry: "paragraph_text" in _inner(entry, "paragraphs")),
    ("popqa", _has("possible_answers")),
    ("2wiki", lambda entry: "question" in entry and ("evidences" in entry or isinstance(entry.get("evidence"), list))),
    ("2wiki", lambda entry: _ircot(entry) and len(str(entry["question_id"])) == 32),
    ("hotpotqa", lambda entry: _has("context", "supporting_facts")(entry)
     or (_ircot(entry) and "hop__" not in str(entry["question_id"]))),
    ("ambigqa", _has("question", "annotations")),
    ("expertqa", lambda entry: _has("example_id", "question", "answer")(entry)
     or (isinstance(entry.get("answers"), dict) and "claims" in _first(entry["answers"]))),
    ("covidqa", lambda entry: _squad(entry) == "covidqa"),
    ("squad", lambda entry: _squad(entry) == "squad"),
    ("nq", nq.is_annotated),
    ("dpr", lambda entry: "ctxs" in entry or "contexts" in _first(entry)),
    ("flashrag", lambda entry: "question" in entry and ("golden_answers" in entry or "output" in entry)),
    ("flashrag", _is_cache),
    ("triviaqa", lambda entry: "QuestionId" in _inner(entry, "Data") or (
        _has("question", "question_id")(entry) and isinstance(entry.get("answer"), dict))),
    ("nq", lambda entry: isinstance(entry.get("answer"), list) and "question" in entry),
    ("beir", lambda entry: _has("_id", "text")(entry) and "title" not in entry),
    ("corpus", lambda entry: "contents" in entry or ("text" in entry and ("title" in entry or "id" in entry))),
)  # fmt: skip
"""Format → whether an entry is of it; the first that holds."""


def with_guess(fail: Fail, path: str, format: str) -> Fail:
    """`fail` with the format that the file seems to be, where it is another one than `format`."""
    known: list[str | None] = []

    def hinted(source: str, number: int, error: DataError, identity: object) -> None:
        if not known:
            known.append(_other(path, format))
        if known[0]:
            error = DataError(error.message, f"Did you mean `ragpack import {known[0]}`? The file looks like it.")
        fail(source, number, error, identity)

    return hinted


def _other(path: str, format: str) -> str | None:
    with suppress(DataError):
        found = detect(path) if path != "-" else format
        if found != format and not any({found, format} <= same for same in SAME):
            return found
    return None


@contextmanager
def spooled() -> Iterator[str]:
    """Standard input as a file, so that it can be looked at and read again."""
    with tempfile.TemporaryDirectory(prefix="ragpack-") as folder:
        path = os.path.join(folder, "stdin")
        with open(path, "wb") as file:
            for line in lines(["-"]):
                file.write(line.data + b"\n")
        yield path
