"""Words, content terms and sentences: what the lexical parts read in a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragpack.errors import DataError, Missing

Span = tuple[int, int]

_WORD = re.compile(r"\w+")
# Scripts without blanks between words: each character is a term, or a whole clause would be one.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_ASCII = re.compile(r"[0-9a-z_]+")
_OTHER = re.compile(r"[^\x00-\x7f]")
_PLAIN = bytes(
    one if one > 127 else ord(chr(one).lower()) if chr(one).isalnum() or one == ord("_") else 32 for one in range(256)
)
"""Byte → what it is in a word, or a blank; bytes above 127 are parts of letters."""

# Function words, auxiliaries and question words: they say what kind of thing is asked, not which one.
STOP_WORDS = frozenset(
    """a about after all also an and any are as at be because been before being between both but by can could did do
    does doing during each for from further had has have having he her here hers him his how i if in into is it its
    just me more most my no nor not of off on once only or other our out over own s same she should so some such t
    than that the their them then there these they this those through to too under until up very was we were what
    when where which while who whom whose why will with would you your""".split()  # noqa: SIM905 # a list to read
)


def words(text: str) -> list[str]:
    """Lower-case words in order; numbers and single letters stay; each CJK, Thai, Lao, Khmer or Burmese character is
    one word.

    >>> words("The X-15 flew in 1959 — 東京")
    ['the', 'x', '15', 'flew', 'in', '1959', '東', '京']
    """
    text = text.lower()
    if text.isascii():
        return _ASCII.findall(text)
    if _UNSPACED.search(text):
        text = _UNSPACED.sub(r" \g<0> ", text)
    return _WORD.findall(text)


class Counted(NamedTuple):
    """Some words of a text."""

    length: int
    """How many words it has, all of them."""
    times: list[int]
    """How often each word that was asked for stands in it."""


def count_words(text: str, wanted: tuple[str, ...]) -> Counted:
    """The same as counting in `words(text)`, several times as fast for a few words and plain text.

    >>> count_words("The X-15, the X-1", ("x", "15", "tern"))
    Counted(length=6, times=[2, 1, 0])
    """
    if not text.isascii():
        text = text.lower()
        for one in set(_OTHER.findall(text)):
            if _UNSPACED.match(one):
                found = words(text)
                return Counted(len(found), [found.count(word) for word in wanted])
            if not one.isalnum():
                text = text.replace(one, " ")
    # Signs become blanks and letters small in one step, on bytes; most words that are asked for are not there at all.
    pieces = text.encode("utf-8", "surrogatepass").translate(_PLAIN).split()
    asked = _asked(wanted)
    times = [0] * len(wanted)
    for one in asked.all.intersection(pieces):
        times[asked.places[one]] = pieces.count(one)
    return Counted(len(pieces), times)


class _Asked(NamedTuple):
    all: frozenset[bytes]
    places: dict[bytes, int]


@lru_cache(maxsize=4)
def _asked(wanted: tuple[str, ...]) -> _Asked:
    places = {word.encode("utf-8", "surrogatepass"): at for at, word in enumerate(wanted)}
    return _Asked(frozenset(places), places)


def content_terms(text: str) -> list[str]:
    """The distinct words of a question that say which thing is asked for, in order of first appearance.

    >>> content_terms("Who wrote the song that the song of Ana quotes?")
    ['wrote', 'song', 'ana', 'quotes']
    """
    found = dict.fromkeys(word for word in words(text) if word not in STOP_WORDS)
    return list(found)


def sentences(text: str) -> list[Span]:
    """[start, end) of each sentence, blanks at both ends left out.

    By rule, for texts that come without boundaries. sentencex (Wikimedia) works offline, gives offsets, and keeps
    abbreviations, decimals, quotes and CJK full stops whole. A text without any stop is one sentence.
    """
    if not text.strip():
        return []
    try:
        from sentencex import get_sentence_boundaries
    except ImportError:
        raise Missing("cutting texts into sentences", "all") from None
    found = [trim(text, (part["start_index"], part["end_index"])) for part in get_sentence_boundaries("en", text)]
    return [span for span in found if span[0] < span[1]]


def checked(text: str, spans: list[Span], where: str) -> list[Span]:
    """Spans that came with a record, blanks left out. Raises `DataError` where one is not inside the text."""
    for start, end in spans:
        if not 0 <= start <= end <= len(text):
            raise DataError(f"{where}: [{start}, {end}] is not inside the text of {len(text)} characters",
                            "Spans count code points from 0; the end is exclusive.")  # fmt: skip
    found = [trim(text, span) for span in spans]
    return [span for span in found if span[0] < span[1]]


def trim(text: str, span: Span) -> Span:
    """The span without blanks at its ends.

    >>> trim("  ab ", (0, 5))
    (2, 4)
    """
    start, end = span
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
