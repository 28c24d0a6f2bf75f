"""Questions with passages that a retriever has found, as DPR, FiD and Contriever write them.

`question, answers, ctxs [{title, text, id?, score?, has_answer?}]`, best first, and `id` of the question, or else its
text. They are hits already: `pack` reads what comes out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ragpack.datasets.fields import each, flag, id_of, string, strings
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Hit, Hits

LAYOUTS = "DPR"


def read(path: str, fail: Fail) -> Iterator[Hits]:
    """The questions of a file, each with its hits."""
    return each(path, fail, _hits, LAYOUTS)


def _hits(entry: dict[str, Any]) -> Hits:
    question = string(entry["question"], "question")
    hits: list[Hit] = []
    seen: Counter[str] = Counter()
    for rank, passage in enumerate(entry["ctxs"], 1):
        title = string(passage["title"], "ctxs[].title")
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
                score=_score(passage.get("score")),
                has_answer=None if has_answer is None else flag(has_answer, "ctxs[].has_answer"),
            )
        )
    return Hits(
        id=id_of(entry["id"]) if "id" in entry else question,
        question=question,
        answers=strings(entry.get("answers", []), "answers"),
        hits=hits,
        meta=meta if isinstance(meta := entry.get("metadata"), dict) else None,
    )


def _score(value: object) -> float | None:
    """DPR writes its scores as strings."""
    try:
        return None if value is None else float(value)  # type: ignore[arg-type] # what is no number raises
    except (TypeError, ValueError):
        raise DataError(f"ctxs[].score: expected a number, got {value!r}") from None
