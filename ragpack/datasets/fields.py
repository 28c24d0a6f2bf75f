"""Fields of an entry that is not ours: each is checked, since these files pass through many hands.

All raise `DataError` with the field's name and the value found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any, TypeVar

from ragpack.datasets.entries import entries
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Raw

Made = TypeVar("Made")
IDS = ("_id", "id", "question_id", "example_id")


def each(
    path: str,
    fail: Fail,
    made: Callable[[dict[str, Any]], Made],
    layouts: str,
    inside: Callable[[dict[str, Any]], Iterator[dict[str, Any]] | None] | None = None,
) -> Iterator[Made]:
    """What `made` makes of each entry of a file; an entry that it can't read goes to `fail`. `layouts` names the
    layouts that it reads, for the hint. `inside` gives the entries inside of an object that holds several, or `None`:
    these are numbered through."""
    place = 0
    for source, number, entry in entries(path, fail):
        parts = inside(entry) if inside else None
        if parts is None:
            yield from _one(source, number, entry, fail, made, layouts)
            continue
        while True:
            try:
                part = next(parts)
            except StopIteration:
                break
            except (DataError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                fail(source, place + 1, _reason(error, layouts), None)
                break
            place += 1
            yield from _one(source, place, part, fail, made, layouts)


def _one(
    source: str, number: int, entry: dict[str, Any], fail: Fail, made: Callable[[dict[str, Any]], Made], layouts: str
) -> Iterator[Made]:
    try:
        record = made(entry)
    except (DataError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        fail(source, number, _reason(error, layouts), _named(entry))
    else:
        yield record


def _reason(error: Exception, layouts: str) -> DataError:
    if isinstance(error, DataError):
        return error
    what = f"the field {error} is missing" if isinstance(error, KeyError) else f"a field has another form: {error}"
    return DataError(what, f"Layouts: {layouts}; see docs/formats.md.")


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


def texts(values: object, field: str) -> list[str]:
    """A list of strings, each once; a string alone is a list of one."""
    return list(dict.fromkeys(strings([values] if isinstance(values, str) else values, field)))


def number(value: object, field: str) -> float | None:
    """A number, also one written as a string (DPR does), or `None`."""
    try:
        found = None if value is None else float(value)  # type: ignore[arg-type] # what is no number raises
    except (TypeError, ValueError):
        raise DataError(f"{field}: expected a number, got {value!r}") from None
    if isinstance(value, bool) or (found is not None and not isfinite(found)):
        raise DataError(f"{field}: expected a finite number, got {value!r}")
    return found


def free(value: object) -> Raw | None:
    """A free object that is not empty, or `None`."""
    return value if isinstance(value, dict) and value else None


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
