"""Links between documents, built once, in time linear in the texts: who mentions whose title, who shares which names.

A text is walked once, along a dictionary of titles and of what titles begin with; the longest title at each place
counts. A title of one word is mentioned only with a capital, longer than three letters, and if it is no stop word and
no number; a title of stop words alone ("The Who") only with a capital on every word.

`Links` are held in memory, for a question's pool; `ragpack.retrievers.link_index` keeps those of a corpus in files.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple, Protocol

from ragpack.records import Doc
from ragpack.retrievers.names import Name, Surface, forms_of, names, surface
from ragpack.text import STOP_WORDS

COMMON = 50
"""A name that more documents hold is no link, nor is a title that more documents have, and from a document that more
mention no link leads back: following them would cost more than they tell, the more so the larger the corpus."""
STEM = 5
"""A word's stem is its first letters, this many: "directed" and "director" are one term."""
PREFIX = -1
"""In a dictionary of titles, the number of what is no title but begins one."""


class Mention(NamedTuple):
    """A title in a text."""

    doc: int
    """Whose title it is."""
    weight: float
    """In (0, 1]: the less, the more documents have the title or mention it, and the later it stands among the
    titles of the text."""


class LinkIndex(Protocol):
    """Links of documents, which are named by their places in the sequence."""

    @property
    def count(self) -> int: ...
    @property
    def names(self) -> Sequence[Sequence[Name]]:
        """Names of each document, title included."""
        ...

    @property
    def out(self) -> Sequence[Sequence[Mention]]:
        """Whose titles a document mentions."""
        ...

    @property
    def back(self) -> Sequence[Sequence[Mention]]:
        """Who mentions its title."""
        ...

    def titles_in(self, text: Surface) -> dict[int, float]:
        """Documents whose title a text mentions, each with 1 / √(how many documents have that title)."""
        ...

    def holding(self, name: Name) -> Sequence[int]:
        """Documents that hold a name, in order; none if more than COMMON do."""
        ...

    def rarity(self, name: Name) -> float:
        """ln((N + 1) / n) / ln(N + 1) of a name that n of N documents hold: 1 for none shared, 0 for all."""
        ...

    def having(self, stem: str) -> Container[int]:
        """Documents that have a word of this stem."""
        ...

    def idf(self, stem: str) -> float:
        """BM25's idf of a stem."""
        ...


class Titles:
    """The forms of all titles, and all beginnings of them, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        """Words with blanks between them → number of the form, or PREFIX."""
        self.owners: list[list[int]] = []
        """Documents that have a form of title, in order."""

    def add(self, title: str, owner: int) -> None:
        for form in forms_of(title):
            key = " ".join(form)
            number = self.numbers.get(key, PREFIX)
            if number == PREFIX:
                self.numbers[key] = number = len(self.owners)
                self.owners.append([])
                for end in range(1, len(form)):
                    self.numbers.setdefault(" ".join(form[:end]), PREFIX)
            self.owners[number].append(owner)


def forms_in(text: Surface, number_of: Callable[[str], int | None]) -> list[int]:
    """Numbers of titles' forms in a text, each once, in order; the longest at each place, and none inside another.

    `number_of` gives the number of a form, PREFIX for a beginning of one, None for anything else."""
    found: dict[int, None] = {}
    words, at = text.words, 0
    while at < len(words):
        key, end = words[at], at + 1
        best, after = PREFIX, end
        while (number := number_of(key)) is not None:
            if number != PREFIX and _is_mention(words[at:end], text.raised[at:end]):
                best, after = number, end
            if end == len(words):
                break
            key = f"{key} {words[end]}"
            end += 1
        if best != PREFIX:
            found[best] = None
        at = after
    return list(found)


class Owned(NamedTuple):
    """A title in a text, before it is weighed."""

    place: int
    """Among the titles of the text."""
    owners: int
    """Documents that have that title."""


def mentioned(at: int, forms: Sequence[int], owners_of: Callable[[int], Sequence[int]]) -> dict[int, Owned]:
    """Documents that one mentions, from the forms in its text."""
    found: dict[int, Owned] = {}
    for place, form in enumerate(forms):
        owners = owners_of(form)
        for owner in owners if len(owners) <= COMMON else ():
            if owner != at and owner not in found:
                found[owner] = Owned(place, len(owners))
    return found


def titles_of(forms: Sequence[int], owners_of: Callable[[int], Sequence[int]]) -> dict[int, float]:
    """Documents that have one of these forms of title, each with 1 / √(how many have it)."""
    found: dict[int, float] = {}
    for form in forms:
        owners = owners_of(form)
        for owner in owners:
            found[owner] = max(found.get(owner, 0.0), len(owners) ** -0.5)
    return found


class Links:
    """Links held in memory: for a question's pool, or a corpus that is held there too."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.count = len(docs)
        self._titles = Titles()
        for at, doc in enumerate(docs):
            self._titles.add(doc.title or "", at)
        self.names: list[tuple[Name, ...]] = []
        self._holders: dict[Name, list[int]] = {}
        self._stems: dict[str, list[int]] = {}
        found: list[dict[int, Owned]] = []
        for at, doc in enumerate(docs):
            read = read_doc(doc)
            forms = forms_in(read.text, self._titles.numbers.get)
            found.append(mentioned(at, forms, self._titles.owners.__getitem__))
            self.names.append(tuple(read.names))
            for name in read.names:
                self._holders.setdefault(name, []).append(at)
            for one in read.stems:
                self._stems.setdefault(one, []).append(at)
        self.out, self.back = _weighed(found)

    def titles_in(self, text: Surface) -> dict[int, float]:
        return titles_of(forms_in(text, self._titles.numbers.get), self._titles.owners.__getitem__)

    def holding(self, name: Name) -> Sequence[int]:
        found = self._holders.get(name, ())
        return found if len(found) <= COMMON else ()

    def rarity(self, name: Name) -> float:
        return rarity(len(self._holders[name]), self.count)

    def having(self, stem: str) -> Container[int]:
        return frozenset(self._stems.get(stem, ()))

    def idf(self, stem: str) -> float:
        return idf(len(self._stems.get(stem, ())), self.count)


class Read(NamedTuple):
    """What a document says."""

    text: Surface
    names: list[Name]
    """Of text, then title; each once."""
    stems: set[str]


def read_doc(doc: Doc) -> Read:
    text, title = surface(doc.text), surface(doc.title or "")
    found = dict.fromkeys([*names(text), *names(title)])
    return Read(text, list(found), {word[:STEM] for word in text.words + title.words})


def rarity(holders: int, count: int) -> float:
    return math.log((count + 1) / holders) / math.log(count + 1)


def idf(holders: int, count: int) -> float:
    return math.log(1.0 + (count - holders + 0.5) / (holders + 0.5))


def weight(mentions: int, owned: Owned) -> float:
    """Of a mention; `mentions` documents mention the same one."""
    return float(mentions**-0.1 * owned.owners**-0.5 / (1 + 0.05 * owned.place))


def _weighed(found: Sequence[Mapping[int, Owned]]) -> tuple[list[list[Mention]], list[list[Mention]]]:
    counts = Counter(target for row in found for target in row)
    out: list[list[Mention]] = []
    back: list[list[Mention]] = [[] for _ in found]
    for at, row in enumerate(found):
        out.append([])
        for target, owned in row.items():
            weighed = weight(counts[target], owned)
            out[at].append(Mention(target, weighed))
            if counts[target] <= COMMON:
                back[target].append(Mention(at, weighed))
    return out, back


def _is_mention(form: Sequence[str], raised: Sequence[bool]) -> bool:
    if len(form) == 1:
        return raised[0] and len(form[0]) > 3 and form[0] not in STOP_WORDS and not form[0].isdigit()
    return all(raised) or any(word not in STOP_WORDS for word in form)
