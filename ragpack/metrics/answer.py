"""Exact match and token F1 of a reader's answer, under a named profile.

    EM = 1 if normalise(prediction) = normalise(gold), else 0
    F1 = 2PR / (P + R), P = |prediction ∩ gold| / |prediction|, R = |prediction ∩ gold| / |gold|

Tokens are counted as multisets; both scores are in [0, 1], each the maximum over the golds by itself. The
public evaluation scripts differ in two corners, yes/no answers and answers that normalise to nothing, so a
number is only comparable with its profile's name beside it. The union of an answer and its aliases
(2WikiMultihopQA, MuSiQue) is made where the data is read. Source: P1 §3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ragpack.metrics.normalise import normalise

AnswerKind = Literal["span", "yes_no", "empty"]

KEPT = 256  # predictions of one question
_CLOSED = frozenset(("yes", "no", "noanswer"))
_YES_NO = frozenset(("yes", "no"))


@dataclass(frozen=True, slots=True)
class Profile:
    """Where an evaluation script departs from the SQuAD v1.1 one."""

    closed: bool = False
    """F1 against a gold is 0 where either side is yes, no or noanswer and the other is not the same."""
    both_empty: float = 0.0
    """F1 where prediction and gold both normalise to nothing; it is 0 where only one does."""
    contains: bool = False
    """Has `acc`: a normalised gold is a substring of the normalised prediction."""


PROFILES: dict[str, Profile] = {
    "squad": Profile(),
    "hotpot": Profile(closed=True),
    "2wiki": Profile(closed=True),
    "musique": Profile(both_empty=1.0),
    "flashrag": Profile(closed=True, contains=True),
}


class AnswerScore(NamedTuple):
    """The scores of one prediction; `None` without golds, or where the profile has no such score."""

    em: float | None
    f1: float | None
    acc: float | None


class _Gold(NamedTuple):
    text: str
    size: int
    distinct: frozenset[str]
    counts: Counter[str]


class AnswerScorer:
    """One question's golds, normalised once for many predictions.

    >>> AnswerScorer(["Barack Obama"]).score("obama!")
    AnswerScore(em=0.0, f1=0.6666666666666666, acc=None)
    """

    def __init__(self, golds: Sequence[str], profile: str = "squad") -> None:
        if profile not in PROFILES:
            raise ValueError(f"no answer profile '{profile}'; there are {', '.join(PROFILES)}")
        self._profile = PROFILES[profile]
        self._golds: list[_Gold] = []
        for text in dict.fromkeys(map(normalise, golds)):
            words = text.split()
            self._golds.append(_Gold(text, len(words), frozenset(words), Counter(words)))
        self._texts = frozenset(gold.text for gold in self._golds)
        self._scored: dict[str, AnswerScore] = {}

    @property
    def has_acc(self) -> bool:
        """Does the profile have `acc`?"""
        return self._profile.contains

    def score(self, prediction: str) -> AnswerScore:
        """EM, F1 and, in the profiles that have it, acc."""
        if not self._golds:
            return AnswerScore(None, None, None)
        # A reader often says the same under several policies.
        if prediction not in self._scored:
            if len(self._scored) >= KEPT:
                self._scored.clear()
            self._scored[prediction] = self._score(prediction)
        return self._scored[prediction]

    def _score(self, prediction: str) -> AnswerScore:
        text = normalise(prediction)
        acc = float(any(gold in text for gold in self._texts)) if self._profile.contains else None
        exact = text in self._texts
        if exact and text:
            return AnswerScore(1.0, 1.0, acc)
        words = text.split()
        return AnswerScore(float(exact), max(self._f1(text, words, gold) for gold in self._golds), acc)

    def _f1(self, text: str, words: list[str], gold: _Gold) -> float:
        if self._profile.closed and text != gold.text and (text in _CLOSED or gold.text in _CLOSED):
            return 0.0
        if not words or not gold.size:
            return self._profile.both_empty if text == gold.text else 0.0
        same = len(gold.distinct.intersection(words))
        if same and len(gold.distinct) < gold.size:  # only a gold that repeats a word needs counting
            same = (Counter(words) & gold.counts).total()
        if not same:
            return 0.0
        # The scripts' order of operations: 2·same / (|prediction| + |gold|) can differ in the last bit.
        precision, recall = same / len(words), same / gold.size
        return 2 * precision * recall / (precision + recall)


def exact_match(prediction: str, golds: Sequence[str], profile: str = "squad") -> float | None:
    """1.0 if the normalised prediction is a normalised gold, else 0.0; `None` without golds. Source: P1 §3.

    >>> exact_match("the Eiffel Tower.", ["Eiffel tower"])
    1.0
    """
    return AnswerScorer(golds, profile).score(prediction).em


def f1(prediction: str, golds: Sequence[str], profile: str = "squad") -> float | None:
    """Token-multiset F1, the maximum over the golds; `None` without golds. Source: P1 §3.

    >>> f1("yes it is", ["yes"]), f1("yes it is", ["yes"], "hotpot")
    (0.5, 0.0)
    """
    return AnswerScorer(golds, profile).score(prediction).f1


def acc(prediction: str, golds: Sequence[str], profile: str = "flashrag") -> float | None:
    """1.0 if a normalised gold is a substring of the normalised prediction, else 0.0, as in FlashRAG.

    Token boundaries do not count and a gold that normalises to nothing is in everything. `None` without golds
    and in a profile without it.

    >>> acc("at the party", ["art"])
    1.0
    """
    return AnswerScorer(golds, profile).score(prediction).acc


def answer_kind(golds: Sequence[str]) -> AnswerKind | None:
    """What kind of answer the golds are, to cut a table by; `None` without golds. Source: P1 §3.

    `yes_no`: every gold that normalises to something is yes or no, so finding it in a context proves nothing;
    `empty`: no gold normalises to anything; `span`: the rest ("noanswer" too, a label of one script only).

    >>> answer_kind(["Yes"]), answer_kind(["The"]), answer_kind(["yes", "Paris"])
    ('yes_no', 'empty', 'span')
    """
    if not golds:
        return None
    texts = {normalise(gold) for gold in golds} - {""}
    if not texts:
        return "empty"
    return "yes_no" if texts <= _YES_NO else "span"
