"""Hits in another order: what `retrieve --rerank` does with what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ragpack.errors import DataError, UsageError
from ragpack.models.folder import without_paths
from ragpack.records import Hits, Raw
from ragpack.registry import Parameter, Spec, arguments_of, load, parameters_of, parse_spec
from ragpack.rerankers import RERANKERS
from ragpack.rerankers.base import Passage, Reranker
from ragpack.stage import Outcome, Payload, Task

DEPTH = 50


@dataclass(frozen=True)
class Rerank:
    """A reranker, and how many hits it is given."""

    name: str
    """Canonical, without paths."""
    reranker: Reranker
    depth: int
    k: int

    @property
    def fingerprint(self) -> str:
        """Of the model."""
        return self.reranker.fingerprint

    @property
    def about(self) -> Raw:
        """What the record says of it."""
        return {"rerank": self.name, "rerank_depth": self.depth}

    def reranked(self, question: str, hits: list[Raw]) -> list[Raw]:
        """The best `k` of the first `depth` hits, by the reranker's score; ties by their rank before.

        `scores` keeps the old rank as `rank` and the old score as `retrieved`. Raises `DataError` for a hit without
        its text.
        """
        first = sorted(hits, key=lambda hit: hit["rank"])[: self.depth]
        for at, hit in enumerate(first):
            if hit.get("text") is None:
                raise DataError(f"hits[{at}]: the text is missing: it can't be reranked",
                                "Rerank what `retrieve` wrote; `pack` leaves out the texts.")  # fmt: skip
        values = self.reranker.scores(question, [Passage(hit.get("title"), hit["text"]) for hit in first])
        scored = sorted(zip(values, first, strict=True), key=lambda pair: (-pair[0], pair[1]["rank"]))
        return [self._moved(rank, value, hit) for rank, (value, hit) in enumerate(scored[: self.k], 1)]

    def _moved(self, rank: int, value: float, hit: Raw) -> Raw:
        scores = {**(hit.get("scores") or {}), "retrieved": hit.get("score"), "rank": hit["rank"],
                  self.reranker.field: value}  # fmt: skip
        return {**hit, "rank": rank, "score": value, "scores": scores}


def options_of(name: str) -> dict[str, Parameter]:
    """The parameters of a reranker."""
    return parameters_of(load(RERANKERS, name))


def check_rerank(text: str, depth: int | None, k: int) -> Spec:
    """The spec of a reranker. Raises `UsageError` for an unknown one, and for a depth that gives fewer than `k`."""
    spec = parse_spec(text, "reranker", RERANKERS, options_of)
    if depth is not None and depth < k:
        raise UsageError(f"--rerank-depth {depth} is less than -k {k}", "Hits that are not reranked are left out.")
    return spec


def open_rerank(text: str, depth: int | None, k: int) -> Rerank:
    """Open the reranker of a spec."""
    spec = check_rerank(text, depth, k)
    opener = load(RERANKERS, spec.name)
    reranker: Reranker = opener(**arguments_of(opener, dict(spec.given)))
    return Rerank(str(without_paths(spec)), reranker, max(k, DEPTH) if depth is None else depth, k)


def either(
    questions: Callable[[Iterator[Task]], Iterator[Outcome]], again: Callable[[Task], Payload]
) -> Callable[[Iterator[Task]], Iterator[Outcome]]:
    """A `run` that searches for questions, and hands records that have hits already to `again`."""

    def run(tasks: Iterator[Task]) -> Iterator[Outcome]:
        for task in tasks:
            if not isinstance(task.record, Hits):
                yield from questions(iter((task,)))
            elif not task.cells:
                yield []
            else:
                try:
                    yield [again(task)]
                except DataError as error:
                    yield error

    return run
