"""The part of diagnose that asks models: pairs of many rows are gathered, so that batches are full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from ragpack.encoders.base import Encoder, Pair
from ragpack.errors import DataError, RagpackError
from ragpack.records import Answered, Packed, Raw
from ragpack.stage import Outcome, Task
from ragpack.stages.measure import owners_of

AHEAD = 64  # rows read before the first of them is given
KEPT = 1 << 15  # pairs remembered; rows of one question share most of theirs
DIGITS = 4  # a batch's make-up moves the last bits of a float32


class Comparison(NamedTuple):
    """A field of the diagnostic that a model gives."""

    encoder: Encoder
    whole: bool
    """The whole context is a text too, beside each snippet."""


def pairs_of(record: Packed | Answered, whole: bool) -> list[Pair]:
    """Each gold answer behind the question, with each snippet; none for an empty context or without golds."""
    context = record.pack.context
    golds = [gold for gold in dict.fromkeys(record.answers) if gold.strip()]
    if not context.strip() or not golds:
        return []
    lines = context.split("\n")
    owners = owners_of(context, record.pack.snippets) or list(range(len(lines)))
    texts: dict[int, str] = {}
    for owner, line in zip(owners, lines, strict=True):
        texts[owner] = f"{texts[owner]}\n{line}" if owner in texts else line
    asked = [text for text in dict.fromkeys([*texts.values(), *([context] if whole else [])]) if text.strip()]
    return [Pair(f"{record.question} {gold}", text) for gold in golds for text in asked]


def compared(
    measure: Callable[[Packed | Answered], Raw], comparisons: Mapping[str, Comparison]
) -> Callable[[Iterator[Task]], Iterator[Outcome]]:
    """A stage's `run`: measure each row, then fill in what the models say of `AHEAD` rows at a time."""
    known: dict[str, dict[Pair, float]] = {name: {} for name in comparisons}

    def fill(tasks: list[Task], rows: list[Raw | RagpackError | None]) -> None:
        for name, (encoder, whole) in comparisons.items():
            asked = [
                (row, pairs_of(task.record, whole))
                for task, row in zip(tasks, rows, strict=True)
                if isinstance(row, dict)
            ]
            scores = known[name]
            pairs = list(dict.fromkeys(pair for _, some in asked for pair in some))
            if len(scores) + len(pairs) > KEPT:
                scores.clear()
            new = [pair for pair in pairs if pair not in scores]
            if new:
                scores.update(zip(new, encoder.scores(new), strict=True))
            for row, some in asked:
                if some:
                    row[name] = round(max(scores[pair] for pair in some), DIGITS)

    def run(tasks: Iterator[Task]) -> Iterator[Outcome]:
        while batch := list(islice(tasks, AHEAD)):
            rows = [_tried(measure, task) for task in batch]
            fill(batch, rows)
            for row in rows:
                yield [] if row is None else row if isinstance(row, RagpackError) else [{"diagnose": row}]

    return run


def _tried(measure: Callable[[Packed | Answered], Raw], task: Task) -> Raw | RagpackError | None:
    if not task.cells:
        return None
    try:
        return measure(task.record)
    except DataError as error:
        return error
