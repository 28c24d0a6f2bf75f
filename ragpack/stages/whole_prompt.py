"""Budgets of the whole prompt: what template, question and answer leave for the evidence."""

from __future__ import annotations

import functools
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from ragpack.errors import DataError, UsageError
from ragpack.readers.chat import open_chat
from ragpack.readers.prompt import Template
from ragpack.records import Raw
from ragpack.tokens import Counter


class WholePrompt:
    """Packs so that prompt and answer together have at most a number of tokens."""

    def __init__(self, tokenizer: str, template: Template, reserve: int, counter: Counter) -> None:
        """Raises `UsageError` for a tokenizer that has no chat template. `regex` counts the words of the messages."""
        if tokenizer.startswith("tiktoken:"):
            raise UsageError(
                "--prompt-budget: a tiktoken encoding has no chat template", "Name the reader's folder or id."
            )
        if reserve < 0:
            raise UsageError(f"--answer-reserve: {reserve} is negative")
        self.template, self.reserve = template, reserve
        chat = open_chat(tokenizer) if tokenizer != "regex" else None

        def size(question: str, context: str) -> int:
            messages = template.messages(question, context)
            if chat is None:
                return sum(counter.count(message["content"]) for message in messages)
            return len(chat.ids(messages))

        @functools.lru_cache(maxsize=64)
        def around(question: str) -> tuple[int, int]:
            # Counters count a context as it stands in the prompt: what is left of a prompt with one is its frame.
            return size(question, ""), size(question, "a") - counter.count("a")

        self._size, self._around = size, around
        self._chat = blake2b(str(chat.tokenizer.chat_template).encode(), digest_size=8).hexdigest() if chat else ""

    @property
    def fingerprint(self) -> str:
        """Part of the key of each cell: the same tokenizer may come with another chat template."""
        return f"{self.template.name} {self.template.hash} {self.reserve} {self._chat}".rstrip()

    def fitted(self, question: str, limit: int, pack: Callable[[int], Any], context: Callable[[Any], str]) -> Any:  # noqa: ANN401 # what `pack` gives
        """What `pack(budget)` gives at the largest budget found for which the whole prompt fits, and `prompt` for the
        record. Raises `DataError` where not even the question fits."""
        bare, frame = self._around(question)
        if limit - self.reserve < bare:
            raise DataError(
                f"--prompt-budget {limit}: the prompt without evidence has {bare} tokens and {self.reserve} are kept"
                " for the answer", "Raise the budget, or keep less for the answer: --answer-reserve."
            )  # fmt: skip
        # More than beside `bare`: without a context the template says so in a word or two.
        room = limit - self.reserve - frame
        while True:
            found = pack(max(room, 0))
            tokens = self._size(question, context(found))
            excess = tokens + self.reserve - limit
            if excess <= 0 or room <= 0:
                prompt: Raw = {"name": self.template.name, "hash": self.template.hash, "budget": limit,
                               "reserve": self.reserve, "evidence": max(room, 0), "tokens": tokens}  # fmt: skip
                return found, prompt
            room -= excess
