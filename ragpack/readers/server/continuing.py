"""The log-probability of a given text behind a prompt, from what a server tells of a prompt's tokens.

A token belongs to the continuation if it ends after the prompt's end **[choice]**: a tokenizer may join the two texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragpack.errors import BackendError
from ragpack.readers.server.replicas import Json, Refused
from ragpack.readers.server.replies import number_of
from ragpack.readers.server.served import Served


def logprobs_behind(prompt: str, continuation: str, answer: Json, served: Served, where: str) -> tuple[float, ...]:
    """Log-probability of each token of the continuation.

    Raises `Refused` where one of them has none, and `BackendError` where the server, shown as `where`, never tells.
    """
    choice = (answer.get("choices") or [{}])[0]
    if served.can.vllm and choice.get("prompt_logprobs"):
        values = _of_vllm(from_prompt(choice["prompt_logprobs"]), continuation, served)
    else:
        told = choice.get("logprobs") or {}
        if not str(choice.get("text") or "").startswith(prompt + continuation) or not told.get("text_offset"):
            raise no_prompt_logprobs(where)
        values = from_echo(told, len(prompt), len(prompt) + len(continuation))
    known = tuple(value for value in values if value is not None)
    if not known or len(known) < len(values):
        raise Refused("a token of the continuation has no log-probability")
    return known


def no_prompt_logprobs(where: str) -> BackendError:
    """What is missing."""
    return BackendError(
        f"the server at {where} gives no log-probabilities of a prompt",
        "--probe qlm needs vLLM's `prompt_logprobs`, or /v1/completions with `echo`, `logprobs` and `text_offset`.",
    )


def _of_vllm(tokens: list[tuple[str, str, float | None]], continuation: str, served: Served) -> list[float | None]:
    start = behind([text for _, text, _ in tokens], continuation)
    if start is None:  # texts of single tokens don't add up where a character has several: the tail as a whole does
        start = len(tokens)
        ids = [int(number) for number, _, _ in tokens]
        tail: str | None = ""
        while start > 0 and tail is not None and not tail.endswith(continuation):
            start -= 1
            tail = (served.route("/detokenize", {"tokens": ids[start:]}) or {}).get("prompt")
        if tail is None or not tail.endswith(continuation):
            raise Refused("the server's tokens don't say where the continuation begins")
    return [value for _, _, value in tokens[start:]]


def behind(pieces: Sequence[str], continuation: str) -> int | None:
    """The first of the tokens, given as texts, that ends after where `continuation` begins.

    None where the texts are not those of the prompt. A token without a text begins the next one's character.

    >>> behind(["Say", " it", ":", " a", "b"], " ab"), behind(["Say:", " ab"], "y: ab"), behind(["x", "", "é"], "é")
    (3, 0, 1)
    """
    rest = continuation
    at = len(pieces)
    while rest:
        at -= 1
        if at < 0:
            return None
        piece = pieces[at]
        if rest.endswith(piece):
            rest = rest[: len(rest) - len(piece)]
        elif piece.endswith(rest):
            rest = ""
        else:
            return None
    while at > 0 and pieces[at - 1] == "":
        at -= 1
    return at


def from_prompt(prompt: Sequence[Mapping[str, Any] | None]) -> list[tuple[str, str, float | None]]:
    """Id, text and log-probability of each prompt token (vLLM's `prompt_logprobs`), but of the first one, which has no
    probability."""
    found = []
    for at, one in enumerate(prompt):
        if one:
            number, told = next(iter(one.items()))
            found.append((number, told.get("decoded_token") or "", number_of(told["logprob"], at)))
    return found


def from_echo(told: Json, start: int, end: int) -> list[float | None]:
    """Log-probabilities of the echoed tokens that end after `start` and begin before `end` of the text."""
    offsets, tokens, values = told["text_offset"], told["tokens"], told["token_logprobs"]
    ends = [*offsets[1:], offsets[-1] + len(tokens[-1])] if offsets else []
    return [
        number_of(value, at)
        for at, (begins, ending, value) in enumerate(zip(offsets, ends, values, strict=True))
        if ending > start and begins < end
    ]
