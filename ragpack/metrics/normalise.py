"""Answer normalisation, shared by every answer and context metric.

Rules, in this order (the SQuAD v1.1 rules, which HotpotQA, 2WikiMultihopQA, MuSiQue and FlashRAG share):
lower-case; delete the 32 ASCII punctuation characters; replace the words a, an, the by a space; collapse
white space. Nothing else: curly quotes, en dashes and CJK punctuation stay, and there is no Unicode
normalisation, so a composed and a decomposed "é" differ. A token is a piece of the result between spaces.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import NamedTuple

_PUNCTUATION = frozenset(string.punctuation)
_PUNCTUATION_BYTES = string.punctuation.encode("ascii")
_ARTICLES = frozenset(("a", "an", "the"))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_CHUNK = re.compile(r"\S+")
# "U.S" and "Ph.D" but not "3.14" or "example.com": the dot after such a core belongs to it.
_ABBREVIATION = re.compile(r"\w\.[^\W\d]$")


class Token(NamedTuple):
    """A normalised token and the characters [start, end) of the original text that it came from."""

    text: str
    start: int
    end: int


def normalise(text: str) -> str:
    """`text` lower-cased, without ASCII punctuation and articles, white space collapsed. Source: P1 §3.

    >>> normalise("The  U.S. of A-merica: 3.14!")
    'us of america 314'
    >>> normalise("The")
    ''
    """
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """The normalised tokens of `text`, in order.

    >>> tokens("An end; the-end.")
    ['end', 'theend']
    """
    return cut(_without_punctuation(text.lower()))


def cut(bare: str) -> list[str]:
    """The tokens of a text that is lower-cased and without punctuation.

    >>> cut("in the end")
    ['in', 'end']
    """
    words = bare.split()
    # A word of letters and digits only holds an article just when it *is* one, so the regular expression,
    # which costs more than all the rest, is for words with a character such as an en dash that makes a
    # boundary inside them.
    if "".join(words).isalnum():
        return [word for word in words if word not in _ARTICLES]
    kept: list[str] = []
    for word in words:
        if not word.isalnum():
            kept += _ARTICLE.sub(" ", word).split()
        elif word not in _ARTICLES:
            kept.append(word)
    return kept


def tokens_at(text: str, wanted: Iterable[int]) -> dict[int, Token]:
    """Some of the `located_tokens`, by their number from 0; several times cheaper than all of them.

    >>> tokens_at("in the (U.S.)", [1])
    {1: Token(text='us', start=8, end=12)}
    """
    chunks = text.split()
    if " ".join(chunks) == text.replace("\n", " "):  # so lengths give the places
        words = _without_punctuation("\n".join(text.lower().split())).split("\n")
        if "".join(words).isalnum() or not any(_ARTICLE.search(word) for word in words if not word.isalnum()):
            kept = [at for at, word in enumerate(words) if word and word not in _ARTICLES]
            found = {}
            for number in wanted:
                at = kept[number]
                start = len(" ".join(chunks[:at])) + (at > 0)
                found[number] = _token(text, words[at], start, start + len(chunks[at]))
            return found
    located = located_tokens(text)
    return {number: located[number] for number in wanted}


def without_punctuation(text: str) -> bytes:
    """`text` lower-cased and without punctuation, in UTF-8: each token of `text` is a part of it.

    >>> without_punctuation("The U.S. Army")
    b'the us army'
    """
    return text.lower().encode("utf-8", "surrogatepass").translate(None, _PUNCTUATION_BYTES)


def located_tokens(text: str) -> list[Token]:
    """The tokens of `text` with their place in it; the texts equal `tokens(text)`.

    White space is all that separates tokens before articles go, so each run of other characters is worked
    by itself. Punctuation at the ends of a run is left out of its span (a highlighted "Paris" has no
    comma), except the last dot of an abbreviation.

    >>> located_tokens("in the (U.S.)")
    [Token(text='in', start=0, end=2), Token(text='us', start=8, end=12)]
    """
    # A line for each run, so that a run of punctuation alone leaves an empty line and the two stay in step.
    words = _without_punctuation("\n".join(text.lower().split())).split("\n")
    found: list[Token] = []
    for match, word in zip(_CHUNK.finditer(text), words, strict=False):  # an empty text has one empty line
        if not word or word in _ARTICLES:
            continue
        start, end = match.span()
        if not word.isalnum() and _ARTICLE.search(word):
            found += _split_at_articles(match.group(), word, start)
        else:
            found.append(_token(text, word, start, end))
    return found


def _token(text: str, word: str, start: int, end: int) -> Token:
    """The token of a chunk [start, end) that is one."""
    if len(word) != end - start or not word.isalnum():
        core = text[start:end].strip(string.punctuation)
        start = text.index(core, start)
        dot = text.startswith(".", start + len(core)) and _ABBREVIATION.search(core) is not None
        end = start + len(core) + dot
    return Token(word, start, end)


def _split_at_articles(chunk: str, word: str, start: int) -> list[Token]:
    """The tokens of a chunk that has an article beside a non-ASCII sign, as in “the” or a–b."""
    origin = lowered_places(chunk, start)
    found, begin = [], 0
    articles = [match.span() for match in _ARTICLE.finditer(word)]
    for end, following in [*articles, (len(word), len(word))]:
        if begin < end:
            found.append(Token(word[begin:end], origin[begin], origin[end - 1] + 1))
        begin = following
    return found


def lowered_places(chunk: str, start: int) -> list[int]:
    """For each character of a chunk lower-cased and without punctuation, its place in the text; `start` is the chunk's.

    >>> lowered_places("P.İ", 5)
    [5, 7, 7]
    """
    # lower() can lengthen a text ("İ" gives two characters), so each character is lowered by itself.
    return [at for at, char in enumerate(chunk, start) for low in char.lower() if low not in _PUNCTUATION]


def _without_punctuation(text: str) -> str:
    # No ASCII byte is ever part of another character in UTF-8, so the bytes can be filtered. str.translate
    # is as fast on ASCII but far slower from the first other character on. Lone surrogates pass through.
    filtered = text.encode("utf-8", "surrogatepass").translate(None, _PUNCTUATION_BYTES)
    return filtered.decode("utf-8", "surrogatepass")
