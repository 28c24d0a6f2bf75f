"""Budgets of the whole prompt: what template, question and answer leave for the evidence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from ragpack.errors import DataError, UsageError
from ragpack.readers.prompts.chat import Chat, open_chat
from ragpack.readers.prompts.named import AnswerPrompt, plain_text
from ragpack.records import Raw
from ragpack.tokens import Counter


class WholePrompt:
    """Packs so that prompt and answer together have at most a number of tokens."""

    def __init__(
        self, tokenizer: str, template: AnswerPrompt, reserve: int, counter: Counter, *, plain: bool = False
    ) -> None:
        """Raises `UsageError` for a tokenizer without a chat template, unless the prompt is `plain`. `regex` counts the
        words of the messages."""
        if tokenizer.startswith("tiktoken:"):
            raise UsageError(
                "--prompt-budget: a tiktoken encoding has no chat template and no BOS",
                "Name the reader's folder or id.",
            )
        if reserve < 0:
            raise UsageError(f"--answer-reserve: {reserve} is negative")
        self.template, self.reserve, self.plain = template, reserve, plain
        chat = open_chat(tokenizer, plain=plain) if tokenizer != "regex" else None

        def size(question: str, context: str, snippets: Sequence[Mapping[str, Any]] = ()) -> int:
            messages = template.messages(question, context, snippets)
            if chat is None:
                return sum(counter.count(message["content"]) for message in messages)
            return len(chat.plain_ids(plain_text(messages)) if plain else chat.ids(messages))

        @functools.lru_cache(maxsize=64)
        def around(question: str) -> tuple[int, int]:
            # Counters count a context as it stands in the prompt: what is left of a prompt with one is its frame.
            return size(question, ""), size(question, "a") - counter.count("a")

        self._size, self._around = size, around
        self._chat = "plain" if plain else _template_hash(chat) if chat else ""

    @property
    def fingerprint(self) -> str:
        """Part of the key of each cell: the same tokenizer may come with another chat template."""
        return f"{self.template.name} {self.template.hash} {self.reserve} {self._chat}".rstrip()

    def fitted(
        self, question: str, limit: int, pack: Callable[[int], Any], context: Callable[[Any], str],
        snippets: Callable[[Any], Sequence[Mapping[str, Any]]] = lambda _: (),
    ) -> Any:  # noqa: ANN401 # what `pack` gives  # fmt: skip
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
            tokens = self._size(question, context(found), snippets(found))
            excess = tokens + self.reserve - limit
            if excess <= 0 or room <= 0:
                prompt: Raw = {"name": self.template.name, "hash": self.template.hash, "budget": limit,
                               "reserve": self.reserve, "evidence": max(room, 0), "tokens": tokens,
                               **({"chat_template": False} if self.plain else {})}  # fmt: skip
                return found, prompt
            room -= excess


def _template_hash(chat: Chat) -> str:
    return blake2b(str(chat.tokenizer.chat_template).encode(), digest_size=8).hexdigest()
