"""Means of the policies."""

from __future__ import annotations

from ragpack.records import Raw
from ragpack.report.plots.bars import fitting, label, number, places, whisker
from ragpack.report.plots.figure import COLOURS, Figure, column, heading, legend, patches
from ragpack.report.plots.panels import (
    NothingToDraw,
    Tables,
    interval,
    left_out,
    methods,
    name_of,
    ns,
    parts,
    policies_of,
    questions,
    table,
    with_intervals,
)

SHOWN = ("f1", "answer_in_context", "gold_doc_coverage")
BAR = 0.11


def policies(tables: Tables) -> Figure:
    """Bars of each policy's F1 and AiC (without a reader AiC and coverage), a panel for each reader and budget.

    Policies stand in the order of the first of the two numbers, over all panels.
    """
    found = table(tables, "policies")
    found = [row for row in found if row.get("budget") is not None] or found
    metrics = [name for name in SHOWN if any(row.get(name) is not None for row in found)][:2]
    if not metrics:
        raise NothingToDraw("the policies have neither F1 nor AiC")
    cut = parts(with_intervals(found, tables, metrics))
    order = sorted(policies_of(found), key=lambda policy: (-_mean(found, policy, metrics[0]), policy))
    where = [places([one for one in order if any(row["policy"] == one for row in part.rows)], BAR * len(metrics) + 0.1)
             for part in cut.parts]  # fmt: skip
    count = fitting(where)
    if count < len(where):
        cut = cut._replace(notes=[*cut.notes, left_out(count, len(where))], parts=cut.parts[:count])
        where = where[:count]
    left = max(one.left for one in where)
    shown = [row for part in cut.parts for row in part.rows]
    intervals = methods([row for row in shown if any(interval(row, metric) for metric in metrics)])
    notes = [*cut.notes, f"{ns(shown)} rows a bar, {questions(shown)}.",
             *(intervals or ["These rows have no intervals: they come with the table sweep."])]  # fmt: skip
    title = " and ".join(map(name_of, metrics)) + " by policy"
    paper = column(
        title, notes, [one.height for one in where], left=left, right=0.38, legend=0.2, headed=len(cut.parts) > 1
    )
    most = max(_end(row, metric) for row in shown for metric in metrics)
    for axes, part, place in zip(paper.axes, cut.parts, where, strict=True):
        label(axes, place)
        heading(axes, part.title, left)
        rows = {row["policy"]: row for row in part.rows}
        mine = [rows[one] for one in order if one in rows]
        for row, middle in zip(mine, place.middles, strict=True):
            for at, metric in enumerate(metrics):
                y = middle + (at - (len(metrics) - 1) / 2) * BAR
                if row.get(metric) is None:
                    number(axes, "–", y)
                    continue
                axes.barh(y, row[metric], BAR * 0.86, color=COLOURS[at], linewidth=0)
                whisker(axes, interval(row, metric), y)
                number(axes, f"{row[metric]:.3f}", y)
        axes.set_xlim(0, min(1.0, most * 1.04) if most else 1)
    paper.axes[-1].set_xlabel("mean (0–1)")
    legend(paper, patches([name_of(metric) for metric in metrics]), len(metrics))
    return paper.figure


def _mean(rows: list[Raw], policy: str, metric: str) -> float:
    values = [row[metric] for row in rows if row["policy"] == policy and row.get(metric) is not None]
    return sum(values) / len(values) if values else -1.0


def _end(row: Raw, metric: str) -> float:
    ends = interval(row, metric)
    return max(row.get(metric) or 0.0, ends[1] if ends else 0.0)
