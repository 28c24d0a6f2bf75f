"""Statistics over rows of the diagnostic: pure, arrays in, named results out.

All inference is clustered on the question id: rows of one question share its difficulty. A table is a function
`(rows, options) -> list of rows`. To add one: one file, one line here.
"""

TABLES: dict[str, str] = {
    "policies": "ragpack.statistics.policies:policies",
    "conditional": "ragpack.statistics.conditional:conditional",
    "contrasts": "ragpack.statistics.contrasts:contrasts",
}

PAIRED = ("contrasts",)
"""Tables of differences between two policies: they need a baseline or a contrast."""
