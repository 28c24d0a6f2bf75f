"""What every reader takes and gives.

A reader pulls requests lazily, never more than its look-ahead ahead of what it has given back, and gives one
`Completion` or one `Refusal` for each, in any order; `id` says which. Only what no further request could survive
(no server, a broken model) is raised, as `BackendError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """One question to answer."""

    id: int
    """The caller's number for it; it comes back with the answer."""
    messages: list[dict[str, str]]
    """Chat messages, each with `role` and `content`."""
    question: str = ""
    """The question alone, for readers that use no chat messages."""
    context: str = ""
    """The packed context alone, for the same."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said."""

    id: int
    text: str
    finish: str
    """`stop` (the model ended) or `length` (cut at the most tokens allowed)."""
    prompt_tokens: int
    completion_tokens: int
    logprob: float | None
    """Sum of the log-probabilities of the tokens given, where asked for."""
    prompt: str | None
    """The prompt as the model saw it, where asked for and known."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why this one request has no answer; the others go on."""

    id: int
    message: str


class Reader(Protocol):
    """A model that answers, opened by a back end's `open_reader`."""

    @property
    def name(self) -> str:
        """The back end: `vllm`, `openai`, `extractive`."""

    @property
    def model(self) -> str:
        """The model as the user named it."""

    @property
    def fingerprint(self) -> str:
        """A stable hash of whatever decides the answers, other than the request."""

    def answer(self, requests: Iterator[Request]) -> Iterator[Completion | Refusal]:
        """One result a request, in any order, pulling requests only as there is room for them."""

    def close(self) -> None:
        """Free the model. May be called twice."""
