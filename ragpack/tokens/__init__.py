"""Token counters: what a budget is counted in.

`regex` needs no model: a word (`\\w+`) or one other character that is not blank is a token. Anything else names the
reader's tokenizer: a `tokenizer.json`, a model folder that holds one, a model id (which may be fetched from the hub
that the user's environment names), or `tiktoken:NAME`.

A context is counted **as it stands in a prompt**: behind a line end and before an empty line. A token that reaches
over its end, as `.` with the line end behind it does for some readers, is counted. Special tokens are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ragpack.errors import UsageError


class End(NamedTuple):
    """The end of a token."""

    at: int
    """Offset in code points."""
    whole: bool
    """The text up to here has just the tokens up to here: nothing that follows can change them."""


class Counter(Protocol):
    """Counts the tokens of a text as one reader does."""

    unit: str
    """Name and head of the fingerprint, for the record."""
    fingerprint: str
    """Changes when counts may change."""
    lines_add_up: bool
    """True if the count of a text is the sum of `lines` of all its lines but the last and the count of that one, as
    long as no line begins or ends with a blank. Then a context is counted from its lines, exactly."""
    words_add_up: bool
    """True if, besides, the count of a line is the sum of the counts of its words, each taken with the blank before
    it."""
    slack: int
    """What every line has less as the last one, surely: the tokens of its line end, where it is one of its own."""

    def count(self, text: str) -> int:
        """Tokens of a context as it stands in a prompt."""

    def lines(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each line with the line end behind it, as it stands before another line."""

    def ends(self, text: str) -> list[End]:
        """Where each token of a context ends in it, in order; as many as `count` says."""


def open_counter(name: str) -> Counter:
    """The counter of a name. Raises `UsageError` for a file that is none, `BackendError` for an unknown model."""
    if name == "regex":
        from ragpack.tokens.regex import RegexCounter

        return RegexCounter()
    if name.startswith("tiktoken:"):
        from ragpack.tokens.tiktoken import open_tiktoken

        return open_tiktoken(name.removeprefix("tiktoken:"))
    from ragpack.tokens.model import from_hub, from_text

    path = Path(name)
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.is_file():
        return from_text(name, file.read_text(encoding="utf-8"))
    if path.is_dir():
        raise UsageError(f"--tokenizer {name}: the folder has no tokenizer.json")
    if path.suffix == ".json" or name.startswith((".", "/", "~")):
        raise UsageError(f"--tokenizer {name}: no such file")
    return from_hub(name)


class Cut(NamedTuple):
    """A beginning of a text, and its count."""

    text: str
    tokens: int


def cut(counter: Counter, text: str, limit: int) -> Cut:
    """The longest beginning of a text, ending where a token ends, that has at most `limit` tokens.

    Subtle: a beginning may be tokenized otherwise than inside the whole, so where a word is cut it is counted again,
    and shortened until it fits.
    """
    if limit <= 0:
        return Cut("", 0)
    ends = counter.ends(text)
    if len(ends) <= limit:
        return Cut(text, len(ends))
    for last in range(limit, 0, -1):
        end = ends[last - 1]
        # A character of several tokens ends where they all end: it is in or out as a whole.
        if end.at == ends[last].at:
            continue
        piece = text[: end.at].rstrip()
        tokens = last if end.whole and len(piece) == end.at else counter.count(piece)
        if tokens <= limit:
            return Cut(piece, tokens)
    return Cut("", 0)
