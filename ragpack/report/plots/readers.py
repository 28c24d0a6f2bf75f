"""Policies under one reader after another."""

from __future__ import annotations

from ragpack.report.plots.figure import (
    CHARACTER,
    LINE,
    Figure,
    column,
    from_zero,
    heading,
    legend,
    pen,
    pens,
    room,
    wrapped,
)
from ragpack.report.plots.panels import (
    NothingToDraw,
    Tables,
    interval,
    methods,
    ns,
    parts,
    policies_of,
    questions,
    table,
    with_intervals,
)


def readers(tables: Tables) -> Figure:
    """The reader ladder: F1 of each policy under each reader, weakest first, with intervals; a panel for each budget.

    Readers stand in the order of their mean F1 over all policies and budgets.
    """
    found = [row for row in table(tables, "policies") if row.get("f1") is not None and row.get("model") is not None]
    found = [row for row in found if row.get("budget") is not None] or found
    names, ladder = policies_of(found), sorted({row["model"] for row in found})
    if len(ladder) < 2:
        raise NothingToDraw("it needs rows of two readers at least")

    def strength(model: str) -> float:
        values: list[float] = [row["f1"] for row in found if row["model"] == model]
        return sum(values) / len(values)

    ladder.sort(key=lambda model: (strength(model), model))
    cut = parts(with_intervals(found, tables, ("f1",)), ("policy", "model"))
    shown = [row for part in cut.parts for row in part.rows]
    notes = [*cut.notes, f"{ns(shown)} rows a point, {questions(shown)}.",
             *methods([row for row in shown if interval(row, "f1")])]  # fmt: skip
    width = max(8, int(2.8 / len(ladder) / CHARACTER))
    labels = [wrapped(model, width) for model in ladder]
    deep = LINE * max(map(len, labels))
    paper = column("F1 by reader", notes, [1.5] * len(cut.parts), left=0.54, gap=0.4 + deep, last=0.3 + deep,
                   legend=room(names))  # fmt: skip
    for axes, part in zip(paper.axes, cut.parts, strict=True):
        heading(axes, part.title, paper.left)
        for at, name in enumerate(names):
            rows = {row["model"]: row for row in part.rows if row["policy"] == name}
            places = [place for place, model in enumerate(ladder) if model in rows]
            # Side by side: intervals of twelve policies at one place hide one another.
            apart = 0.5 * (at - (len(names) - 1) / 2) / max(len(names), 6)
            one = pen(at)
            axes.plot([place + apart for place in places], [rows[ladder[place]]["f1"] for place in places],
                      color=one.colour, marker=one.marker, linestyle=one.dashes)  # fmt: skip
            for place in places:
                ends = interval(rows[ladder[place]], "f1")
                if ends:
                    axes.plot((place + apart,) * 2, ends, color=one.colour, linewidth=0.8, zorder=1)
        axes.set_xticks(range(len(ladder)), ["\n".join(text) for text in labels])
        axes.set_xlim(-0.5, len(ladder) - 0.5)
        axes.grid(visible=False, axis="x")
        axes.grid(visible=True, axis="y")
        from_zero(axes)
        axes.set_ylabel("mean F1")
    paper.axes[-1].set_xlabel("reader")
    legend(paper, pens(names), at=0.1)
    return paper.figure
