"""generate: the reader answers from each packed context."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ragpack.errors import BackendError, UsageError, did_you_mean
from ragpack.readers import READERS
from ragpack.readers.asked import once
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request
from ragpack.readers.prompt import TEMPLATES, Template
from ragpack.records import Answered, Packed, Raw
from ragpack.registry import load
from ragpack.stage import Outcome, Stage, Task

PATIENCE = 10_000  # tasks held while one answer is awaited


@dataclass(frozen=True)
class GenerateParams:
    """What decides an answer; `engine` says how it is computed."""

    reader: str
    """`vllm`, `openai`, `extractive`."""
    model: str = ""
    """Model id or folder; nothing for the extractive reader."""
    max_tokens: int = 32
    """Most tokens of an answer."""
    prompt: str = "answer/1"
    """Name of the prompt template."""
    logprob: bool = False
    """Keep the answer's log-probability."""
    keep_prompt: bool = False
    """Keep the templated prompt."""
    engine: dict[str, Any] = field(default_factory=dict)
    """More keyword arguments for `open_reader`."""
    cache: str | None = None
    """Folder of replies that were given before."""


def open_generate(params: GenerateParams) -> Stage:
    """Open the stage: load the model or find the server."""
    if params.max_tokens < 1:
        raise UsageError(f"--max-tokens: {params.max_tokens} is less than 1")
    if params.prompt not in TEMPLATES:
        raise UsageError(f"unknown prompt '{params.prompt}'. {did_you_mean(params.prompt, TEMPLATES)}")
    template = TEMPLATES[params.prompt]
    reader = once(load(READERS, params.reader)(params.model, **params.engine), params.cache)
    decoding = Decoding(
        max_tokens=params.max_tokens, logprobs=0 if params.logprob else None, keep_prompt=params.keep_prompt
    )
    cell = f"{params.max_tokens} {params.logprob} {params.keep_prompt}"
    return Stage(
        name="generate",
        version=1,
        reads=(Packed, Answered),
        writes=Answered,
        run=lambda tasks: _run(reader, template, decoding, tasks),
        projection=lambda record: [record.question, record.pack.context],
        cells=(cell,),
        fingerprints={"reader": reader.fingerprint, "prompt": template.hash},
        notes=lambda: reader.notes,
        tally=reader.tally,
        close=reader.close,
    )


def _run(reader: Reader, template: Template, decoding: Decoding, tasks: Iterator[Task]) -> Iterator[Outcome]:
    """Answers in the order of the tasks, while the reader works ahead in an order of its own.

    Tasks that want nothing (cached, or bad lines) pass at once where nothing is awaited. Behind an awaited answer they
    queue, at most `PATIENCE` of them: then the reader finishes what it has before it is given more.
    """
    for task in tasks:
        if not task.cells:
            yield []
        else:
            yield from _session(reader, template, decoding, chain([task], tasks))


def _session(reader: Reader, template: Template, decoding: Decoding, tasks: Iterator[Task]) -> Iterator[Outcome]:
    order: deque[int] = deque()
    ready: dict[int, Outcome] = {}

    def requests() -> Iterator[Request]:
        number = 0
        while order or number == 0:
            if len(order) >= PATIENCE:
                return
            task = next(tasks, None)
            if task is None:
                return
            number += 1
            order.append(number)
            if task.cells:
                question, context = task.record.question, task.record.pack.context
                yield Request(number, template.messages(question, context), question, context, decoding=decoding)
            else:
                ready[number] = []

    for reply in reader.answer(requests()):
        ready[reply.id] = _outcome(reader, template, reply)
        while order and order[0] in ready:
            yield ready.pop(order.popleft())
    while order and order[0] in ready:
        yield ready.pop(order.popleft())
    if order:
        raise BackendError(f"the reader {reader.name} gave no answer to {len(order)} prompts")


def _outcome(reader: Reader, template: Template, reply: Completion | Refusal) -> Outcome:
    if isinstance(reply, Refusal):
        return BackendError(reply.message)
    sample = reply.samples[0]
    generate: Raw = {
        "reader": reader.name,
        "model": reader.model,
        "prompt": {"name": template.name, "hash": template.hash},
        "answer": sample.text.strip(),
        "finish": sample.finish,
        "tokens": {"prompt": reply.prompt_tokens, "completion": sample.tokens},
    }
    if sample.logprob is not None:
        generate["logprob"] = sample.logprob
    if reply.prompt is not None:
        generate["prompt_text"] = reply.prompt
    return [{"generate": generate}]
