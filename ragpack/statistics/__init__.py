"""Statistics over rows of the diagnostic: pure, arrays in, named results out.

All inference is clustered on the question id: rows of one question share its difficulty. A table is a function
`(rows, options) -> list of rows`. To add one: one file, one line here.
"""

TABLES: dict[str, str] = {
    "policies": "ragpack.statistics.policies:policies",
    "correlations": "ragpack.statistics.correlations:correlations",
    "conditional": "ragpack.statistics.conditional:conditional",
    "incremental": "ragpack.statistics.incremental:incremental",
    "contrasts": "ragpack.statistics.contrasts:contrasts",
    "mediation": "ragpack.statistics.mediation:mediation",
    "decomposition": "ragpack.statistics.decomposition:decomposition",
}

PAIRED = ("contrasts", "mediation", "decomposition")
"""Tables of differences between two policies: they need a baseline or a contrast."""
