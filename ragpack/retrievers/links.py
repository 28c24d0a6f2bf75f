"""Links between documents, built once, in time linear in the texts: who mentions whose title, who shares which names.

Titles are a trie of words; a text is walked once, and the longest title at each place counts. A title of one word
is mentioned only with a capital, longer than three letters, and if it is no stop word and no number; a title of stop
words alone ("The Who") only with a capital on every word.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragpack.records import Doc
from ragpack.retrievers.names import Name, Surface, forms_of, names, surface
from ragpack.text import STOP_WORDS

COMMON = 50
"""A name that more documents hold is no link, nor is a title that more documents have, and from a document that more
mention no link leads back: following them would cost more than they tell, the more so the larger the corpus."""
STEM = 5
"""A word's stem is its first letters, this many: "directed" and "director" are one term."""
_END = ""
"""The key of a trie's node under which the form that ends there stands; no word is empty."""


class Mention(NamedTuple):
    """A title in a text."""

    doc: int
    """Whose title it is."""
    weight: float
    """In (0, 1]: the less, the more documents have the title or mention it, and the later it stands among the
    titles of the text."""


class Links:
    """Links of documents, which are named by their places in the sequence."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.count = len(docs)
        self._trie: dict[str, Any] = {}
        self._owners: dict[Name, list[int]] = {}
        for at, doc in enumerate(docs):
            for form in forms_of(doc.title or ""):
                self._owners.setdefault(form, []).append(at)
                self._plant(form)
        self.names: list[tuple[Name, ...]] = []
        """Names of each document, title included."""
        self.holders: dict[Name, list[int]] = {}
        """Documents that hold a name, in order."""
        self.stems: dict[str, list[int]] = {}
        """Documents that hold a stem, in order."""
        mentioned: list[dict[int, tuple[int, int]]] = []
        for at, doc in enumerate(docs):
            text, title = surface(doc.text), surface(doc.title or "")
            mentioned.append(self._mentioned(at, text))
            found = dict.fromkeys([*names(text), *names(title)])
            self.names.append(tuple(found))
            for name in found:
                self.holders.setdefault(name, []).append(at)
            for one in {word[:STEM] for word in text.words + title.words}:
                self.stems.setdefault(one, []).append(at)
        self.out, self.back = self._weighed(mentioned)

    def titles_in(self, text: Surface) -> dict[int, float]:
        """Documents whose title a text mentions, each with 1 / √(how many documents have that title)."""
        found: dict[int, float] = {}
        for form in self._forms_in(text):
            owners = self._owners[form]
            for owner in owners:
                found[owner] = max(found.get(owner, 0.0), len(owners) ** -0.5)
        return found

    def rarity(self, name: Name) -> float:
        """ln((N + 1) / n) / ln(N + 1) of a name that n of N documents hold: 1 for none shared, 0 for all."""
        return math.log((self.count + 1) / len(self.holders[name])) / math.log(self.count + 1)

    def idf(self, stem: str) -> float:
        """BM25's idf of a stem."""
        n = len(self.stems.get(stem, ()))
        return math.log(1.0 + (self.count - n + 0.5) / (n + 0.5))

    def _plant(self, form: Name) -> None:
        node = self._trie
        for word in form:
            node = node.setdefault(word, {})
        node[_END] = form

    def _forms_in(self, text: Surface) -> dict[Name, None]:
        """Titles' forms in a text, each once, in order; the longest at each place, and none inside another."""
        found: dict[Name, None] = {}
        at = 0
        while at < len(text.words):
            node: dict[str, Any] | None = self._trie.get(text.words[at])
            end, best = at, None
            while node is not None:
                end += 1
                form = node.get(_END)
                if form is not None and _is_mention(form, text.raised[at:end]):
                    best = form
                node = node.get(text.words[end]) if end < len(text.words) else None
            if best is not None:
                found[best] = None
                at += len(best)
            else:
                at += 1
        return found

    def _mentioned(self, at: int, text: Surface) -> dict[int, tuple[int, int]]:
        """Document → (place among the titles of the text, how many documents have that title)."""
        found: dict[int, tuple[int, int]] = {}
        for place, form in enumerate(self._forms_in(text)):
            owners = self._owners[form]
            for owner in owners if len(owners) <= COMMON else ():
                if owner != at and owner not in found:
                    found[owner] = (place, len(owners))
        return found

    def _weighed(
        self, mentioned: Sequence[Mapping[int, tuple[int, int]]]
    ) -> tuple[list[list[Mention]], list[list[Mention]]]:
        counts = Counter(target for row in mentioned for target in row)
        out: list[list[Mention]] = []
        back: list[list[Mention]] = [[] for _ in mentioned]
        for at, row in enumerate(mentioned):
            out.append([])
            for target, (place, owners) in row.items():
                weight = counts[target] ** -0.1 * owners**-0.5 / (1 + 0.05 * place)
                out[at].append(Mention(target, weight))
                if counts[target] <= COMMON:
                    back[target].append(Mention(at, weight))
        return out, back


def _is_mention(form: Name, raised: Sequence[bool]) -> bool:
    if len(form) == 1:
        return raised[0] and len(form[0]) > 3 and form[0] not in STOP_WORDS and not form[0].isdigit()
    return all(raised) or any(word not in STOP_WORDS for word in form)
