"""Policies against their baseline."""

from __future__ import annotations

from ragpack.records import Raw
from ragpack.report.plots.bars import fitting, label, number, places, signed, whisker
from ragpack.report.plots.figure import COLOURS, INK, PAPER, Figure, column, heading, legend
from ragpack.report.plots.panels import NothingToDraw, Tables, left_out, name_of, ns, parts, questions, table

ROW = 0.16
GAP = 0.46


def contrasts(tables: Tables) -> Figure:
    """A forest plot: each difference with its interval, filled where it is significant after the correction; a panel
    for each metric, reader and budget. Metrics between 0 and 1 share their axis."""
    from matplotlib.lines import Line2D

    found = [row for row in table(tables, "contrasts") if row.get("difference") is not None]
    if not found:
        raise NothingToDraw("no contrast has a difference")
    cut = parts(found)
    metrics = list(dict.fromkeys(row["metric"] for row in found))
    baselines = sorted({row["baseline"] for row in found})
    every = [(part.title, metric, [row for row in part.rows if row["metric"] == metric]) for metric in metrics
             for part in cut.parts]  # fmt: skip
    every = [panel for panel in every if panel[2]]
    against = len(baselines) > 1
    where = [places([_name(row, against) for row in rows], ROW, 22) for _, _, rows in every]
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
    title = "Difference from " + (baselines[0] if not against else "the baseline")
    paper = column(title, notes, [one.height for one in where], left=left, right=0.5, gap=GAP, legend=0.2)
    for axes, (over, metric, rows), place in zip(paper.axes, panels, where, strict=True):
        label(axes, place)
        heading(axes, f"{name_of(metric)}{f', {over}' if over else ''}", left)
        axes.axvline(0, color=INK, linewidth=0.6, zorder=1)
        for row, y in zip(rows, place.middles, strict=True):
            ends = row.get("ci")
            whisker(axes, tuple(ends) if ends and None not in ends else None, y, COLOURS[0])
            axes.plot(row["difference"], y, marker="o", markersize=4, color=COLOURS[0], zorder=4,
                      markerfacecolor=COLOURS[0] if row.get("significant") else PAPER)  # fmt: skip
            number(axes, signed(row["difference"], 1 if metric == "tokens" else 3), y)
        axes.set_xlim(*_range([row for _, other, rows in panels for row in rows if _unit(other) == _unit(metric)]))
    paper.axes[-1].set_xlabel("difference of means" + (" (tokens)" if panels[-1][1] == "tokens" else ""))
    keys = [Line2D([], [], linestyle="none", marker="o", color=COLOURS[0], markerfacecolor=fill, label=text)
            for fill, text in ((COLOURS[0], "significant"), (PAPER, "not"))]  # fmt: skip
    legend(paper, keys, 2)
    return paper.figure


def _unit(metric: str) -> str:
    return metric if metric == "tokens" else "share"


def _name(row: Raw, against: bool) -> str:
    return f"{row['policy']} − {row['baseline']}" if against else str(row["policy"])


def _range(rows: list[Raw]) -> tuple[float, float]:
    """The axis of these rows, with 0 in it."""
    ends = [end for row in rows for end in (row["difference"], *(row.get("ci") or ())) if end is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room
