"""BEIR (Thakur et al. 2021): a folder with `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b

import orjson

from ragpack.datasets import corpus as corpora
from ragpack.errors import DataError, UsageError
from ragpack.flow.sink import FileSink
from ragpack.records import Doc, Hit, Hits, Question, Raw, Record


class Folder:
    """A BEIR folder: questions, their gold documents as qrels, and as corpus what stands in their pools or hits, or
    in `--corpus FILE`. Answers and group are in a query's `metadata`."""

    ACCEPTS: tuple[type[Record], ...] = (Question, Hits)

    def __init__(self, folder: str, *, corpus: str = "", split: str = "test", qualify: bool = False) -> None:
        if not split or os.sep in split:
            raise UsageError(f"--split: expected a name such as test, got '{split}'")
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise UsageError(f"-o {folder}: beir writes a folder, and this is a file")
        if corpus and qualify:
            raise UsageError("--qualify names the documents of the questions' own pools", "Leave --corpus or it out.")
        self._corpus = corpus
        self._qualify = qualify
        self._ids: set[str] = set()
        self._known: dict[str, tuple[bytes, str]] = {}
        self._wanted: dict[str, str] = {}
        os.makedirs(os.path.join(folder, "qrels"), exist_ok=True)
        names = ("corpus.jsonl", "queries.jsonl", f"qrels/{split}.tsv")
        self._sinks = [FileSink(os.path.join(folder, name)) for name in names]
        self._docs, self._queries, self._qrels = self._sinks
        self._qrels.write(b"query-id\tcorpus-id\tscore\n")

    def take(self, record: Question | Hits, _raw: Raw, /) -> bytes:
        """Write a question's part of each file."""
        if record.id in self._ids:
            raise DataError("the question is there already", "Ids are unique in queries.jsonl.")
        gold = [self._name(record.id, name) for name in dict.fromkeys(record.gold)]
        for name in (record.id, *gold):
            if "\t" in name or "\n" in name:
                raise DataError(f"the id {name!r} has a tab or a line end", "BEIR's qrels can't hold it.")
        docs = record.hits if isinstance(record, Hits) else record.docs or []
        new = [] if self._corpus else list(self._new(record.id, docs))
        self._ids.add(record.id)
        for row in new:
            self._docs.write(row)
        self._wanted.update((name, record.id) for name in gold)
        ours = {"answers": record.answers, "group": record.group}
        metadata = {**(record.meta or {}), **{name: value for name, value in ours.items() if value}}
        self._queries.write(_line({"_id": record.id, "text": record.question, "metadata": metadata}))
        self._qrels.write("".join(f"{record.id}\t{name}\t1\n" for name in gold).encode())
        return b""

    def end(self) -> bytes:
        """Put the three files in their place. Raises `DataError` where the corpus lacks a gold document: nothing could
        find it, and `import beir` would refuse the line."""
        for name in self._known:
            self._wanted.pop(name, None)
        if self._corpus:
            for doc in corpora.read(self._corpus, _stop):
                self._docs.write(_doc(doc.id, doc))
                self._wanted.pop(doc.id, None)
        if self._wanted:
            name, question = next(iter(self._wanted.items()))
            where = f"in {self._corpus}" if self._corpus else "among the pools and hits"
            raise DataError(
                f"{len(self._wanted)} gold documents are not {where}, such as '{name}' of question {question}",
                "Give the whole corpus with --corpus FILE.",
            )
        for sink in self._sinks:
            sink.finish()
        return b""

    def abandon(self) -> None:
        """Keep what was written as `.part`."""
        for sink in self._sinks:
            sink.abandon()

    def _name(self, question: str, doc: str) -> str:
        return f"{question}/{doc}" if self._qualify else doc

    def _new(self, question: str, docs: list[Doc] | list[Hit]) -> Iterator[bytes]:
        """Rows of the documents that are not in the corpus yet. Raises `DataError` for another text under one id."""
        found: dict[str, tuple[bytes, str]] = {}
        rows = []
        for doc in docs:
            if doc.text is None:
                raise DataError(f"the document '{doc.id}' has no text", "Export what `import` or `retrieve` wrote.")
            name, row = self._name(question, doc.id), _doc(self._name(question, doc.id), doc)
            digest = blake2b(row, digest_size=16).digest()
            before, owner = self._known.get(name) or found.get(name) or (digest, question)
            if before != digest:
                raise DataError(
                    f"the document '{name}' has another text than in the pool of question {owner}",
                    "--qualify names each document after its question; or give the corpus with --corpus FILE.",
                )
            if name not in self._known and name not in found:
                found[name] = digest, question
                rows.append(row)
        self._known |= found
        return iter(rows)


def _doc(name: str, doc: Doc | Hit) -> bytes:
    return _line({"_id": name, "title": doc.title or "", "text": doc.text})


def _line(row: Raw) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _stop(source: str, place: int, error: DataError, _: object) -> None:
    raise DataError(f"--corpus {source}:{place}: {error.message}", error.hint)
