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
from ragpack.report.latex import tabular
from ragpack.report.sheet import Column, Sheet

WIDE = 400

Write = Callable[[Iterator[Raw]], Iterator[bytes]]

SHOWN = {
    "policies": ("model", "policy", "budget", "n", "f1", "em", "answer_in_context", "graded", "gold_doc_coverage",
                 "all_gold_in_context", "gold_token_density", "tokens"),
    "conditional": ("model", "subset", "metric", "n", "given_1", "given_1_n", "given_0", "given_0_n", "difference",
                    "difference_ci", "ratio", "ratio_ci", "lost"),
    "contrasts": ("model", "policy", "baseline", "budget", "metric", "n", "excluded", "difference", "ci", "p",
                  "p_adjusted"),
}  # fmt: skip
"""Columns that a person is shown; JSONL, CSV and JSON have all of them."""

HEADS = {"answer_in_context": "AiC", "gold_doc_coverage": "coverage", "all_gold_in_context": "all-gold",
         "gold_token_density": "density", "f1": "F1", "em": "EM", "given_1": "AiC=1", "given_0": "AiC=0",
         "given_1_n": "n₁", "given_0_n": "n₀", "difference_ci": "95 % CI", "ratio_ci": "95 % CI", "ci": "95 % CI",
         "p_adjusted": "p adj."}  # fmt: skip
TITLES = {"policies": "Policies", "conditional": "With and without the answer in the context",
          "contrasts": "Contrasts with the baseline"}  # fmt: skip


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
    """A Markdown table for each table."""
    for number, (name, found) in enumerate(_tables(rows)):
        columns = _columns(name, found)
        lines = [
            "| " + " | ".join(map(_head, columns)) + " |",
            "|" + "|".join("---:" if _right(c) else "---" for c in columns) + "|",
        ]
        lines += ["| " + " | ".join(_cell(row, column) for column in columns) + " |" for row in found]
        title = f"**{TITLES.get(name, name)}**\n\n"
        yield (("\n" if number else "") + title + "\n".join(lines) + "\n").encode()


def as_table(rows: Iterator[Raw]) -> Iterator[bytes]:
    """Rich tables: for people."""
    from rich.console import Console
    from rich.table import Table

    colour = os.isatty(STDOUT.fd) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    for name, found in _tables(rows):
        columns = _columns(name, found)
        table = Table(title=TITLES.get(name, name), title_justify="left", box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(_head(column), justify="right" if _right(column) else "left", no_wrap=True)
        for row in found:
            table.add_row(*(_cell(row, column) for column in columns), end_section=False)
        out = io.StringIO()
        # Wider than any terminal: a line that wraps can be read, a name that is cut can't.
        Console(file=out, force_terminal=colour, width=WIDE, highlight=False, markup=False).print(table)
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
        columns = [Column(column, _head(column), _right(column)) for column in _columns(name, found)]
        cells = [[_cell(row, column.name) for column in columns] for row in found]
        yield Sheet(name, TITLES.get(name, name), columns, cells, found, _foot(name, found))


def _tables(rows: Iterator[Raw]) -> Iterator[tuple[str, list[Raw]]]:
    for name, found in itertools.groupby(rows, key=lambda row: row["table"]):
        yield name, list(found)


def _columns(name: str, found: list[Raw]) -> list[str]:
    """The columns shown, less those with nothing in any row."""
    wanted = SHOWN.get(name) or tuple(key for key in found[0] if key not in ("schema", "table"))
    return [column for column in wanted if any(row.get(column) is not None for row in found)]


def _head(column: str) -> str:
    return HEADS.get(column, column.replace("_", " "))


def _right(column: str) -> bool:
    return column not in ("model", "policy", "baseline", "subset", "metric")


def _cell(row: Raw, column: str) -> str:
    value: Any = row.get(column)
    if value is None:
        return "all" if column == "budget" and row.get("table") == "policies" else "–"
    if column == "metric":
        return _head(str(value))
    if isinstance(value, list):
        return "[" + ", ".join("–" if end is None else _number(end, column) for end in value) + "]"
    text = _number(value, column) if isinstance(value, float) else str(value)
    missing = row["n"] - row[f"{column}_n"] if f"{column}_n" in row and row.get("table") == "policies" else 0
    return f"{text} ({missing} undefined)" if missing else text


def _number(value: float, column: str) -> str:
    if column == "tokens":
        return f"{value:.1f}"
    if column in ("p", "p_adjusted"):
        return f"{value:.4f}"
    if column in ("ratio", "ratio_ci"):
        return f"{value:.2f}"
    return f"{value:.3f}"


def _foot(name: str, found: list[Raw]) -> str:
    methods = list(dict.fromkeys(row["method"] for row in found if "method" in row))
    notes = [f"Intervals: {', '.join(methods)}.\n"] if methods else []
    if name == "contrasts":
        unclear = [row for row in found if row["significant"] is False]
        families = ", ".join(dict.fromkeys(row["family"] for row in found if "family" in row))
        if unclear:
            notes.append(
                f"{len(unclear)} of {len(found)} differences are not significant at 0.05 (corrected: {families}).\n"
            )
    return "".join(notes)


def _flat(row: Raw, pairs: set[str]) -> Raw:
    """Intervals as two columns; an undefined one is empty in both."""
    flat: Raw = {}
    for name, value in row.items():
        if name in pairs:
            flat[f"{name}_low"], flat[f"{name}_high"] = value or (None, None)
        else:
            flat[name] = value
    return flat
