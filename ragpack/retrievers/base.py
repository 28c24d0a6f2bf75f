"""What a retriever is, and what it finds."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, Protocol

from ragpack.records import Doc


class Found(NamedTuple):
    """A document with its score."""

    doc: Doc
    score: float
    scores: dict[str, float | None] | None = None
    """Parts of the score, by name."""
    bridge: str | None = None
    """Id of the document that led to this one."""


class Retriever(Protocol):
    """Ranks documents for a question."""

    def search(self, question: str, docs: Sequence[Doc] | None, k: int) -> list[Found]:
        """At most `k` documents, best first; ties by id. `docs` is the question's pool; None: the corpus."""
        ...


class Wanted(NamedTuple):
    """What a retriever asks the reader for: the next thought about a question."""

    question: str
    docs: tuple[Doc, ...]
    """What was found so far, first found first."""
    thoughts: tuple[str, ...]
    """The thoughts so far."""


class Thought(NamedTuple):
    """What the reader said."""

    text: str
    """One sentence; empty where there was none."""
    last: bool = False
    """It states the answer."""


class Walked(NamedTuple):
    """What searches and thoughts gave together."""

    found: list[Found]
    thoughts: list[str]


class Asking(Protocol):
    """A retriever that asks the reader between its searches. Whoever drives it has the reader: it knows of none."""

    max_tokens: int
    """Most tokens of a thought."""
    budget: int
    """Most tokens of the passages in a prompt."""

    def walk(self, question: str, docs: Sequence[Doc] | None, k: int) -> Generator[Wanted, Thought, Walked]:
        """Yields what it wants to know and is sent the thought; at the end at most `k` documents, best first."""
        ...
