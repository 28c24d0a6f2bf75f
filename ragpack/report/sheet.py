"""A table as a person sees it: what every form for people (Markdown, LaTeX, HTML) is set from."""

from __future__ import annotations

from typing import NamedTuple

from ragpack.records import Raw


class Column(NamedTuple):
    """One column that is shown."""

    name: str
    """Its key in the rows."""
    head: str
    """What stands over it."""
    right: bool
    """Numbers stand right."""


class Sheet(NamedTuple):
    """One table, set."""

    name: str
    """Name of the table."""
    title: str
    columns: list[Column]
    cells: list[list[str]]
    """[row][column] the text."""
    rows: list[Raw]
    """The rows themselves, for what a form does with them beyond the text."""
    foot: str
    """How intervals were made, and what else a reader should know; lines, or empty."""
