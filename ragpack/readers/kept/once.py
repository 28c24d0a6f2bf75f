"""What was asked once is not asked again: a reader in front of a reader.

Three places know a reply: the prompts that are under way (whoever asks the same waits for that reply), the last ones
of this run, and, with `--cache DIR`, those of all runs. Only what none of them knows goes on to the reader behind,
which is not even started where nothing does.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, deque
from collections.abc import Generator, Iterator
from typing import Any

from ragpack.flow.keys import digest
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request
from ragpack.readers.kept.store import Store, packed, unpacked
from ragpack.stage import Tally

LAST = 1024
"""Replies of this run that are remembered: rows of one question stand together, and many have the same context."""

HELD = 4096
"""Known replies that may wait behind prompts under way. Then the reader finishes what it has: it can't be told that
there is nothing for it now."""

Reply = Completion | Refusal


def once(reader: Reader, cache: str | None = None) -> Once:
    """The reader, with what it said before: in the folder `cache`, where one is named."""
    return Once(reader, Store(cache) if cache is not None else None)


def key_of(reader: Reader, request: Request) -> bytes | None:
    """128 bits of all that decides the reply; None where each draw is another one.

    Options that say nothing are left out, so that one that comes later leaves older keys as they are.
    """
    decoding = request.decoding
    if decoding.temperature > 0 and decoding.seed is None:
        return None
    if getattr(reader, "prompts", True):
        prompt: list[Any] = [request.messages, request.text, request.continuation, request.cut]
    else:
        prompt = [request.question, request.context]
    return bytes.fromhex(digest([reader.fingerprint, prompt, _said(decoding)]))


class Once:
    """A reader that asks the one behind it what is not known."""

    def __init__(self, reader: Reader, store: Store | None) -> None:
        self._reader = reader
        self._store = store
        self._last: OrderedDict[bytes, bytes] = OrderedDict()
        self.hits = 0
        """Prompts that an earlier run had asked."""
        self.shared = 0
        """Prompts that this run had asked, or was asking."""
        self.misses = 0
        """Prompts that the reader behind was asked."""

    @property
    def name(self) -> str:
        """The reader's."""
        return self._reader.name

    @property
    def model(self) -> str:
        """The reader's."""
        return self._reader.model

    @property
    def fingerprint(self) -> str:
        """The reader's: where a reply was kept does not decide it."""
        return self._reader.fingerprint

    @property
    def about(self) -> dict[str, Any]:
        """The reader's facts."""
        return self._reader.about

    def answer(self, requests: Iterator[Request]) -> Iterator[Reply]:
        """One result a request. What is known is given at once, or with the next reply of the reader behind."""
        for request in requests:
            key = key_of(self._reader, request)
            known = self.known(key)
            if known is not None:
                yield unpacked(known, request.id)
                continue
            session = _Session(self, self._reader)
            yield from session.run(key, request, requests)
            if session.asked:
                return  # it forgot some: the caller will say so

    def known(self, key: bytes | None) -> bytes | None:
        """The packed reply to a prompt of this run or, in the store, of any."""
        if key is None:
            return None
        found = self._last.get(key)
        if found is not None:
            self._last.move_to_end(key)
            self.shared += 1
            return found
        found = self._store.get(key) if self._store else None
        if found is not None:
            self.hits += 1
            self._remember(key, found)
        return found

    def keep(self, key: bytes, request: Request, reply: Completion) -> None:
        """Remember a reply that is what was asked for. One whose passage was cut is for this run only: how long a
        prompt may be is an option of the engine, and not in its fingerprint."""
        data = packed(reply) if _is_whole(request, reply) else None
        if data is None:
            return
        self._remember(key, data)
        if self._store and not reply.cut:
            self._store.put(key, data)

    @property
    def notes(self) -> list[str]:
        """What the user should be told at the end: the reader's sentences, and the store's."""
        return [*getattr(self._reader, "notes", ()), *(self._store.notes if self._store else ())]

    def tally(self) -> Tally:
        """For the run file; for the summary where something was saved, or was to be."""
        said = {}
        if self._store:
            said = {"hits": "prompts from the cache", "misses": "asked"}
            if self.shared:
                said["shared"] = "shared"
        elif self.shared:
            said = {"shared": "prompts shared", "misses": "asked"}
        counts = {"hits": self.hits, "shared": self.shared, "misses": self.misses}
        facts = {"name": self.name, "model": self.model, "fingerprint": self.fingerprint, **self.about}
        return Tally("reader", facts, counts, {name: said[name] for name in counts if name in said})

    def close(self) -> None:
        """Close the reader and the store."""
        self._reader.close()
        if self._store:
            self._store.close()

    def _remember(self, key: bytes, data: bytes) -> None:
        self._last[key] = data
        if len(self._last) > LAST:
            self._last.popitem(last=False)


class _Session:
    """A stretch of requests that the reader behind works on, from one that nobody knows to a time when it has nothing
    to do. Replies that are known meanwhile wait for its next one: they stand behind prompts under way."""

    def __init__(self, once: Once, reader: Reader) -> None:
        self._once = once
        self._reader = reader
        self.asked: dict[int, tuple[bytes | None, Request]] = {}
        """Requests under way, with their keys."""
        self._waiting: dict[bytes, list[int]] = {}
        """Prompts under way, with the other requests that wait for them."""
        self._known: deque[tuple[int, bytes]] = deque()
        self._held = 0

    def run(self, key: bytes | None, first: Request, requests: Iterator[Request]) -> Iterator[Reply]:
        """Replies to `first`, which is not known, and to what follows it."""
        replies = self._reader.answer(self._fresh(key, first, requests))
        try:
            for reply in replies:
                yield from self._held_back()
                yield from self._shared(reply)
            yield from self._held_back()
        finally:
            # The consumer may have gone: the engine is told now, not when the memory is swept.
            if isinstance(replies, Generator):
                replies.close()

    def _fresh(self, key: bytes | None, first: Request, requests: Iterator[Request]) -> Iterator[Request]:
        """The requests that nobody knows. Ends where the reader should finish what it has, or has nothing."""
        yield self._ask(key, first)
        for request in requests:
            key = key_of(self._reader, request)
            if key is not None and key in self._waiting:
                self._waiting[key].append(request.id)
                self._once.shared += 1
            else:
                known = self._once.known(key)
                if known is None:
                    yield self._ask(key, request)
                    continue
                self._known.append((request.id, known))
            self._held += 1
            if not self.asked or self._held >= HELD:
                return

    def _ask(self, key: bytes | None, request: Request) -> Request:
        self.asked[request.id] = (key, request)
        if key is not None:
            self._waiting[key] = []
        self._once.misses += 1
        return request

    def _shared(self, reply: Reply) -> Iterator[Reply]:
        """A reply, and the same for all who wait for it. A refusal is not kept: it may be the server's bad moment."""
        key, request = self.asked.pop(reply.id)
        if key is not None and isinstance(reply, Completion):
            self._once.keep(key, request, reply)
        yield reply
        for number in self._waiting.pop(key) if key is not None else ():
            self._held -= 1
            yield dataclasses.replace(reply, id=number)

    def _held_back(self) -> Iterator[Reply]:
        while self._known:
            number, data = self._known.popleft()
            self._held -= 1
            yield unpacked(data, number)


def _is_whole(request: Request, reply: Completion) -> bool:
    """Is all there that was asked for? What a server leaves out today it may give tomorrow."""
    how = request.decoding
    if request.continuation:
        return reply.continuation is not None
    return len(reply.samples) == how.n and not any(
        (how.logprobs is not None and sample.logprob is None)
        or (how.logprobs and sample.steps is None)
        or (how.uncertainty is not None and sample.uncertainty is None)
        or (how.choices and (sample.choices is None or None in sample.choices))
        for sample in reply.samples
    )


def _said(decoding: Decoding) -> dict[str, Any]:
    given = {field.name: getattr(decoding, field.name) for field in dataclasses.fields(decoding)}
    return {name: value for name, value in given.items() if not (value is None or value is False or value in ((), ""))}
