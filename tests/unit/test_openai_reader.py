"""The server back end against a small server on loopback."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ragpack.errors import BackendError, UsageError
from ragpack.readers.base import Completion, Decoding, Refusal, Request, Sample
from ragpack.readers.openai import open_reader

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

SECRET = "sk-very-secret-1234"


class Stub(ThreadingHTTPServer):
    """Answers `echo: TEXT`; the text may ask for trouble."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.bodies: list[dict] = []
        self.keys: set[str] = set()
        self.now = 0
        self.most = 0
        self.models = True
        self.tries: dict[str, int] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_GET(self) -> None:
        if not self.server.models:
            self.reply(404, {"error": {"message": "no such route"}})
        elif self.headers["Authorization"] == "Bearer wrong":
            self.reply(401, {"error": {"message": "Incorrect key: wrong"}})
        else:
            self.reply(200, {"object": "list", "data": [{"id": "tiny-1", "object": "model"}, {"id": "tiny-2"}]})

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        with server.lock:
            server.now += 1
            server.most = max(server.most, server.now)
            server.bodies.append(body)
            server.keys.add(self.headers["Authorization"])
            server.tries[text] = tries = server.tries.get(text, 0) + 1
        time.sleep(0.05)
        with server.lock:
            server.now -= 1
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
        else:
            self.reply(200, completion(f"echo: {text}", bool(body.get("logprobs"))))

    def reply(self, status: int, body: dict, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def completion(text: str, logprobs: bool) -> dict:
    steps = [{"token": "a", "logprob": -0.5, "top_logprobs": []}, {"token": "b", "logprob": -0.25, "top_logprobs": []}]
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "tiny-1",
        "choices": [{
            "index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text},
            "logprobs": {"content": steps} if logprobs else None,
        }],
        "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13},
    }  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    stub = Stub()
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield stub
    stub.shutdown()
    stub.server_close()


def ask(*texts: str, how: Decoding | None = None) -> Iterator[Request]:
    for number, text in enumerate(texts):
        yield Request(number, [{"role": "user", "content": text}], decoding=how or Decoding())


def run(
    url: str, *texts: str, model: str = "tiny-1", how: Decoding | None = None, **options: object
) -> dict[int, Completion | Refusal]:
    reader = open_reader(model, base_urls=(url,), **{"retries": 0, **options})
    try:
        return {reply.id: reply for reply in reader.answer(ask(*texts, how=how))}
    finally:
        reader.close()


def test_every_request_gets_its_own_answer_greedily(server: Stub) -> None:
    replies = run(server.url, *map(str, range(20)), how=Decoding(max_tokens=5, seed=3))
    assert {number: reply.text for number, reply in replies.items()} == {n: f"echo: {n}" for n in range(20)}
    assert replies[0] == Completion(0, (Sample("echo: 0", "stop", 2),), 11)
    body = server.bodies[0]
    assert (body["temperature"], body["max_tokens"], body["seed"], body["model"]) == (0, 5, 3, "tiny-1")
    assert "logprobs" not in body


def test_logprob_and_prompt_where_asked_for(server: Stub) -> None:
    reply = run(server.url, "hé", how=Decoding(logprobs=0, keep_prompt=True))[0]
    assert reply.samples[0].logprob == -0.75
    assert json.loads(reply.prompt) == [{"role": "user", "content": "hé"}]
    assert "hé" in reply.prompt


def test_retry_after_is_waited_for(server: Stub) -> None:
    start = time.monotonic()
    assert run(server.url, "busy", retries=2)[0].text == "echo: busy"
    assert time.monotonic() - start >= 1  # the client's own first pause is at most 0.5 s
    assert server.tries["busy"] == 2


def test_a_failed_request_is_refused_and_the_others_go_on(server: Stub) -> None:
    replies = run(server.url, "a", "broken", "long", "odd", "b", retries=1)
    assert server.tries["broken"] == 2
    assert server.tries["long"] == 1
    assert replies[1] == Refusal(1, "the server answered 500: failed with Bearer none")
    assert replies[2] == Refusal(2, "the server answered 400: too many tokens")
    assert isinstance(replies[3], Refusal)
    assert (replies[0].text, replies[4].text) == ("echo: a", "echo: b")


def test_a_slow_request_is_refused(server: Stub) -> None:
    assert run(server.url, "slow", timeout=0.5)[0] == Refusal(0, "no answer within 0.5 s")


def test_concurrency_and_look_ahead_are_bounded_and_used(server: Stub) -> None:
    pulled = given = 0

    def requests() -> Iterator[Request]:
        nonlocal pulled
        for request in ask(*map(str, range(24))):
            pulled += 1
            assert pulled - given <= 4
            yield request

    reader = open_reader("tiny-1", base_urls=(server.url,), concurrency=4)
    for _ in reader.answer(requests()):
        given += 1
    reader.close()
    assert given == 24
    assert 2 <= server.most <= 4


def test_answers_are_not_held_back_while_the_input_is_slow(server: Stub) -> None:
    reader = open_reader("tiny-1", base_urls=(server.url,), concurrency=8)
    given: list[int] = []

    def requests() -> Iterator[Request]:
        yield from ask("a")
        time.sleep(0.4)
        yield Request(1, [{"role": "user", "content": "b"}])
        time.sleep(0.4)
        assert given == [0]  # long before look-ahead is used up
        yield Request(2, [{"role": "user", "content": "c"}])

    for reply in reader.answer(requests()):
        given.append(reply.id)
    assert sorted(given) == [0, 1, 2]
    reader.close()


def test_an_unserved_model_names_the_served_ones(server: Stub) -> None:
    with pytest.raises(BackendError) as raised:
        run(server.url, "a", model="tiny-3")
    assert "does not serve 'tiny-3'" in str(raised.value)
    assert "Did you mean 'tiny-" in str(raised.value)
    assert "tiny-1, tiny-2" in str(raised.value)
    assert not server.bodies


def test_a_server_that_lists_no_models_is_simply_asked(server: Stub) -> None:
    server.models = False
    assert run(server.url, "a", model="anything")[0].text == "echo: a"


def test_no_server_is_one_error() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_address[1]
    with pytest.raises(BackendError, match="no connection to http:"):
        run(f"http://127.0.0.1:{port}/v1", "a")


def test_a_server_is_asked_nothing_before_the_first_request(server: Stub) -> None:
    assert run("http://127.0.0.1:9/v1") == {}


def test_the_key_is_sent_and_never_shown(server: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    reply = run(server.url, "broken")[0]
    assert server.keys == {f"Bearer {SECRET}"}
    assert reply == Refusal(0, "the server answered 500: failed with Bearer ***")
    reader = open_reader("tiny-1", base_urls=(server.url,))
    assert SECRET not in f"{reader.fingerprint} {reader.model} {reader!r}"
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with pytest.raises(BackendError, match="refuses access") as raised:
        run(server.url, "a")
    assert "wrong" not in str(raised.value)


def test_a_foreign_server_wants_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BackendError, match="Set OPENAI_API_KEY") as raised:
        open_reader("m", base_urls=("https://me:hush@models.invalid/v1?token=hush",))
    assert "hush" not in str(raised.value)
    with pytest.raises(UsageError):
        open_reader("m", base_urls=("models.invalid/v1",))


def test_fingerprint_is_of_server_and_model_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(url: str, model: str, key: str) -> str:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        return open_reader(model, base_urls=(url,)).fingerprint

    plain = of("http://localhost:1/v1", "m", "a")
    assert plain == of("http://me:hush@localhost:1/v1/", "m", "b")
    assert plain != of("http://localhost:1/v1", "n", "a")
    assert plain != of("http://localhost:2/v1", "m", "a")
