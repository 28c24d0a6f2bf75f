"""Prompts as token ids that a model has room for: a passage is cut at its end, and nothing else is ever cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ragpack.readers.prompts.chat import Chat, one_bos

Ids = list[int]


class Fitted(NamedTuple):
    """A prompt that fits."""

    ids: Ids
    cut: bool
    """The end of the passage was left out."""


def fitted(build: Callable[[str], Ids], passage: str, ends: Callable[[str], Sequence[int]], room: int) -> Fitted | None:
    """`build(beginning of the passage)` with at most `room` tokens; None where not even an empty passage fits.

    `ends` gives the offsets at which the passage's tokens end. A beginning may be tokenized otherwise than in the
    whole, so what is built is counted again, and shortened until it fits.
    """
    ids = build(passage)
    if len(ids) <= room:
        return Fitted(ids, False)
    offsets = ends(passage)
    kept = len(offsets)
    while len(ids) > room:
        if kept <= 0:
            return None
        kept = max(kept - (len(ids) - room), 0)
        ids = build(passage[: offsets[kept - 1]].rstrip() if kept else "")
    return Fitted(ids, True)


def token_ends(tokenizer: Any, text: str) -> list[int]:  # noqa: ANN401 # transformers' interface
    """Where each token of a text ends in it. A tokenizer that doesn't say so is asked for words instead."""
    if getattr(tokenizer, "is_fast", False):
        return [
            end for _, end in tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        ]
    at, ends = 0, []
    for word in text.split():
        at = text.index(word, at) + len(word)
        ends.append(at)
    return ends


class Continued(NamedTuple):
    """A prompt with a continuation."""

    ids: Ids
    start: int
    """Index of the continuation's first token."""


def continued(chat: Chat, prompt: str, continuation: str) -> Continued:
    """Both as one text, so that the tokens are those that the model would write; a token is the continuation's if it
    ends behind the prompt's end **[choice]**. Exactly one BOS, where the tokenizer puts one."""
    tokenizer = chat.tokenizer
    if not getattr(tokenizer, "is_fast", False):
        front = chat.plain_ids(prompt)
        return Continued([*front, *tokenizer(continuation, add_special_tokens=False)["input_ids"]], len(front))
    found = tokenizer(prompt + continuation, return_offsets_mapping=True)
    ids = one_bos(list(found["input_ids"]), chat.bos)
    # Counted from the end: what is put in front, or taken away there, doesn't move it.
    behind = sum(1 for _, end in found["offset_mapping"] if end > len(prompt))
    return Continued(ids, len(ids) - behind)
