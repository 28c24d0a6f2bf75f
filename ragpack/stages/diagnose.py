"""diagnose: what survived into the context, where the answer was lost, and how the reader did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from ragpack.encoders import ENCODERS
from ragpack.errors import UsageError, did_you_mean
from ragpack.metrics.answer import PROFILES
from ragpack.metrics.matching import MATCHES
from ragpack.records import Answered, Diagnosed, Generate, Packed, Raw
from ragpack.registry import load
from ragpack.stage import Payload, Stage, each
from ragpack.stages.compare import Comparison, compared
from ragpack.stages.measure import Measured, Question, measured


@dataclass(frozen=True)
class DiagnoseParams:
    """What decides the numbers."""

    profile: str = "squad"
    """Rules of EM and F1."""
    ks: tuple[int, ...] = (1, 2, 5, 10)
    """Depths of the retrieval metrics."""
    match: str = "token"
    """How an answer is found in the context."""
    supported: bool = False
    """Also ask whether a snippet with the answer is of a gold document."""
    semantic: str | None = None
    """Sentence-transformers model that compares question and answer with the snippets."""
    entail: str | None = None
    """NLI model that is asked whether the context entails the answer."""


def open_diagnose(params: DiagnoseParams) -> Stage:
    """Open the stage. Raises `UsageError` for an unknown profile or match, `BackendError` for a model that is none."""
    for option, name, known in (("profile", params.profile, PROFILES), ("match", params.match, MATCHES)):
        if name not in known:
            raise UsageError(f"unknown {option} '{name}'. {did_you_mean(name, known)}")
    if not params.ks or min(params.ks) < 1:
        raise UsageError("-k: depths are whole numbers from 1")
    extras = {
        "supported_answer_in_context": params.supported,
        "semantic": bool(params.semantic),
        "entailed": bool(params.entail),
    }
    asked = Measured(
        params.profile, tuple(sorted(set(params.ks))), params.match, tuple(name for name, on in extras.items() if on)
    )
    questions = _Questions(asked)

    def measure(record: Packed | Answered) -> Raw:
        return measured(record, questions.of(record).question)

    def diagnose(record: Packed | Answered, cells: Sequence[int]) -> list[Payload]:
        del cells
        return [{"diagnose": measure(record)}]

    comparisons = _comparisons(params)
    cell = " ".join([asked.profile, ",".join(map(str, asked.ks)), asked.match, *asked.extras])
    return Stage(
        name="diagnose",
        version=2,
        reads=(Answered, Packed, Diagnosed),
        writes=Diagnosed,
        run=compared(measure, comparisons) if comparisons else each(diagnose),
        projection=lambda record: _projection(record, questions.of(record).projection),
        cells=(cell,),
        fingerprints={name: comparison.encoder.fingerprint for name, comparison in comparisons.items()},
        tail=("pack", "generate"),
    )


def _comparisons(params: DiagnoseParams) -> dict[str, Comparison]:
    found = {}
    if params.semantic:
        found["semantic"] = Comparison(load(ENCODERS, "semantic")(params.semantic), whole=False)
    if params.entail:
        # A chain of facts is in no snippet alone; a long context may be cut, and then the snippets count.
        found["entailed"] = Comparison(load(ENCODERS, "entail")(params.entail), whole=True)
    return found


def _projection(record: Packed | Answered, question: orjson.Fragment) -> object:
    pack, generate = record.pack, getattr(record, "generate", None)
    return [
        question,
        pack.context,
        # The title: it tells header lines from snippets.
        [(one.id, one.title, one.tokens) for one in pack.snippets],
        pack.tokens,
        _answers(generate) if generate is not None else None,
    ]


def _answers(generate: Generate) -> str | list[str]:
    return generate.answer if generate.samples is None else [one.answer for one in generate.samples]


class _Kept:
    """What rows of one question share."""

    def __init__(self, record: Packed | Answered, asked: Measured) -> None:
        self.record = record
        self.question = Question(record, asked)
        self.projection = orjson.Fragment(
            orjson.dumps(
                [
                    record.question,
                    record.answers,
                    record.gold,
                    [(hit.rank, hit.id, hit.has_answer) for hit in self.question.hits],
                    record.retrieve.k if record.retrieve else None,
                ]
            )
        )


class _Questions:
    """The question of a row; rows of one question that come one after another have their hits in common."""

    def __init__(self, asked: Measured) -> None:
        self._asked = asked
        self._last: _Kept | None = None

    def of(self, record: Packed | Answered) -> _Kept:
        """What this row shares with its neighbours."""
        if self._last is None or self._last.record.hits is not record.hits:
            self._last = _Kept(record, self._asked)
        return self._last
