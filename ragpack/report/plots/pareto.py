"""Quality against what it costs."""

from __future__ import annotations

from ragpack.records import Raw
from ragpack.report.plots.figure import INK, SOFT, Figure, column, from_zero, heading, legend, pen, pens, room
from ragpack.report.plots.panels import NothingToDraw, Tables, name_of, ns, parts, policies_of, questions, table


def pareto(tables: Tables) -> Figure:
    """F1 (without a reader AiC) over the tokens of the context, a point for each policy and budget; the frontier is
    filled and joined: no other point has more at fewer tokens. A panel for each reader."""
    found = [row for row in table(tables, "sweep") if row.get("kind") == "pareto" and row.get("tokens") is not None]
    metric = next((one for one in ("f1", "answer_in_context") if any(row.get(one) is not None for row in found)), None)
    if metric is None:
        raise NothingToDraw("the table sweep has no frontier")
    found = [row for row in found if row.get(metric) is not None]
    cut = parts(found, ("policy", "budget"))
    names = policies_of(found)
    several = len({row["budget"] for row in found}) > 1
    notes = [*cut.notes, f"{ns(found)} rows a point, {questions(found)}. Filled and joined: the frontier."
             + (" Numbers at its points: the budget." if several else "")]  # fmt: skip
    title, several_panels = f"{name_of(metric)} against tokens", len(cut.parts) > 1
    paper = column(title, notes, [1.9] * len(cut.parts), headed=several_panels, left=0.54, legend=room(names))
    for axes, part in zip(paper.axes, cut.parts, strict=True):
        heading(axes, part.title, paper.left)
        front = sorted((row for row in part.rows if row.get("on_frontier")), key=lambda row: row["tokens"])
        axes.plot([row["tokens"] for row in front], [row[metric] for row in front], color=SOFT, linewidth=0.8, zorder=1)
        for at, name in enumerate(names):
            one = pen(at)
            for row in (row for row in part.rows if row["policy"] == name):
                axes.plot(row["tokens"], row[metric], marker=one.marker, linestyle="none", color=one.colour,
                          markerfacecolor=one.colour if row.get("on_frontier") else "none", markersize=4.5,
                          markeredgewidth=0.9, zorder=2)  # fmt: skip
        if several:
            for row in _apart(front, metric):
                axes.annotate(str(row["budget"]), (row["tokens"], row[metric]), (-3, 3), textcoords="offset points",
                              size=5.5, color=INK, ha="right")  # fmt: skip
        axes.grid(visible=True, axis="y")
        axes.margins(0.08)
        from_zero(axes)
        axes.set_ylabel(f"mean {name_of(metric)}")
    paper.axes[-1].set_xlabel("mean tokens of the context")
    keys = pens(names)
    for key in keys:
        key.set_linestyle("none")
    legend(paper, keys, at=0.1)
    return paper.figure


def _apart(front: list[Raw], metric: str) -> list[Raw]:
    """Of the frontier's points those whose number has room beside the numbers before."""
    wide = (front[-1]["tokens"] - front[0]["tokens"]) or 1.0
    tall = (max(row[metric] for row in front) - min(row[metric] for row in front)) or 1.0
    kept: list[Raw] = []
    for row in front:
        if all(abs(row["tokens"] - one["tokens"]) > 0.07 * wide or abs(row[metric] - one[metric]) > 0.05 * tall
               for one in kept):  # fmt: skip
            kept.append(row)
    return kept
