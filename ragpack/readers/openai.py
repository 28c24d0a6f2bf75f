"""Answers from any server that speaks OpenAI's protocol: vLLM, llama.cpp, Ollama, a hosted one; or several of them.

Messages go to /v1/chat/completions and texts to /v1/completions, where the server puts the BOS. Each request under way
has a thread of its own; answers are given as they come. The key is read from OPENAI_API_KEY and shown nowhere.

How many log-probabilities a server gives is found out with the first request that wants them, which is asked alone and
of every replica: all requests of a run have the same K.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from ragpack.errors import BackendError, Missing, UsageError
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request, Sample
from ragpack.readers.server import replies
from ragpack.readers.server.asking import body_of, entries_of, path_of
from ragpack.readers.server.continuing import logprobs_behind, no_prompt_logprobs
from ragpack.readers.server.replicas import (
    KEY,
    NO_KEY,
    Gone,
    Json,
    Refused,
    Rejected,
    Replica,
    Replicas,
    is_loopback,
    without_credentials,
)
from ragpack.readers.server.served import Served
from ragpack.readers.server.shortening import Prompt, TooLong, too_long
from ragpack.readers.turns import Turns

ASKING = 1
"""Raised when what is sent changes so that answers may."""

Reply = Completion | Refusal


def open_reader(
    model: str,
    *,
    base_urls: Sequence[str],
    most_logprobs: int = 0,  # noqa: ARG001 # the server has its own limit
    concurrency: int = 8,
    timeout: float = 120,
    retries: int = 5,
) -> Reader:
    """Prepare clients for the servers at `base_urls` (with their `/v1`), which hold the same model; `concurrency` is of
    each. They are asked at the first request."""
    if importlib.util.find_spec("openai") is None:
        raise Missing("The openai reader", "openai")
    if not base_urls:
        raise UsageError("no server: give its address", "Write it like http://localhost:8000/v1.")
    shown = [without_credentials(url) for url in base_urls]
    key = os.environ.get(KEY) or (NO_KEY if all(map(is_loopback, base_urls)) else "")
    if not key:
        foreign = next(name for name, url in zip(shown, base_urls, strict=True) if not is_loopback(url))
        raise BackendError(
            f"no key for the server at {foreign}", f"Set {KEY} (any word will do for a server that asks for none)."
        )
    notes: list[str] = []
    servers = Replicas(base_urls, key, concurrency=concurrency, timeout=timeout, retries=retries, notes=notes)
    return _Server(servers, model, concurrency, notes)


class _Server:
    """One model, on one or several servers."""

    name = "openai"

    def __init__(self, servers: Replicas, model: str, concurrency: int, notes: list[str]) -> None:
        self.model = model
        self.notes = notes
        """What the user should be told once, at the end."""
        self.about: dict[str, Any] = {}
        # The first address stands for the service: replicas may come and go behind it.
        self.fingerprint = hashlib.blake2b(
            f"{servers.all[0].shown}\0{self.model}\0{ASKING}".encode(), digest_size=16
        ).hexdigest()
        self._servers = servers
        self._concurrency = concurrency
        self._served = Served(servers, model, self.about)
        self._can = self._served.can

    def answer(self, requests: Iterator[Request]) -> Iterator[Reply]:
        """Keep every server full; requests are pulled in the caller's thread.

        Twice as many are taken as are under way, so that a server needn't wait for the caller to take an answer.
        """
        inbox: SimpleQueue[Request | None] = SimpleQueue()
        outbox: SimpleQueue[Reply | BackendError] = SimpleQueue()
        halt = threading.Event()
        room = 2 * self._concurrency * len(self._servers.live)
        turns = Turns(requests, self._names_tokens)
        waited: Iterator[Request] = iter(())
        workers = 0
        taken = 0
        try:
            while turns.left or taken:
                pulled = False
                if taken < room:
                    request = next(waited, None) or turns.next(4 * room)
                    if request is None and not taken and turns.held:
                        waited = turns.turn()
                        continue
                    pulled = request is not None
                    if request is not None:
                        taken += 1
                        if self._is_first(request):
                            outbox.put(self._replied(request, halt, self._first))
                        else:
                            inbox.put(request)
                            if workers < min(taken, room // 2):
                                workers += 1
                                _start(lambda: _work(inbox, outbox, halt, self._reply))
                for reply in _arrived(outbox, wait=taken > 0 and not (pulled and taken < room)):
                    taken -= 1
                    if isinstance(reply, BackendError):
                        raise reply
                    yield reply
        finally:
            halt.set()
            for _ in range(workers):
                inbox.put(None)

    def _names_tokens(self, request: Request) -> bool:
        self._served.check()  # at the first request, before it has its turn
        return self._can.exact(request.decoding)

    def close(self) -> None:
        """Close the connections."""
        self._servers.close()

    # one request

    def _reply(self, request: Request, halt: threading.Event) -> Reply | BackendError:
        return self._replied(request, halt, self._asked)

    def _replied(
        self, request: Request, halt: threading.Event, ask: Callable[[Request, threading.Event], Completion]
    ) -> Reply | BackendError:
        try:
            return ask(request, halt)
        except Refused as error:
            return Refusal(request.id, self._servers.clean(str(error)))
        except BackendError as error:
            return error
        except Exception as error:  # an answer of a shape that nobody has thought of
            return Refusal(request.id, self._servers.clean(f"{type(error).__name__}: {error}"))

    def _asked(self, request: Request, halt: threading.Event) -> Completion:
        if request.text is not None and request.continuation:
            return self._continued(request, halt)
        return self._completion(request, *self._exchange(request, halt))

    def _exchange(self, request: Request, halt: threading.Event, only: Replica | None = None) -> tuple[Json, Prompt]:
        """The server's answer, and the prompt as it was sent in the end: without what the server can't do or hold."""
        prompt = Prompt(request, self._can.max_model_len)
        while True:
            path, body = self._body(prompt.request)
            try:
                answer = self._servers.send(path, body, halt, only)
            except Rejected as error:
                long = too_long(error.words, request.decoding.max_tokens)
                if long:
                    prompt.shorten(long, lambda sent: self._count(sent), error)
                elif not self._can.give_up(error, path, body, first=only is not None):
                    raise
                continue
            long = self._answer_cut_short(request, answer)
            if long is None:
                return answer, prompt
            prompt.shorten(long, lambda sent: self._count(sent))

    def _answer_cut_short(self, request: Request, answer: Json) -> TooLong | None:
        """vLLM takes a prompt that leaves less room than the answer may need, and cuts the answer without a word."""
        allowed = self._can.max_model_len
        held = (answer.get("usage") or {}).get("prompt_tokens") or 0
        most = 1 if request.continuation else request.decoding.max_tokens
        return TooLong(allowed, held) if allowed is not None and held + most > allowed else None

    def _body(self, request: Request) -> tuple[str, Json]:
        ids = sorted(set().union(*self._groups(request.decoding))) if self._can.exact(request.decoding) else []
        return path_of(request), body_of(self.model, request, self._can, ids)

    def _completion(self, request: Request, answer: Json, prompt: Prompt) -> Completion:
        decoding = request.decoding
        said = replies.choices_of(answer)
        if len(said) != decoding.n:
            raise Refused(f"the server gave {len(said)} completions, not {decoding.n}")
        usage = answer.get("usage") or {}
        tokens = replies.shares(said, int(usage.get("completion_tokens") or 0))
        k = self._k(request) if decoding.uncertainty is not None else None
        samples = tuple(self._sample(one, decoding, number, k) for one, number in zip(said, tokens, strict=True))
        sent = prompt.request
        shown = sent.text if sent.text is not None else json.dumps(sent.messages, ensure_ascii=False)
        return Completion(
            request.id,
            samples,
            int(usage.get("prompt_tokens") or 0),
            prompt=shown if decoding.keep_prompt else None,
            cut=prompt.cut,
            k=k,
        )

    def _sample(self, said: replies.Said, decoding: Decoding, tokens: int, k: int | None) -> Sample:
        steps = said.steps
        if steps is None and entries_of(decoding) is not None:
            if said.text or tokens:
                raise self._no_logprobs()
            steps = []  # nothing was generated, and nothing is told of it
        if steps is None:
            return Sample(said.text, said.finish, tokens)
        return Sample(
            said.text,
            said.finish,
            tokens,
            logprob=replies.total(steps) if decoding.logprobs is not None else None,
            steps=replies.shown(said, decoding.logprobs, self._served.text) if decoding.logprobs is not None else None,
            uncertainty=replies.uncertainty(steps, k) if k is not None else None,
            choices=replies.chosen(next(iter(steps), None), self._groups(decoding)) if decoding.choices else None,
        )

    # log-probabilities

    def _is_first(self, request: Request) -> bool:
        """Whether this request may find out what the server gives: such requests go alone."""
        return not request.continuation and not self._can.known(path_of(request), request.decoding)

    def _first(self, request: Request, halt: threading.Event) -> Completion:
        """Ask every server, and answer by the first one's words under limits that hold for all."""
        path, decoding = path_of(request), request.decoding
        answered: tuple[Json, Prompt] | None = None
        for replica in self._servers.live:
            try:
                answer, prompt = self._exchange(request, halt, replica)
                said = replies.choices_of(answer)
                if any(one.steps is None and one.text for one in said):
                    raise self._no_logprobs()
                if self._can.exact(decoding) and not self._holds_choices(said, decoding):
                    self._can.exact_choices = False  # an older vLLM, which passes over what it doesn't know
                    answer, prompt = self._exchange(request, halt, replica)
                    said = replies.choices_of(answer)
            except Gone:
                continue
            self._can.learn(path, decoding, said)
            answered = answered or (answer, prompt)
        if answered is None:
            raise self._servers.unreachable()
        return self._completion(request, *answered)

    def _k(self, request: Request) -> int:
        """Tokens over which uncertainty is measured; where these are fewer than asked for, it is said once."""
        asked = request.decoding.uncertainty
        k = self._can.k(path_of(request), request.decoding)
        if k < 2:
            raise BackendError(
                f"uncertainty over K={k} log-probabilities is not defined: 2 are needed",
                "Start the server with a larger limit (vLLM: --max-logprobs), or read with vLLM in process.",
            )
        if k != asked:
            note = f"the server gives {k} log-probabilities a step: uncertainty is over K={k}, not {asked}"
            self.notes += {note} - {*self.notes}
        self.about["k"] = min(k, self.about.get("k", k))
        return k

    def _no_logprobs(self) -> BackendError:
        return BackendError(
            f"the server at {self._servers.all[0].shown} gives no log-probabilities although asked for them",
            "Serve the model with vLLM, or ask for none.",
        )

    def _groups(self, decoding: Decoding) -> list[frozenset[Any]]:
        """The groups as token ids where the server names these, else as texts."""
        if not self._can.vllm:
            return [frozenset(group) for group in decoding.choices]
        return [frozenset(one for one in map(self._served.id, group) if one is not None) for group in decoding.choices]

    def _holds_choices(self, said: Sequence[replies.Said], decoding: Decoding) -> bool:
        wanted = set().union(*self._groups(decoding))
        steps = [one.steps[0] for one in said if one.steps]
        return all(wanted <= {replies.token_id(name) for name, _ in step.top} for step in steps)

    def _count(self, request: Request) -> int | None:
        _, body = self._body(request)
        return self._served.count(body)

    def _continued(self, request: Request, halt: threading.Event) -> Completion:
        where = self._servers.all[0].shown
        try:
            answer, prompt = self._exchange(request, halt)
        except Rejected as error:
            if "echo" in error.about or replies.about_logprobs(error.about):
                raise no_prompt_logprobs(where) from error
            raise
        sent = prompt.request.text or ""
        return Completion(
            request.id,
            (),
            int((answer.get("usage") or {}).get("prompt_tokens") or 0),
            prompt=sent + request.continuation if request.decoding.keep_prompt else None,
            continuation=logprobs_behind(sent, request.continuation, answer, self._served, where),
            cut=prompt.cut,
        )


def _start(target: Callable[[], None]) -> None:
    """A daemon: an interrupt must not wait for answers that nobody will read."""
    threading.Thread(target=target, daemon=True, name="ragpack-openai").start()


def _work(
    inbox: SimpleQueue[Request | None],
    outbox: SimpleQueue[Reply | BackendError],
    halt: threading.Event,
    reply: Callable[[Request, threading.Event], Reply | BackendError],
) -> None:
    while (request := inbox.get()) is not None and not halt.is_set():
        outbox.put(reply(request, halt))


def _arrived(outbox: SimpleQueue[Reply | BackendError], *, wait: bool) -> Iterator[Reply | BackendError]:
    """What has come in by now; at least one with `wait`."""
    if wait:
        yield outbox.get()
    while True:
        try:
            reply = outbox.get_nowait()
        except Empty:
            return
        yield reply
