"""TREC's formats: a run, `question-id Q0 document-id rank score tag`; qrels, `question-id 0 document-id relevance`.

Blanks in an id would be read as the end of a column: they are written as %20 (and %, as %25). trec_eval orders by
score, not by rank, reads scores in single precision, and breaks ties by id: so that the rank survives, a score that is
not below the one before it becomes the next smaller number of single precision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

import numpy as np

from ragpack.errors import DataError, UsageError
from ragpack.exports.base import RANKED, Once, Ranked
from ragpack.records import Hit, Question, Raw, Record

_SIGNS = re.compile(r"[\s%]")


class Run:
    """A TREC run of the hits; of packs and answers too, each question once."""

    ACCEPTS = RANKED

    def __init__(self, *, tag: str = "ragpack") -> None:
        if not tag or _SIGNS.search(tag):
            raise UsageError(f"--tag: a tag is one word, got '{tag}'")
        self._tag = tag
        self._once = Once("another ranking")

    def take(self, record: Ranked, _raw: Raw, /) -> bytes | None:
        """The lines of a question."""
        hits = sorted(record.hits, key=lambda hit: hit.rank)
        names = [hit.id for hit in hits]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"the document '{twice}' is hit twice", "A run names each document of a question once.")
        if not self._once.is_new(record.id, names):
            return None
        question = escaped(record.id)
        return "".join(
            f"{question} Q0 {escaped(hit.id)} {rank} {score} {self._tag}\n"
            for rank, (hit, score) in enumerate(zip(hits, falling(hits), strict=True), 1)
        ).encode()

    def end(self) -> bytes:
        """Nothing."""
        return b""


class Qrels:
    """TREC qrels: the gold documents, relevance 1."""

    ACCEPTS: tuple[type[Record], ...] = (Question, *RANKED)

    def __init__(self) -> None:
        self._once = Once("other gold documents")

    def take(self, record: Question | Ranked, _raw: Raw, /) -> bytes | None:
        """The lines of a question; none where no gold document is known."""
        gold = list(dict.fromkeys(record.gold))
        if not self._once.is_new(record.id, gold):
            return None
        return "".join(f"{escaped(record.id)} 0 {escaped(name)} 1\n" for name in gold).encode() or None

    def end(self) -> bytes:
        """Nothing."""
        return b""


def escaped(identity: str) -> str:
    """An id without blanks.

    >>> escaped("Red Lisk 100%")
    'Red%20Lisk%20100%25'
    """
    return _SIGNS.sub(lambda match: quote(match[0]), identity)


def falling(hits: Sequence[Hit]) -> list[str]:
    """The scores of hits in the order of their rank, as decimals that fall strictly, in single precision too. Where one
    has no score, they count down to 1."""
    scores = [hit.score for hit in hits]
    if any(score is None for score in scores):
        return [str(len(hits) - place) for place in range(len(hits))]
    found: list[str] = []
    before = np.float32(np.inf)
    lowest = np.finfo(np.float32).min
    for score in scores:
        with np.errstate(over="ignore"):
            now = np.float32(score)
        now = min(max(now, lowest), np.float32(-lowest))
        if not now < before:
            now = np.nextafter(before, np.float32(-np.inf))
        if not np.isfinite(now):
            raise DataError(f"a score of {score}: there is no smaller number left for the next rank")
        found.append(f"{now:.9g}")  # nine digits give the same number of single precision back
        before = now
    return found
