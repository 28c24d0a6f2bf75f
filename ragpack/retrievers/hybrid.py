"""Several retrievers fused: by ranks (Cormack, Clarke and Büttcher 2009) or by weighted scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from ragpack.errors import UsageError
from ragpack.flow.keys import digest
from ragpack.records import Doc
from ragpack.retrievers.base import Found
from ragpack.retrievers.corpus import Corpus
from ragpack.retrievers.parts import Part, open_parts

Fuse = Literal["rrf", "weighted"]


class Hybrid:
    """Ranks documents by what several retrievers say of them."""

    version = 1

    def __init__(self, parts: Sequence[Part], weights: Sequence[float], fuse: Fuse, c: float, depth: int) -> None:
        self._parts, self._weights, self._fuse, self._c, self._depth = parts, weights, fuse, c, depth
        self.fingerprint = digest([part.fingerprint for part in parts])

    def search(self, question: str, docs: Sequence[Doc] | None, k: int) -> list[Found]:
        """The best `k` documents of those that any part finds; ties by id. `docs` is the question's pool; None
        searches the corpus."""
        terms: dict[str, list[float]] = {}
        found: dict[str, Found] = {}
        scores: dict[str, dict[str, float | None]] = {}
        names = dict.fromkeys((part.name for part in self._parts), None)
        for part, weight in zip(self._parts, self._weights, strict=True):
            hits = part.retriever.search(question, docs, max(k, self._depth))
            for hit, value in zip(hits, self._values(hits), strict=True):
                key = hit.doc.id
                terms.setdefault(key, []).append(weight * value)
                found.setdefault(key, hit)
                if found[key].bridge is None and hit.bridge is not None:
                    found[key] = hit
                own = {name: score for name, score in (hit.scores or {}).items() if name != part.spec.name}
                scores.setdefault(key, dict(names)).update({**own, part.name: hit.score})
        fused = [Found(hit.doc, math.fsum(terms[key]), scores[key], hit.bridge) for key, hit in found.items()]
        fused.sort(key=lambda one: (-one.score, one.doc.id))
        return fused[:k]

    def _values(self, hits: Sequence[Found]) -> list[float]:
        """What each hit of one part counts, before its weight."""
        if self._fuse == "rrf":
            return [1.0 / (self._c + rank) for rank in range(1, len(hits) + 1)]
        return scaled([hit.score for hit in hits])


def scaled(scores: Sequence[float]) -> list[float]:
    """Scores from 0 for the least to 1 for the largest; all 1 where they are equal.

    >>> scaled([3.0, 2.0, 1.0]), scaled([5.0])
    ([1.0, 0.5, 0.0], [1.0])
    """
    if not scores:
        return []
    least, most = min(scores), max(scores)
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


def open_retriever(
    corpus: Corpus | None,
    index: Path | None = None,
    say: Callable[[str], object] = lambda text: None,  # noqa: ARG005 # nobody listens
    shard_size: int = 1_000_000,
    *,
    of: str = "bm25+dense",
    fuse: Fuse = "rrf",
    weights: str = "",
    c: float = 60.0,
    depth: int = 100,
) -> Hybrid:
    """Fuses the hits of several retrievers, by ranks or by scores.

    rrf: s(d) = sum over parts of w / (c + rank of d); weighted: sum of w * (score - least) / (largest - least), least
    and largest of the part's hits for the question. A part that does not find d adds 0. Each part is asked for `depth`
    documents, or k if that is more. `weights`: one for each part, joined by `+`; all 1 where absent.
    """
    if c < 0 or depth < 1:
        raise UsageError(f"hybrid: c={c}, depth={depth}: c is at least 0, depth at least 1")
    # Before the parts: a wrong weight should not wait for an index.
    numbers = [_number(one) for one in weights.split("+")] if weights else []
    from ragpack.retrievers import ASKING

    parts = open_parts("hybrid: of=", of, corpus, index, say, shard_size, but=ASKING)
    if numbers and len(numbers) != len(parts):
        raise UsageError(f"hybrid: weights={weights}: {len(numbers)} for {len(parts)} retrievers",
                         "One for each, joined by `+`.")  # fmt: skip
    return Hybrid(parts, numbers or [1.0] * len(parts), fuse, c, depth)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise UsageError(f"hybrid: weights: expected numbers of at least 0 joined by `+`, got '{text}'")
    return value
