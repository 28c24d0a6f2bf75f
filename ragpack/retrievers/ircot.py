"""Retrieval between thoughts: the reader's next thought about a question is the next query.

IRCoT (Trivedi et al., ACL 2023, section 3): search with the question; let the reader write one sentence from what is
there; search with that sentence; and so on. What all searches found is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Literal

from ragpack.errors import UsageError, did_you_mean
from ragpack.records import Doc
from ragpack.retrievers.base import Found, Retriever, Thought, Walked, Wanted
from ragpack.retrievers.corpus import Corpus
from ragpack.retrievers.opening import opened
from ragpack.text import words


class Ircot:
    """A base retriever that is asked again with each thought."""

    def __init__(self, base: Retriever, steps: int, k: int, new: bool, max_tokens: int, budget: int) -> None:
        self._base, self._steps, self._k, self._new = base, steps, k, new
        self.max_tokens, self.budget = max_tokens, budget
        marks = [getattr(base, name, None) for name in ("version", "fingerprint")]
        self.version = " ".join(["1", *(str(mark) for mark in marks if mark is not None)])
        """Part of the content key: another walk, or another version or model of the base, gets another one."""

    def walk(self, question: str, docs: Sequence[Doc] | None, k: int) -> Generator[Wanted, Thought, Walked]:
        """At most `k` documents, in the order in which they were found: search by search, each best first.

        Asks for no thought where none could change the result: `k` documents are there, or all of the pool.
        """
        found: dict[str, Found] = {}
        thoughts: list[str] = []
        most = k if docs is None else min(k, len(docs))
        self._search(question, docs, 0, found)
        while len(thoughts) < self._steps and len(found) < most:
            thought = yield Wanted(question, tuple(one.doc for one in found.values()), tuple(thoughts))
            if not words(thought.text):
                break
            known = thought.text in thoughts  # a greedy reader that repeats itself would do so for ever
            thoughts.append(thought.text)
            if thought.last or known:
                break
            self._search(thought.text, docs, len(thoughts), found)
        return Walked([one._replace(score=1 / rank) for rank, one in enumerate(list(found.values())[:k], 1)], thoughts)

    def _search(self, query: str, docs: Sequence[Doc] | None, hop: int, found: dict[str, Found]) -> None:
        """Add what the query finds and no earlier one did."""
        best = self._base.search(query, docs, self._k + (len(found) if self._new else 0))
        fresh = [one for one in best if one.doc.id not in found]
        for one in fresh[: self._k]:
            found[one.doc.id] = Found(one.doc, one.score, {"base": one.score, "hop": hop})


def open_retriever(
    corpus: Corpus | None, index: Path | None = None,
    say: Callable[[str], object] = lambda text: None,  # noqa: ARG005 # nobody listens
    shard_size: int = 1_000_000,
    *, base: str = "bm25", steps: int = 3, k: int = 4, count: Literal["all", "new"] = "all", max_tokens: int = 64,
    budget: int = 1024,
) -> Ircot:  # fmt: skip
    """Asks the reader for a thought between searches, and searches with it (IRCoT); needs --model.

    `k` documents a search by `base` (`count=new`: such that no earlier search found), at most `steps` thoughts of at
    most `max_tokens` tokens each, from passages of at most `budget` tokens. Documents stand in the order of the
    searches that found them, then of the base's scores; score: 1 / rank.
    """
    from ragpack.retrievers import ASKING, RETRIEVERS

    bases = [name for name in RETRIEVERS if name not in ASKING]
    if base not in bases:
        raise UsageError(f"ircot: base={base} is no retriever to search with. {did_you_mean(base, bases)}")
    for name, value in {"steps": steps, "k": k, "max_tokens": max_tokens, "budget": budget}.items():
        if value < 1:
            raise UsageError(f"ircot: {name}={value} is less than 1")
    return Ircot(
        opened(base, corpus, index, say, {}, shard_size=shard_size), steps, k, count == "new", max_tokens, budget
    )
