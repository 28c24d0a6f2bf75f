"""A sample of questions that depends on their ids alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b

from ragpack.errors import DataError, UsageError
from ragpack.records import Doc, Hits, Question

Imported = Question | Doc | Hits


def sample(records: Sequence[Imported], n: int, seed: int) -> list[Imported]:
    """The `n` questions with the smallest hash of (seed, id), in the order of the file.

    Neither the order of the file nor the other questions' number matters, and a sample of 100 is inside the one of
    500 of the same seed. All of them where there are no more than `n`. Raises `UsageError` for documents: without
    some of its documents a corpus is another one.
    """
    questions = [record for record in records if not isinstance(record, Doc)]
    if len(questions) < len(records):
        raise UsageError("--sample draws questions, and this format holds documents", "Leave --sample out.")
    drawn = sorted(range(len(questions)), key=lambda at: _draw(seed, questions[at].id))[:n]
    return [replace(questions[at], sample={"seed": seed, "n": n}) for at in sorted(drawn)]


def unique(records: Iterable[Imported], seen: dict[str, int]) -> Iterator[Imported]:
    """Pass records on. Raises `DataError` where an id comes twice: all inference is clustered on a question's, and
    gold and hits name a document by its."""
    for place, record in enumerate(records, len(seen) + 1):
        if record.id in seen:
            what = "document" if isinstance(record, Doc) else "question"
            raise DataError(f"id={record.id}: the {what} is there twice, as number {seen[record.id]} and {place}",
                            f"Import the files one by one if the same {what}s are in several.")  # fmt: skip
        seen[record.id] = place
        yield record


def _draw(seed: int, identity: str) -> bytes:
    return blake2b(f"{seed}\0{identity}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
