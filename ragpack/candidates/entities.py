"""Names, quoted titles, dates and numbers of a text, by rule: no model, no list of names, linear time.

Capital letters are the evidence, so this works for scripts that have them (Latin, Cyrillic, Greek, Armenian, …). A
script without (CJK, Thai, Arabic) gives quoted titles, years and numbers only. German gives every noun.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Sequence
from typing import Literal, NamedTuple

from ragpack.candidates.quantities import MONTHS, NUMBER, dates, quantity
from ragpack.text import STOP_WORDS, Span, words

Kind = Literal["name", "acronym", "title", "date", "year", "number"]


class Entity(NamedTuple):
    """One mention."""

    name: str
    """As it stands in the text, without possessive 's; a name also without the function words before it."""
    key: str
    """Equal for mentions of the same thing: lower case, no dots, initials as one word, ISO dates, plain numbers."""
    span: Span
    """[start, end) of `name` in the text."""
    kind: Kind


# Words that join capitalised words to one name. No `and`: it joins two names far more often than one.
_JOINTS = frozenset(
    ("of the", "of", "the", "de", "de la", "de las", "de los", "de l", "del", "della", "di", "da", "do", "dos", "das",
     "du", "des", "van", "van der", "van den", "van de", "von", "von der", "zu", "y", "la", "le", "el", "bin", "ibn",
     "al", "&")
)  # fmt: skip
# Sentences begin with these often, names do not: a capital says nothing there. Beside the stop words.
_OPENERS = frozenset(
    """according although around approximately another born currently despite due during early every following former
    formerly founded given however initially known last later like located many meanwhile moreover nearly new next
    nevertheless none nothing now often one originally others part per perhaps several since similarly sometimes soon
    still subsequently therefore though thus today together two three unlike upon us usually whether within without
    yes yet""".split()  # noqa: SIM905 # a list to read
)
_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st mt ft gen col lt capt sgt rev hon gov sen rep".split()  # noqa: SIM905 # a list to read
)
_HONORIFICS = frozenset(("mr", "mrs", "ms", "dr", "prof", "sir", "dame"))
_DAYS = frozenset(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
_SMALL = frozenset("a an and as at but by for from in into la le nor of on or the to vs with".split())  # noqa: SIM905 # same
_OPENING = frozenset("\"'“‘«„(")
# Unicode's word characters less those of scripts that put no blank around a name: `NHKは` is NHK and a particle.
_W = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
# A word may begin with any letter but a-z: that it is a capital, and no é, is asked of Python, which knows Unicode.
_TOKEN = re.compile(rf"((?<!{_W})(?<!{_W}['’-])(?![\d_a-z]){_W}+(?:['’&/-]{_W}+)*)|{NUMBER}")
_QUOTED = re.compile(r'"(?=\S)([^"\n]{1,100})"|[“„«]([^“”„«»\n]{1,100})[”“»]|[『《「]([^『』《》「」\n]{1,60})[』》」]')
_INITIALS = re.compile(r"(?<=\b[^\W\d_]) (?=[^\W\d_]\b)")
_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")


def entities(text: str, sentences: Sequence[Span], *, known: Container[str] = ()) -> list[Entity]:
    """The entities of a text in order. Spans do not overlap, but for the year within a date.

    **name**: a run of capitalised words, with initials, hyphens, `of`, `the`, `de`, `von` … between them and a short
    number after them (`Apollo 11`); **acronym**: one word in capitals; **title**: words in title case between quotes;
    **date**, **year** (1000 to 2099, and decades), **number** with its unit. A run stays within one sentence. One word
    that begins a sentence is no name, unless it is a name elsewhere in the text or its key is `known`.

    >>> found = entities("In 1937 J. R. R. Tolkien's friend read it. Tolkien left.", [(0, 42), (43, 56)])
    >>> [(one.name, one.key, one.kind) for one in found]
    [('1937', '1937', 'year'), ('J. R. R. Tolkien', 'jrr tolkien', 'name'), ('Tolkien', 'tolkien', 'name')]
    >>> [(one.key, one.kind) for one in entities('On 3 May 1980 the BBC showed "The Bank of Orrel".', [(0, 49)])]
    [('1980-05-03', 'date'), ('1980', 'year'), ('bbc', 'acronym'), ('bank of orrel', 'title')]
    """
    found = _titles(text)
    ends = [one.span[1] for one in found]
    starts = [one.span[0] for one in found]
    for one in dates(text):
        if bisect_right(ends, one.span[0]) == bisect_left(starts, one.span[1]):  # no title lies over it
            found.append(Entity(text[slice(*one.span)], one.key, one.span, one.kind))
    found += _names(text, sentences, known, sorted(one.span for one in found))
    return sorted(found, key=lambda one: (one.span[0], -one.span[1]))


def key_of(name: str) -> str:
    """The key of a name: its words without dots, possessive, honorific and leading article; initials as one word.

    >>> key_of("J.R.R. Tolkien"), key_of("the U.S."), key_of("The Who"), key_of("Dr. Vale’s")
    ('jrr tolkien', 'us', 'the who', 'vale')
    """
    if name.isascii() and name.isalnum():
        return name.lower()
    name = _unpossessed(name)
    found = words(name.replace(".", "") if "." in name else name)
    if len(found) > 1:
        article = found[0] in ("the", "a", "an") and (len(found) > 2 or found[1] not in STOP_WORDS)
        del found[: article or found[0] in _HONORIFICS]
    key = " ".join(found)
    if len(found) > 1 and min(map(len, found)) == 1:
        key = _INITIALS.sub("", key)
    return key


def without_parenthesis(title: str) -> str:
    """A title without the parenthesis that tells it from others of the same name.

    >>> without_parenthesis("Lilu (mythology)"), without_parenthesis("(I Can't Get No) Satisfaction")
    ('Lilu', "(I Can't Get No) Satisfaction")
    """
    return _PARENTHESIS.sub("", title) or title


def _unpossessed(name: str) -> str:
    return name[:-2] if name.endswith(("'s", "’s", "'S", "’S")) else name


def _titles(text: str) -> list[Entity]:
    """What stands between quotes and is written as titles are; brackets 『』《》「」 need no capitals."""
    found = []
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 1
        inner = match[group].rstrip(" ,.;:\t\u00a0\u3000")
        start = match.start(group) + len(inner) - len(inner.lstrip())
        inner = inner.strip()
        speech = "。" in inner if group == 3 else not _in_title_case(inner.split())
        key = "" if speech else key_of(inner)
        if key:
            found.append(Entity(inner, key, (start, start + len(inner)), "title"))
    return found


def _in_title_case(parts: Sequence[str]) -> bool:
    """At least one word has a capital, and none begins in lower case but small words between others."""
    if not any(_capital(part.lstrip("'‘(")) for part in parts):
        return False
    inner = range(1, len(parts) - 1)
    return all(not part[0].islower() or (at in inner and part in _SMALL) for at, part in enumerate(parts))


def _capital(word: str) -> bool:
    return word[:1].isupper() or word[:1].istitle()


class _Part(NamedTuple):
    """A capitalised word, or a number."""

    start: int
    end: int
    word: str
    """Without possessive; empty for a number."""


class _Run(NamedTuple):
    """Parts that follow one another; a number that continues no name is a run of its own."""

    begin: int
    """Where its sentence begins."""
    parts: list[_Part]


def _runs(text: str, sentences: Sequence[Span], taken: Sequence[Span]) -> Iterator[_Run]:
    """The runs outside the taken spans, none over the end of a sentence."""
    ends = [*(start for start, _ in sentences[1:]), len(text) + 1]  # what lies between sentences has no token
    blocks = [*taken, (len(text) + 1, len(text) + 1)]
    begin, at, block = sentences[0][0] if sentences else 0, 0, 0
    parts: list[_Part] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        word = match[1]
        if word and not word.isascii() and not _capital(word):
            continue
        while blocks[block][1] <= start:
            block += 1
        inside = blocks[block][0] < end
        over = start >= ends[at]
        if parts:
            last = parts[-1]
            if over or inside or not _joined(text[last.end : start], last.word, word):
                yield _Run(begin, parts)
                parts = []
        while start >= ends[at]:
            begin = ends[at]
            at += 1
        if inside:
            continue
        if word:
            bare = _unpossessed(word)
            parts.append(_Part(start, start + len(bare), bare))
        elif parts and end - start <= 3 and match[0].isdecimal():
            parts.append(_Part(start, end, ""))
        else:
            if parts:
                yield _Run(begin, parts)
                parts = []
            yield _Run(begin, [_Part(start, end, "")])
    if parts:
        yield _Run(begin, parts)


def _joined(gap: str, last: str, word: str | None) -> bool:
    """Does a run whose last word is this go on over the gap?"""
    if gap == " ":
        return True
    between = " ".join(gap.split())
    if not between:
        return bool(gap) and gap.count("\n") < 2
    if word is None:
        return False
    if between[0] == ".":
        rest = between[1:].strip()
        return (len(last) == 1 or last.lower() in _ABBREVIATIONS) and (not rest or rest in _JOINTS)
    return between in _JOINTS or (between == "," and word in ("Jr", "Sr"))


def _names(text: str, sentences: Sequence[Span], known: Container[str], taken: Sequence[Span]) -> list[Entity]:
    """Names and numbers. Lone words at the beginning of a sentence wait until all the text is read."""
    found: list[Entity] = []
    waiting: list[Entity] = []
    seen: set[str] = set()  # first and last words of the names within sentences
    lower = frozenset(text.replace(",", " ").replace(".", " ").split())  # asked for words in lower case
    for begin, parts in _runs(text, sentences, taken):
        initial = _is_initial(text, begin, parts[0].start)
        at = _function_words(parts, initial, lower)
        while at < len(parts) and not parts[at].word:
            found.append(_number(text, parts[at]))
            at += 1
        alone = initial and at == 0
        one = _name(text, parts[at:])
        if one is None:
            continue
        if alone and len(parts) == 1 and parts[0].word[1:].islower() and one.key not in known:
            waiting.append(one)
        elif alone and len(parts) == 2 and not parts[1].word and one.key not in known and parts[0].word[1:].islower():
            found.append(_number(text, parts[1]))  # `About 300`: a word that opens a sentence, then a number
        else:
            found.append(one)
            if not alone:
                seen.update((parts[at].word.lower(), parts[-1].word.lower()))
    return found + [one for one in waiting if one.key in seen]


def _number(text: str, part: _Part) -> Entity:
    one = quantity(text, part.start, part.end)
    return Entity(text[part.start : part.end], one.key, one.span, one.kind)


def _name(text: str, parts: Sequence[_Part]) -> Entity | None:
    """The name that a run is; none for months, days of the week, single letters and headings in capitals."""
    if not parts or (len(parts) > 3 and all(part.word.isupper() for part in parts)):
        return None
    first = parts[0].word
    if len(parts) == 1 and (first.lower() in MONTHS or first.lower() in _DAYS):
        return None
    start, end = parts[0].start, parts[-1].end
    initials = len(first) == 1 and all(len(part.word) == 1 for part in parts)
    if initials and len(parts) > 1 and text[end : end + 1] == ".":
        end += 1  # the last dot of `U.S.`
    name = text[start:end]
    key = key_of(name)
    if len(key) < 2:
        return None
    return Entity(name, key, (start, end), "acronym" if initials or (len(parts) == 1 and first.isupper()) else "name")


def _is_initial(text: str, begin: int, start: int) -> bool:
    """Is a capital here a matter of course: at the beginning of a sentence or of a quotation?"""
    if text[start - 1 : start] in _OPENING:
        return True
    return start - begin <= 3 and not any(map(str.isalnum, text[begin:start]))


def _function_words(parts: Sequence[_Part], initial: bool, lower: Container[str]) -> int:
    """How many words at the beginning of a run belong to the sentence and not to the name."""
    if not initial:
        first = parts[0].word.lower()
        if len(parts) == 1:
            return int(_is_function(first))
        return int(first in ("the", "a", "an") and any(part.word.lower() not in STOP_WORDS for part in parts))
    at = 0
    for part in parts:
        small = part.word.lower()
        if not (_is_function(small) or small in _OPENERS or (at == 0 and small in lower)):
            break
        at += 1
    return at


def _is_function(word: str) -> bool:
    """A stop word, or one with an ending as in I'm."""
    return word in STOP_WORDS or word.replace("’", "'").partition("'")[0] in STOP_WORDS
