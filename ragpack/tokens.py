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
    """True if a text's count is the sum of its lines' counts, each taken with its `\\n`, as long as no line begins
    or ends with a blank. Then a context is counted from its snippets, exactly."""

    def count(self, text: str) -> int:
        """Tokens of a text."""

    def lines(self, texts: Sequence[str]) -> list[LineCount]:
        """Tokens of each line of a context."""

    def ends(self, text: str) -> list[End]:
        """Where each token ends in the text, in order."""


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

    def ends(self, text: str) -> list[End]:
        """Where each token ends."""
        return [End(match.end(), True) for match in _TOKEN.finditer(text)]


class ModelCounter:
    """A Hugging Face `tokenizers` tokenizer."""

    def __init__(self, name: str, tokenizer: Any) -> None:  # noqa: ANN401 # tokenizers has no types here
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.fingerprint = blake2b(tokenizer.to_str().encode(), digest_size=16).hexdigest()
        self.unit = f"{name}@{self.fingerprint[:8]}"
        self.lines_add_up = _parts_at(tokenizer, "\n", before=False)
        self._words_stand_alone = _parts_at(tokenizer, " ", before=True)
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

    def ends(self, text: str) -> list[End]:
        """Where each token ends. Merges stay inside the pieces of the pre-tokenizer, which `word_ids` numbers: the end
        of a piece is final, if this tokenizer cuts at blanks at all."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        words = [*found.word_ids, None]
        final = self._words_stand_alone
        return [End(end, final and words[at] != words[at + 1]) for at, (_, end) in enumerate(found.offsets)]


# One character of each kind that pre-tokenizers tell apart: letters of several scripts, digits, marks, quotes,
# combining marks, symbols, emoji.
_KINDS = "aZé東ا5²½.,:!'\"”-_/([<$\u0301\u200d€😀"


def _parts_at(tokenizer: Any, blank: str, *, before: bool) -> bool:  # noqa: ANN401 # tokenizers has no types here
    """Does the tokenizer always begin a new piece before (or after) this blank, between characters that are not blank?

    Byte-pair merges stay inside the pieces of the pre-tokenizer, so counts add up there if and only if it does. That
    depends on the characters around, so it is tried for all pairs of kinds. Added tokens that swallow blanks, and
    normalizers that add something to a text's start, break it.
    """
    pieces = tokenizer.pre_tokenizer
    if pieces is None:
        return False
    added = tokenizer.get_added_tokens_decoder().values()
    if any(token.lstrip or token.rstrip or blank in token.content for token in added):
        return False
    at = 2 if before else 3
    for left in _KINDS:
        for right in _KINDS:
            text = f"x{left}{blank}{right}{right}x"
            whole, head, tail = (_normalized(tokenizer, part) for part in (text, text[:at], text[at:]))
            parts = [piece for piece, _ in pieces.pre_tokenize_str(whole)]
            apart = [piece for half in (head, tail) for piece, _ in pieces.pre_tokenize_str(half)]
            if whole != head + tail or parts != apart:
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
