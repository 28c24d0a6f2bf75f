"""Counting in place: the text as it stands in a prompt.

Byte-pair merges stay inside the pieces of the pre-tokenizer. Where that always begins a new piece at a line end, the
frame changes nothing and is left out; elsewhere it is tokenized too, and the tokens that touch the text are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ragpack.tokens import End

BEFORE, AFTER = "Evidence:\n", "\n\nQuestion:"
"""What stands around a context in our own prompts (`readers.prompt`; a test holds them equal)."""


class Token(NamedTuple):
    """Where a token stands."""

    start: int
    end: int
    piece: int | None
    """Number of its piece; None where that is not known."""


class Encoder(Protocol):
    """What a tokenizer must be able to do."""

    def sizes(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text."""

    def tokens(self, text: str) -> list[Token]:
        """The tokens of a text, in order, by code points."""

    def pieces(self, text: str) -> list[str] | None:
        """The pieces that the text is cut into before merging; None where there are none, or where cutting does not
        show how the text would be tokenized."""


class FramedCounter:
    """A counter over an encoder."""

    def __init__(self, name: str, fingerprint: str, encoder: Encoder) -> None:
        self.unit, self.fingerprint = f"{name}@{fingerprint[:8]}", fingerprint
        self._encoder = encoder
        self.lines_add_up = _parts_at(encoder.pieces, "\n", before=False)
        # A line end that is always a piece of its own leaves the line before it as it is.
        self._apart = self.lines_add_up and _parts_at(encoder.pieces, "\n", before=True)
        self.words_add_up = self._apart and _parts_at(encoder.pieces, " ", before=True)
        self.slack = encoder.sizes(["\n"])[0] if self._apart else 0

    def count(self, text: str) -> int:
        """Tokens of a context as it stands in a prompt."""
        return self._encoder.sizes([text])[0] if self._apart else len(self._inside(text))

    def lines(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each line with the line end behind it."""
        return self._encoder.sizes([text + "\n" for text in texts])

    def ends(self, text: str) -> list[End]:
        """Where each token ends. Where words stand alone, the end of a piece is final."""
        found = self._inside(text)
        pieces = [*(token.piece for token in found), None]
        final = self.words_add_up
        return [End(token.end, final and pieces[at] != pieces[at + 1]) for at, token in enumerate(found)]

    def _inside(self, text: str) -> list[Token]:
        """The tokens that touch the text, by its own offsets."""
        if self._apart:
            return self._encoder.tokens(text)
        if not text:
            return []
        begin, stop = len(BEFORE), len(BEFORE) + len(text)
        found = self._encoder.tokens(BEFORE + text + AFTER)
        return [
            Token(max(token.start - begin, 0), min(token.end, stop) - begin, token.piece)
            for token in found
            if token.end > begin and token.start < stop
        ]


# One character of each kind that pre-tokenizers tell apart: letters of several scripts, digits, marks, quotes,
# combining marks, symbols, emoji.
_KINDS = "aZé東ا5²½.,:!'\"”-_/([<$\u0301\u200d€😀"


def _parts_at(pieces: Callable[[str], list[str] | None], blank: str, *, before: bool) -> bool:
    """Does a new piece always begin before (or after) this blank, between characters that are not blank?

    That depends on the characters around, so it is tried for all pairs of kinds.
    """
    at = 2 if before else 3
    for left in _KINDS:
        for right in _KINDS:
            text = f"x{left}{blank}{right}{right}x"
            whole, head, tail = pieces(text), pieces(text[:at]), pieces(text[at:])
            if whole is None or head is None or tail is None or whole != head + tail:
                return False
    return True
