"""A prompt that is longer than the model allows: seen from the server's refusal, and shortened where that is allowed.

The server's tokenizer is not here. The end of the passage is left out in characters, as many as the excess is likely to
have, ending at a word; then the server counts again or is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ragpack.readers.base import Request
from ragpack.readers.server.replicas import Refused

CHARACTERS = 8
"""Characters that a token of running text surely has at most: what is beyond so many a position isn't sent at all."""
TRIES = 8
LARGE = 1 << 16
LONGEST_WORD = 200

_LONG = re.compile(
    r"context[_ ](?:length|size|window)|maximum (?:model|input|sequence|prompt) length|max_model_len"
    r"|(?:prompt|input|request|message)s? (?:is|are) too long|exceed_context",
    re.IGNORECASE,
)
_ALLOWED = re.compile(
    r"(?:context (?:length|size|window)|max_model_len|model length)\D{0,24}?(\d+)", re.IGNORECASE
)  # "maximum context length is 4096", "available context size (4096 tokens)"
_HELD = re.compile(
    r"(?:you requested|resulted in|prompt (?:contains|has|is)|request \(|input length(?: is)?|contains)\s*"
    r"(?P<least>at least )?\(?(?P<number>\d+)(?: input)? (?P<unit>tokens?|characters?)"
    r"(?: \((?P<prompt>\d+) (?:in|for) the (?:messages|prompt|text))?",
    re.IGNORECASE,
)
_WITH_ANSWER = re.compile(r"you requested \d+ tokens", re.IGNORECASE)


@dataclass(frozen=True)
class TooLong:
    """What is known of a prompt that was too long."""

    allowed: int | None
    """Tokens of prompt and answer that the model allows."""
    held: int | None
    """Tokens of the prompt."""


def too_long(words: str, max_tokens: int) -> TooLong | None:
    """What a refusal says about the prompt's length; None where it is about something else.

    >>> too_long("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the "
    ... "messages, 100 in the completion).", 100)
    TooLong(allowed=4096, held=4900)
    >>> too_long("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 32)
    TooLong(allowed=4096, held=5000)
    >>> too_long("maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens", 32)
    TooLong(allowed=2048, held=None)
    >>> too_long("unknown role", 32)
    """
    if not _LONG.search(words):
        return None
    allowed, held = _ALLOWED.search(words), _HELD.search(words)
    number = None
    if held and not held["least"] and held["unit"].lower().startswith("token"):
        if held["prompt"]:
            number = int(held["prompt"])
        else:
            number = int(held["number"]) - (max_tokens if _WITH_ANSWER.search(words) else 0)
    return TooLong(int(allowed[1]) if allowed else None, number)


class Prompt:
    """A request's prompt with as much of its passage as is sent."""

    def __init__(self, request: Request, allowed: int | None) -> None:
        """`allowed`: tokens that the model takes, where that is known before it is asked."""
        self._request = request
        self._whole = (
            request.text if request.text is not None else (request.messages or [{"content": ""}])[-1]["content"]
        )
        self._start, self._end = request.cut or (len(self._whole), len(self._whole))
        self._kept = self._end
        self._tries = 0
        if allowed is not None and self._kept - self._start > CHARACTERS * allowed:
            self._keep(CHARACTERS * allowed)

    @property
    def cut(self) -> bool:
        """Whether some of the passage is left out."""
        return self._kept < self._end

    @property
    def request(self) -> Request:
        """The request with the prompt as it is sent."""
        if not self.cut:
            return self._request
        if self._request.text is not None:
            return replace(self._request, text=self._sent)
        *earlier, last = self._request.messages or []
        return replace(self._request, messages=[*earlier, {**last, "content": self._sent}])

    def shorten(self, told: TooLong, count: Callable[[Request], int | None], error: Refused | None = None) -> None:
        """Leave out more of the passage, until `count` tokens fit or there is something to ask the server about.

        Raises `Refused` with the numbers where no passage may be cut or none is left; the server's own `error` where it
        gave no numbers.
        """
        most = 1 if self._request.continuation else self._request.decoding.max_tokens
        held = self._counted(count, told.held)
        while True:
            if self._request.cut is None or self._kept == self._start or self._tries == TRIES:
                raise (error if error and told.allowed is None else None) or Refused(_numbers(told, held, most))
            self._tries += 1
            size = self._kept - self._start
            if held and told.allowed is not None:
                # A little more than the excess from the second time on: the end may have longer words than the rest.
                excess = max(held + most - told.allowed, 1) * (1 + 0.25 * (self._tries - 1))
                self._keep(size - max(int(excess * len(self._sent) / held), 1))
            else:
                self._keep(size // (4 if size > LARGE else 2))
            held = self._counted(count, None)
            if held is None or told.allowed is None or held + most <= told.allowed:
                return

    def _counted(self, count: Callable[[Request], int | None], told: int | None) -> int | None:
        found = count(self.request)
        return told if found is None else found

    @property
    def _sent(self) -> str:
        return self._whole[: self._kept] + self._whole[self._end :]

    def _keep(self, size: int) -> None:
        """The first `size` characters of the passage, back to where a word ends, if there are words."""
        most = self._start + max(size, 0)
        for at in range(most, max(self._start, most - LONGEST_WORD), -1):
            if self._whole[at].isspace() and not self._whole[at - 1].isspace():
                most = at
                break
        self._kept = most


def _numbers(told: TooLong, held: int | None, most: int) -> str:
    if told.allowed is None:
        return "the prompt is longer than the server allows"
    if held is None:
        return f"the prompt and an answer of {most} tokens are more than the {told.allowed} that the server allows"
    return (
        f"the prompt has {held} tokens and the answer may have {most}: more than the {told.allowed} that the server"
        " allows"
    )
