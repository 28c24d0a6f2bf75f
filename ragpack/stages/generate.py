"""generate: the reader answers from each packed context."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragpack.errors import BackendError, UsageError
from ragpack.readers import READERS
from ragpack.readers.base import Completion, Decoding, Reader, Request, Sample, Step
from ragpack.readers.kept.once import once
from ragpack.readers.prompts.named import AnswerPrompt, open_prompt, plain_text
from ragpack.records import Answered, Packed, Raw
from ragpack.registry import load
from ragpack.stage import Outcome, Payload, Stage, Task
from ragpack.stages.decoding import Decoded, canonical, decoding_of, sampling_of
from ragpack.stages.same_tokenizer import SameTokenizer
from ragpack.stages.session import Job, outcomes


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
    """Name of the prompt template, or a Jinja file."""
    logprob: bool = False
    """Keep the answer's log-probability."""
    keep_prompt: bool = False
    """Keep the templated prompt."""
    engine: dict[str, Any] = field(default_factory=dict)
    """More keyword arguments for `open_reader`."""
    temperature: float = 0.0
    """0 is greedy."""
    top_p: float | None = None
    """Tokens that are drawn from: the most likely ones whose probabilities add up to this."""
    seed: int | None = None
    """Of the draws; 0 where it is not given."""
    n: int = 1
    """Answers to each prompt."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer."""
    logprobs: int | None = None
    """Keep each token's log-probability, and those of the N most likely ones."""
    first_line: bool = False
    """The answer is the first line that is not blank."""
    chat_template: bool = True
    """False: the prompt is a plain text, for base models."""
    tokenizer: str | None = None
    """The reader's tokenizer, which must be that of the packs; None: the model's own under vLLM, else any."""
    any_tokenizer: bool = False
    """Packs of another tokenizer are read as well."""
    cache: str | None = None
    """Folder of replies that were given before."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a reader, and what is kept of the reply."""

    prompt: AnswerPrompt
    decoding: Decoding = field(default_factory=Decoding)
    chat_template: bool = True
    first_line: bool = False
    logprob: bool = False
    logprobs: int | None = None
    tokenizer: SameTokenizer | None = None

    def run(self, reader: Reader, tasks: Iterator[Task]) -> Iterator[Outcome]:
        """An outcome for each task, in their order."""

        def finish(replies: Sequence[Completion]) -> list[Payload]:
            return [{"generate": self.answered(reader, replies[0])}]

        return outcomes(reader, lambda task: Job((self.request(task.record),), finish), tasks)

    def request(self, record: Packed | Answered) -> Request:
        """Raises `DataError` for a record that gives no prompt, `UsageError` for one of another tokenizer."""
        if self.tokenizer:
            self.tokenizer.check(record)
        question, context = record.question, record.pack.context
        messages = self.prompt.messages(question, context, _shown(self.prompt, record) or ())
        if self.chat_template:
            return Request(0, messages, question, context, decoding=self.decoding)
        return Request(0, None, question, context, plain_text(messages), decoding=self.decoding)

    def answered(self, reader: Reader, reply: Completion) -> Raw:
        """What the record gets. Raises `BackendError` for a reply that is not what was asked for."""
        if len(reply.samples) != self.decoding.n:
            raise BackendError(f"the reader gave {len(reply.samples)} answers of {self.decoding.n}")
        said = [self._said(reader, sample) for sample in reply.samples]
        generate: Raw = {
            "reader": reader.name,
            "model": reader.model,
            "prompt": {"name": self.prompt.name, "hash": self.prompt.hash},
            "chat_template": None if self.chat_template else False,
            "sampling": sampling_of(self.decoding),
            "stop": list(self.decoding.stop) or None,
            "post": ["first_line"] if self.first_line else None,
            **said[0],
            "tokens": {"prompt": reply.prompt_tokens, "completion": reply.completion_tokens},
            "samples": said if self.decoding.n > 1 else None,
            "prompt_text": reply.prompt,
        }
        return {name: value for name, value in generate.items() if value is not None}

    def _said(self, reader: Reader, sample: Sample) -> Raw:
        text = sample.text.strip()
        answer = first_line(text) if self.first_line else text
        said: Raw = {"answer": answer}
        if answer != text:
            said["raw"] = text
        said |= {"finish": sample.finish, "tokens": sample.tokens}
        if sample.logprob is not None:
            said["logprob"] = _finite(reader, sample.logprob)
        elif self.logprob:
            raise BackendError(f"the reader {reader.name} gave no log-probability")
        if self.logprobs is not None:
            if sample.steps is None:
                raise BackendError(f"the reader {reader.name} gave no log-probabilities of tokens")
            said["token_logprobs"] = [_step(reader, step, self.logprobs) for step in sample.steps]
        return said


def open_generate(params: GenerateParams) -> Stage:
    """Open the stage: load the model or find the server. Raises `UsageError` for what can't be asked."""
    asked = Decoded(
        max_tokens=params.max_tokens, temperature=params.temperature, top_p=params.top_p, seed=params.seed, n=params.n,
        stop=params.stop, logprob=params.logprob, logprobs=params.logprobs, keep_prompt=params.keep_prompt,
    )  # fmt: skip
    decoding = decoding_of(asked)
    prompt = open_prompt(params.prompt)
    tokenizer = _tokenizer(params)
    engine = {"most_logprobs": decoding.logprobs or 0, **params.engine}
    reader = once(load(READERS, params.reader)(params.model, **engine), params.cache)
    asking = Asked(
        prompt, decoding, params.chat_template, params.first_line, params.logprob, params.logprobs, tokenizer
    )
    more = {"post": ["first_line"] if params.first_line else [], "plain": not params.chat_template}
    return Stage(
        name="generate",
        version=1,
        reads=(Packed, Answered),
        writes=Answered,
        run=lambda tasks: asking.run(reader, tasks),
        projection=lambda record: [record.question, record.pack.context],
        more=lambda record, _: _shown(prompt, record),
        cells=(canonical(asked, decoding, more),),
        fingerprints={"reader": reader.fingerprint, "prompt": prompt.hash},
        notes=lambda: [*(tokenizer.notes if tokenizer else ()), *reader.notes],
        tally=reader.tally,
        close=reader.close,
    )


def _tokenizer(params: GenerateParams) -> SameTokenizer | None:
    if params.tokenizer and params.reader == "extractive":
        raise UsageError("--tokenizer: the extractive reader has none")
    if params.any_tokenizer:
        return None
    if params.reader != "vllm":
        return SameTokenizer(None, params.tokenizer) if params.tokenizer else None
    named = (params.engine.get("engine_args") or {}).get("tokenizer")
    return SameTokenizer(str(named or params.model), params.tokenizer)


def _shown(prompt: AnswerPrompt, record: Packed | Answered) -> list[Raw] | None:
    """The snippets, for prompts that print them: for the others they decide nothing."""
    if not prompt.reads_snippets:
        return None
    return [{"id": one.id, "title": one.title, "rank": one.rank} for one in record.pack.snippets]


def first_line(text: str) -> str:
    """The first line that is not blank.

    >>> first_line("\\n  Ida Vale \\nEvidence: none")
    'Ida Vale'
    """
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _step(reader: Reader, step: Step, most: int) -> Raw:
    given = step.given
    row: Raw = {"token": given.token, "id": given.id, "logprob": _finite(reader, given.logprob)}
    if given.id is None:
        del row["id"]
    if most:
        row["top"] = [[one.token, one.id, _finite(reader, one.logprob)] for one in step.top[:most]]
    return row


def _finite(reader: Reader, logprob: float | None) -> float | None:
    """JSON has no NaN, and null has a meaning of its own."""
    if logprob is not None and not math.isfinite(logprob):
        raise BackendError(f"the reader {reader.name} gave {logprob} for a log-probability")
    return logprob
