"""Fields of an entry that is not ours: each is checked, since these files pass through many hands.

All raise `DataError` with the field's name and the value found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ragpack.datasets.entries import entries
from ragpack.errors import DataError
from ragpack.flow.run import Fail

Made = TypeVar("Made")
IDS = ("_id", "id", "question_id")


def each(path: str, fail: Fail, made: Callable[[dict[str, Any]], Made], layouts: str) -> Iterator[Made]:
    """What `made` makes of each entry of a file; an entry that it can't read goes to `fail`. `layouts` names the
    layouts that it reads, for the hint."""
    for source, number, entry in entries(path, fail):
        try:
            record = made(entry)
        except DataError as error:
            fail(source, number, error, _named(entry))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            what = (
                f"the field {error} is missing" if isinstance(error, KeyError) else f"a field has another form: {error}"
            )
            fail(source, number, DataError(what, f"Layouts: {layouts}; see docs/formats.md."), _named(entry))
        else:
            yield record


def string(value: object, field: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise DataError(f"{field}: expected a string, got {value!r}")
    return value


def strings(values: object, field: str) -> list[str]:
    """A list of strings; one string would be read as the list of its letters."""
    if not isinstance(values, list):
        raise DataError(f"{field}: expected a list of strings, got {values!r}")
    return [string(value, field) for value in values]


def id_of(value: object) -> str:
    """An id: a string that is not empty, or a whole number, as a string."""
    if value == "" or type(value) not in (str, int):
        raise DataError(f"id: expected a string or a whole number, got {value!r}")
    return str(value)


def whole(value: object, field: str) -> int:
    """A whole number; true and false are none."""
    if type(value) is not int:
        raise DataError(f"{field}: expected a whole number, got {value!r}")
    return value


def flag(value: object, field: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise DataError(f"{field}: expected true or false, got {value!r}")
    return value


def _named(entry: dict[str, Any]) -> object:
    return next((entry[name] for name in IDS if name in entry), None)
