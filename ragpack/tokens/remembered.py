"""What was counted once is not counted again: policies, budgets and spaces of one question share their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragpack.tokens import Counter, End


class Remembered:
    """A counter with a memory; for one question, since it forgets nothing."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.unit, self.fingerprint = counter.unit, counter.fingerprint
        self.lines_add_up, self.words_add_up, self.slack = counter.lines_add_up, counter.words_add_up, counter.slack
        self._lines: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def know(self, lines: Mapping[str, int]) -> None:
        """Take the counts of lines that were added up from their parts."""
        self._lines.update(lines)

    def lines(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each line with the line end behind it."""
        new = [text for text in dict.fromkeys(texts) if text not in self._lines]
        if new:
            self._lines.update(zip(new, self._counter.lines(new), strict=True))
        return [self._lines[text] for text in texts]

    def count(self, text: str) -> int:
        """Tokens of a context as it stands in a prompt."""
        if text not in self._counts:
            # A line end that is a token of its own: the line without it needs no second look.
            known = self.slack and text in self._lines
            self._counts[text] = self._lines[text] - self.slack if known else self._counter.count(text)
        return self._counts[text]

    def ends(self, text: str) -> list[End]:
        """Where each token of a context ends in it."""
        return self._counter.ends(text)
