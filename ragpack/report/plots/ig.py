"""Information gain of the hits, and what a threshold keeps."""

from __future__ import annotations

from ragpack.report.plots.figure import COLOURS, INK, SOFT, Figure, column, legend, patches
from ragpack.report.plots.panels import NothingToDraw, Tables

BINS = 40


def ig(tables: Tables) -> Figure:
    """A histogram of `scores.ig` over the hits, those with the answer apart, and the thresholds of the rows' igp
    policies as lines. Values beyond the 0.5 % and 99.5 % quantiles stand in the outermost bins."""
    import numpy as np
    from matplotlib.lines import Line2D

    rows = list(tables.get("ig", ()))
    if not rows:
        raise NothingToDraw("it needs hits with scores.ig, which generate --probe ig writes")
    gains = np.array([row["ig"] for row in rows])
    low, high = np.quantile(gains, (0.005, 0.995))
    thresholds = sorted({one for row in rows for one in row["thresholds"]})
    low, high = min(low, 0.0, *thresholds), max(high, 0.0, *thresholds)
    high = high if high > low else low + 1.0
    kinds = {"with the answer": True, "without": False, "not known": None}
    shown = [name for name, level in kinds.items() if any(row["has_answer"] is level for row in rows)]
    parted = [np.clip([row["ig"] for row in rows if row["has_answer"] is kinds[name]], low, high) for name in shown]
    questions = len({row["id"] for row in rows})
    kept = [f"IG ≥ {one:g} keeps {100 * float((gains >= one).mean()):.0f} %" for one in thresholds]
    notes = [f"n = {len(rows)} hits of {questions} questions." + (f" {'; '.join(kept)}." if kept else "")]
    paper = column("Information gain of the hits", notes, [1.7], left=0.5, legend=0.36 if thresholds else 0.2,
                   headed=False)  # fmt: skip
    (axes,) = paper.axes
    axes.hist(parted, bins=BINS, range=(low, high), stacked=True, color=list(COLOURS[: len(shown)]), linewidth=0)
    axes.axvline(0, color=SOFT, linewidth=0.6)
    for one in thresholds:
        axes.axvline(one, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.grid(visible=False, axis="x")
    axes.grid(visible=True, axis="y")
    axes.set_ylabel("hits")
    axes.set_xlabel("information gain, NU(q) − NU(q | hit)")
    keys = patches(shown)
    if thresholds:
        text = f"threshold {', '.join(f'{one:g}' for one in thresholds)}"
        keys.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (4, 2)), label=text))
    legend(paper, keys, 2)
    return paper.figure
