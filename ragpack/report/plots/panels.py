"""What the plots read in the rows of tables: parts for panels, intervals, names, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragpack.errors import RagpackError
from ragpack.records import Raw

Tables = Mapping[str, Sequence[Raw]]
"""Rows by table."""

FACTORS = ("model", "dataset", "answer_kind", "seed", "budget", "policy")
"""What rows may be cut by, in the order in which a title names it."""
WORDS = {"model": "reader", "answer_kind": "answers"}
NAMES = {"f1": "F1", "em": "EM", "answer_in_context": "AiC", "gold_doc_coverage": "coverage", "graded": "graded AiC",
         "all_gold_in_context": "all-gold", "gold_token_density": "density", "tokens": "tokens"}  # fmt: skip
MOST = 12
"""Panels of one figure: more are a wall, and cutting the rows is the reader's choice."""


class NothingToDraw(RagpackError):
    """The tables lack what this plot shows."""


class Part(NamedTuple):
    """The rows of one panel."""

    title: str
    """Names of what tells it from the other panels."""
    rows: list[Raw]


class Parts(NamedTuple):
    """The panels of a figure."""

    parts: list[Part]
    notes: list[str]
    """What all panels share, and how many panels were left out."""


def parts(rows: Sequence[Raw], within: Sequence[str] = ("policy",)) -> Parts:
    """Rows cut by all their factors but those that are drawn inside a panel; `rows` is not empty."""
    names = [name for name in FACTORS if any(name in row for row in rows) and name not in within]
    found: dict[tuple[object, ...], list[Raw]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) for name in names), []).append(row)
    varying = [at for at, _ in enumerate(names) if len({key[at] for key in found}) > 1]
    shared = [at for at, _ in enumerate(names) if at not in varying]
    first = next(iter(found))
    told = [_label(names[at], first[at]) for at in shared if first[at] is not None]
    notes = [f"{', '.join(told)}."] if told else []
    if len(found) > MOST:
        notes.append(left_out(MOST, len(found)))
    titles = {key: ", ".join(_label(names[at], key[at]) for at in varying) for key in found}
    return Parts([Part(titles[key], found[key]) for key in list(found)[:MOST]], notes)


def left_out(shown: int, all_of_them: int) -> str:
    """What a figure says that has no room for all its panels."""
    return f"{shown} of {all_of_them} panels: choose others with --where."


def _label(name: str, level: object) -> str:
    if level is None:
        return {"model": "no reader", "budget": "all budgets"}.get(name, f"no {name.replace('_', ' ')}")
    # Joined by a blank that does not break.
    return f"{WORDS.get(name, name.replace('_', ' '))}\u00a0{level}"


def table(tables: Tables, *names: str) -> list[Raw]:
    """The rows of the first of these tables that has any; raises `NothingToDraw` where none has."""
    for name in names:
        if tables.get(name):
            return list(tables[name])
    raise NothingToDraw(f"it needs rows of the table {' or '.join(names)}")


def name_of(metric: str) -> str:
    """A metric as people write it."""
    return NAMES.get(metric, metric.replace("_", " "))


def ns(rows: Sequence[Raw], key: str = "n") -> str:
    """How many rows stand behind a mark: one number, or from … to.

    >>> ns([{"n": 5}, {"n": 9}])
    'n = 5–9'
    """
    found = sorted({row[key] for row in rows if row.get(key) is not None})
    return f"n = {found[0]}" + (f"–{found[-1]}" if len(found) > 1 else "") if found else "n unknown"


def questions(rows: Sequence[Raw]) -> str:
    """How many clusters.

    >>> questions([{"questions": 7}])
    '7 questions'
    """
    return ns(rows, "questions").removeprefix("n = ") + " questions"


def methods(rows: Sequence[Raw]) -> list[str]:
    """How the intervals were made, a sentence."""
    found = list(dict.fromkeys(row["method"] for row in rows if row.get("method")))
    return [f"Lines: 95 % intervals, {'; '.join(found)}."] if found else []


def interval(row: Raw, metric: str) -> tuple[float, float] | None:
    """[lo, hi] of a metric where both ends are known."""
    ends = row.get(f"{metric}_ci")
    return (ends[0], ends[1]) if ends and None not in ends else None


def with_intervals(rows: Sequence[Raw], tables: Tables, metrics: Sequence[str]) -> list[Raw]:
    """Rows of policy × budget; intervals that they lack are taken from the table `sweep`, which has the same means."""

    def key(row: Raw) -> tuple[object, ...]:
        return tuple(row.get(name) for name in FACTORS)

    swept = {key(row): row for row in tables.get("sweep", ()) if row.get("kind") == "mean"}
    found = []
    for row in rows:
        other = swept.get(key(row), {})
        added = {f"{metric}_ci": other[f"{metric}_ci"] for metric in metrics
                 if row.get(f"{metric}_ci") is None and other.get(f"{metric}_ci") is not None}  # fmt: skip
        if added and "method" in other:
            added["method"] = other["method"]
        found.append({**row, **added})
    return found


def policies_of(rows: Sequence[Raw]) -> list[str]:
    """The policies in the order of their names, so that a policy has one pen in all panels and plots."""
    return sorted({str(row["policy"]) for row in rows})
