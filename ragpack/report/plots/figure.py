"""Paper, pens and files of the plots: one style, sizes in inches, bytes that do not change from run to run."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ragpack.errors import Missing

Figure = Any  # matplotlib is an extra: its types are not there for everybody
Axes = Any

WIDTH = 3.5
"""Inches: a column of a two-column paper. Text of 7 points stays 7 points there."""
LINE = 0.125
"""Inches from line to line of 7-point text."""
CHARACTER = 0.06
"""Inches that a character of 7-point text takes, about."""
LEGEND = 44
"""Characters of a line of the legend."""
TALLEST = 15.0
"""Inches: panels that would make a figure taller are left out, and it says so."""
INK, SOFT, GRID, PAPER = "#222222", "#5f6368", "#dadce0", "#ffffff"
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#8a6d3b")
"""Okabe & Ito's palette, which colour-blind readers tell apart, less black and yellow; and a brown."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))

_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 7,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "axes.unicode_minus": True,
    "legend.frameon": False,
    "legend.fontsize": 6.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "savefig.facecolor": PAPER,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "svg.hashsalt": "ragpack",
    "text.parse_math": False,  # a $ in a policy's or a model's name is a $
}


class Drawn(NamedTuple):
    """One plot as files."""

    svg: bytes
    png: bytes


class Paper(NamedTuple):
    """A figure with its panels."""

    figure: Figure
    axes: list[Axes]
    left: float
    """Inches left of the panels."""
    under: float
    """Inches from the figure's foot to the upper end of the legend's room."""


class Pen(NamedTuple):
    """How one of many lines is told from the others: by colour, marker and dashes at once."""

    colour: str
    marker: str
    dashes: Any


def pen(number: int) -> Pen:
    """The pen of the line with this number; the first 77 differ in colour and marker."""
    return Pen(
        COLOURS[number % len(COLOURS)],
        MARKERS[number % len(MARKERS)],
        DASHES[number // len(COLOURS) % len(DASHES)],
    )


def require_matplotlib(feature: str) -> None:
    """Raises `Missing` where the extra is not installed."""
    try:
        import matplotlib.figure  # noqa: F401 # only whether it is there
    except ImportError:
        raise Missing(feature, "plots") from None


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Matplotlib's own defaults and ours; what the user's matplotlibrc says is left out and comes back after."""
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box for a letter is no news
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def drawn(figure: Figure) -> Drawn:
    """The figure as SVG and PNG. No date, no version: equal rows give equal bytes. Call it within `style`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", metadata={"Software": None})
    return Drawn(svg.getvalue(), png.getvalue())


def column(
    title: str,
    notes: Sequence[str],
    heights: Sequence[float],
    *,
    left: float,
    right: float = 0.12,
    gap: float = 0.55,
    last: float = 0.4,
    legend: float = 0.0,
    headed: bool = True,
) -> Paper:
    """A figure with panels below one another, all measures in inches.

    `heights` are those of the panels; `left` is the room for labels; `gap` stands between panels and has room for the
    upper one's ticks and the lower one's title; `last` is for the ticks and label of the last axis; `legend` is room
    under it; `headed`: the first panel has a title. The figure's title stands above, the notes below.
    """
    from matplotlib.figure import Figure as New

    over = wrapped(title, 54)
    under = [line for note in notes for line in wrapped(note, 62)]
    top = 0.06 + 0.15 * len(over) + (0.26 if headed else 0.08)
    bottom = last + legend + 0.06 + LINE * 0.92 * len(under) + 0.05
    height = top + sum(heights) + gap * (len(heights) - 1) + bottom
    figure = New(figsize=(WIDTH, height))
    for number, line in enumerate(over):
        figure.text(0.06 / WIDTH, 1 - (0.06 + 0.15 * number) / height, line, size=8, weight="bold", va="top")
    for number, line in enumerate(under):
        place = (0.05 + LINE * 0.92 * (len(under) - number - 1)) / height
        figure.text(0.06 / WIDTH, place, line, size=6, color=SOFT, va="bottom")
    axes, down = [], top
    for tall in heights:
        box = (left / WIDTH, 1 - (down + tall) / height, (WIDTH - left - right) / WIDTH, tall / height)
        axes.append(figure.add_axes(box))
        down += tall + gap
    return Paper(figure, axes, left, bottom - last)


def legend(paper: Paper, handles: Sequence[Any], columns: int = 1, at: float | None = None) -> None:
    """Keys in the room under the last axis, `at` inches from the left; by default where the panels begin."""
    paper.figure.legend(
        handles=handles, loc="upper left", ncols=columns, borderaxespad=0, borderpad=0, handlelength=1.6,
        columnspacing=1.2, labelspacing=0.35,
        bbox_to_anchor=((paper.left if at is None else at) / WIDTH, paper.under / paper.figure.get_figheight()),
    )  # fmt: skip


def patches(names: Sequence[str]) -> list[Any]:
    """Keys of the first colours."""
    from matplotlib.patches import Patch

    return [Patch(color=COLOURS[at], label=name) for at, name in enumerate(names)]


def pens(names: Sequence[str]) -> list[Any]:
    """Keys of lines, in the order of their pens."""
    from matplotlib.lines import Line2D

    keys = []
    for at, name in enumerate(names):
        one, text = pen(at), "\n".join(wrapped(name, LEGEND))
        keys.append(Line2D([], [], color=one.colour, marker=one.marker, linestyle=one.dashes, label=text))
    return keys


def room(names: Sequence[str]) -> float:
    """Inches that the keys of these lines take."""
    return 0.06 + 0.124 * sum(len(wrapped(name, LEGEND)) for name in names)


def heading(axes: Axes, text: str, left: float) -> None:
    """A panel's title, at the figure's left edge."""
    if text:
        shown = wrapped(text, 58)[0] + (" …" if len(wrapped(text, 58)) > 1 else "")
        axes.annotate(shown, (0, 1), (-(left - 0.06) * 72, 4), xycoords="axes fraction", textcoords="offset points",
                      va="bottom", ha="left", weight="bold", annotation_clip=False)  # fmt: skip


def width_of(text: str, size: float = 7) -> float:
    """Inches that a line of text takes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]) / 72


def from_zero(axes: Axes) -> None:
    """No axis of a share or a score goes below 0, not even for the room around a mark."""
    low, high = axes.get_ylim()
    if low < 0:
        axes.set_ylim(0, high)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters, broken behind blanks and the signs of a spec.

    >>> wrapped("chunk_mmr:lambda=0.5,overflow=skip", 20)
    ['chunk_mmr:', 'lambda=0.5,', 'overflow=skip']
    >>> wrapped("igp:m=5,threshold=0.05", 20)
    ['igp:', 'm=5,threshold=0.05']
    """
    lines = [""]
    for piece in re.findall(r"[^ :,/_-]*[ :,/_-]?", text):
        while len(piece.rstrip(" ")) > width:  # a name without any place to break
            room = width - len(lines[-1])
            lines[-1] += piece[:room]
            piece = piece[room:]
            lines.append("")
        # A spec's parameters begin a line of their own once it has to be broken.
        full = len(lines[-1]) + len(piece.rstrip(" ")) > width
        if full or (len(text) > width and lines[-1].endswith(":") and " " not in text):
            lines.append("")
        lines[-1] += piece
    return [line.strip(" ") for line in lines if line.strip(" ")]
