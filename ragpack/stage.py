"""What a stage is: the one contract between the pure stages and the flow that runs them.

A stage author writes `open_stage(params) -> Stage` with a `run` that maps tasks to outcomes, one outcome a task
and in order. Streaming, order, resume, signals, compression, errors and workers come from the flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragpack.errors import DataError, RagpackError
from ragpack.records import Raw, Record


class Task(NamedTuple):
    """One input record, and which of the stage's cells are wanted of it.

    `cells` is empty where nothing is to be computed (all cached, or the line is bad); `record` is then None and
    the outcome is `[]`.
    """

    raw: Raw
    record: Any
    cells: Sequence[int]


Payload = dict[str, Any]
"""The fields that a stage adds, by name; the flow puts the content key into the stage's own object."""

Outcome = list[Payload] | RagpackError
"""A payload for each wanted cell, or the reason why there is none."""


@dataclass(frozen=True)
class Tally:
    """Facts and counts of a run that are in no record, such as what a reader was asked. They go to the run file."""

    name: str
    """Key in the run file."""
    facts: Mapping[str, Any]
    """Written there as they are."""
    counts: Mapping[str, int]
    """Written there too; those of several workers are added up."""
    said: Mapping[str, str] = field(default_factory=dict)
    """Of the counts, those that the summary line has as well, each with the words behind its number."""


@dataclass(frozen=True)
class Stage:
    """A stage, opened: models are loaded, indexes are read."""

    name: str
    """The command, and the key of the object that it adds."""
    version: int
    """Raised when the same input and parameters give other results: old cached rows are then recomputed."""
    reads: tuple[type[Record], ...]
    """Record types that it accepts, the usual one first."""
    writes: type[Record]
    """Record type that it writes."""
    run: Callable[[Iterator[Task]], Iterator[Outcome]]
    """Lazy, one outcome for each task, in the tasks' order; look-ahead is bounded."""
    projection: Callable[[Any], object]
    """The fields of a record that decide the result. Others may change without a recomputation."""
    more: Callable[[Any, int], object] = lambda record, cell: None  # noqa: ARG005 # most cells read nothing more
    """What one cell reads beyond the projection: others keep their keys when it changes. None is nothing."""
    cells: tuple[str, ...] = ("",)
    """Canonical parameters of each output row; a record gives one row a cell."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """Of index, model, tokenizer, prompt: part of every key."""
    adds: tuple[str, ...] = ()
    """Top-level fields that its payload holds; empty means the stage's own object alone."""
    base: Callable[[Raw, Any], Raw] | None = None
    """The output row less the payload; the input as it is where absent."""
    tail: tuple[str, ...] = ()
    """The last fields of what it reads, in which the rows of one question differ. The flow then reads what stands
    before them once for all such rows in a row; their lists and objects are the same ones in each record."""
    notes: Callable[[], list[str]] = list
    """What the user should be told once, at the end."""
    tally: Callable[[], Tally | None] = lambda: None
    """What the run file and the summary line have besides rows; asked for again and again, the last one counts."""
    close: Callable[[], None] = lambda: None
    """Let go of models and servers."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that the payload holds."""
        return self.adds or (self.name,)


def each(fn: Callable[[Any, Sequence[int]], list[Payload]]) -> Callable[[Iterator[Task]], Iterator[Outcome]]:
    """Lift a pure function over one record, `fn(record, cells) -> payloads`, to a stage's `run`."""

    def run(tasks: Iterator[Task]) -> Iterator[Outcome]:
        for task in tasks:
            if not task.cells:
                yield []
                continue
            try:
                yield fn(task.record, task.cells)
            except DataError as error:
                yield error

    return run
