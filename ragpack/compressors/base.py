"""What every compressor takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ragpack.candidates.snippet import Document
from ragpack.registry import Value


class Kept(NamedTuple):
    """What is left of one document."""

    document: int
    """Its index among the documents given."""
    text: str
    """The words kept, in one line, without the title."""
    tokens: int
    """Reader tokens of the context that its line accounts for; they add up to the count of the whole."""


class Compressed(NamedTuple):
    """A context, and how it came about."""

    text: str
    """One line a document that has something left: `Title: words kept`."""
    kept: list[Kept]
    """In the order of the lines."""
    tokens: int
    """Reader tokens of `text` as it stands; at most the budget."""
    original: int
    """Reader tokens of the same lines uncompressed."""
    asked: float | None
    """Rate that the method was asked for: the share to keep, in the method's own tokens. 1: everything fitted and
    nothing was compressed. None: the method never ran, there was no text or no room for any."""
    steps: int
    """Rates tried until one fitted."""
    truncated: bool
    """Even the smallest rate was over the budget: the tail of the context was cut."""
    unaligned: int
    """Documents whose words were not found in their text one after the other: they are printed as the package
    prints them."""

    @property
    def achieved(self) -> float | None:
        """Share of reader tokens kept, titles and line ends included; None without any text."""
        return self.tokens / self.original if self.original else None


class Compressor(Protocol):
    """A model that says which words matter, opened by a method's `open_compressor`."""

    @property
    def name(self) -> str:
        """The method: `llmlingua2`, `llmlingua`, `longllmlingua`."""

    @property
    def model(self) -> str:
        """The model's id, or the name of its folder: a path belongs to one machine."""

    @property
    def settings(self) -> Mapping[str, Value]:
        """Everything that was set, defaults included, for the record."""

    @property
    def fingerprint(self) -> str:
        """Changes when the words kept may change: of the model's files and of the package."""

    def compress(self, question: str, documents: Sequence[Document], budget: int) -> Compressed:
        """The documents in at most `budget` reader tokens. Raises `DataError` where the method can't do this record,
        `BackendError` where the model can't be loaded."""
