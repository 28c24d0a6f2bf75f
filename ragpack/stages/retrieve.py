"""retrieve: questions in, ranked documents out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragpack.errors import DataError, UsageError
from ragpack.records import Doc, Hits, Question, Raw
from ragpack.registry import Parameter, arguments_of, load, parameters_of, parse_spec
from ragpack.retrievers import RETRIEVERS
from ragpack.retrievers.base import Found
from ragpack.retrievers.corpus import read_corpus
from ragpack.stage import Payload, Stage, each


@dataclass(frozen=True)
class RetrieveParams:
    """What decides the hits."""

    k: int = 5
    """Hits for each question."""
    retriever: str = "bm25"
    """Retriever spec."""
    corpus: str | None = None
    """A file of `ragpack.doc/1`; None: each question's own `docs`."""


def options_of(name: str) -> dict[str, Parameter]:
    """The parameters of a retriever."""
    return parameters_of(load(RETRIEVERS, name))


def open_retrieve(params: RetrieveParams) -> Stage:
    """Open the stage: read the corpus, build the index."""
    if params.k < 1:
        raise UsageError(f"-k: {params.k} is less than 1")
    if params.corpus == "-":
        raise UsageError(
            "--corpus: name a file", "Standard input brings the questions, and each worker reads the corpus."
        )
    spec = parse_spec(params.retriever, "retriever", RETRIEVERS, options_of)
    opener = load(RETRIEVERS, spec.name)
    corpus = read_corpus(params.corpus) if params.corpus else None
    retriever = opener(corpus, **arguments_of(opener, dict(spec.given)))
    index = corpus.fingerprint if corpus else "pool"
    # A retriever that has a version counts it up when it finds otherwise; keys of the others stay as they are.
    version = getattr(retriever, "version", None)

    def retrieve(record: Question, cells: Sequence[int]) -> list[Payload]:
        del cells
        if corpus is None and record.docs is None:
            raise DataError("the question has no 'docs' of its own", "Give --corpus FILE, a file of ragpack.doc/1.")
        pool = None if corpus is not None else _each_once(record.docs or [])
        found = retriever.search(record.question, pool, params.k)
        hits = [_hit(rank, one) for rank, one in enumerate(found, 1)]
        return [{"hits": hits, "retrieve": {"retriever": str(spec), "k": params.k, "index": index}}]

    return Stage(
        name="retrieve",
        version=1,
        reads=(Question,),
        writes=Hits,
        run=each(retrieve),
        # A corpus stands for itself by its fingerprint; a pool is part of the question.
        projection=(lambda record: record.question) if corpus else _projection,
        cells=(f"{spec} {params.k}",),
        fingerprints={"index": index} | ({"retriever": str(version)} if version is not None else {}),
        adds=("hits", "retrieve"),
        base=_base,
    )


def _projection(record: Question) -> object:
    return [record.question, [asdict(doc) for doc in record.docs or []]]


def _base(raw: Raw, record: Question) -> Raw:
    del record
    return {key: value for key, value in raw.items() if key != "docs"}


def _each_once(docs: list[Doc]) -> list[Doc]:
    """A pool names each document once. Raises `DataError` where two differ under one id."""
    found: dict[str, Doc] = {}
    for at, doc in enumerate(docs):
        if doc.id in found and found[doc.id] != doc:
            raise DataError(
                f"docs[{at}]: the id '{doc.id}' names another document too", "Ids name documents: make each one unique."
            )
        found[doc.id] = doc
    return list(found.values())


def _hit(rank: int, found: Found) -> Raw:
    doc = found.doc
    hit: dict[str, Any] = {"rank": rank, "id": doc.id, "title": doc.title, "text": doc.text, "score": found.score}
    if doc.sentences is not None:
        hit["sentences"] = doc.sentences
    if found.scores is not None:
        hit["scores"] = found.scores
    if found.bridge is not None:
        hit["bridge"] = found.bridge
    return hit
