"""What the ranked list held before packing, at a cut-off k. Source: P1 §3.

The three measures that are all called "recall" elsewhere have their own names: the share of golds found
(`recall_at`), any gold (`hit_at`) and every gold (`all_gold_at`). All in [0, 1]; `None` without golds; an
empty ranking scores 0.0, since a question that found nothing must not leave the mean. A repeated id counts
once, at its best rank, and takes up no further rank.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple


class AtK(NamedTuple):
    """The measures of one ranking at one cut-off; `None` without golds."""

    recall: float | None
    hit: float | None
    all_gold: float | None
    ndcg: float | None


_NONE = AtK(None, None, None, None)


class Ranking:
    """The golds of a ranked list, looked up once for many cut-offs.

    >>> Ranking(["x", "a", "x", "b"], ["a", "b"]).at(2)
    AtK(recall=0.5, hit=1.0, all_gold=0.0, ndcg=0.38685280723454163)
    """

    def __init__(self, ranked_ids: Iterable[str], gold: Iterable[str]) -> None:
        wanted = frozenset(gold)
        self._golds = len(wanted)
        self._ranks = [rank for rank, doc in enumerate(dict.fromkeys(ranked_ids), 1) if doc in wanted]

    def at(self, k: int) -> AtK:
        """All measures over the first k distinct documents."""
        if k < 1:
            raise ValueError(f"a cut-off k is 1 or more, got {k}")
        if not self._golds:
            return _NONE
        found = bisect_right(self._ranks, k)
        gained = sum([_discount(rank) for rank in self._ranks[:found]]) if found else 0.0
        return AtK(
            found / self._golds, float(found > 0), float(found == self._golds), gained / _ideal(min(self._golds, k))
        )


def recall_at(ranked_ids: Iterable[str], gold: Iterable[str], k: int) -> float | None:
    """|gold ∩ top k| / |gold|.

    >>> recall_at(["x", "a", "y"], ["a", "b"], 2)
    0.5
    """
    return Ranking(ranked_ids, gold).at(k).recall


def hit_at(ranked_ids: Iterable[str], gold: Iterable[str], k: int) -> float | None:
    """1.0 if any gold is in the top k, else 0.0 (what FlashRAG and DPR call recall).

    >>> hit_at(["x", "a", "y"], ["a", "b"], 2)
    1.0
    """
    return Ranking(ranked_ids, gold).at(k).hit


def all_gold_at(ranked_ids: Iterable[str], gold: Iterable[str], k: int) -> float | None:
    """1.0 if every gold is in the top k, else 0.0; a question at 1.0 is retrieval-perfect.

    >>> all_gold_at(["x", "a", "b"], ["a", "b"], 3)
    1.0
    """
    return Ranking(ranked_ids, gold).at(k).all_gold


def ndcg_at(ranked_ids: Iterable[str], gold: Iterable[str], k: int) -> float | None:
    """DCG / ideal DCG, DCG = Σ_{i ≤ k} (2^rel_i − 1) / log2(i + 1), rel 1 for a gold and 0 for the rest.

    The ideal takes all golds, cut at k, whether or not they were retrieved: an ideal over the retrieved
    alone makes a short list look perfect.

    >>> round(ndcg_at(["x", "a"], ["a", "b"], 5), 4)  # (1/log2(3)) / (1 + 1/log2(3))
    0.3869
    """
    return Ranking(ranked_ids, gold).at(k).ndcg


def answer_in_hits_at(has_answer: Sequence[bool | None], k: int) -> float | None:
    """1.0 if one of the first k hits holds an answer (the `answer_in_context` check of each), else 0.0.

    `None` where none does and one is unknown. No hits give 0.0: the caller, who knows the golds, leaves the
    measure out where there are none.

    >>> answer_in_hits_at([False, True, False], 1), answer_in_hits_at([None, None], 2)
    (0.0, None)
    """
    if k < 1:
        raise ValueError(f"a cut-off k is 1 or more, got {k}")
    top = has_answer[:k]
    if any(top):
        return 1.0
    return None if None in top else 0.0


@cache
def _ideal(golds: int) -> float:
    return sum(map(_discount, range(1, golds + 1)))


@cache
def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)  # times the gain, 2^1 − 1 = 1
