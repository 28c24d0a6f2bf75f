"""A corpus file: `ragpack.doc/1` lines, each id once."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from ragpack.errors import DataError, UsageError
from ragpack.flow.mapper import parse
from ragpack.flow.streams import check_inputs, lines
from ragpack.records import Doc, view


class Corpus(NamedTuple):
    """The documents of a corpus, and a hash of all that retrieval reads of them."""

    docs: list[Doc]
    fingerprint: str


def read_corpus(path: str) -> Corpus:
    """Read a corpus. Raises `DataError` with file and line for a bad document, and for an id that comes twice."""
    check_inputs([path])
    docs: list[Doc] = []
    seen: dict[str, int] = {}
    state = blake2b(digest_size=16)
    for line in lines([path]):
        where = f"{line.source}:{line.number}: "
        try:
            doc = view(parse(line), (Doc,))
        except DataError as error:
            raise DataError(where + error.message, error.hint) from None
        if doc.id in seen:
            raise DataError(
                f"{where}id={doc.id}: the id is on line {seen[doc.id]} too", "Ids name documents: make each one unique."
            )
        seen[doc.id] = line.number
        state.update(repr((doc.id, doc.title, doc.text, doc.sentences)).encode("utf-8", "surrogatepass"))
        docs.append(doc)
    if not docs:
        raise UsageError(f"--corpus {path}: no documents in it")
    return Corpus(docs, state.hexdigest())
