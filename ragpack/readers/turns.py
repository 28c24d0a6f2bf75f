"""Requests that an engine must not have in one batch take turns.

Where some request names the tokens of which it wants to know the log-probabilities, vLLM 0.32 gives these to every
request of the batch, and fills up with minus infinity those that asked for the most likely ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ragpack.readers.base import Request


def names_tokens(request: Request) -> bool:
    """Whether this request names the tokens that it wants to know of."""
    return bool(request.decoding.choices)


@dataclass
class Turns:
    """Requests that were pulled, and whose turn it is: the other kind waits, at most `room` of it."""

    requests: Iterator[Request]
    kind: Callable[[Request], bool] = names_tokens
    more: bool = True
    held: deque[Request] = field(default_factory=deque)
    now: bool | None = None
    """The kind whose turn it is."""

    def next(self, room: int) -> Request | None:
        """The next request of the kind whose turn it is; None where it has none, or the other has waited enough."""
        while self.more and len(self.held) < room:
            request = next(self.requests, None)
            if request is None:
                self.more = False
                break
            kind = self.kind(request)
            if self.now is None:
                self.now = kind
            if kind == self.now:
                return request
            self.held.append(request)
        return None

    def turn(self) -> Iterator[Request]:
        """The other kind's turn: those that waited."""
        if self.held:
            self.now = self.kind(self.held[0])
        while self.held:
            yield self.held.popleft()

    @property
    def left(self) -> bool:
        """Is there any to come?"""
        return self.more or bool(self.held)
