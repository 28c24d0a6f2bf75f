"""F1 with and without the answer in the context."""

from __future__ import annotations

from ragpack.records import Raw
from ragpack.report.plots.bars import label, number, places, signed, whisker
from ragpack.report.plots.figure import COLOURS, LINE, SOFT, Figure, column, heading, legend, patches
from ragpack.report.plots.panels import NothingToDraw, Tables, interval, parts, questions, table

BAR = 0.13
BLOCK = 2 * BAR + LINE + 0.14


def conditional(tables: Tables) -> Figure:
    """Two bars for each subset of the rows, F1 given AiC = 1 and AiC = 0, with the number of rows behind each; the
    difference with its interval stands under them. A panel for each reader."""
    found = [row for row in table(tables, "conditional") if row.get("metric") == "f1"]
    if not found:
        raise NothingToDraw("the table conditional has no F1")
    cut = parts(found, within=())
    where = [places([row["subset"].replace(", ", " ") for row in part.rows], BLOCK, 13) for part in cut.parts]
    left = max(one.left for one in where)
    shown = [row for part in cut.parts for row in part.rows]
    methods = list(dict.fromkeys(row["method"] for row in shown if row.get("method")))
    notes = [*cut.notes, f"At the right F1 (n rows); {questions(shown)}."]
    if methods:
        notes.append(f"In brackets: 95 % interval of the difference, {'; '.join(methods)}.")
    paper = column("F1 with and without the answer in the context", notes, [one.height for one in where], left=left,
                   right=0.78, legend=0.2,
                   headed=len(cut.parts) > 1)  # fmt: skip
    most = max([0.0, *(row[key] for row in shown for key in ("given_1", "given_0") if row[key] is not None)])
    for axes, part, place in zip(paper.axes, cut.parts, where, strict=True):
        label(axes, place)
        heading(axes, part.title, left)
        axes.grid(visible=False)  # the values stand beside the bars
        axes.set_xlim(0, most * 1.04 or 1)
        for row, middle in zip(part.rows, place.middles, strict=True):
            top = middle - BLOCK / 2 + 0.04
            for at, key in enumerate(("given_1", "given_0")):
                y = top + BAR * (at + 0.5)
                value = row[key]
                axes.barh(y, value or 0, BAR * 0.88, color=COLOURS[0] if key == "given_1" else COLOURS[1], linewidth=0)
                whisker(axes, interval(row, key), y)
                number(axes, f"{'–' if value is None else f'{value:.3f}'} ({row[key + '_n']})", y)
            axes.text(0, top + 2 * BAR + LINE / 2, _difference(row), size=6, color=SOFT, va="center", clip_on=False)
    paper.axes[-1].set_xlabel("mean F1")
    legend(paper, patches(["AiC = 1", "AiC = 0"]), 2)
    return paper.figure


def _difference(row: Raw) -> str:
    value, ends = row.get("difference"), row.get("difference_ci")
    if value is None:
        return "no difference: one side is empty"
    text = f"Δ {signed(value)}"
    if ends and None not in ends:
        text += f" [{ends[0]:.3f}, {ends[1]:.3f}]".replace("-", "−")
    ratio = row.get("ratio")
    return text + (f", ratio {ratio:.2f}" if ratio is not None else "")
