"""Plots of the tables that `stats` makes: rows in, a matplotlib figure out.

A plot is a function `(tables) -> Figure`, tables by name with their rows as they are written; it raises
`NothingToDraw` with a sentence where they have not what it shows. It is drawn at the width of a paper's column. To add
one: one file, one line here.
"""

PLOTS: dict[str, str] = {
    "policies": "ragpack.report.plots.policies:policies",
    "conditional": "ragpack.report.plots.conditional:conditional",
    "incremental": "ragpack.report.plots.incremental:incremental",
    "sweep": "ragpack.report.plots.sweep:sweep",
    "pareto": "ragpack.report.plots.pareto:pareto",
    "readers": "ragpack.report.plots.readers:readers",
    "ig": "ragpack.report.plots.ig:ig",
    "contrasts": "ragpack.report.plots.contrasts:contrasts",
}
