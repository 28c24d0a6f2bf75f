"""What of the answer and of the gold documents is in the packed context. Source: P1 §3.

Recall is measured on the hits, but the reader sees the context; these are the same questions asked of the
context. Matching is by whole normalised tokens: "art" is not in "party". Everything is undefined (`None`)
without golds, and the answer metrics also where every gold normalises to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ragpack.metrics.normalise import located_tokens, normalise, tokens


class Occurrence(NamedTuple):
    """Whether, and how nearly, an answer is in a context."""

    occurs: bool | None
    graded: float | None


class AnswerMatcher:
    """One question's golds, normalised once for many contexts.

    >>> matcher = AnswerMatcher(["The U.S. Congress"])
    >>> matcher.measure("by the US Congress"), matcher.measure("a congress in Berlin")
    (Occurrence(occurs=True, graded=1.0), Occurrence(occurs=False, graded=0.5))
    """

    def __init__(self, golds: Iterable[str]) -> None:
        texts = [text for text in dict.fromkeys(map(normalise, golds)) if text]
        # No token holds a space, so with one at each end a substring is a run of whole tokens.
        self._needles = [f" {text} " for text in texts]
        self._golds = [text.split() for text in texts]
        self._counts = [Counter(words) for words in self._golds]
        self._vocabulary = frozenset(word for words in self._golds for word in words)

    def occurs(self, text: str) -> bool | None:
        """`answer_in_context` of this text."""
        return self._occurs(tokens(text)) if self._golds else None

    def graded(self, text: str) -> float | None:
        """`graded_answer_in_context` of this text."""
        return self.measure(text).graded

    def measure(self, text: str) -> Occurrence:
        """Both at once: the text is normalised once."""
        if not self._golds:
            return Occurrence(None, None)
        words = tokens(text)
        if self._occurs(words):
            return Occurrence(True, 1.0)
        return Occurrence(False, self._graded(words))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """`answer_spans` of this text."""
        if not self.occurs(text):  # most texts have none, and this is several times cheaper than locating
            return []
        longest_first = sorted(self._golds, key=len, reverse=True)
        located = located_tokens(text)
        words = [token.text for token in located]
        found: list[tuple[int, int]] = []
        free = 0  # the first token after the last occurrence
        for at, word in enumerate(words):
            if at < free or word not in self._vocabulary:
                continue
            size = next((len(gold) for gold in longest_first if words[at : at + len(gold)] == gold), 0)
            if size:
                free = at + size
                found.append((located[at].start, located[free - 1].end))
        return found

    def _occurs(self, words: list[str]) -> bool:
        haystack = f" {' '.join(words)} "
        return any(needle in haystack for needle in self._needles)

    def _graded(self, words: list[str]) -> float:
        # Only the tokens of a gold can change an overlap; the others set the distance between them.
        hits = [(at, word) for at, word in enumerate(words) if word in self._vocabulary]
        if not hits:
            return 0.0
        return max(_best_overlap(hits, counts) / counts.total() for counts in self._counts)


def _best_overlap(hits: list[tuple[int, str]], wanted: Counter[str]) -> int:
    """The largest multiset overlap of a gold with a window of twice its length; `hits` by position.

    Windows that end at a hit are enough: moving any window's end back to its last hit loses nothing, and a
    window that so begins before the text is part of the first full one. Each hit enters and leaves once.
    """
    size = wanted.total()
    left, overlap, best = 0, 0, 0
    lacking = dict(wanted)
    inside = [hit for hit in hits if hit[1] in lacking]
    for at, word in inside:
        while inside[left][0] <= at - 2 * size:
            gone = inside[left][1]
            overlap -= lacking[gone] >= 0  # below 0 it was a surplus copy and never counted
            lacking[gone] += 1
            left += 1
        overlap += lacking[word] > 0
        lacking[word] -= 1
        best = max(best, overlap)
    return best


def answer_in_context(context: str, golds: Sequence[str]) -> bool | None:
    """Do the normalised tokens of a gold occur, contiguous, among those of the context? Source: P1 §3.

    >>> answer_in_context("at the party", ["art"]), answer_in_context("Art, at last", ["art"])
    (False, True)
    """
    return AnswerMatcher(golds).occurs(context)


def graded_answer_in_context(context: str, golds: Sequence[str]) -> float | None:
    """max over golds (m tokens) and windows W of 2m tokens of |gold ∩ W| / m, multisets. Source: P1 §3.

    In [0, 1]. A context of fewer than 2m tokens is one window. 1.0 wherever `answer_in_context` holds.
    Linear in the context.

    >>> graded_answer_in_context("born in Honolulu", ["Honolulu Hawaii"])
    0.5
    """
    return AnswerMatcher(golds).graded(context)


def answer_spans(context: str, golds: Sequence[str]) -> list[tuple[int, int]]:
    """Characters [start, end) of the context where a gold occurs, in order; not empty just when one does.

    Where occurrences overlap, the leftmost and then the longest is kept.

    >>> answer_spans("In Paris, the city", ["Paris City", "paris"])
    [(3, 18)]
    """
    return AnswerMatcher(golds).spans(context)


def gold_doc_coverage(snippet_doc_ids: Iterable[str], gold: Iterable[str]) -> float | None:
    """|gold documents with a snippet in the context| / |gold documents|; 0.0 in an empty one. Source: P1 §3.

    >>> gold_doc_coverage(["a", "x", "a"], ["a", "b"])
    0.5
    """
    wanted = frozenset(gold)
    return len(wanted.intersection(snippet_doc_ids)) / len(wanted) if wanted else None


def all_gold_in_context(snippet_doc_ids: Iterable[str], gold: Iterable[str]) -> float | None:
    """1.0 if every gold document has a snippet in the context, else 0.0. Source: P1 §3.

    >>> all_gold_in_context(["b", "a"], ["a", "b"])
    1.0
    """
    wanted = frozenset(gold)
    return float(wanted <= frozenset(snippet_doc_ids)) if wanted else None


def gold_token_density(
    snippets: Iterable[tuple[str, int]],
    total_tokens: int,
    gold: Iterable[str],
) -> float | None:
    """Σ tokens of snippets (document id, tokens) of gold documents / tokens of the context. Source: P1 §3.

    Budget tokens, headers and separators included. `None` for an empty context too: it has no tokens to
    share.

    >>> gold_token_density([("a", 30), ("x", 50), ("a", 20)], 100, ["a"])
    0.5
    """
    wanted = frozenset(gold)
    if not wanted or total_tokens <= 0:
        return None
    # Counted apart, snippets can come to a token or two more than joined; a share stays one.
    return min(1.0, sum(size for doc, size in snippets if doc in wanted) / total_tokens)
