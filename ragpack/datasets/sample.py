"""A sample of questions that depends on their ids alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

from ragpack.errors import DataError
from ragpack.records import Question


def sample(questions: Sequence[Question], n: int, seed: int) -> list[Question]:
    """The `n` questions with the smallest hash of (seed, id), in the order of the file.

    Neither the order of the file nor the other questions' number matters, and a sample of 100 is inside the one of
    500 of the same seed. All of them where there are no more than `n`.
    """
    drawn = sorted(range(len(questions)), key=lambda at: _draw(seed, questions[at].id))[:n]
    return [replace(questions[at], sample={"seed": seed, "n": n}) for at in sorted(drawn)]


def unique(questions: Iterable[Question], seen: dict[str, int]) -> Iterable[Question]:
    """Pass questions on. Raises `DataError` where an id comes twice: all inference is clustered on it."""
    for place, question in enumerate(questions, len(seen) + 1):
        if question.id in seen:
            raise DataError(f"id={question.id}: the question is there twice, as number {seen[question.id]} and {place}",
                            "Import the files one by one if the same questions are in several.")  # fmt: skip
        seen[question.id] = place
        yield question


def _draw(seed: int, identity: str) -> bytes:
    return blake2b(f"{seed}\0{identity}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
