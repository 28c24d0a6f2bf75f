"""What every reader takes and gives.

A reader pulls requests lazily, never more than its look-ahead ahead of what it has given back, and gives one
`Completion` or one `Refusal` for each, in any order; `id` says which. Only what no further request could survive
(no server, a broken model) is raised, as `BackendError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a prompt is continued, and what is to be told of it: all that decides a completion besides the prompt."""

    max_tokens: int = 32
    """Most tokens of a completion."""
    temperature: float = 0.0
    """0 is greedy, and takes the most likely token."""
    top_p: float = 1.0
    """Tokens that are drawn from: the most likely ones whose probabilities add up to this."""
    seed: int | None = None
    """Of the draws; None for greedy, which draws nothing."""
    n: int = 1
    """Completions of this prompt."""
    stop: tuple[str, ...] = ()
    """Texts that end a completion; they are not part of it."""
    logprobs: int | None = None
    """None: no log-probabilities. 0: those of the tokens given. N: those of the N most likely tokens as well."""
    uncertainty: int | None = None
    """K: the normalised uncertainty of each step, over the K most likely tokens."""
    choices: tuple[tuple[str, ...], ...] = ()
    """Groups of texts that are one token each: the log-probability of each group at the first step. Asked for alone:
    beside other log-probabilities the vLLM reader gives these and nothing else."""
    keep_prompt: bool = False
    """Give the prompt back as the model saw it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt: chat messages, or a text that no chat template is put around."""

    id: int
    """The caller's number for it; it comes back with the answer."""
    messages: list[dict[str, str]] | None = None
    """Chat messages, each with `role` and `content`."""
    question: str = ""
    """The question alone, for readers that use no prompts."""
    context: str = ""
    """The packed context alone, for the same."""
    text: str | None = None
    """The prompt as a text, where there are no messages."""
    continuation: str = ""
    """With a text: nothing is generated; the log-probabilities of this text behind the prompt are wanted."""
    cut: tuple[int, int] | None = None
    """[start, end) in the text, or in the last message: a passage whose end is left out as far as the prompt is longer
    than the model allows. Without it such a prompt is refused."""
    decoding: Decoding = Decoding()


class Likely(NamedTuple):
    """A token with its log-probability."""

    token: str
    id: int | None
    """None where the server doesn't say."""
    logprob: float | None
    """None for minus infinity."""


class Step(NamedTuple):
    """One token that was given, and those that were most likely."""

    given: Likely
    top: tuple[Likely, ...] = ()
    """Most likely first; as many as were asked for, or as the server gives."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion of a prompt."""

    text: str
    finish: str
    """`stop` (the model ended, or a stop text came) or `length` (cut at the most tokens allowed)."""
    tokens: int
    """Tokens generated."""
    logprob: float | None = None
    """Sum of the log-probabilities of the tokens given, where asked for."""
    steps: tuple[Step, ...] | None = None
    """The steps, where log-probabilities were asked for."""
    uncertainty: tuple[float, ...] | None = None
    """Normalised uncertainty of each step in [0, 1], where asked for; the step that ends the answer is among them."""
    choices: tuple[float | None, ...] | None = None
    """Log-probability of each group; None where the server didn't say."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said to one prompt."""

    id: int
    samples: tuple[Sample, ...]
    """As many as were asked for; none where a continuation was to be scored."""
    prompt_tokens: int
    prompt: str | None = None
    """The prompt as the model saw it, where asked for and known."""
    continuation: tuple[float, ...] | None = None
    """Log-probability of each token of the continuation, where one was given."""
    cut: bool = False
    """The end of the passage was left out, since the prompt was longer than the model allows."""
    k: int | None = None
    """Tokens over which the uncertainty was measured: K, or what the server gives at most."""

    @property
    def text(self) -> str:
        """The first completion."""
        return self.samples[0].text

    @property
    def completion_tokens(self) -> int:
        """Tokens generated, in all samples."""
        return sum(sample.tokens for sample in self.samples)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why this one request has no answer; the others go on."""

    id: int
    message: str


class Reader(Protocol):
    """A model that answers, opened by a back end's `open_reader(model, *, most_logprobs, …)`.

    `most_logprobs` is the largest number of log-probabilities a step that requests will ask for; engines want to know
    before they start.
    """

    @property
    def name(self) -> str:
        """The back end: `vllm`, `openai`, `extractive`."""

    @property
    def model(self) -> str:
        """The model as the user named it."""

    @property
    def fingerprint(self) -> str:
        """A stable hash of whatever decides the answers, other than the request."""

    @property
    def about(self) -> dict[str, Any]:
        """What the run file says of it at the end: facts of this run that are in no record."""

    def answer(self, requests: Iterator[Request]) -> Iterator[Completion | Refusal]:
        """One result a request, in any order, pulling requests only as there is room for them."""

    def close(self) -> None:
        """Free the model. May be called twice."""
