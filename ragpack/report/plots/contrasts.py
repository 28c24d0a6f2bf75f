"""Policies against their baseline."""

from __future__ import annotations

from typing import NamedTuple

from ragpack.records import Raw
from ragpack.report.plots.bars import fitting, label, number, places, signed, whisker
from ragpack.report.plots.figure import COLOURS, INK, PAPER, Figure, column, heading, legend
from ragpack.report.plots.panels import NothingToDraw, Parts, Tables, left_out, name_of, ns, parts, questions, table

ROW = 0.16
GAP = 0.46
FEW = 3
"""Contrasts of a reader and budget that are too few for a panel of their own."""


class Panel(NamedTuple):
    """One metric."""

    title: str
    metric: str
    rows: list[tuple[str, Raw]]
    """(label, row)"""


def contrasts(tables: Tables) -> Figure:
    """A forest plot: each difference with its interval, filled where it is significant after the correction; a panel
    for each metric, and for each reader and budget unless there are few contrasts. Metrics between 0 and 1 share their
    axis."""
    from matplotlib.lines import Line2D

    found = [row for row in table(tables, "contrasts") if row.get("difference") is not None]
    if not found:
        raise NothingToDraw("no contrast has a difference")
    cut = parts(found)
    metrics = list(dict.fromkeys(row["metric"] for row in found))
    baselines = sorted({row["baseline"] for row in found})
    every = [panel for metric in metrics for panel in _panels(cut, metric, against=len(baselines) > 1)]
    where = [places([name for name, _ in panel.rows], ROW, 22) for panel in every]
    panels = every[: fitting(where, GAP)]
    where = where[: len(panels)]
    left = max(one.left for one in where)
    methods = list(dict.fromkeys(row["method"] for row in found if row.get("method")))
    families = list(dict.fromkeys(row["family"] for row in found if row.get("family")))
    notes = [*cut.notes, f"{ns(found)} pairs, {questions(found)}."]
    notes += [f"Filled: p < 0.05 after correction ({'; '.join(families[:3])})."] if families else []
    notes += [f"Lines: 95 % intervals, {'; '.join(methods)}."] if methods else []
    if len(every) > len(panels):
        notes.append(left_out(len(panels), len(every)))
    title = "Difference from " + (baselines[0] if len(baselines) == 1 else "the baseline")
    paper = column(title, notes, [one.height for one in where], left=left, right=0.5, gap=GAP, legend=0.2)
    for axes, panel, place in zip(paper.axes, panels, where, strict=True):
        label(axes, place)
        heading(axes, f"{name_of(panel.metric)}{f', {panel.title}' if panel.title else ''}", left)
        axes.axvline(0, color=INK, linewidth=0.6, zorder=1)
        for (_, row), y in zip(panel.rows, place.middles, strict=True):
            ends = row.get("ci")
            whisker(axes, tuple(ends) if ends and None not in ends else None, y, COLOURS[0])
            axes.plot(row["difference"], y, marker="o", markersize=4, color=COLOURS[0], zorder=4,
                      markerfacecolor=COLOURS[0] if row.get("significant") else PAPER)  # fmt: skip
            number(axes, signed(row["difference"], 1 if panel.metric == "tokens" else 3), y)
        axes.set_xlim(*_range([row for other in panels if _unit(other.metric) == _unit(panel.metric)
                               for _, row in other.rows]))  # fmt: skip
    paper.axes[-1].set_xlabel("difference of means" + (" (tokens)" if panels[-1].metric == "tokens" else ""))
    keys = [Line2D([], [], linestyle="none", marker="o", color=COLOURS[0], markerfacecolor=fill, label=text)
            for fill, text in ((COLOURS[0], "significant"), (PAPER, "not"))]  # fmt: skip
    legend(paper, keys, 2)
    return paper.figure


def _unit(metric: str) -> str:
    return metric if metric == "tokens" else "share"


def _panels(cut: Parts, metric: str, *, against: bool) -> list[Panel]:
    """A panel for each part with this metric; one for all of them where each has few rows."""
    found = []
    for part in cut.parts:
        names = [(f"{row['policy']} − {row['baseline']}" if against else str(row["policy"]), row)
                 for row in part.rows if row["metric"] == metric]  # fmt: skip
        if names:
            found.append(Panel(part.title, metric, names))
    if len(found) > 1 and max(len(panel.rows) for panel in found) <= FEW:
        joined = [(f"{name}, {panel.title}", row) for panel in found for name, row in panel.rows]
        return [Panel("", metric, joined)]
    return found


def _range(rows: list[Raw]) -> tuple[float, float]:
    """The axis of these rows, with 0 in it."""
    ends = [end for row in rows for end in (row["difference"], *(row.get("ci") or ())) if end is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room
