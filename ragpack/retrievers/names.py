"""Words with their case, the names in a text, and the forms under which a title is mentioned."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragpack.text import STOP_WORDS, words

Name = tuple[str, ...]

_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")
_ASCII = re.compile(r"\w+|[^\w\s'&-]|-(?=\s)", re.ASCII)
_PIECE = re.compile(r"\w+|[^\w\s'’&-]|-(?=\s)")
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_JOINING = frozenset(("of", "de", "da", "di", "du", "la", "le", "van", "von", "der", "den", "del", "el", "al"))
_ARTICLES = frozenset(("the", "a", "an"))
_SHORT = 3
"""A name of one word has more letters than this, and an abbreviation no more."""


class Surface(NamedTuple):
    """The words of a text with what tells names apart; three lists of one length."""

    words: list[str]
    """Lower case, without accents."""
    raised: list[bool]
    """Begins with a capital, a digit, or a letter of a script without case."""
    cut: list[bool]
    """A sign stands before the word that ends a name: any but an apostrophe, a hyphen, & and an abbreviation's stop."""


def surface(text: str) -> Surface:
    """The words of a text.

    >>> surface("Zoë, St. Ives")
    Surface(words=['zoe', 'st', 'ives'], raised=[True, True, True], cut=[False, True, False])
    """
    found = Surface([], [], [])
    cut = False
    for piece in _pieces(text):
        if piece[0].isalnum() or piece[0] == "_":
            found.words.append(piece.lower())
            found.raised.append(not piece[0].islower())
            found.cut.append(cut)
            cut = False
        else:
            abbreviated = piece == "." and found.words and found.raised[-1] and len(found.words[-1]) <= _SHORT
            cut = cut or not abbreviated
    return found


def _pieces(text: str) -> list[str]:
    if text.isascii():
        return _ASCII.findall(text)
    found = _PIECE.findall(_ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    if not any(map(_unspaced, found)):
        return found
    return [part for piece in found for part in (words(piece) if _unspaced(piece) else [piece])]


def _unspaced(piece: str) -> bool:
    """Is it more than one word, since its script writes no blanks?"""
    return not piece.isascii() and len(words(piece)) > 1


def forms_of(title: str) -> list[Name]:
    """The forms under which a text may mention a title, the whole of it first: without what stands in parentheses at
    its end, without what follows a comma if more than one word is left, without the article at its beginning.

    >>> forms_of("The Tern (1959 film)")
    [('the', 'tern', '1959', 'film'), ('the', 'tern'), ('tern', '1959', 'film'), ('tern',)]
    >>> forms_of("West Ostra, Lisk")
    [('west', 'ostra', 'lisk'), ('west', 'ostra')]
    """
    title = html.unescape(title)
    bare = _PARENTHESIS.sub("", title)
    head = bare.partition(",")[0]
    cut = dict.fromkeys([title, bare, *([head] if " " in head else [])])
    forms = dict.fromkeys(tuple(surface(one).words) for one in cut)
    for form in list(forms):
        if len(form) > 1 and form[0] in _ARTICLES:
            forms.setdefault(form[1:])
    return [form for form in forms if form]


def names(found: Surface) -> Iterator[Name]:
    """Runs of capitalised words that no sign cuts, as often as they stand there. A small word that joins names (`of`,
    `de`) stays inside; stop words at both ends are left out. A single word needs more than three letters.

    >>> [" ".join(name) for name in names(surface("The Bank of Ostra hired Ida Vale. She left in May 1950."))]
    ['bank of ostra', 'ida vale', 'may 1950']
    """
    run: list[str] = []
    for at, word in enumerate(found.words):
        if run and found.cut[at]:
            yield from _name(run)
            run = []
        if found.raised[at] or (
            run and word in _JOINING and at + 1 < len(found.words) and found.raised[at + 1] and not found.cut[at + 1]
        ):
            run.append(word)
        elif run:
            yield from _name(run)
            run = []
    yield from _name(run)


def _name(run: Sequence[str]) -> Iterator[Name]:
    start, end = 0, len(run)
    while start < end and run[start] in STOP_WORDS:
        start += 1
    while end > start and run[end - 1] in STOP_WORDS:
        end -= 1
    name = tuple(run[start:end])
    if len(name) > 1 or (name and len(name[0]) > _SHORT and not name[0].isdigit()):
        yield name
