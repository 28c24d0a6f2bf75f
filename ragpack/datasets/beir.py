"""BEIR (Thakur et al. 2021): a folder with `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`, or one of its files.

- the folder: the questions that the split judges, with their gold documents
- `queries.jsonl`: `_id, text`; gold from `--gold qrels/test.tsv`
- `corpus.jsonl`: `_id, title, text`: documents

A document is gold where its score is above 0. Queries have no answers, unless `metadata.answers` has them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ragpack.datasets.corpus import doc_of
from ragpack.datasets.entries import entries
from ragpack.datasets.fields import each, free, id_of, string, texts
from ragpack.datasets.gold import judgments, with_gold
from ragpack.errors import DataError, UsageError, did_you_mean
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question

LAYOUTS = "queries, corpus, a folder with both and qrels/"
SUFFIXES = ("", ".gz", ".zst")


def read(path: str, fail: Fail, *, gold: str | None = None, split: str | None = None) -> Iterator[Question | Doc]:
    """The questions of a folder or file, or the documents of `corpus.jsonl`."""
    if os.path.isdir(path):
        if gold is not None:
            raise UsageError(f"--gold: the folder {path} has its own qrels", "Name queries.jsonl, or leave --gold out.")
        return _folder(path, fail, split)
    if split is not None:
        raise UsageError("--split: a split is one of a folder's qrels/, and this is a file", "Name the folder.")
    return with_gold(each(path, fail, _entry, LAYOUTS), gold)  # type: ignore[type-var] # documents are refused in it


def is_folder(path: str) -> bool:
    """Has this folder BEIR's files?"""
    return _inside(path, "queries.jsonl") is not None


def _entry(entry: dict[str, Any]) -> Question | Doc:
    if "title" in entry:
        return doc_of(entry)
    meta = dict(free(entry.get("metadata")) or {})
    answers = texts(meta.pop("answers", []), "metadata.answers")
    group = meta.pop("group", None)
    return Question(
        id=id_of(entry["_id"]),
        question=string(entry["text"], "text"),
        answers=answers,
        group=string(group, "metadata.group") if group is not None else None,
        meta=meta or None,
    )


def _folder(folder: str, fail: Fail, split: str | None) -> Iterator[Question]:
    queries = _inside(folder, "queries.jsonl")
    if queries is None:
        raise DataError(f"{folder}: no queries.jsonl in this folder", "A BEIR folder has it, corpus.jsonl and qrels/.")
    qrels = _qrels(folder, split)
    questions: dict[str, Question] = {}

    def question(entry: dict[str, Any]) -> Question:
        found = _entry({name: value for name, value in entry.items() if name != "title"})
        assert isinstance(found, Question)
        if found.id in questions:
            raise DataError("the query is there already", "Ids are unique in queries.jsonl.")
        questions[found.id] = found
        return found

    for _ in each(queries, fail, question, LAYOUTS):
        pass  # by id: qrels stand in another order
    if qrels is None:
        yield from questions.values()
        return
    missing = _missing(folder, qrels, fail)
    gold: dict[str, list[str]] = {}
    for one in judgments(qrels):
        if one.question not in questions:
            fail(
                one.source, one.number, DataError(f"no such query: '{one.question}'", f"It is not in {queries}."), None
            )
            continue
        known = gold.setdefault(one.question, [])
        if one.relevance > 0 and one.doc in missing:
            error = DataError(f"no such document: '{one.doc}'", f"It is not in {missing[one.doc]}.")
            fail(one.source, one.number, error, one.question)
        elif one.relevance > 0 and one.doc not in known:
            known.append(one.doc)
    yield from (replace(one, gold=gold[one.id]) for one in questions.values() if one.id in gold)


def _qrels(folder: str, split: str | None) -> str | None:
    """The file of a split: the one that is named, `test`, or the only one; `None` where there is none at all."""
    place = os.path.join(folder, "qrels")
    names = sorted(os.listdir(place)) if os.path.isdir(place) else []
    known = {name.partition(".tsv")[0]: os.path.join(place, name) for name in names if ".tsv" in name}
    if split is None and not known:
        return None
    chosen = split or ("test" if "test" in known else next(iter(known)) if len(known) == 1 else None)
    if chosen is None:
        raise UsageError(f"{folder} has several splits: {', '.join(known)}", "Choose one with --split NAME.")
    if chosen not in known:
        raise UsageError(f"--split: {folder} has no split '{chosen}'. {did_you_mean(chosen, known)}")
    return known[chosen]


def _missing(folder: str, qrels: str, fail: Fail) -> dict[str, str]:
    """Gold documents that the corpus lacks, each with the corpus's name; none where the folder has no corpus."""
    corpus = _inside(folder, "corpus.jsonl")
    if corpus is None:
        return {}
    wanted = {one.doc: corpus for one in judgments(qrels) if one.relevance > 0}
    for entry in entries(corpus, fail):
        wanted.pop(str(entry.value.get("_id", entry.value.get("id"))), None)
    return wanted


def _inside(folder: str, name: str) -> str | None:
    paths = (os.path.join(folder, name + suffix) for suffix in SUFFIXES)
    return next((path for path in paths if os.path.isfile(path)), None)
