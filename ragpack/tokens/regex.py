"""Words and single marks: the same everywhere, close to no reader's tokenizer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragpack.tokens import End

_TOKEN = re.compile(r"\w+|[^\w\s]")


class RegexCounter:
    """A token is a run of word characters, or one other character that is not blank."""

    unit = "regex"
    fingerprint = "regex/1"
    lines_add_up = words_add_up = True
    slack = 0

    def count(self, text: str) -> int:
        """Tokens of a text.

        >>> RegexCounter().count("Ana's 3.5 km")
        7
        """
        return len(_TOKEN.findall(text))

    def lines(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each line: a line end is a blank, and blanks are no tokens."""
        return [len(_TOKEN.findall(text)) for text in texts]

    def ends(self, text: str) -> list[End]:
        """Where each token ends."""
        return [End(match.end(), True) for match in _TOKEN.finditer(text)]
