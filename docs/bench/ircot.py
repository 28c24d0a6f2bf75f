"""What the thoughts of a reader add to retrieval: recall@k, all_gold@k, calls and tokens of files of hits.

    python docs/bench/ircot.py q.jsonl bm25.jsonl ircot.jsonl    # q.jsonl: the questions with their pools

Below each file that a reader made stands the first file with as many hits for each question. The last rows have no
reader: each thought is the next gold sentence of the question, as the best of readers might say it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ragpack.checked import view  # noqa: E402 # as above
from ragpack.metrics.retrieval import all_gold_at, recall_at  # noqa: E402 # the tree before an installed ragpack
from ragpack.records import Hits, Question, Retrieve  # noqa: E402 # as above
from ragpack.retrievers.base import Thought  # noqa: E402 # as above
from ragpack.retrievers.ircot import open_retriever  # noqa: E402 # as above

CUTS = (2, 5, 10)


class Ranked(NamedTuple):
    """The hits of one question, best first."""

    ids: list[str]
    gold: list[str]
    about: Retrieve | None


def main(questions: str, files: Sequence[str]) -> None:
    """Print the rows of a Markdown table."""
    print("| retriever | hits | " + " | ".join(f"{name}@{k}" for name in ("recall", "all_gold") for k in CUTS)
          + " | calls | prompt tokens | completion tokens |")  # fmt: skip
    print("|---" * (5 + 2 * len(CUTS)) + "|")
    first: list[Ranked] = []
    for file in files:
        rows = [view(raw, (Hits,)) for raw in read(file)]
        found = [Ranked([hit.id for hit in row.hits], row.gold, row.retrieve) for row in rows]
        first = first or found
        show(found)
        if any(one.about and one.about.calls for one in found):
            name = first[0].about.retriever if first[0].about else files[0]
            cut = [Ranked(other.ids[: len(one.ids)], one.gold, None) for one, other in zip(found, first, strict=True)]
            show(cut, f"`{name}`, as many hits")
    for count in ("all", "new"):
        told = [_told(view(raw, (Question,)), count) for raw in read(questions)]
        show(told, f"k=2, count={count}, told the gold sentences")


def read(file: str) -> Iterator[dict[str, object]]:
    """The objects of a file."""
    with open(file, "rb") as lines:
        yield from map(orjson.loads, lines)


def show(rows: Sequence[Ranked], name: str = "") -> None:
    """One row of the table."""
    first = rows[0].about
    means = [math.fsum(at(row.ids, row.gold, k) or 0.0 for row in rows) / len(rows)
             for at in (recall_at, all_gold_at) for k in CUTS]  # fmt: skip
    cells = [f"`{first.retriever}`" if first else name, f"{sum(len(row.ids) for row in rows) / len(rows):.1f}"]
    cells += [f"{mean:.3f}" for mean in means]
    asked = [row.about for row in rows if row.about and row.about.tokens]
    for counts in ([one.calls for one in asked], [one.tokens.prompt for one in asked],
                   [one.tokens.completion for one in asked]):  # fmt: skip
        cells.append(f"{sum(counts) / len(rows):.1f}" if asked else "")
    print(f"| {' | '.join(cells)} |")


def _told(question: Question, count: str) -> Ranked:
    """A walk whose thoughts are the gold sentences, in their order."""
    docs = {doc.id: doc for doc in question.docs or []}
    thoughts = []
    for at, sentence in question.gold_sentences or []:
        spans = docs[at].sentences or []
        thoughts += [docs[at].text[slice(*spans[sentence])]] if sentence < len(spans) else []
    walk = open_retriever(None, k=2, count=count).walk(question.question, question.docs, max(CUTS))  # type: ignore[arg-type] # one of two words
    try:
        wanted = next(walk)
        while True:
            step = len(wanted.thoughts)
            wanted = walk.send(Thought(thoughts[step] if step < len(thoughts) else ""))
    except StopIteration as end:
        return Ranked([one.doc.id for one in end.value.found], question.gold, None)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
