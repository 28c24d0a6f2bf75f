"""A server on loopback that answers each prompt with a text made of it, counts, and dies when it is told."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Echo(ThreadingHTTPServer):
    """Serves in threads of its own from the start. `die_at`: the number of the prompt with which it goes away."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64  # a busy machine turns away callers of a short queue

    def __init__(self, port: int = 0, die_at: int | None = None, pause: float = 0.0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.die_at, self.pause = die_at, pause
        self.asked: Counter[str] = Counter()
        """Prompts that came."""
        self.answered: set[str] = set()
        """Prompts whose answer was sent."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def handle_error(self, request: object, address: object) -> None:
        """The client was killed: nobody needs to hear of it."""

    def end(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Echo

    def do_GET(self) -> None:
        self.reply(404, {"error": {"message": "no such route"}})

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        with server.lock:
            server.asked[prompt] += 1
            number = server.asked.total()
        if server.die_at is not None and number >= server.die_at:
            if number == server.die_at:
                server.end()
            self.close_connection = True
            return
        time.sleep(server.pause)
        said = blake2b(prompt.encode(), digest_size=4).hexdigest()
        self.reply(200, {
            "id": "c", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13},
        })  # fmt: skip
        with server.lock:
            server.answered.add(prompt)

    def reply(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
