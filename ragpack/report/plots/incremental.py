"""What a feature of the context explains beyond recall."""

from __future__ import annotations

from ragpack.records import Raw
from ragpack.report.plots.bars import label, number, places, signed, whisker
from ragpack.report.plots.figure import COLOURS, INK, Figure, column, heading, legend, patches
from ragpack.report.plots.panels import NothingToDraw, Tables, interval, methods, name_of, ns, parts, questions, table

BAR = 0.12


def incremental(tables: Tables) -> Figure:
    """Bars of ΔR², the gain when a feature is added to retrieval recall as a predictor of F1 and EM, with intervals; a
    panel for each reader and base."""
    found = [row for row in table(tables, "incremental") if row.get("delta_r2") is not None]
    if not found:
        raise NothingToDraw("no row of the table incremental has a ΔR²")
    metrics = [one for one in ("f1", "em") if any(row["metric"] == one for row in found)]
    features = list(dict.fromkeys(row["feature"] for row in found))
    bases = list(dict.fromkeys(row["base"] for row in found))
    cut = parts(found, within=())
    panels = [(part.title, base, [row for row in part.rows if row["base"] == base]) for part in cut.parts
              for base in bases]  # fmt: skip
    panels = [panel for panel in panels if panel[2]]
    where = [places([name_of(one) for one in features if any(row["feature"] == one for row in rows)],
                    BAR * len(metrics) + 0.09) for _, _, rows in panels]  # fmt: skip
    left = max(one.left for one in where)
    notes = [*cut.notes, f"{ns(found)} rows, {questions(found)}.", *methods(found)]
    paper = column("What the context explains beyond recall", notes, [one.height for one in where], left=left,
                   right=0.42, legend=0.2, gap=0.72, headed=len(cut.parts) > 1)  # fmt: skip
    ends = [end for row in found for end in (interval(row, "delta_r2") or (row["delta_r2"],))]
    low, high = min(0.0, *ends), max(0.0, *ends)
    for axes, (title, base, rows), place in zip(paper.axes, panels, where, strict=True):
        label(axes, place)
        heading(axes, title, left)
        axes.set_xlabel(f"ΔR² over {base} alone{_alone(rows, metrics)}")
        mine = [one for one in features if any(row["feature"] == one for row in rows)]
        for feature, middle in zip(mine, place.middles, strict=True):
            for row in (row for row in rows if row["feature"] == feature):
                at = metrics.index(row["metric"])
                y = middle + (at - (len(metrics) - 1) / 2) * BAR
                axes.barh(y, row["delta_r2"], BAR * 0.86, color=COLOURS[at], linewidth=0)
                whisker(axes, interval(row, "delta_r2"), y)
                number(axes, signed(row["delta_r2"]), y)
        axes.axvline(0, color=INK, linewidth=0.6)
        axes.set_xlim(low * 1.06, high * 1.06 or 1)
    legend(paper, patches([name_of(metric) for metric in metrics]), len(metrics))
    return paper.figure


def _alone(rows: list[Raw], metrics: list[str]) -> str:
    """What the base explains by itself."""
    found = {row["metric"]: row["r2_base"] for row in rows if row.get("r2_base") is not None}
    told = [f"{name_of(metric)} {found[metric]:.2f}" for metric in metrics if metric in found]
    return f" (R² {', '.join(told)})" if told else ""
