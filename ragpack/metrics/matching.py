"""Three ways to say that an answer is in a text; papers use all of them under one name.

Each gives a text a *form*, its tokens with one blank between two, and the place of each token in the text. A
line end always parts tokens, so the form of a text is that of its lines, joined: forms can be kept by line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ragpack.metrics.normalise import Token, lowered_places, tokens, tokens_at


class Matching(NamedTuple):
    """How a gold and a text are compared."""

    tokens: Callable[[str], list[str]]
    """The tokens that are compared."""
    at: Callable[[str, Iterable[int]], dict[int, Token]]
    """Some of them with their places, by their number."""
    whole: bool
    """An occurrence begins and ends with a token; else it may begin and end inside one."""


def dpr_tokens(text: str) -> list[str]:
    """DPR's tokens: runs of letters, numbers and marks, and every other character that is neither a separator nor
    a control one, by itself; of the text in NFD, each lower-cased.

    Nothing is dropped: articles and punctuation are tokens, so "U.S." is four of them and is not in "US".
    Source: Karpukhin et al. 2020, the `has_answer` check of the released code.

    >>> dpr_tokens("The caf\u00e9's No. 5")
    ['the', 'cafe\u0301', "'", 's', 'no', '.', '5']
    """
    return [word.lower() for word in unicodedata.normalize("NFD", text).translate(_APART).split(" ") if word]


def located_dpr_tokens(text: str) -> list[Token]:
    """The tokens of `dpr_tokens` with the characters [start, end) of `text` that they came from.

    >>> located_dpr_tokens("caf\u00e9!")
    [Token(text='cafe\u0301', start=0, end=4), Token(text='!', start=4, end=5)]
    """
    # Marks may change places in NFD, but only behind the letter that they belong to: a run stays a run.
    found: list[Token] = []
    word: list[str] = []
    begin = 0
    for at, char in enumerate(text):
        for part in unicodedata.normalize("NFD", char):
            kind = _APART[ord(part)]
            if kind == part != " ":
                begin = begin if word else at
                word.append(part)
                continue
            if word:
                found.append(_token(word, begin, at))
                word = []
            if kind != " ":
                found.append(Token(part.lower(), at, at + 1))
    if word:
        found.append(_token(word, begin, len(text)))
    return found


def _token(word: list[str], start: int, end: int) -> Token:
    return Token(unicodedata.normalize("NFD", "".join(word)).lower(), start, end)


def dpr_tokens_at(text: str, wanted: Iterable[int]) -> dict[int, Token]:
    """Some of the `located_dpr_tokens`, by their number from 0."""
    located = located_dpr_tokens(text)
    return {number: located[number] for number in wanted}


class _Apart(dict[int, str]):
    """Character → itself inside a token, itself between blanks where it is one, or a blank."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)[0]
        self[code] = made = char if kind in "LNM" else " " if kind in "ZC" else f" {char} "
        return made


_APART = _Apart()

MATCHES: dict[str, Matching] = {
    "token": Matching(tokens, tokens_at, whole=True),
    "substring": Matching(tokens, tokens_at, whole=False),
    "dpr": Matching(dpr_tokens, dpr_tokens_at, whole=True),
}


def place_inside(text: str, token: Token, start: int, end: int) -> tuple[int, int]:
    """Characters of `text` behind the characters [start, end) of a normalised token.

    >>> place_inside("in the Par-ty!", Token("party", 7, 13), 1, 5)
    (8, 13)
    """
    places = lowered_places(text[token.start : token.end], token.start)
    if len(places) != len(token.text):  # never seen; the whole token is still right
        return token.start, token.end
    first, last = places[start], places[end - 1]
    return (token.start if start == 0 else first), (token.end if end == len(token.text) else last + 1)
