"""What a retriever is, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
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
