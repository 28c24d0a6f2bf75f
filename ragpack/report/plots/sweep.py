"""Quality against the budget."""

from __future__ import annotations

from ragpack.report.plots.figure import Figure, column, from_zero, heading, legend, pen, pens, room
from ragpack.report.plots.panels import (
    NothingToDraw,
    Tables,
    interval,
    methods,
    name_of,
    ns,
    parts,
    policies_of,
    questions,
    table,
    with_intervals,
)


def sweep(tables: Tables) -> Figure:
    """F1 and AiC over the budget, a line with its band for each policy; a panel for each number and reader."""
    found = [row for row in table(tables, "sweep", "policies") if row.get("kind", "mean") == "mean"]
    found = [row for row in found if row.get("budget") is not None]
    if len({row["budget"] for row in found}) < 2:
        raise NothingToDraw("it needs rows of two budgets at least")
    metrics = [one for one in ("f1", "answer_in_context") if any(row.get(one) is not None for row in found)]
    if not metrics:
        raise NothingToDraw("the rows have neither F1 nor AiC")
    cut = parts(with_intervals(found, tables, metrics), ("policy", "budget"))
    names = policies_of(found)
    shown = [row for part in cut.parts for row in part.rows]
    banded = methods([row for row in shown if any(interval(row, metric) for metric in metrics)])
    notes = [*cut.notes, f"{ns(shown)} rows a point, {questions(shown)}.",
             *(one.replace("Lines", "Bands") for one in banded)]  # fmt: skip
    panels = [(part, metric) for part in cut.parts for metric in metrics]
    paper = column("Quality against the budget", notes, [1.35] * len(panels), left=0.54,
                   legend=room(names))  # fmt: skip
    budgets = sorted({row["budget"] for row in shown})
    for axes, (part, metric) in zip(paper.axes, panels, strict=True):
        heading(axes, f"{name_of(metric)}{f', {part.title}' if part.title else ''}", paper.left)
        for at, name in enumerate(names):
            mine = sorted((row for row in part.rows if row["policy"] == name and row.get(metric) is not None),
                          key=lambda row: row["budget"])  # fmt: skip
            one = pen(at)
            axes.plot([row["budget"] for row in mine], [row[metric] for row in mine], color=one.colour,
                      marker=one.marker, linestyle=one.dashes)  # fmt: skip
            ends = [(row["budget"], *interval(row, metric)) for row in mine if interval(row, metric)]  # type: ignore[misc] # those that are None are left out
            if ends:
                x, low, high = zip(*ends, strict=True)
                # Many bands over one another are mud: they grow fainter with their number.
                axes.fill_between(x, low, high, color=one.colour, alpha=max(0.05, 0.22 - 0.02 * len(names)),
                                  linewidth=0)  # fmt: skip
        _ticks(axes, budgets)
        axes.grid(visible=True, axis="y")
        from_zero(axes)
        axes.set_ylabel(f"mean {name_of(metric)}")
    paper.axes[-1].set_xlabel("budget (tokens of the context)")
    legend(paper, pens(names), at=0.1)
    return paper.figure


def _ticks(axes: object, budgets: list[int]) -> None:
    """A tick for each budget, its number where there is room."""
    span = budgets[-1] - budgets[0]
    kept: list[int] = []
    for budget in budgets:
        if not kept or budget - kept[-1] >= span * 0.09:
            kept.append(budget)
    axes.set_xticks(kept, [str(one) for one in kept])  # type: ignore[attr-defined] # matplotlib's axes
    axes.set_xticks(budgets, minor=True)  # type: ignore[attr-defined] # same
