"""retrieve: questions in, ranked documents out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ragpack.errors import DataError, UsageError, did_you_mean
from ragpack.records import Doc, Hits, Question, Raw, Retrieve
from ragpack.registry import Parameter, Spec, load, parameters_of, parse_spec
from ragpack.retrievers import ASKING, RETRIEVERS
from ragpack.retrievers.base import Asking, Found
from ragpack.retrievers.corpus import DUPLICATES, Corpus, Fail, read_corpus
from ragpack.retrievers.opening import opened
from ragpack.retrievers.parts import named, version_of
from ragpack.stage import Payload, Stage, Task, each
from ragpack.stages.interleave import ReaderParams, Walk, open_thinker
from ragpack.stages.rerank import check_rerank, either, open_rerank


@dataclass(frozen=True)
class RetrieveParams:
    """What decides the hits."""

    k: int = 5
    """Hits for each question."""
    retriever: str | None = None
    """Retriever spec; None: `bm25`, and hits that are to be reranked stay those that they are."""
    corpus: str | None = None
    """A file of `ragpack.doc/1`; None: each question's own `docs`."""
    reader: ReaderParams | None = None
    """Whom a retriever asks that asks a reader."""
    index: str | None = None
    """Folder where what is built of the corpus stays; None: built for this run."""
    duplicates: str = "refuse"
    """What becomes of documents of one id: `refuse`, or the `first` or the `last` one counts."""
    shard_size: int = 1_000_000
    """Passages of the corpus that are laid out at once; changes no hit."""
    skip: bool = False
    """Pass over bad lines of the corpus."""
    rerank: str | None = None
    """Reranker spec."""
    rerank_depth: int | None = None
    """Hits that the reranker is given; None: 50, or k if that is more."""


class _Opened(NamedTuple):
    """A retriever with what it searches."""

    spec: Spec
    corpus: Corpus | None
    retriever: Any
    """A `Retriever`, or an `Asking` one."""


_GIVEN = {"retriever": "given", "index": "given"}
"""What `retrieve` says of hits that came without it."""
_PREPARED: dict[RetrieveParams, _Opened] = {}
"""Opened by `prepare`, for the stage in the same process."""
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def options_of(name: str) -> dict[str, Parameter]:
    """The parameters of a retriever."""
    return parameters_of(load(RETRIEVERS, name))


def prepare(params: RetrieveParams, fail: Fail, say: Callable[[str], None]) -> RetrieveParams:
    """Read the corpus and build the index once, for all workers: parameters that name the folder where it is.

    `fail` is told of each bad line that is passed over, `say` of what a user should know. Without `params.index` the
    folder is a temporary one, which goes when this process ends.
    """
    if params.corpus and not params.index:
        _FOLDERS.append(tempfile.TemporaryDirectory(prefix="ragpack-index-"))
        params = replace(params, index=_FOLDERS[-1].name)
    _PREPARED[params] = _open(params, fail, say)
    return params


def open_retrieve(params: RetrieveParams) -> Stage:
    """Open the stage: read the corpus, build the index, or open what is there."""
    notes: dict[str, None] = {}
    ready = _PREPARED.pop(params) if params in _PREPARED else _open(params, _untold, notes.setdefault)
    spec, corpus, retriever = ready
    index = corpus.fingerprint if corpus else "pool"
    known = getattr(retriever, "settings", None)
    settings = {"settings": known} if known else {}
    # Keys of a retriever that has neither version nor model stay as they are.
    version = version_of(retriever)
    name = str(named(spec))
    rerank = open_rerank(params.rerank, params.rerank_depth, params.k) if params.rerank else None
    depth = rerank.depth if rerank else params.k

    def pool_of(record: Question) -> list[Doc] | None:
        if corpus is None and record.docs is None:
            raise DataError("the question has no 'docs' of its own", "Give --corpus FILE, a file of ragpack.doc/1.")
        return None if corpus is not None else _each_once(record.docs or [])

    def again(task: Task) -> Payload:
        earlier: Retrieve | None = task.record.retrieve
        about = {"retriever": earlier.retriever, "index": earlier.index} if earlier else dict(_GIVEN)
        return done(task.record.question, task.raw["hits"], {**about, "k": params.k})

    def done(question: str, hits: list[Raw], about: Raw) -> Payload:
        if rerank:
            hits, about = rerank.reranked(question, hits), about | rerank.about
        return {"hits": hits, "retrieve": about}

    rereads = rerank is not None and params.retriever is None and corpus is None

    def payload(question: str, found: Sequence[Found]) -> Payload:
        hits = [_hit(rank, one) for rank, one in enumerate(found, 1)]
        return done(question, hits, {"retriever": name, "k": params.k, "index": index, **settings})

    def retrieve(record: Question, cells: Sequence[int]) -> list[Payload]:
        del cells
        return [payload(record.question, retriever.search(record.question, pool_of(record), depth))]

    asking: Asking = retriever  # called only where there is a reader, which `_check_reader` gives to these alone

    def walk(record: Question) -> Walk:
        return asking.walk(record.question, pool_of(record), depth)

    stage = Stage(
        name="retrieve",
        version=1,
        reads=(Question, Hits) if rereads else (Question,),
        writes=Hits,
        run=either(each(retrieve), again) if rereads else each(retrieve),
        # A corpus stands for itself by its fingerprint; a pool is part of the question.
        projection=(lambda record: record.question) if corpus else _projection,
        cells=(f"{name} {params.k}" + (f" {rerank.name} {rerank.depth}" if rerank else ""),),
        fingerprints={"index": index}
        | ({"retriever": version} if version is not None else {})
        | ({"reranker": rerank.fingerprint} if rerank else {}),
        adds=("hits", "retrieve"),
        base=_base,
        notes=lambda: list(notes),
    )
    if params.reader is None:
        return stage
    thinker = open_thinker(params.reader, asking.max_tokens, asking.budget)
    return replace(
        stage,
        run=lambda tasks: thinker.run(walk, lambda record, walked: payload(record.question, walked.found), tasks),
        fingerprints={**stage.fingerprints, **{f"thought {key}": text for key, text in thinker.fingerprints.items()}},
        notes=lambda: [*notes, *thinker.notes],
        tally=thinker.tally,
        close=thinker.close,
    )


def _check_reader(retriever: str, reader: ReaderParams | None) -> None:
    """Is there a reader just where one is asked? Before the corpus is read."""
    if retriever in ASKING and reader is None:
        raise UsageError(
            f"{retriever} asks a reader: give --model MODEL, with --base-url URL for one on a server",
            "Without a model, --reader extractive makes a dry run.",
        )
    if retriever not in ASKING and reader is not None:
        raise UsageError(f"--model, --base-url, --reader: {retriever} asks no reader", f"{', '.join(ASKING)} does.")


def _untold(source: str, number: int, error: DataError, identity: object) -> None:
    """Bad lines of a corpus are told once, by `prepare`."""


def _open(params: RetrieveParams, fail: Fail, say: Callable[[str], object]) -> _Opened:
    if params.k < 1:
        raise UsageError(f"-k: {params.k} is less than 1")
    if params.shard_size < 1:
        raise UsageError(f"--shard-size: {params.shard_size} is less than 1")
    if params.duplicates not in DUPLICATES:
        raise UsageError(f"--duplicates {params.duplicates}. {did_you_mean(params.duplicates, DUPLICATES)}")
    if params.corpus == "-":
        raise UsageError(
            "--corpus: name a file", "Standard input brings the questions, and each worker reads the corpus."
        )
    for name, given in (("--index", params.index), ("--duplicates", params.duplicates != "refuse")):
        if given and not params.corpus:
            raise UsageError(f"{name} needs --corpus FILE", "A question's own documents are scored without an index.")
    if params.rerank:
        check_rerank(params.rerank, params.rerank_depth, params.k)
    elif params.rerank_depth is not None:
        raise UsageError("--rerank-depth needs --rerank", "Name a reranker: --rerank ce:MODEL.")
    spec = parse_spec(params.retriever or "bm25", "retriever", RETRIEVERS, options_of)
    _check_reader(spec.name, params.reader)
    index = Path(params.index) if params.index else None
    corpus = None
    if params.corpus:
        corpus = read_corpus(params.corpus, index, say, duplicates=params.duplicates, skip=params.skip, fail=fail)
    retriever = opened(spec.name, corpus, index, say, dict(spec.given), shard_size=params.shard_size)
    return _Opened(spec, corpus, retriever)


def _projection(record: Question | Hits) -> object:
    if isinstance(record, Hits):
        return [
            record.question,
            [asdict(hit) for hit in record.hits],
            asdict(record.retrieve) if record.retrieve else None,
        ]
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
