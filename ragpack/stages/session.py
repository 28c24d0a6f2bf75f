"""Records that each ask the reader something, many at once: outcomes in order, while the reader works in its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ragpack.errors import BackendError, DataError
from ragpack.readers.base import Completion, Reader, Refusal, Request
from ragpack.stage import Outcome, Payload, Task

PATIENCE = 10_000  # tasks held while one answer is awaited


@dataclass(frozen=True)
class Job:
    """What one record asks, and what it makes of the answers."""

    requests: Sequence[Request]
    finish: Callable[[Sequence[Completion]], list[Payload]]
    """Gets the completions in the order of the requests; may raise `DataError`."""
    named: Callable[[int], str] = lambda at: ""  # noqa: ARG005 # one request needs no name
    """What a refusal says of the request that was refused, by its index."""


@dataclass
class _Open:
    """A record whose answers are not all there."""

    job: Job
    replies: dict[int, Completion] = field(default_factory=dict)


def outcomes(reader: Reader, begin: Callable[[Task], Job], tasks: Iterator[Task]) -> Iterator[Outcome]:
    """Outcomes in the order of the tasks, while the reader works ahead in an order of its own.

    Tasks that want nothing (cached, or bad lines) pass at once where nothing is awaited. Behind an awaited answer they
    queue, at most `PATIENCE` of them: then the reader finishes what it has before it is given more.
    """
    for task in tasks:
        if not task.cells:
            yield []
        else:
            yield from _Session(reader, begin, chain([task], tasks)).run()


class _Session:
    """As long as something is awaited."""

    def __init__(self, reader: Reader, begin: Callable[[Task], Job], tasks: Iterator[Task]) -> None:
        self._reader, self._begin, self._tasks = reader, begin, tasks
        self._order: deque[int] = deque()
        self._ready: dict[int, Outcome] = {}
        self._open: dict[int, _Open] = {}
        self._asked: dict[int, tuple[int, int]] = {}
        """Request number → task number, index of the request in its job."""
        self._taken = self._sent = 0

    def run(self) -> Iterator[Outcome]:
        for reply in self._reader.answer(self._requests()):
            self._hear(reply)
            yield from self._done()
        yield from self._done()
        if self._order:
            raise BackendError(f"the reader {self._reader.name} gave no answer to {len(self._asked)} prompts")

    def _requests(self) -> Iterator[Request]:
        while self._open or self._taken == 0:  # with nothing open there is nothing to wait for: what is done goes out
            if len(self._order) >= PATIENCE:
                return
            task = next(self._tasks, None)
            if task is None:
                return
            self._taken += 1
            number = self._taken
            self._order.append(number)
            if not task.cells:
                self._ready[number] = []
                continue
            try:
                job = self._begin(task)
            except DataError as error:
                self._ready[number] = error
                continue
            self._open[number] = _Open(job)
            if not job.requests:
                self._finish(number)
            for at, request in enumerate(job.requests):
                self._sent += 1
                self._asked[self._sent] = (number, at)
                yield replace(request, id=self._sent)

    def _hear(self, reply: Completion | Refusal) -> None:
        number, at = self._asked.pop(reply.id)
        one = self._open.get(number)
        if one is None:  # it failed before
            return
        if isinstance(reply, Refusal):
            del self._open[number]
            self._ready[number] = BackendError(one.job.named(at) + reply.message)
            return
        one.replies[at] = reply
        if len(one.replies) == len(one.job.requests):
            self._finish(number)

    def _finish(self, number: int) -> None:
        one = self._open.pop(number)
        try:
            self._ready[number] = one.job.finish([one.replies[at] for at in range(len(one.job.requests))])
        except DataError as error:
            self._ready[number] = error

    def _done(self) -> Iterator[Outcome]:
        while self._order and self._order[0] in self._ready:
            yield self._ready.pop(self._order.popleft())
