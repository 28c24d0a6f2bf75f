"""Prompts that are longer than a server holds: cut where that is allowed, else refused with the numbers."""

import re
from collections.abc import Iterator

import pytest
from served import OTHER, VLLM, Stub, asks, chat, completion, run

from ragpack.readers.base import Completion, Decoding, Refusal, Request
from ragpack.readers.server import replies, shortening

pytest.importorskip("openai", reason="the extra 'openai' is not installed")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Stub() as stub:
        stub.models = OTHER
        yield stub


PASSAGE = "alpha beta gamma delta " * 40
LONG = Request(0, text=f"P: {PASSAGE}\nQ: who?", cut=(3, 3 + len(PASSAGE)), decoding=Decoding(max_tokens=8))


def tokens(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


SAYS = {
    "openai": "This model's maximum context length is 64 tokens. However, you requested {all} tokens ({held} in the"
    " messages, {most} in the completion). Please reduce the length of the messages.",
    "llama.cpp": "request ({held} tokens) exceeds the available context size (64 tokens), try increasing it",
    "at least": "This model's maximum context length is 64 tokens. However, your prompt contains at least 65 input"
    " tokens",
    "no numbers": "the prompt is too long",
}


def narrow(path: str, body: dict, words: str) -> object:
    held, limit = tokens(body["prompt"]), body["max_tokens"]
    if path == "/tokenize":
        return {"count": held}
    if held + limit > 64:
        return 400, {"error": {"message": words.format(held=held, most=limit, all=held + limit)}}
    return completion("x", prompt=held)


@pytest.mark.parametrize("words", SAYS.values(), ids=SAYS)
def test_a_passage_is_cut_at_a_word_until_the_prompt_fits(server: Stub, words: str) -> None:
    server.script = lambda path, body, tries: narrow(path, body, words)
    (reply,) = run(server, LONG).values()
    assert isinstance(reply, Completion), reply
    assert reply.cut
    sent = server.bodies[-1]["prompt"]
    assert re.fullmatch(r"P: ((alpha|beta|gamma|delta) ?)*(alpha|beta|gamma|delta)\nQ: who\?", sent)
    assert len(server.bodies) <= 8
    if words in (SAYS["openai"], SAYS["llama.cpp"]):
        assert tokens(sent) >= 50  # of the 56 that there is room for


def test_the_last_message_is_cut_and_the_others_are_left_alone(server: Stub) -> None:
    server.script = lambda path, body, tries: (
        chat("ok")
        if (held := tokens(" ".join(m["content"] for m in body["messages"]))) <= 56
        else (400, {"error": {"message": SAYS["llama.cpp"].format(held=held)}})
    )
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": LONG.text}]
    (reply,) = run(server, Request(0, messages, cut=LONG.cut, decoding=LONG.decoding)).values()
    assert reply.cut
    sent = server.bodies[-1]["messages"]
    assert sent[0] == messages[0]
    assert sent[1]["content"].startswith("P: alpha beta")
    assert sent[1]["content"].endswith("\nQ: who?")


def test_without_leave_to_cut_a_long_prompt_is_refused_with_the_numbers(server: Stub) -> None:
    server.script = lambda path, body, tries: narrow(path, body, SAYS["openai"])
    how = Decoding(max_tokens=8)
    found = run(server, *asks(how, "w " * 60, "short"))
    expected = "the prompt has 60 tokens and the answer may have 8: more than the 64 that the server allows"
    assert found[0] == Refusal(0, expected)
    assert isinstance(found[1], Completion)
    whole = Request(0, text="w " * 60 + "passage", cut=(120, 127), decoding=how)
    assert (
        "more than the 64" in run(server, whole)[0].message
    )  # nothing of the passage is left, and it is still too long


def test_500_pages_are_not_sent_to_a_server_that_says_what_it_holds(server: Stub) -> None:
    server.models = VLLM
    server.script = lambda path, body, tries: narrow(path, body, SAYS["at least"])
    passage = "alpha beta gamma delta " * 65_000
    (reply,) = run(server, Request(0, text=f"P: {passage}Q?", cut=(3, 3 + len(passage)))).values()
    assert reply.cut
    assert max(len(body["prompt"]) for body in server.bodies) < 1000
    assert tokens(server.bodies[-1]["prompt"]) <= 64 - 32


def test_an_answer_that_vllm_would_cut_short_counts_as_too_long(server: Stub) -> None:
    """Its prompt fits, the answer's tokens don't: vLLM gives fewer without a word."""
    server.models = VLLM
    server.script = lambda path, body, tries: completion("x", prompt=tokens(body["prompt"]))
    found = run(server, *asks(Decoding(max_tokens=8), "w " * 56, "w " * 57))
    assert isinstance(found[0], Completion)
    assert "has 57 tokens and the answer may have 8" in found[1].message


def test_what_a_no_is_about() -> None:
    assert shortening.too_long("you must provide a model", 8) is None
    told = shortening.too_long("max_tokens=3200 cannot be greater than max_model_len=2048.", 3200)
    assert (told.allowed, told.held) == (2048, None)
    assert replies.limit("top_logprobs: Input should be less than or equal to 20", 128) == 20
    assert replies.limit("logprobs", 5) is None
