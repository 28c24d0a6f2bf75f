"""Formats of published datasets: `name -> read(path, fail) -> questions`. To add one: one file, one line here.

A reader gives `Question` records one by one, and calls `fail(source, number, error, id)` for an entry that it can't
read; `number` is the line, or the place in a JSON list, from 1.
"""

DATASETS: dict[str, str] = {
    "hotpotqa": "ragpack.datasets.hotpotqa:read",
}
