"""What an encoder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Pair(NamedTuple):
    """A claim, and the text that may support it."""

    claim: str
    text: str


class Encoder(Protocol):
    """A model that gives each pair a number."""

    fingerprint: str
    """Of the model's files and of how they are used."""

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """One number a pair, in order; a pair's number does not depend on the others but for the last bits."""
