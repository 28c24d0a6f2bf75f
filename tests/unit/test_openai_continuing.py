"""The log-probability of a text behind a prompt, from servers that tell of prompts in different ways."""

from collections.abc import Iterator

import pytest
from served import OTHER, VLLM, Stub, completion, run

from ragpack.errors import BackendError
from ragpack.readers.base import Refusal, Request
from ragpack.readers.server import continuing

pytest.importorskip("openai", reason="the extra 'openai' is not installed")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Stub() as stub:
        stub.models = OTHER
        yield stub


PROMPT, BEHIND = "Passage: é.\nQ:", " who"


def test_a_continuation_by_vllms_prompt_logprobs(server: Stub) -> None:
    server.models = VLLM
    pieces = ["Pass", "age", ": ", "", "é", ".\n", "Q", ": w", "ho"]
    told = [None, *({str(at): {"logprob": -float(at), "decoded_token": text}} for at, text in enumerate(pieces, 1))]
    server.script = lambda path, body, tries: completion("x", prompt_logprobs=told)
    (reply,) = run(server, Request(0, text=PROMPT, continuation=BEHIND)).values()
    assert reply.continuation == (-8.0, -9.0)  # the token across the border ends behind it
    assert reply.samples == ()
    body = server.bodies[0]
    assert (body["prompt"], body["prompt_logprobs"], body["max_tokens"]) == (PROMPT + BEHIND, 0, 1)


def test_pieces_of_characters_are_put_together_by_the_server(server: Stub) -> None:
    server.models = VLLM
    pieces = [(1, "Q:"), (2, " \ufffd"), (3, "\ufffd"), (4, "n")]
    whole = {(4,): "n", (3, 4): "\ufffdn", (2, 3, 4): " én", (1, 2, 3, 4): "Q: én"}
    told = [None, *({str(at): {"logprob": -float(at), "decoded_token": text}} for at, text in pieces)]

    def script(path: str, body: dict, tries: int) -> object:
        if path == "/detokenize":
            return {"prompt": whole[tuple(body["tokens"])]}
        return completion("x", prompt_logprobs=told)

    server.script = script
    (reply,) = run(server, Request(0, text="Q:", continuation=" én")).values()
    assert reply.continuation == (-2.0, -3.0, -4.0)


def test_a_continuation_by_echo(server: Stub) -> None:
    def script(path: str, body: dict, tries: int) -> object:
        assert (body["echo"], body["logprobs"]) == (True, 1)
        steps = [(text, None if at == 0 else -float(at), {}) for at, text in enumerate(["Say", ":", " a", "b", "!"])]
        return completion("Say: ab!", steps)

    server.script = script
    (reply,) = run(server, Request(0, text="Say:", continuation=" ab")).values()
    assert reply.continuation == (-2.0, -3.0)
    (reply,) = run(server, Request(0, text="S", continuation="ay: ab")).values()
    assert reply == Refusal(0, "a token of the continuation has no log-probability")


@pytest.mark.parametrize(
    "said",
    [completion("x"), (400, {"error": {"message": "echo is not available"}}), completion("x", [("x", -1.0, {})])],
)
def test_a_server_that_tells_nothing_of_prompts_ends_the_run(server: Stub, said: object) -> None:
    server.script = lambda path, body, tries: said
    with pytest.raises(BackendError, match="--probe qlm needs"):
        run(server, Request(0, text="Say:", continuation=" ab"))


def test_where_a_continuation_begins() -> None:
    assert continuing.behind(["a", " b", " c"], " c") == 2
    assert continuing.behind(["a", " b", " c"], "b c") == 1
    assert continuing.behind(["a", "", "", "é"], "é") == 1
    assert continuing.behind(["a", "b"], "xb") is None
    assert continuing.behind(["a", "b"], "cab") is None
    told = {"text_offset": [0, 3, 5], "tokens": ["abc", "de", "fgh"], "token_logprobs": [None, -1.0, -2.0]}
    assert continuing.from_echo(told, 4, 8) == [-1.0, -2.0]
    assert continuing.from_echo(told, 5, 7) == [-2.0]
    assert continuing.from_echo(told, 3, 5) == [-1.0]
