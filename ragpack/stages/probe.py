"""generate --probe: the reader says of each hit what it is worth, one passage at a time.

Source: "Information Gain Pruning", §3 (`ig`); `qlm` and `yesno` are its baselines. Their formulas are in
`docs/metrics.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragpack.candidates.snippet import header_of, one_line
from ragpack.errors import DataError, UsageError, did_you_mean
from ragpack.metrics.uncertainty import information_gain, normalised_uncertainty
from ragpack.readers import READERS
from ragpack.readers.base import Completion, Decoding, Reader, Request
from ragpack.readers.kept.once import once
from ragpack.readers.prompts.probes import FORMS, KINDS, Form
from ragpack.records import Hit, Hits, Raw
from ragpack.registry import load
from ragpack.stage import Outcome, Payload, Stage, Task
from ragpack.stages.session import Job, outcomes

Asked = dict[tuple[str, str], Request]
"""Kind and passage → the request: what is the same is asked once."""


@dataclass(frozen=True)
class ProbeParams:
    """What is asked of each hit; `engine` says how it is computed."""

    reader: str
    """`vllm`, `openai`."""
    model: str
    """Model id or folder."""
    kinds: tuple[str, ...] = ("ig",)
    """Of `ig`, `qlm`, `yesno`."""
    k: int = 128
    """Most likely tokens of each step."""
    max_tokens: int = 32
    """Most tokens of a rollout."""
    form: str = "text"
    """How the prompts are written: `text` or `chat`."""
    engine: dict[str, Any] = field(default_factory=dict)
    """More keyword arguments for `open_reader`."""
    cache: str | None = None
    """Folder of replies that were given before."""


def open_probe(params: ProbeParams) -> Stage:
    """Open the stage: load the model or find the server."""
    for kind in params.kinds:
        if kind not in KINDS:
            raise UsageError(f"unknown probe '{kind}'. {did_you_mean(kind, KINDS)}")
    if params.form not in FORMS:
        raise UsageError(f"--probe-form is text or chat, got '{params.form}'")
    if params.k < 2:
        raise UsageError(f"--probe-k: {params.k} is less than 2", "Uncertainty is entropy / log K, and log 1 is 0.")
    if params.max_tokens < 1:
        raise UsageError(f"--probe-tokens: {params.max_tokens} is less than 1")
    kinds = tuple(kind for kind in KINDS if kind in params.kinds)
    form = FORMS[params.form]
    most = params.k if "ig" in kinds else 20
    reader = once(load(READERS, params.reader)(params.model, most_logprobs=most, **params.engine), params.cache)
    probing = Probing(reader, form, kinds, Decoding(max_tokens=params.max_tokens, uncertainty=params.k))
    cell = f"{','.join(kinds)} {params.k} {params.max_tokens} {params.engine.get('max_model_len')}"
    return Stage(
        name="probe",
        version=1,
        reads=(Hits,),
        writes=Hits,
        run=probing.run,
        projection=lambda record: [record.question, record.hits, record.probe],
        cells=(cell,),
        fingerprints={"reader": reader.fingerprint, "prompt": f"{form.name} {form.hash(kinds)}"},
        adds=("hits", "probe"),
        notes=lambda: reader.notes,
        tally=reader.tally,
        close=reader.close,
    )


class Probing:
    """A reader, and what it is asked of each record."""

    def __init__(self, reader: Reader, form: Form, kinds: Sequence[str], rollout: Decoding) -> None:
        self._reader, self._form, self._kinds, self._rollout = reader, form, tuple(kinds), rollout

    def run(self, tasks: Iterator[Task]) -> Iterator[Outcome]:
        """One record with scores a task, in the tasks' order."""
        return outcomes(self._reader, self.job, tasks)

    def job(self, task: Task) -> Job:
        """The prompts of a record. Raises `DataError` for a hit without its text."""
        record: Hits = task.record
        passages = [passage_of(at, hit) for at, hit in enumerate(record.hits)]
        asked = self._asked(record.question, passages)
        places = {key: at for at, key in enumerate(asked)}

        def finish(replies: Sequence[Completion]) -> list[Payload]:
            return [self._payload(task, passages, {key: replies[at] for key, at in places.items()})]

        keys = list(asked)
        return Job(list(asked.values()), finish, lambda at: _where(keys[at], passages))

    def _asked(self, question: str, passages: Sequence[str]) -> Asked:
        asked: Asked = {}
        for kind in self._kinds:
            if kind == "ig":  # once without a passage, for all of them
                asked["ig", ""] = self._form.rollout(question, "", self._rollout)
            for passage in passages:
                if (kind, passage) not in asked:
                    asked[kind, passage] = self._request(kind, question, passage)
        return asked

    def _request(self, kind: str, question: str, passage: str) -> Request:
        if kind == "ig":
            return self._form.rollout(question, passage, self._rollout)
        return {"qlm": self._form.likelihood, "yesno": self._form.verdict}[kind](question, passage)

    def _payload(self, task: Task, passages: Sequence[str], told: dict[tuple[str, str], Completion]) -> Payload:
        about: Raw = {"reader": self._reader.name, "model": self._reader.model, "kind": ",".join(self._kinds)}
        nu0 = None
        if "ig" in self._kinds:
            widths = {reply.k for (kind, _), reply in told.items() if kind == "ig"}
            if len(widths) != 1:
                raise DataError(f"rollouts over K={sorted(map(str, widths))} tokens can't be compared")
            nu0 = _nu(told["ig", ""])
            eos = "counted" if self._reader.name == "vllm" else "server"
            about |= {"nu0": nu0, "k": widths.pop(), "max_tokens": self._rollout.max_tokens, "eos": eos}
        hits = []
        cut = []
        for hit, passage in zip(task.raw["hits"], passages, strict=True):
            scores: dict[str, float | None] = {}
            for kind in self._kinds:
                reply = told[kind, passage]
                if kind == "ig":
                    assert nu0 is not None
                    nu = _nu(reply)
                    scores |= {"ig": information_gain(nu0, nu), "nu": nu}
                elif kind == "qlm":
                    scores["qlm"] = likelihood(reply)
                else:
                    scores["yesno"] = yes_share(reply.samples[0].choices or (None, None))
                if reply.cut and hit["rank"] not in cut:
                    cut.append(hit["rank"])
            hits.append({**hit, "scores": {**(hit.get("scores") or {}), **scores}})
        about["prompt"] = {"name": self._form.name, "hash": self._form.hash(self._kinds)}
        about |= {"cut": cut} if cut else {}
        about |= {
            "calls": len(told),
            "tokens": sum(reply.prompt_tokens + reply.completion_tokens for reply in told.values()),
        }
        return {"hits": hits, "probe": together(task.raw.get("probe"), about)}


def passage_of(at: int, hit: Hit) -> str:
    """A hit as a prompt shows it: `Title: text` in one line, as in a context; nothing for a text of blanks."""
    if hit.text is None:
        raise DataError(
            f"hits[{at}]: the text is missing: it can't be probed", "Probe what `retrieve` wrote, before `pack`."
        )
    text = one_line(hit.text)
    return header_of(hit.title or "") + text if text else ""


def likelihood(reply: Completion) -> float:
    """QLM: the mean log-probability of the question's tokens behind the passage."""
    if not reply.continuation:
        raise DataError("the question has no token: it has no likelihood")
    return float(np.mean(reply.continuation))


def yes_share(choices: Sequence[float | None]) -> float | None:
    """p(yes) / (p(yes) + p(no)) from both log-probabilities; null where one of them is not known.

    >>> round(yes_share([math.log(0.3), math.log(0.1)]), 12), yes_share([None, -1.0])
    (0.75, None)
    """
    yes, no = choices
    if yes is None or no is None:
        return None
    return float(1 / (1 + math.exp(min(no - yes, 700))))


def together(earlier: object, now: Raw) -> Raw:
    """What is known after probing again: another kind adds to what was there, with its cost; the same replaces it."""
    if not isinstance(earlier, dict):
        return now
    before, kinds = str(earlier.get("kind") or "").split(","), now["kind"].split(",")
    if set(before) & set(kinds) or "" in before:
        return now
    both = {**now, "kind": ",".join(kind for kind in KINDS if kind in (*before, *kinds))}
    for name in ("nu0", "k", "max_tokens", "eos"):
        if name not in both and name in earlier:
            both[name] = earlier[name]
    for name in ("calls", "tokens"):
        both[name] += earlier.get(name) or 0
    cut = sorted({*(earlier.get("cut") or ()), *(now.get("cut") or ())})
    order = ("reader", "model", "kind", "nu0", "k", "max_tokens", "eos", "prompt", "cut", "calls", "tokens")
    both |= {"cut": cut} if cut else {}
    return {name: both[name] for name in order if name in both}


def _nu(reply: Completion) -> float:
    return normalised_uncertainty(reply.samples[0].uncertainty or ())


def _where(key: tuple[str, str], passages: Sequence[str]) -> str:
    kind, passage = key
    return f"{kind}: hits[{passages.index(passage)}]: " if passage in passages else f"{kind}, without a passage: "
