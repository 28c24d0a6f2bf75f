"""Formats of published datasets: `name -> read(path, fail) -> records`. To add one: one file, one line here, and a rule
in `detect`.

A reader gives `Question` records one by one, or `Doc` records of a corpus, or `Hits` of another retriever, and calls
`fail(source, number, error, id)` for an entry that it can't read; `number` is the line, or the place in a JSON list,
from 1. Keyword-only parameters are options of the command: `gold`, a side file of gold documents; `questions`,
`corpus`, `split`.
"""

DATASETS: dict[str, str] = {
    "hotpotqa": "ragpack.datasets.hotpotqa:read",
    "musique": "ragpack.datasets.musique:read",
    "2wiki": "ragpack.datasets.twowiki:read",
    "2wiki-corpus": "ragpack.datasets.corpus:read",
    "nq": "ragpack.datasets.nq:read",
    "triviaqa": "ragpack.datasets.triviaqa:read",
    "popqa": "ragpack.datasets.popqa:read",
    "ambigqa": "ragpack.datasets.ambigqa:read",
    "squad": "ragpack.datasets.squad:read",
    "covidqa": "ragpack.datasets.covidqa:read",
    "expertqa": "ragpack.datasets.expertqa:read",
    "ragbench": "ragpack.datasets.ragbench:read",
    "beir": "ragpack.datasets.beir:read",
    "trec": "ragpack.datasets.trec:read",
    "dpr": "ragpack.datasets.dpr:read",
    "flashrag": "ragpack.datasets.flashrag:read",
    "corpus": "ragpack.datasets.corpus:read",
}

FOLDERS = ("beir", "corpus", "2wiki-corpus")
"""Formats of which a folder may be imported."""
