"""TREC runs: `question-id Q0 document-id rank score tag`, blanks or tabs between the columns.

A run has ids alone. `--questions FILE` (`ragpack.question/1`) gives the questions with answers and gold; `--corpus
FILE` (any layout of `import corpus`) the texts, without which `pack` can't read the hits. Without questions the id
stands for the question.

The score decides, as in trec_eval; among equal scores the rank, and then the id, descending. `export trec` writes a
blank in an id as %20: it is read as a blank where the id as it stands is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

import orjson

from ragpack.checked import view
from ragpack.datasets import corpus as corpora
from ragpack.datasets.fields import number
from ragpack.datasets.gold import with_gold
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.flow.streams import Line, check_inputs, lines
from ragpack.records import Doc, Hit, Hits, Question


class _Ranked(NamedTuple):
    """One line of a run."""

    line: Line
    doc: str
    rank: int
    score: float


def read(
    path: str, fail: Fail, *, gold: str | None = None, questions: str | None = None, corpus: str | None = None
) -> Iterator[Hits]:
    """The questions of a run in the order in which they come first, each with its hits. The run is held in memory,
    and of the corpus those documents that it names."""
    return with_gold(_hits(path, fail, questions, corpus), gold)


def unescaped(text: str) -> str:
    """An id as it was before `export` wrote its blanks as %20.

    >>> unescaped("Red%20Lisk%2520x%41")
    'Red Lisk%20x%41'
    """

    def blank(match: re.Match[str]) -> str:
        found = unquote(match[0], errors="replace")
        return found if all(sign.isspace() or sign == "%" for sign in found) else match[0]

    # One % at a time: of `%2520` the first three characters are the escape.
    return re.sub(r"%25|(?:%(?!25)[0-9A-F]{2})+", blank, text)


def columns(data: bytes) -> list[str]:
    """The columns of a line."""
    return data.decode("utf-8").split()


def is_run(parts: list[str]) -> bool:
    """Six columns, the second Q0 or the rank and score numbers."""
    return len(parts) == 6 and (parts[1].upper() == "Q0" or _is_number(parts[3])) and _is_number(parts[4])


def _is_number(text: str) -> bool:
    try:
        return float(text) is not None
    except ValueError:
        return False


def _hits(path: str, fail: Fail, questions: str | None, corpus: str | None) -> Iterator[Hits]:
    asked = _questions(questions) if questions else None
    found = _run(path, fail)
    wanted = {name for ranked in found.values() for one in ranked for name in (one.doc, unescaped(one.doc))}
    texts = _texts(corpus, wanted) if corpus else None
    for name, ranked in found.items():
        question = _question(name, asked)
        if question is None:
            line = ranked[0].line
            fail(line.source, line.number, DataError(f"no such question: '{name}'", f"It is not in {questions}."), name)
            continue
        yield _made(question, ranked, texts, corpus, fail)


def _made(
    question: Question, ranked: list[_Ranked], texts: Mapping[str, Doc] | None, corpus: str | None, fail: Fail
) -> Hits:
    hits: list[Hit] = []
    ranked = sorted(sorted(ranked, key=lambda one: one.doc, reverse=True), key=lambda one: (-one.score, one.rank))
    for one in ranked:
        known: Mapping[str, object] = texts if texts is not None else dict.fromkeys(question.gold)
        name = one.doc if one.doc in known else unescaped(one.doc)
        doc = texts.get(name) if texts is not None else None
        if texts is not None and doc is None:
            error = DataError(f"no such document: '{one.doc}'", f"It is not in {corpus}.")
            fail(one.line.source, one.line.number, error, question.id)
            continue
        hits.append(
            Hit(
                rank=len(hits) + 1,
                id=name,
                title=doc.title if doc else None,
                text=doc.text if doc else None,
                score=one.score,
                sentences=doc.sentences if doc else None,
            )
        )
    return Hits(
        id=question.id,
        question=question.question,
        answers=question.answers,
        gold=question.gold,
        gold_sentences=question.gold_sentences,
        group=question.group,
        sample=question.sample,
        meta=question.meta,
        hits=hits,
    )


def _run(path: str, fail: Fail) -> dict[str, list[_Ranked]]:
    found: dict[str, list[_Ranked]] = {}
    seen: dict[tuple[str, str], int] = {}
    empty = True
    for line in lines([path]):
        if not line.data.strip():
            continue
        empty = False
        try:
            name, one = _ranked(line)
            before = seen.setdefault((name, one.doc), line.number)
            if before != line.number:
                raise DataError(f"document '{one.doc}' is there twice, in lines {before} and {line.number}")
        except DataError as error:
            fail(line.source, line.number, error, None)
            continue
        found.setdefault(name, []).append(one)
    if empty:
        fail("<stdin>" if path == "-" else path, 1, DataError("the file is empty"), None)
    return found


def _ranked(line: Line) -> tuple[str, _Ranked]:
    try:
        parts = columns(line.data)
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error}") from None
    if len(parts) == 4:
        raise DataError("4 columns: this is a file of qrels", "Give it as --gold FILE, beside a run or questions.")
    if len(parts) != 6:
        raise DataError(f"expected 6 columns, got {len(parts)}", "Columns: question-id Q0 document-id rank score tag.")
    try:
        rank = int(parts[3])
    except ValueError:
        raise DataError(f"rank: expected a whole number, got '{parts[3]}'") from None
    score = number(parts[4], "score")
    assert score is not None
    return parts[0], _Ranked(line, parts[2], rank, score)


def _question(name: str, asked: Mapping[str, Question] | None) -> Question | None:
    if asked is None:
        return Question(id=unescaped(name), question=unescaped(name))
    return asked.get(name) or asked.get(unescaped(name))


def _questions(path: str) -> dict[str, Question]:
    check_inputs([path])
    found: dict[str, Question] = {}
    for line in lines([path]):
        try:
            question: Question = view(orjson.loads(line.data), (Question,))
        except (orjson.JSONDecodeError, DataError) as error:
            raise DataError(f"--questions {path}:{line.number}: {getattr(error, 'message', error)}",
                            "`ragpack import` writes such a file.") from None  # fmt: skip
        found[question.id] = replace(question, docs=None)
    return found


def _texts(path: str, wanted: set[str]) -> dict[str, Doc]:
    """The documents that a run names."""

    def stop(source: str, place: int, error: DataError, _: object) -> None:
        raise DataError(f"--corpus {source}:{place}: {error.message}", error.hint)

    return {doc.id: doc for doc in corpora.read(path, stop) if doc.id in wanted}
