"""Tables of `stats` in the forms that people want them in."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from ragpack.errors import UsageError, did_you_mean
from ragpack.flow.streams import STDOUT
from ragpack.records import Raw
from ragpack.report.columns import (
    CI,
    DIGITS,
    FEET,
    HEADS,
    HEADS_IN,
    LABELS,
    ONLY_IF_ANY,
    PERCENT,
    SHOWN,
    TITLES,
    TO_TITLE,
)
from ragpack.report.latex import tabular
from ragpack.report.sheet import Column, Sheet
from ragpack.statistics.rows import FACTORS

WIDE = 400
NOTHING = "–"

Write = Callable[[Iterator[Raw]], Iterator[bytes]]


def choose_format(name: str | None, output: str | None) -> Write:
    """The writer of a format; by default a table on a terminal and JSONL elsewhere."""
    if name is None:
        on_terminal = output in (None, "-") and os.isatty(STDOUT.fd)
        name = "table" if on_terminal else "jsonl"
    if name not in FORMATS:
        raise UsageError(f"unknown format '{name}'. {did_you_mean(name, FORMATS)}")
    return FORMATS[name]


def as_jsonl(rows: Iterator[Raw]) -> Iterator[bytes]:
    """A record a line."""
    for row in rows:
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def as_json(rows: Iterator[Raw]) -> Iterator[bytes]:
    """One list."""
    yield orjson.dumps(list(rows), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def as_csv(rows: Iterator[Raw]) -> Iterator[bytes]:
    """A header and lines for each table, tables parted by an empty line; intervals are two columns."""
    for number, (_, found) in enumerate(_tables(rows)):
        pairs = {name for row in found for name, value in row.items() if isinstance(value, list)}
        flat = [_flat(row, pairs) for row in found]
        out = io.StringIO()
        writer = csv.DictWriter(out, list(dict.fromkeys(name for row in flat for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        yield (("\n" if number else "") + out.getvalue()).encode()


def as_markdown(rows: Iterator[Raw]) -> Iterator[bytes]:
    """A Markdown table for each table, with its sentences."""
    for number, (name, found) in enumerate(_tables(rows)):
        columns, title = _titled(name, found)
        lines = [
            "| " + " | ".join(_head(c, name) for c in columns) + " |",
            "|" + "|".join("---:" if _right(c) else "---" for c in columns) + "|",
        ]
        lines += ["| " + " | ".join(_cell(row, c).replace("|", "\\|") for c in columns) + " |" for row in found]
        foot = _foot(name, found)
        yield (
            ("\n" if number else "") + f"**{title}**\n\n" + "\n".join(lines) + "\n" + (foot and f"\n{foot}")
        ).encode()


def as_table(rows: Iterator[Raw]) -> Iterator[bytes]:
    """Rich tables: for people."""
    from rich.console import Console
    from rich.table import Table

    colour = os.isatty(STDOUT.fd) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    for name, found in _tables(rows):
        columns, title = _titled(name, found)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(_head(column, name), justify="right" if _right(column) else "left", no_wrap=True)
        for row in found:
            table.add_row(*(_cell(row, column) for column in columns), end_section=False)
        out = io.StringIO()
        # Wider than any terminal: a line that wraps can be read, a name that is cut can't.
        console = Console(file=out, force_terminal=colour, width=WIDE, highlight=False, markup=False)
        console.print(title, style="italic")
        console.print(table)
        lines = [line.rstrip() + "\n" for line in out.getvalue().splitlines()]
        yield ("".join(lines) + _foot(name, found) + "\n").encode()


def as_latex(rows: Iterator[Raw]) -> Iterator[bytes]:
    """A booktabs table for each table."""
    for number, sheet in enumerate(sheets(rows)):
        yield (("\n" if number else "") + tabular(sheet)).encode()


FORMATS: dict[str, Write] = {"table": as_table, "jsonl": as_jsonl, "md": as_markdown, "csv": as_csv, "json": as_json,
                             "latex": as_latex}  # fmt: skip


def sheets(rows: Iterator[Raw]) -> Iterator[Sheet]:
    """Each table as it is shown, for forms that are set elsewhere."""
    for name, found in _tables(rows):
        names, title = _titled(name, found)
        columns = [Column(column, _head(column, name), _right(column)) for column in names]
        cells = [[_cell(row, column) for column in names] for row in found]
        yield Sheet(name, title, columns, cells, found, _foot(name, found))


def _tables(rows: Iterator[Raw]) -> Iterator[tuple[str, list[Raw]]]:
    """Each table, under its name; a table of several kinds is as many, `sweep-iso` and its like."""
    for (name, kind), found in itertools.groupby(rows, key=lambda row: (row["table"], row.get("kind"))):
        yield f"{name}-{kind}" if kind else name, list(found)


def _columns(name: str, found: list[Raw]) -> list[str]:
    """The columns shown, less those with nothing in any row; a label that the table is cut by stands where the rows
    have it, since they are sorted so."""
    keys = [key for key in found[0] if key not in ("schema", "table", "kind", "method", "note")]
    wanted = list(SHOWN.get(name) or keys)
    for at, key in enumerate(keys):
        if key in FACTORS and key not in wanted:
            before = [wanted.index(one) for one in keys[:at] if one in wanted]
            wanted.insert(before[-1] + 1 if before else 0, key)
    return [column for column in wanted if any(_said(row, column) for row in found)]


def _said(row: Raw, column: str) -> bool:
    return bool(row.get(column)) if column in ONLY_IF_ANY else column in row and _cell(row, column) != NOTHING


def _titled(name: str, found: list[Raw]) -> tuple[list[str], str]:
    """The columns, and the title: labels that are the same in several rows are in it, once."""
    columns = _columns(name, found)
    same = [c for c in columns if c in TO_TITLE and len(found) > 1 and len({row.get(c) for row in found}) == 1]
    about = ", ".join(f"{c} {_cell(found[0], c)}" for c in same)
    title = TITLES.get(name, name)
    return [c for c in columns if c not in same], f"{title} ({about})" if about else title


def _head(column: str, name: str = "") -> str:
    if column == "ci" or column.endswith("_ci"):
        return CI
    return HEADS_IN.get(name, {}).get(column) or HEADS.get(column, column.replace("_", " "))


def _right(column: str) -> bool:
    return column not in LABELS or column in ("budget", "seed")


def _cell(row: Raw, column: str) -> str:
    value: Any = row.get(column)
    if value is None:
        if column == "budget":
            return {"policies": "all", "sweep": "none"}.get(row["table"], NOTHING)
        return NOTHING
    if column in ("metric", "feature", "base", "score", "group"):
        name, at, k = str(value).partition("@")
        return f"{_head('all_gold_in_context' if name == 'all_gold' else name)}{at}{k}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "[" + ", ".join(NOTHING if end is None else _number(end, column) for end in value) + "]"
    text = _number(value, column) if isinstance(value, float) else str(value)
    missing = row["n"] - row[f"{column}_n"] if f"{column}_n" in row and row["table"] == "policies" else 0
    return f"{text} ({missing} undefined)" if missing and column != "nte" else text


def _number(value: float, column: str) -> str:
    if column in PERCENT:
        return f"{100 * value:.0f} %"
    digits = DIGITS.get(column, 3)
    return f"{round(value, digits) + 0.0:.{digits}f}"  # never -0.000


def _foot(name: str, found: list[Raw]) -> str:
    methods = list(dict.fromkeys(row["method"] for row in found if row.get("method")))
    notes = [f"Intervals: {', '.join(methods)}."] if methods else []
    notes += FEET[name](found) if name in FEET else []
    return "".join(f"{note}\n" for note in notes)


def _flat(row: Raw, pairs: set[str]) -> Raw:
    """Intervals as two columns; an undefined one is empty in both."""
    flat: Raw = {}
    for name, value in row.items():
        if name in pairs:
            flat[f"{name}_low"], flat[f"{name}_high"] = value or (None, None)
        else:
            flat[name] = value
    return flat
