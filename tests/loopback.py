"""What the small servers of tests have in common: JSON in, JSON out, and not a word on standard error."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Loopback(ThreadingHTTPServer):
    """A server on a free port of this machine."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64  # a busy machine turns away callers of a short queue

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def begin(self) -> None:
        """Serve, in a thread of its own."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def end(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Callers that have gone, or were killed, are part of the game."""


class JsonHandler(BaseHTTPRequestHandler):
    """One request: `get` or `post` answers it."""

    def do_GET(self) -> None:
        self.get()

    def do_POST(self) -> None:
        self.post()

    def get(self) -> None:
        self.reply(404, {"error": {"message": "no such route"}})

    def post(self) -> None:
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, status: int, body: dict, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        kinds = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in {**kinds, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def chat_completion(text: str, prompt: int, completion: int) -> dict[str, Any]:
    """An answer of /v1/chat/completions, with its numbers of tokens."""
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }  # fmt: skip
