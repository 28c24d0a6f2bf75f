"""Near-duplicate texts by the Jaccard coefficient of their word sets, without a comparison of all pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import ceil


def near_duplicates(texts: Sequence[Sequence[str]], merge: float) -> list[list[int]]:
    """Groups of texts, each text in one, by their places; a group's first text stands for it.

    Texts are taken in order. One joins the earliest group whose first text has a Jaccard coefficient |a ∩ b| / |a ∪ b|
    of at least `merge` with it, else it begins a group. Groups are compared by their first text only, so no chain of
    small changes ties unlike texts. A text without words joins none.

    Prefix filtering (Chaudhuri et al., ICDE 2006; Bayardo et al., WWW 2007): sets of Jaccard t share a word among the
    first n − ⌈t · n⌉ + 1 of each, if all are sorted in one order. With rare words first few pairs are looked at.

    >>> near_duplicates([["a", "b", "c", "d"], ["x"], ["d", "c", "b", "a"], ["a", "b", "c", "e"]], 0.6)
    [[0, 2, 3], [1]]
    """
    sets = [frozenset(text) for text in texts]
    count = Counter(word for words in sets for word in words)
    place = {word: at for at, word in enumerate(sorted(count, key=lambda word: (count[word], word)))}  # rarest first
    groups: list[list[int]] = []
    having: defaultdict[str, list[int]] = defaultdict(list)  # word -> groups whose first text has it in its prefix
    for at, one in enumerate(sets):
        # Subtle: 0.56 · 25 is a bit above 14 in binary; a prefix too long costs time, one too short a pair.
        length = len(one) - ceil(merge * len(one) - 1e-9) + 1 if one else 0
        prefix = sorted(one, key=place.__getitem__)[:length]
        for group in sorted({group for word in prefix for group in having[word]}):
            other = sets[groups[group][0]]
            both = len(one & other)
            if both / (len(one) + len(other) - both) >= merge:
                groups[group].append(at)
                break
        else:
            for word in prefix:
                having[word].append(len(groups))
            groups.append([at])
    return groups
