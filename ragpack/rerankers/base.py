"""What a reranker is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

DIGITS = 6
"""Of a score; behind them is the noise of sums in single precision."""


class Passage(NamedTuple):
    """What a reranker sees of a hit."""

    title: str | None
    text: str

    @property
    def whole(self) -> str:
        """Title and text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Reranker(Protocol):
    """Scores passages for a question."""

    field: str
    """Name of its score in `hits[].scores`."""
    fingerprint: str
    """Of the model's files and of how they are used."""

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """One number a passage, larger is better, in their order. It depends on which passages there are, not on
        their order."""
        ...
