"""FlashRAG (Jin et al. 2024): items of its datasets, its results, its retrieval cache; each entry says which it is.

- item: `id, question, golden_answers, metadata`; a multi-hop item has its own paragraphs in `metadata`: `context
  {title, sentences or content}` and `supporting_facts {title, sent_id}`
- result: an item with `output.retrieval_result [{id, contents, score}]`, best first
- cache: one object `{question: [{id, contents, score?}]}`; older ones have no score

Items become questions, the others hits. `contents` is the title, a line end and the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragpack.datasets import hotpotqa
from ragpack.datasets.fields import each, free, id_of, number, string, texts, whole
from ragpack.datasets.gold import with_gold
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Doc, Hit, Hits, Question, Raw

LAYOUTS = "items, results, retrieval cache"
OURS = "ragpack"
"""Key in `metadata` under which `export` keeps what FlashRAG has no field for."""


def read(path: str, fail: Fail, *, gold: str | None = None) -> Iterator[Question | Hits]:
    """The questions of a file, with hits where it has passages."""
    return with_gold(each(path, fail, item_of, LAYOUTS, inside), gold)


def inside(entry: dict[str, Any]) -> Iterator[dict[str, Any]] | None:
    """The questions of a retrieval cache."""
    if not entry or not all(isinstance(found, list) for found in entry.values()):
        return None
    return ({"question": question, "output": {"retrieval_result": found}} for question, found in entry.items())


def item_of(entry: dict[str, Any], group: str | None = None) -> Question | Hits:
    """The question of an item, or the hits of a result."""
    question = string(entry["question"], "question")
    meta = dict(free(entry.get("metadata")) or {})
    ours = free(meta.pop(OURS, None)) or {}
    known: dict[str, Any] = {
        "id": id_of(entry["id"]) if entry.get("id") is not None else question,
        "question": question,
        "answers": texts(entry.get("golden_answers", []), "golden_answers"),
        "gold": texts(ours.get("gold", []), "metadata.ragpack.gold"),
        "gold_sentences": [
            (string(name, "metadata.ragpack.gold_sentences"), whole(index, "metadata.ragpack.gold_sentences"))
            for name, index in ours.get("gold_sentences", [])
        ]
        or None,
        "group": group or ours.get("group"),
    }
    found = (free(entry.get("output")) or {}).get("retrieval_result")
    if found is not None:
        return Hits(**known, hits=[_hit(rank, one) for rank, one in enumerate(found, 1)], meta=meta or None)
    if "golden_answers" not in entry:
        raise DataError("neither 'golden_answers' nor 'output.retrieval_result' is there", f"Layouts: {LAYOUTS}.")
    return Question(**{**known, **_pool(meta), "meta": meta or None})


def title_and_text(contents: object) -> tuple[str | None, str]:
    """Title and text of a passage. Quotes around the title are FlashRAG's."""
    head, _, text = string(contents, "contents").partition("\n")
    head = head.strip()
    if len(head) > 1 and head[0] == head[-1] == '"':
        head = head[1:-1]
    return head or None, text


def _hit(rank: int, passage: dict[str, Any]) -> Hit:
    title, text = title_and_text(passage["contents"])
    return Hit(
        rank=rank,
        id=id_of(passage["id"]) if "id" in passage else title or f"passage {rank}",
        title=title,
        text=text,
        score=number(passage.get("score"), "score"),
    )


def _pool(meta: Raw) -> dict[str, Any]:
    """A multi-hop item's own paragraphs, which leave `meta`."""
    if not isinstance(meta.get("context"), dict) or not isinstance(meta.get("supporting_facts"), dict):
        return {}
    context, facts = meta.pop("context"), meta.pop("supporting_facts")
    if "content" in context:
        context = {"title": context["title"], "sentences": context["content"]}
    entry = {"id": "x", "question": "", "answer": "", "context": context, "supporting_facts": facts}
    made = hotpotqa.question_of(entry)
    docs: list[Doc] = made.docs or []
    return {"docs": docs, "gold": made.gold, "gold_sentences": made.gold_sentences}
