"""A small server on loopback that speaks OpenAI's protocol and makes trouble when told to."""

import socket
import time
from collections.abc import Callable
from typing import Any

from loopback import JsonHandler, Loopback

from ragpack.readers.base import Decoding, Request
from ragpack.readers.openai import open_reader

VLLM = [{"id": "m", "owned_by": "vllm", "max_model_len": 64}]
OTHER = [{"id": "m", "owned_by": "someone"}]
"""What /v1/models says: a server of vLLM, and one of unknown make."""

Script = Callable[[str, dict[str, Any], int], Any]
"""Of path, body and how often this prompt was asked: an answer, `(status, answer[, headers])`, `drop` for a
connection that ends without one, `half` for one that ends within; None for the usual echo."""


class Stub(Loopback):
    """Answers `echo: TEXT`; the text may ask for trouble."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self.script: Script = lambda path, body, tries: None
        self.bodies: list[dict] = []
        self.paths: list[str] = []
        self.keys: set[str] = set()
        self.now = 0
        self.most = 0
        self.models: list[dict] | None = [{"id": "tiny-1", "object": "model"}, {"id": "tiny-2"}]
        self.tries: dict[str, int] = {}
        self.dead = False
        """No connection is answered any more."""

    def __enter__(self) -> "Stub":
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Handler(JsonHandler):
    server: Stub

    def get(self) -> None:
        if self.server.dead:
            self.drop()
        elif self.server.models is None:
            self.reply(404, {"error": {"message": "no such route"}})
        elif self.headers["Authorization"] == "Bearer wrong":
            self.reply(401, {"error": {"message": "Incorrect key: wrong"}})
        else:
            self.reply(200, {"object": "list", "data": self.server.models})

    def post(self) -> None:
        server = self.server
        body = self.body()
        text = body["messages"][-1]["content"] if "messages" in body else str(body.get("prompt"))
        with server.lock:
            server.now += 1
            server.most = max(server.most, server.now)
            server.bodies.append(body)
            server.paths.append(self.path)
            server.keys.add(self.headers["Authorization"])
            server.tries[text] = tries = server.tries.get(text, 0) + 1
        said = "drop" if server.dead else server.script(self.path, body, tries)
        if said is None:
            time.sleep(0.05)
        with server.lock:
            server.now -= 1
        if said is None:
            self.usual(text, tries, body)
        elif isinstance(said, str):
            self.drop(half=said == "half")
        else:
            self.reply(*(said if isinstance(said, tuple) else (200, said)))

    def usual(self, text: str, tries: int, body: dict) -> None:
        if text == "busy" and tries == 1:
            self.reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "1"})
        elif text == "broken":
            self.reply(500, {"error": {"message": f"failed with {self.headers['Authorization']}"}})
        elif text == "long":
            self.reply(400, {"error": {"message": "too many tokens"}})
        elif text == "slow":
            time.sleep(2)
        elif text == "odd":
            self.reply(200, {"hello": "world"})
        elif "messages" in body:
            steps = [listed("a", -0.5), listed("b", -0.25)]
            self.reply(200, chat(f"echo: {text}", steps=steps if body.get("logprobs") else None))
        else:
            self.reply(200, completion(f"echo: {text}"))

    def drop(self, *, half: bool = False) -> None:
        if half:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
            self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def listed(token: str, logprob: float | None, top: dict[str, float] | list[tuple[str, float]] | None = None) -> dict:
    """A step as /v1/chat/completions writes it."""
    pairs = top.items() if isinstance(top, dict) else top or []
    return {"token": token, "logprob": logprob, "top_logprobs": [{"token": t, "logprob": v} for t, v in pairs]}


def chat(*texts: str | None, steps: list[dict] | None = None, tokens: int | None = None) -> dict:
    """An answer of /v1/chat/completions."""
    total = tokens if tokens is not None else len(texts) + 1
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "tiny-1",
        "choices": [
            {
                "index": at, "finish_reason": "stop", "message": {"role": "assistant", "content": text},
                "logprobs": {"content": steps} if steps is not None else None,
            }
            for at, text in enumerate(texts)
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": total, "total_tokens": 11 + total},
    }  # fmt: skip


def completion(
    text: str,
    steps: list[tuple[str, float | None, dict[str, float]]] | None = None,
    *,
    prompt: int = 11,
    **more: object,
) -> dict:
    """An answer of /v1/completions; a step is the token given, its log-probability, and the most likely ones."""
    told = None
    if steps is not None:
        tokens, given, tops = ([step[at] for step in steps] for at in range(3))
        ends = [sum(map(len, tokens[:at])) for at in range(len(tokens))]
        told = {"tokens": tokens, "token_logprobs": given, "top_logprobs": tops, "text_offset": ends}
    usage = {"prompt_tokens": prompt, "completion_tokens": len(steps or "x"), "total_tokens": prompt + 1}
    choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": told, **more}
    return {"id": "c", "object": "text_completion", "choices": [choice], "usage": usage}


def closed_port() -> str:
    """The address of a server that is no more."""
    closed = Loopback(Handler)
    closed.server_close()
    return closed.url


def run(server: Stub, *requests: Request, more: tuple[str, ...] = (), notes: list[str] | None = None) -> dict:
    """Replies by number; `more` are further replicas."""
    reader = open_reader("m", base_urls=(server.url, *more), retries=0)
    try:
        return {reply.id: reply for reply in reader.answer(iter(requests))}
    finally:
        reader.close()
        if notes is not None:
            notes += reader.notes


def asks(how: Decoding, *texts: str) -> list[Request]:
    """Plain texts, for /v1/completions."""
    return [Request(number, text=text, decoding=how) for number, text in enumerate(texts)]


def chats(how: Decoding, *texts: str) -> list[Request]:
    """Messages, for /v1/chat/completions."""
    return [Request(number, [{"role": "user", "content": text}], decoding=how) for number, text in enumerate(texts)]
