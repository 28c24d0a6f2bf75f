"""Answers from any server that speaks /v1/chat/completions: vLLM, llama.cpp, Ollama, a hosted one.

`concurrency` requests are under way at once, each in a thread of its own; answers are given as they come. The
`openai` client does the retries: 408, 409, 429, 5xx and lost connections, after the server's `Retry-After` (up to two
minutes) or else with a growing pause. The key is read from OPENAI_API_KEY and shown nowhere.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ragpack.errors import BackendError, Missing, UsageError, did_you_mean
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request, Sample

KEY = "OPENAI_API_KEY"
NO_KEY = "none"
SHOWN_IDS = 20

Reply = Completion | Refusal


def open_reader(
    model: str,
    *,
    base_url: str,
    most_logprobs: int = 0,  # noqa: ARG001 # the server has its own limit
    concurrency: int = 8,
    timeout: float = 120,
    retries: int = 5,
) -> Reader:
    """Prepare a client for the server at `base_url` (with its `/v1`); the server is asked at the first request."""
    if importlib.util.find_spec("openai") is None:
        raise Missing("The openai reader", "openai")
    shown = _without_credentials(base_url)
    key = os.environ.get(KEY) or (NO_KEY if _is_loopback(base_url) else "")
    if not key:
        raise BackendError(
            f"no key for the server at {shown}", f"Set {KEY} (any word will do for a server that asks for none)."
        )
    import openai

    client = openai.OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=retries)
    return _Server(client, key, shown, model, concurrency, timeout)


class _Server:
    """One model of one server."""

    name = "openai"

    def __init__(
        self,
        client: Any,  # noqa: ANN401 # openai.OpenAI, which is not imported up here
        key: str,
        shown: str,
        model: str,
        concurrency: int,
        timeout: float,
    ) -> None:
        self.model = model
        self.about: dict[str, Any] = {}
        self.fingerprint = hashlib.blake2b(f"{shown}\0{self.model}".encode(), digest_size=16).hexdigest()
        self._client = client
        self._key = key
        self._shown = shown
        self._concurrency = concurrency
        self._timeout = timeout
        self._checked = False

    def answer(self, requests: Iterator[Request]) -> Iterator[Reply]:
        """Keep `concurrency` requests under way; they are pulled in the caller's thread."""
        inbox: SimpleQueue[Request | None] = SimpleQueue()
        outbox: SimpleQueue[Reply | BackendError] = SimpleQueue()
        workers = 0
        under_way = 0
        more = True
        try:
            while more or under_way:
                if more and under_way < self._concurrency:
                    request = next(requests, None)
                    more = request is not None
                    if request is not None:
                        self._check()
                        inbox.put(request)
                        under_way += 1
                        if workers < under_way:
                            workers += 1
                            _start(lambda: _work(inbox, outbox, self._ask))
                for reply in _arrived(outbox, wait=under_way > 0 and not (more and under_way < self._concurrency)):
                    under_way -= 1
                    if isinstance(reply, BackendError):
                        raise reply
                    yield reply
        finally:
            for _ in range(workers):
                inbox.put(None)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, request: Request) -> Reply | BackendError:
        import openai

        try:
            response = self._client.chat.completions.create(
                model=self.model, messages=request.messages, **_options(request.decoding)
            )
        except openai.AuthenticationError as error:
            return self._no_access(error)
        except openai.APIStatusError as error:
            return Refusal(request.id, self._clean(f"the server answered {error.status_code}: {_words(error)}"))
        except openai.APITimeoutError:
            return Refusal(request.id, f"no answer within {self._timeout:g} s")
        except openai.APIConnectionError as error:
            if type(error.__cause__).__name__ == "ConnectError":
                return self._no_connection(error)
            return Refusal(request.id, self._clean(f"the connection was lost: {error.__cause__ or error}"))
        except Exception as error:  # an answer that is no chat completion
            return Refusal(request.id, self._clean(f"{type(error).__name__}: {error}"))
        return self._completion(request, response)

    def _completion(self, request: Request, response: Any) -> Reply:  # noqa: ANN401 # the library has no types here
        choices = getattr(response, "choices", None)
        if not choices:
            return Refusal(request.id, "the server's answer holds no choice")
        best = choices[0]
        steps = best.logprobs.content if getattr(best, "logprobs", None) else None
        sample = Sample(
            text=best.message.content or "",
            finish=best.finish_reason or "stop",
            tokens=response.usage.completion_tokens if response.usage else 0,
            logprob=float(sum(step.logprob for step in steps)) if steps else None,
        )
        return Completion(
            id=request.id,
            samples=(sample,),
            prompt_tokens=response.usage.prompt_tokens if response.usage else 0,
            prompt=json.dumps(request.messages, ensure_ascii=False) if request.decoding.keep_prompt else None,
        )

    def _check(self) -> None:
        """Once, before the first request: is there a server, and does it serve the model? Not all servers tell."""
        if self._checked:
            return
        import openai

        try:
            quick = self._client.with_options(max_retries=1, timeout=min(self._timeout, 30.0))
            served = sorted(item.id for item in quick.models.list().data)
        except openai.AuthenticationError as error:
            raise self._no_access(error) from error
        except openai.APIConnectionError as error:
            raise self._no_connection(error) from error
        except Exception:  # a server without /v1/models, or with one of its own: the requests will tell
            served = []
        self._checked = True
        if served and not any(_names(item, self.model) for item in served):
            near = did_you_mean(self.model, served)
            known = f"Served: {', '.join(served[:SHOWN_IDS])}{' …' if len(served) > SHOWN_IDS else ''}."
            raise BackendError(
                f"the server at {self._shown} does not serve '{self.model}'",
                f"{near} {known}" if near.startswith("Did") else known,
            )

    def _no_access(self, error: Exception) -> BackendError:
        return BackendError(self._clean(f"the server at {self._shown} refuses access: {_words(error)}"), f"Set {KEY}.")

    def _no_connection(self, error: Exception) -> BackendError:
        return BackendError(
            self._clean(f"no connection to {self._shown}: {error.__cause__ or error}"),
            "Is the server running, and is --base-url its address with /v1?",
        )

    def _clean(self, text: str) -> str:
        """Some servers quote the key in their errors."""
        return text if self._key == NO_KEY else text.replace(self._key, "***")


def _options(decoding: Decoding) -> dict[str, Any]:
    options: dict[str, Any] = {"max_tokens": decoding.max_tokens, "temperature": decoding.temperature}
    options["seed"] = decoding.seed or 0
    if decoding.logprobs is not None:
        options["logprobs"] = True
    return options


def _start(target: Callable[[], None]) -> None:
    """A daemon: an interrupt must not wait for answers that nobody will read."""
    threading.Thread(target=target, daemon=True, name="ragpack-openai").start()


def _work(
    inbox: SimpleQueue[Request | None],
    outbox: SimpleQueue[Reply | BackendError],
    ask: Callable[[Request], Reply | BackendError],
) -> None:
    while (request := inbox.get()) is not None:
        outbox.put(ask(request))


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


def _names(served: str, model: str) -> bool:
    """Whether a served id is the model that was asked for; some servers add a tag or a folder to what they list."""
    return served in (model, f"{model}:latest") or served.endswith(f"/{model}")


def _words(error: Any) -> str:  # noqa: ANN401 # the library has no types here
    """The server's own sentence."""
    body = error.body
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body
    return " ".join(str(body or error.message).split())[:500]


def _without_credentials(url: str) -> str:
    """Scheme, host and path: what may be shown and hashed.

    >>> _without_credentials("https://me:secret@host:8000/v1/?key=secret")
    'https://host:8000/v1'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("--base-url is not an http(s) address", "Write it like http://localhost:8000/v1.")
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
