"""Statistics over rows of the diagnostic: pure, arrays in, named results out.

All inference is clustered on the question id: rows of one question share its difficulty. A table is a function
`(rows, options) -> list of rows`. To add one: one file, one line here, and one in
`needs.NEEDS` where not every row will do.
"""

TABLES: dict[str, str] = {
    "policies": "ragpack.statistics.policies:policies",
    "correlations": "ragpack.statistics.correlations:correlations",
    "conditional": "ragpack.statistics.conditional:conditional",
    "incremental": "ragpack.statistics.incremental:incremental",
    "contrasts": "ragpack.statistics.contrasts:contrasts",
    "mediation": "ragpack.statistics.mediation:mediation",
    "decomposition": "ragpack.statistics.decomposition:decomposition",
    "oracle": "ragpack.statistics.oracle:oracle",
    "sweep": "ragpack.statistics.sweep:sweep",
    "scope": "ragpack.statistics.scope:scope",
}
