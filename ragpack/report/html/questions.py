"""The rows behind the tables, for the page's list of questions: kept on disk until it is known which are shown."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from ragpack.records import Diagnosed, Raw

MARKED = ("f1", "em", "answer_in_context", "graded", "gold_doc_coverage", "gold_token_density")


class Entry(NamedTuple):
    """One row: what the list filters by, and where its text is."""

    id: str
    policy: str
    budget: int
    model: str | None
    seed: int | None
    verdict: str | None
    group: str | None
    offset: int
    size: int

    @property
    def key(self) -> tuple[str, str | None, str, int, int | None]:
        """What tells it from the other rows."""
        return (self.id, self.model, self.policy, self.budget, self.seed)


class Question(NamedTuple):
    """One question with its rows, sorted."""

    entries: list[Entry]
    detail: Raw
    """What is shown of it."""


class Shelf:
    """Takes rows as they come. Memory grows with their number, not with their texts: those lie in a file without a
    name, which goes with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 # as long as the shelf
        self._size = 0
        self.entries: list[Entry] = []

    def take(self, record: Diagnosed, raw: Raw) -> None:
        """Keep a row."""
        data = orjson.dumps(_shown(record, raw))
        seed = record.sample.get("seed") if record.sample else None
        pack, model = record.pack, record.generate.model if record.generate else None
        self.entries.append(Entry(record.id, pack.policy, pack.budget, model, seed, record.diagnose.verdict,
                                  record.group, self._size, len(data)))  # fmt: skip
        self._file.write(data)
        self._size += len(data)

    def question(self, entries: Iterable[Entry]) -> Question:
        """Read a question's rows back; what they share is told once."""
        mine = sorted(entries, key=_order)
        rows: list[Raw] = []
        hits: list[list[Raw]] = []
        first: Raw = {}
        for entry in mine:
            self._file.seek(entry.offset)
            row = orjson.loads(self._file.read(entry.size))
            first = first or row["question"]
            if row["hits"] not in hits:
                hits.append(row["hits"])
            rows.append({**row["row"], "hits": hits.index(row["hits"])})
        gold = set(first["gold"])
        missed = [[one for one in first["gold"] if one not in {hit["id"] for hit in found}] for found in hits]
        for found in hits:
            for hit in found:
                hit["gold"] = hit["id"] in gold
        return Question(mine, {**first, "hits": hits, "missed": missed, "rows": rows})


def chosen(ids: Collection[str], most: int) -> list[str]:
    """At most `most` ids, sorted: those with the smallest hashes, so that the choice depends neither on the order of
    the rows nor on how ids are named."""
    drawn = sorted(ids, key=lambda one: (hashlib.blake2b(one.encode("utf-8", "replace"), digest_size=8).digest(), one))
    return sorted(drawn[:most])


def _order(entry: Entry) -> tuple[Any, ...]:
    return (entry.policy, entry.budget, entry.model or "", entry.seed is not None, entry.seed or 0)


def _shown(record: Diagnosed, raw: Raw) -> Raw:
    """What the page shows of a row."""
    generate = raw.get("generate") or {}
    gold = set(record.gold)
    snippets = [
        {"rank": one.rank, "title": one.title or one.id, "tokens": one.tokens, "relevance": one.relevance,
         "gain": one.gain, "gold": one.id in gold}
        for one in record.pack.snippets
    ]  # fmt: skip
    titles = {hit.id: hit.title or hit.id for hit in record.hits}
    dropped = [
        {"hit": one.rank, "title": titles.get(one.id, one.id), "gold": "★ gold" if one.id in gold else "",
         "reason": one.reason, "cost": one.cost, "relevance": one.relevance, "terms": ", ".join(one.terms or ())}
        for one in record.pack.explain or ()
        if one.reason != "taken"
    ]  # fmt: skip
    row = {
        **{name: raw["diagnose"].get(name) for name in MARKED},
        "tokens": record.pack.tokens,
        "prompt_tokens": record.generate.tokens.prompt if record.generate else None,
        "context": parted(record.pack.context, record.diagnose.spans or ()),
        "answer": generate.get("answer"),
        "finish": generate.get("finish"),
        "snippets": snippets,
        "dropped": record.pack.dropped,
        "explain": dropped if record.pack.explain is not None else None,
    }
    hits = [
        {"rank": hit.rank, "id": hit.id, "title": hit.title or hit.id, "score": hit.score,
         "has_answer": hit.has_answer, "scores": hit.scores}
        for hit in sorted(record.hits, key=lambda hit: (hit.rank, hit.id))
    ]  # fmt: skip
    return {
        "question": {"id": record.id, "question": record.question, "answers": record.answers, "gold": record.gold},
        "hits": hits,
        "row": row,
    }


def parted(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The text cut at the spans: every second piece, from the second on, is one. Spans count code points, a browser
    counts UTF-16 units: so the cutting is done here.

    >>> parted("In Paris, the city", [(3, 8)])
    ['In ', 'Paris', ', the city']
    """
    pieces, at = [], 0
    for start, end in sorted(spans):
        if at <= start < end <= len(text):
            pieces += [text[at:start], text[start:end]]
            at = end
    return [*pieces, text[at:]]
