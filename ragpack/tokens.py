"""Token counters: what a budget is counted in.

`regex` needs no model: a word (`\\w+`) or one other character that is not blank is a token. Anything else names the
reader's tokenizer: a `tokenizer.json`, a model folder that holds one, or a model id (which may be fetched from the
hub that the user's environment names). Counts leave special tokens out: a context stands inside a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ragpack.errors import BackendError, UsageError

_TOKEN = re.compile(r"\w+|[^\w\s]")


class LineCount(NamedTuple):
    """Tokens of one line of a context."""

    inside: int
    """With the line end behind it, as it stands before another line."""
    last: int
    """Without, as it stands at the end."""


class Counter(Protocol):
    """Counts the tokens of a text as one reader does."""

    unit: str
    """Name and head of the fingerprint, for the record."""
    fingerprint: str
    """Changes when counts may change."""
    lines_add_up: bool
    """True if a text's count is the sum of its lines' counts, each taken with its `\\n`, as long as no line begins
    or ends with a blank. Then a context is counted from its snippets, exactly."""

    def count(self, text: str) -> int:
        """Tokens of a text."""

    def lines(self, texts: Sequence[str]) -> list[LineCount]:
        """Tokens of each line of a context."""

    def ends(self, text: str) -> list[int]:
        """Where each token ends in the text: offsets in code points, not decreasing."""


def open_counter(name: str) -> Counter:
    """The counter of a name. Raises `UsageError` for a file that is none, `BackendError` for an unknown model."""
    if name == "regex":
        return RegexCounter()
    path = Path(name)
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.is_file():
        return _from_text(name, file.read_text(encoding="utf-8"))
    if path.is_dir():
        raise UsageError(f"--tokenizer {name}: the folder has no tokenizer.json")
    if path.suffix == ".json" or name.startswith((".", "/", "~")):
        raise UsageError(f"--tokenizer {name}: no such file")
    return _from_hub(name)


def cut(counter: Counter, text: str, limit: int) -> str:
    """The longest beginning of a text, ending where a token ends, that has at most `limit` tokens.

    Subtle: a beginning may be tokenized otherwise than inside the whole, so it is counted again, and shortened
    until it fits.
    """
    if limit <= 0:
        return ""
    ends = counter.ends(text)
    if len(ends) <= limit:
        return text
    for last in range(limit, 0, -1):
        # A character of several tokens ends where they all end: it is in or out as a whole.
        if last < len(ends) and ends[last - 1] == ends[last]:
            continue
        piece = text[: ends[last - 1]].rstrip()
        if counter.count(piece) <= limit:
            return piece
    return ""


class RegexCounter:
    """Words and single marks: the same everywhere, close to no reader's tokenizer."""

    unit = "regex"
    fingerprint = "regex/1"
    lines_add_up = True

    def count(self, text: str) -> int:
        """Tokens of a text.

        >>> RegexCounter().count("Ana's 3.5 km")
        7
        """
        return len(_TOKEN.findall(text))

    def lines(self, texts: Sequence[str]) -> list[LineCount]:
        """Tokens of each line of a context: a line end is a blank, and blanks are no tokens."""
        return [LineCount(count, count) for count in (len(_TOKEN.findall(text)) for text in texts)]

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        return [match.end() for match in _TOKEN.finditer(text)]


class ModelCounter:
    """A Hugging Face `tokenizers` tokenizer."""

    def __init__(self, name: str, tokenizer: Any) -> None:  # noqa: ANN401 # tokenizers has no types here
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.fingerprint = blake2b(tokenizer.to_str().encode(), digest_size=16).hexdigest()
        self.unit = f"{name}@{self.fingerprint[:8]}"
        self.lines_add_up = _lines_add_up(tokenizer)
        newline = tokenizer.encode("\n", add_special_tokens=False).ids
        self._newline = newline[0] if self.lines_add_up and len(newline) == 1 else None

    def count(self, text: str) -> int:
        """Tokens of a text, without special tokens."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def lines(self, texts: Sequence[str]) -> list[LineCount]:
        """Tokens of each line of a context.

        Subtle: when the last token is the line end alone, no merge has touched it, so the line without it has one
        token less; only other lines are tokenized a second time.
        """
        found = self._tokenizer.encode_batch_fast([text + "\n" for text in texts], add_special_tokens=False)
        counts = []
        for text, encoding in zip(texts, found, strict=True):
            ids = encoding.ids
            alone = self._newline is not None and ids[-1:] == [self._newline]
            counts.append(LineCount(len(ids), len(ids) - 1 if alone else self.count(text)))
        return counts

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        return [end for _, end in self._tokenizer.encode(text, add_special_tokens=False).offsets]


# One character of each kind that pre-tokenizers tell apart: letters of several scripts, digits, marks, quotes,
# combining marks, symbols, emoji.
_KINDS = "aZé東ا5²½.,:!'\"”-_/([<$\u0301\u200d€😀"


def _lines_add_up(tokenizer: Any) -> bool:  # noqa: ANN401 # tokenizers has no types here
    """Does the tokenizer always begin a new piece after `\\n`, between characters that are not blank?

    Byte-pair merges stay inside the pieces of the pre-tokenizer, so counts add up if and only if a piece ends after
    each line's `\\n`. That depends on the characters around it, so it is tried for all pairs of kinds. Added tokens
    that swallow blanks, and normalizers that add something to a text's start, break it.
    """
    pieces = tokenizer.pre_tokenizer
    if pieces is None:
        return False
    if any(token.lstrip or token.rstrip or "\n" in token.content
           for token in tokenizer.get_added_tokens_decoder().values()):  # fmt: skip
        return False
    for left in _KINDS:
        for right in _KINDS:
            text = f"x{left}\n{right}{right}x"
            whole, above, below = (_normalized(tokenizer, part) for part in (text, text[:3], text[3:]))
            parts = [piece for piece, _ in pieces.pre_tokenize_str(whole)]
            apart = [piece for half in (above, below) for piece, _ in pieces.pre_tokenize_str(half)]
            if whole != above + below or parts != apart:
                return False
    return True


def _normalized(tokenizer: Any, text: str) -> str:  # noqa: ANN401 # tokenizers has no types here
    return text if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str(text)


def _from_text(name: str, text: str) -> ModelCounter:
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:
        raise UsageError(f"--tokenizer {name}: not a tokenizer.json: {error}") from None
    # A path belongs to one machine; its last part is a name.
    path = Path(name).resolve()
    return ModelCounter(
        path.parent.name if path.name == "tokenizer.json" else path.name.removesuffix(".json"), tokenizer
    )


def _from_hub(name: str) -> ModelCounter:
    import tokenizers

    try:
        return ModelCounter(name, tokenizers.Tokenizer.from_pretrained(name))
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BackendError(f"--tokenizer {name}: no such file or folder, and not loaded as a model id: {first}",
                           "Give a tokenizer.json, a model folder, a model id, or `regex`.") from None  # fmt: skip
