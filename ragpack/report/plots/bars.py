"""Rows of a panel with labels at the left: the places are in inches, so that a long name gets the lines it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragpack.report.plots.figure import INK, LINE, SOFT, TALLEST, Axes, width_of, wrapped


class Places(NamedTuple):
    """Where each label's row is."""

    middles: list[float]
    """Inches from the panel's top."""
    lines: list[list[str]]
    """Each label, wrapped."""
    height: float
    """Of the panel."""
    left: float
    """Room that the labels need."""


def places(labels: Sequence[str], least: float, width: int = 20) -> Places:
    """Rows as high as their labels, and at least `least` inches."""
    lines = [wrapped(label, width) or [""] for label in labels]
    middles, down = [], 0.04
    for text in lines:
        tall = max(least, len(text) * LINE + 0.05)
        middles.append(down + tall / 2)
        down += tall
    longest = max((width_of(line) for text in lines for line in text), default=0.0)
    return Places(middles, lines, down + 0.04, max(0.45, longest + 0.16))


def fitting(where: Sequence[Places], gap: float = 0.55) -> int:
    """How many panels go into one figure: one at least."""
    tall, count = 0.0, 0
    for one in where:
        tall += one.height + gap
        if count and tall > TALLEST:
            break
        count += 1
    return count


def label(axes: Axes, where: Places) -> None:
    """Set the rows' labels, and the panel's upper end at its first row. A label's lines are set one by one: in a text
    of several lines their distance depends on the letters."""
    axes.set_ylim(where.height, 0)
    axes.set_yticks([])
    for middle, lines in zip(where.middles, where.lines, strict=True):
        for at, line in enumerate(lines):
            axes.annotate(line, (0, middle + (at - (len(lines) - 1) / 2) * LINE * 0.95), (-5, 0),
                          xycoords=("axes fraction", "data"), textcoords="offset points", va="center_baseline",
                          ha="right", annotation_clip=False)  # fmt: skip
    axes.spines["left"].set_visible(False)


def whisker(axes: Axes, ends: tuple[float, float] | None, y: float, colour: str = INK) -> None:
    """An interval as a line."""
    if ends:
        axes.plot(ends, (y, y), color=colour, linewidth=0.9, solid_capstyle="butt", zorder=3)


def number(axes: Axes, text: str, y: float) -> None:
    """A value at the panel's right edge, where it meets no mark."""
    axes.annotate(text, (1, y), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
                  ha="left", size=6.5, color=SOFT, annotation_clip=False)  # fmt: skip


def signed(value: float, digits: int = 3) -> str:
    """A difference.

    >>> signed(-0.0261), signed(0.0), signed(0.5)
    ('−0.026', '0.000', '+0.500')
    """
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(text[1:]) == 0 else text
