"""What a space gives: pieces of documents, each with the line it would be in the context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ragpack.text import Span


class Document(NamedTuple):
    """A hit, as the spaces see it."""

    id: str
    title: str
    text: str
    rank: int
    sentences: list[Span]
    """[start, end) of each sentence in `text`, not empty, in order."""
    score: float | None = None
    """The retriever's score."""
    scores: Mapping[str, float | None] = {}
    """Other scores by name."""


class Candidate(NamedTuple):
    """A piece of a document."""

    document: int
    """Index of its document."""
    position: int
    """Its place among the pieces of the document, from 0."""
    span: Span
    """[start, end) in the document's text."""
    header: str
    """What stands before the text in its line, or nothing."""
    body: str
    """The text as it is printed."""
    also: tuple[tuple[int, Span], ...] = ()
    """Other places (document, span) that say the same, and are left out for it."""

    @property
    def line(self) -> str:
        """What it adds to the context."""
        return self.header + self.body


class Space(NamedTuple):
    """The candidates of one question, in canonical order: document, then position."""

    candidates: list[Candidate]
    graph: Callable[[], Mapping[str, Any]] | None = None
    """Gives what the space saw, for `--explain`."""


def header_of(title: str) -> str:
    """`Title: `, or nothing for a document without a title."""
    title = " ".join(title.split())
    return f"{title}: " if title else ""


def one_line(text: str) -> str:
    """The text with each run of blanks as one space: a snippet is one line of the context."""
    return " ".join(text.split())


def span_of_beginning(text: str, span: Span, printed: str) -> Span:
    """The part of a span that a cut body still shows; blanks do not count, since `one_line` changed them.

    >>> span_of_beginning("ab  cd ef", (0, 9), "ab c")
    (0, 5)
    """
    left = sum(len(word) for word in printed.split())
    end = span[0]
    for end in range(span[0], span[1]):  # the place where it stops is the result
        if left == 0:
            break
        left -= not text[end].isspace()
    else:
        end = span[1]
    return span[0], end
