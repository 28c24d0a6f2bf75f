"""Formats of published datasets: `name -> read(path, fail) -> records`. To add one: one file, one line here.

A reader gives `Question` records one by one, or `Doc` records of a corpus, or `Hits` of another retriever, and calls
`fail(source, number, error, id)` for an entry that it can't read; `number` is the line, or the place in a JSON list,
from 1. A reader that takes a side file of gold documents has a keyword-only parameter `gold`, its path.
"""

DATASETS: dict[str, str] = {
    "hotpotqa": "ragpack.datasets.hotpotqa:read",
    "musique": "ragpack.datasets.musique:read",
    "2wiki": "ragpack.datasets.twowiki:read",
    "2wiki-corpus": "ragpack.datasets.corpus:read",
    "nq": "ragpack.datasets.nq:read",
    "popqa": "ragpack.datasets.popqa:read",
    "dpr": "ragpack.datasets.dpr:read",
    "corpus": "ragpack.datasets.corpus:read",
}
