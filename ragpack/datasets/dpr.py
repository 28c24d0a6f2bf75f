"""Questions with passages that a retriever has found, as DPR, FiD, Contriever and Pyserini write them.

- DPR: `question, answers, ctxs [{title, text, id?, score?, has_answer?}]`, best first, and `id` of the question, or
  else its text
- Pyserini: one object `{question id: {question, answers, contexts [{docid, score, text, has_answer}]}}`; the text's
  first line is the title

They are hits already: `pack` reads what comes out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ragpack.datasets.fields import each, flag, free, id_of, number, string, texts
from ragpack.datasets.gold import with_gold
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Hit, Hits

LAYOUTS = "DPR, Pyserini"


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Hits]:
    """The questions of a file, each with its hits."""
    return with_gold(each(path, fail, hits_of, LAYOUTS, inside), gold)


def inside(entry: dict[str, Any]) -> Iterator[dict[str, Any]] | None:
    """The questions of Pyserini's one object."""
    if "question" in entry or not all(isinstance(one, dict) and "contexts" in one for one in entry.values()):
        return None
    return ({"id": name, **one, "ctxs": [_passage(each) for each in one["contexts"]]} for name, one in entry.items())


def _passage(context: dict[str, Any]) -> dict[str, Any]:
    title, _, text = string(context["text"], "contexts[].text").partition("\n")
    return {**context, "id": context["docid"], "title": title.strip('"') if text else "", "text": text or title}


def hits_of(entry: dict[str, Any], group: str | None = None) -> Hits:
    """The hits of an entry."""
    question = string(entry["question"], "question")
    hits: list[Hit] = []
    seen: Counter[str] = Counter()
    for rank, passage in enumerate(entry["ctxs"], 1):
        title = string(passage.get("title") or "", "ctxs[].title")
        name = id_of(passage["id"]) if "id" in passage else title or f"passage {rank}"
        seen[name] += 1
        if seen[name] > 1:
            if "id" in passage:
                raise DataError(f"ctxs[{rank - 1}]: the id '{name}' is there twice", "Ids name documents.")
            name = f"{name} #{seen[name]}"
        has_answer = passage.get("has_answer", passage.get("hasanswer"))
        hits.append(
            Hit(
                rank=rank,
                id=name,
                title=title or None,
                text=string(passage["text"], "ctxs[].text"),
                score=number(passage.get("score"), "ctxs[].score"),
                has_answer=None if has_answer is None else flag(has_answer, "ctxs[].has_answer"),
            )
        )
    return Hits(
        id=id_of(entry["id"]) if "id" in entry else question,
        question=question,
        answers=texts(entry.get("answers", entry.get("answer", [])), "answers"),
        hits=hits,
        group=group,
        meta=free(entry.get("metadata")),
    )
