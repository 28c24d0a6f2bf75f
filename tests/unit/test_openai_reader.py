"""The server back end against a small server on loopback."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from served import Stub, chat, closed_port, listed

from ragpack.errors import BackendError, UsageError
from ragpack.readers.base import Completion, Decoding, Likely, Refusal, Request, Sample, Step
from ragpack.readers.openai import open_reader
from ragpack.readers.server import replicas

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

SECRET = "sk-very-secret-1234"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(replicas, "FIRST_PAUSE", 0.01)
    with Stub() as stub:
        yield stub


def ask(*texts: str, how: Decoding | None = None) -> Iterator[Request]:
    for number, text in enumerate(texts):
        yield Request(number, [{"role": "user", "content": text}], decoding=how or Decoding())


def run(
    urls: str | tuple[str, ...],
    *texts: str,
    model: str = "tiny-1",
    how: Decoding | None = None,
    notes: list[str] | None = None,
    **options: object,
) -> dict[int, Completion | Refusal]:
    urls = (urls,) if isinstance(urls, str) else urls
    reader = open_reader(model, base_urls=urls, **{"retries": 0, **options})
    try:
        return {reply.id: reply for reply in reader.answer(ask(*texts, how=how))}
    finally:
        reader.close()
        if notes is not None:
            notes += reader.notes


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
    assert reply.samples[0].steps == (Step(Likely("a", None, -0.5)), Step(Likely("b", None, -0.25)))
    assert json.loads(reply.prompt) == [{"role": "user", "content": "hé"}]
    assert "hé" in reply.prompt


def test_retry_after_is_waited_for(server: Stub) -> None:
    start = time.monotonic()
    assert run(server.url, "busy", retries=2)[0].text == "echo: busy"
    assert time.monotonic() - start >= 1  # the first pause of our own is a hundredth of that here
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
            assert pulled - given <= 8  # as many again as are under way
            yield request

    reader = open_reader("tiny-1", base_urls=(server.url,), concurrency=4)
    for _ in reader.answer(requests()):
        given += 1
    reader.close()
    assert given == 24
    assert 2 <= server.most <= 4  # at once


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
    server.models = None
    assert run(server.url, "a", model="anything")[0].text == "echo: a"


def test_no_server_is_one_error() -> None:
    with pytest.raises(BackendError, match="no connection to http:"):
        run(closed_port(), "a")


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


def test_fingerprint_is_the_same_however_many_replicas_there_are() -> None:
    urls = [f"http://localhost:{port}/v1" for port in (1, 2, 3)]
    one, three = (open_reader("m", base_urls=urls[:number]).fingerprint for number in (1, 3))
    assert one == three


def test_a_retry_after_is_a_number_or_a_date_and_has_a_bound() -> None:
    now = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)

    def after(text: str) -> float | None:
        return replicas.retry_after({"retry-after": text}, now)

    assert after("90") == 90
    assert after("Wed, 21 Oct 2026 07:29:30 GMT") == 90
    assert after("Wed, 21 Oct 2026 07:00:00 GMT") == 0
    assert after("3600") == after("Thu, 22 Oct 2026 07:28:00 GMT") == replicas.LONGEST_WAIT
    assert after("-1") == 0
    assert after("nan") is after("later") is after("") is None
    assert replicas.retry_after({}) is None


def test_all_requests_wait_for_a_server_that_asks_for_time(server: Stub) -> None:
    """After a Retry-After nothing is sent before it is over: not the others either."""
    seen: list[float] = []

    def script(path: str, body: dict, tries: int) -> object:
        seen.append(time.monotonic())
        return (429, {}, {"Retry-After": "0.4"}) if len(seen) == 1 else chat("ok")

    server.script = script
    replies = run(server.url, *"abcdef", retries=3, concurrency=1)
    assert [reply.text for reply in replies.values()] == ["ok"] * 6
    assert min(seen[1:]) - seen[0] >= 0.4


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again(server: Stub, status: int) -> None:
    server.script = lambda path, body, tries: (status, {}) if tries <= 2 else chat("ok")
    assert run(server.url, "a", retries=2)[0].text == "ok"
    assert isinstance(run(server.url, "b", retries=1)[0], Refusal)
    assert server.tries == {"a": 3, "b": 2}


@pytest.mark.parametrize("how", ["drop", "half"])
def test_a_request_that_breaks_the_connection_is_refused_and_its_server_stays(server: Stub, how: str) -> None:
    server.script = lambda path, body, tries: how if body["messages"][-1]["content"] == "bad" else chat("ok")
    replies = run(server.url, "a", "bad", "b", retries=2)
    assert isinstance(replies[1], Refusal)
    assert "connection was lost" in replies[1].message
    assert server.tries["bad"] == 3
    assert (replies[0].text, replies[2].text) == ("ok", "ok")


def test_a_connection_that_breaks_once_loses_nothing(server: Stub) -> None:
    server.script = lambda path, body, tries: ("drop", "half", chat("ok"))[min(tries, 3) - 1]
    assert {reply.text for reply in run(server.url, *"abcd", retries=3).values()} == {"ok"}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_no_request_survives_ends_the_run(server: Stub, status: int) -> None:
    server.script = lambda path, body, tries: (status, {"error": {"message": "go away"}})
    with pytest.raises(BackendError, match="go away"):
        run(server.url, "a", retries=3)
    assert server.tries == {"a": 1}


def test_replicas_share_the_work_and_concurrency_is_of_each(server: Stub) -> None:
    with Stub() as other:
        replies = run((server.url, other.url), *map(str, range(40)), concurrency=2)
    assert {number: reply.text for number, reply in replies.items()} == {n: f"echo: {n}" for n in range(40)}
    assert server.most == other.most == 2
    assert min(len(server.bodies), len(other.bodies)) > 10


def test_the_replica_with_the_fewest_in_flight_is_asked(server: Stub) -> None:
    with Stub() as other:
        run((server.url, other.url), *map(str, range(12)), concurrency=12)
        assert min(server.most, other.most) >= 3


def test_a_replica_that_dies_is_set_aside_and_nothing_is_lost(server: Stub) -> None:
    notes: list[str] = []
    with Stub() as other:

        def script(path: str, body: dict, tries: int) -> object:
            if len(other.bodies) > 5:
                other.dead = True
                return "drop"
            return None

        other.script = script
        replies = run((other.url, server.url), *map(str, range(40)), retries=2, notes=notes)
    assert {number: reply.text for number, reply in replies.items()} == {n: f"echo: {n}" for n in range(40)}
    assert len(notes) == 1
    assert other.url in notes[0]
    assert "set aside" in notes[0]


def test_a_replica_that_is_not_there_is_set_aside_and_all_gone_is_one_error(server: Stub) -> None:
    notes: list[str] = []
    assert len(run((closed_port(), server.url), *"abc", notes=notes)) == 3
    assert "set aside" in notes[0]
    with pytest.raises(BackendError, match="no connection"):
        run((closed_port(), closed_port()), "a")
    server.script = lambda path, body, tries: setattr(server, "dead", True) or "drop"
    with pytest.raises(BackendError, match="no connection"):
        run(server.url, *"abcdefghijkl", retries=1)


def test_a_replica_with_another_model_is_an_error(server: Stub) -> None:
    with Stub() as other:
        other.models = [{"id": "large"}]
        with pytest.raises(BackendError, match=f"{other.url} does not serve"):
            run((server.url, other.url), "a")


def test_all_of_the_decoding_is_sent(server: Stub) -> None:
    server.script = lambda path, body, tries: chat("x", "y")
    how = Decoding(max_tokens=7, temperature=0.7, top_p=0.9, seed=11, n=2, stop=("\n", "Q:"))
    reply = run(server.url, "a", how=how)[0]
    assert [sample.text for sample in reply.samples] == ["x", "y"]
    assert reply.completion_tokens == 3  # the total, in parts
    body = server.bodies[0]
    assert {key: body[key] for key in ("max_tokens", "temperature", "top_p", "seed", "n", "stop")} == {
        "max_tokens": 7, "temperature": 0.7, "top_p": 0.9, "seed": 11, "n": 2, "stop": ["\n", "Q:"],
    }  # fmt: skip
    run(server.url, "b", how=Decoding())
    assert server.bodies[-1].keys() == {"model", "messages", "max_tokens", "temperature"}


def test_another_number_of_completions_is_refused_with_it(server: Stub) -> None:
    server.script = lambda path, body, tries: chat("x", "y")
    how = Decoding(n=3, temperature=1.0, seed=1)
    assert run(server.url, "a", how=how)[0] == Refusal(0, "the server gave 2 completions, not 3")


def test_an_empty_completion_is_an_answer(server: Stub) -> None:
    server.script = lambda path, body, tries: chat(None, tokens=0)
    assert run(server.url, "a")[0].text == ""
    reply = run(server.url, "a", how=Decoding(logprobs=1, uncertainty=4))[0]
    assert reply.samples == (Sample("", "stop", 0, None, (), ()),)


def test_a_text_goes_to_completions_as_it_is(server: Stub) -> None:
    reader = open_reader("tiny-1", base_urls=(server.url,), retries=0)
    (reply,) = reader.answer(iter([Request(4, text="User: hé?", decoding=Decoding(keep_prompt=True))]))
    assert (reply.text, reply.prompt) == ("echo: User: hé?", "User: hé?")
    assert server.paths == ["/v1/completions"]
    assert server.bodies[0]["prompt"] == "User: hé?"


def test_vllm_is_told_what_else_the_models_folder_would_decide(server: Stub) -> None:
    server.models = [{"id": "tiny-1", "owned_by": "vllm", "root": "org/tiny", "max_model_len": 512}]
    reader = open_reader("tiny-1", base_urls=(server.url,), retries=0)
    list(reader.answer(ask("a")))
    body = server.bodies[0]
    assert (body["top_p"], body["top_k"], body["min_p"], body["repetition_penalty"]) == (1, -1, 0, 1)
    assert "date_string" in body["chat_template_kwargs"]
    assert reader.about == {"servers": 1, "owned_by": "vllm", "root": "org/tiny", "max_model_len": 512}


def test_vllm_names_the_ids_of_the_tokens_given(server: Stub) -> None:
    server.models = [{"id": "tiny-1", "owned_by": "vllm"}]

    def script(path: str, body: dict, tries: int) -> object:
        assert body["return_token_ids"]
        answer = chat("ab", steps=[listed("a", -0.5), listed("b", -0.25)])
        answer["choices"][0]["token_ids"] = [4, 5]
        return answer

    server.script = script
    sample = run(server.url, "q", how=Decoding(logprobs=0))[0].samples[0]
    assert sample.steps == (Step(Likely("a", 4, -0.5)), Step(Likely("b", 5, -0.25)))


def test_a_template_without_a_system_role_gets_it_before_the_question(server: Stub) -> None:
    def script(path: str, body: dict, tries: int) -> object:
        if body["messages"][0]["role"] == "system":
            return 400, {"error": {"message": "System role not supported"}}
        return chat("ok")

    server.script = script
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    reader = open_reader("tiny-1", base_urls=(server.url,), retries=0, concurrency=1)
    assert [reply.text for reply in reader.answer(Request(n, messages) for n in range(3))] == ["ok"] * 3
    assert [len(body["messages"]) for body in server.bodies] == [2, 1, 1, 1]
    assert server.bodies[1]["messages"][0]["content"] == "Be brief.\n\nWho?"


def test_a_consumer_that_leaves_ends_the_waiting(server: Stub) -> None:
    server.script = lambda path, body, tries: chat("ok") if tries == 1 and len(server.bodies) == 1 else (500, {})
    reader = open_reader("tiny-1", base_urls=(server.url,), retries=50, concurrency=2)
    replies = reader.answer(ask(*"abcdef"))
    next(replies)
    replies.close()
    time.sleep(0.2)
    asked = len(server.bodies)
    time.sleep(0.3)
    assert len(server.bodies) <= asked + 2
