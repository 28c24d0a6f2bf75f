"""Questions as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import orjson

from ragpack.datasets.sample import sample, unique
from ragpack.records import Question, Raw, ordered


def written(questions: Iterable[Question], n: int | None, seed: int) -> Iterator[bytes]:
    """One line a question; of `n` questions drawn by `seed`, if `n` is given. Ids that come twice are refused."""
    found = unique(questions, {})
    for question in sample(list(found), n, seed) if n is not None else found:
        yield orjson.dumps(ordered(Question, _plain(asdict(question))), option=orjson.OPT_APPEND_NEWLINE)


def _plain(fields: Raw) -> Raw:
    """Without the fields that are not known."""
    for doc in fields["docs"] or []:
        for name in [name for name, value in doc.items() if value is None]:
            del doc[name]
    return {name: value for name, value in fields.items() if value is not None}
