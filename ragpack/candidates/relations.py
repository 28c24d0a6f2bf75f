"""Relations that questions ask for, and the words by which a text states them.

A question says "the director's birthplace" where the text says "directed by" and "was born in". Each line is a
relation with the English words that stand for it on either side; a word may stand for several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_RELATIONS = {
    "birth": "born birth birthplace birthday native",
    "death": "die died dies death dead killed buried assassinated murdered executed suicide",
    "kin": "father mother parent parents son sons daughter daughters child children grandfather grandmother grandson "
    "granddaughter stepmother stepfather",
    "marriage": "husband wife spouse married marry marries marriage widow wed",
    "siblings": "brother brothers sister sisters sibling siblings",
    "direction": "director directed directs directing filmmaker",
    "composition": "composer composed composes music score soundtrack",
    "performance": "performer performed performs sung sang singer singers recorded released artist",
    "authorship": "author wrote written writer writers writes writing novel book screenplay",
    "foundation": "founded founder founders founding established formed created creator",
    "ownership": "owner owners owned owns acquired bought subsidiary parent company",
    "education": "study studied educated education graduated graduate university college school alumni attended degree",
    "work": "work works worked working employed professor job occupation profession",
    "award": "award awards awarded won win winner prize medal",
    "part": "play plays played portrayed starring starred stars star role actor actress cast",
    "place": "where located location situated city town based headquartered headquarters county lies",
    "nation": "country nationality nation citizenship",
    "publication": "produced producer producers publisher published publishes",
    "office": "president head chief chairman ceo governor king emperor leader led ruled",
    "population": "population inhabitants residents people census",
    "name": "name named called known nickname nicknamed",
    "opening": "opened open opening began started start launched",
}

_OF: dict[str, set[str]] = {}
for _relation, _words in _RELATIONS.items():
    for _word in _words.split():
        _OF.setdefault(_word, set()).add(_relation)

# "1843 – 1916", with what may stand between the two years of a life.
_LIFE = re.compile(r"\d{4}\s*[–-]\s*[^)]{0,30}?\d{3,4}")
_ADJECTIVE = re.compile(r"\b[A-Z][a-z]+(?:an|ish|ese|ch|ic|i)\b")


def relations(words: Iterable[str]) -> set[str]:
    """The relations that words stand for.

    >>> sorted(relations(["the", "director", "died"]))
    ['death', 'direction']
    """
    found: set[str] = set()
    for word in words:
        found |= _OF.get(word, set())
    return found


def stated(text: str, words: Iterable[str]) -> set[str]:
    """The relations that a text states by its words, by the two years of a life, or by the adjective of a nation.

    >>> sorted(stated("Ida Vale (1843 – 1916) was a Norwegian painter.", ["ida", "vale"]))
    ['birth', 'death', 'nation']
    """
    found = relations(words)
    if _LIFE.search(text):
        found |= {"birth", "death"}
    if _ADJECTIVE.search(text):
        found.add("nation")
    return found
