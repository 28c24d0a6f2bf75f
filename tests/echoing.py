"""A server on loopback that answers each prompt with a text made of it, counts, and dies when it is told."""

from __future__ import annotations

import time
from collections import Counter
from hashlib import blake2b

from loopback import JsonHandler, Loopback, chat_completion


class Echo(Loopback):
    """Serves in threads of its own from the start. `die_at`: the number of the prompt with which it goes away."""

    def __init__(self, port: int = 0, die_at: int | None = None, pause: float = 0.0) -> None:
        super().__init__(Handler, port)
        self.die_at, self.pause = die_at, pause
        self.asked: Counter[str] = Counter()
        """Prompts that came."""
        self.answered: set[str] = set()
        """Prompts whose answer was sent."""
        self.begin()

    @property
    def port(self) -> int:
        return self.server_address[1]


class Handler(JsonHandler):
    server: Echo

    def post(self) -> None:
        server = self.server
        prompt = self.body()["messages"][-1]["content"]
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
        self.reply(200, chat_completion(said, 11, 2))
        with server.lock:
            server.answered.add(prompt)
