"""Log-probabilities and choices, against a small server that gives them in many shapes."""

import math
import threading
import time
from collections.abc import Iterator

import pytest
from served import OTHER, VLLM, Stub, asks, chat, chats, completion, listed, run

from ragpack.errors import BackendError
from ragpack.readers.base import Completion, Decoding, Likely, Refusal, Request, Step

pytest.importorskip("openai", reason="the extra 'openai' is not installed")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Stub() as stub:
        stub.models = OTHER
        yield stub


def uniform(k: int, name: str = "t{}") -> dict[str, float]:
    return {name.format(at): -math.log(k) for at in range(k)}


def most(body: dict, limit: int, message: str) -> object:
    """A server with a limit: its no, or a uniform step of as many as were asked for."""
    asked = body.get("top_logprobs", body["logprobs"])
    if asked > limit:
        return 400, {"error": {"message": message, "param": "logprobs"}}
    top = uniform(asked)
    if "messages" in body:
        return chat("x", steps=[listed("t0", -1.0, top)])
    return completion("x", [("t0", -1.0, top)])


UNCERTAIN = Decoding(uncertainty=4)


def test_uniform_is_1_and_one_hot_is_0(server: Stub) -> None:
    hot = {"a": 0.0, "b": -800.0, "c": -801.0, "d": -802.0}
    half = {"a": math.log(0.5), "b": math.log(0.5), "c": -900.0, "d": -901.0}
    server.script = lambda path, body, tries: completion(
        "x", [("t0", -1.0, uniform(4)), ("a", 0.0, hot), ("a", -0.7, half)]
    )
    reply = run(server, *asks(UNCERTAIN, "q"))[0]
    assert reply.samples[0].uncertainty == pytest.approx((1.0, 0.0, 0.5))
    assert (reply.k, reply.samples[0].steps, reply.samples[0].logprob) == (4, None, None)


def test_the_given_token_beside_the_k_most_likely_is_left_out(server: Stub) -> None:
    top = {"rare": -30.0, **{name: math.log(0.25) for name in "abcd"}}
    server.script = lambda path, body, tries: completion("x", [("rare", -30.0, top)])
    reply = run(server, *asks(Decoding(uncertainty=4, logprobs=2, temperature=1.0, seed=1), "q"))[0]
    assert reply.samples[0].uncertainty == pytest.approx((1.0,))
    assert reply.samples[0].steps == (
        Step(Likely("rare", None, -30.0), (Likely("a", None, math.log(0.25)), Likely("b", None, math.log(0.25)))),
    )


def test_vllms_chat_is_asked_for_one_more_where_tokens_are_drawn(server: Stub) -> None:
    """It puts the drawn token among the K, and cuts the K-th off."""
    server.models = VLLM

    def script(path: str, body: dict, tries: int) -> object:
        top = [("token_id:9", -30.0), *((f"token_id:{at}", math.log(0.25)) for at in range(4))]
        return chat("x", steps=[listed("token_id:9", -30.0, top[: body["top_logprobs"]])])

    server.script = script
    drawn = run(server, *chats(Decoding(uncertainty=4, temperature=1.0, seed=1), "q"))[0]
    assert drawn.samples[0].uncertainty == pytest.approx((1.0,))
    assert server.bodies[-1]["top_logprobs"] == 5
    run(server, *chats(UNCERTAIN, "q"))
    assert server.bodies[-1]["top_logprobs"] == 4


@pytest.mark.parametrize("ask", [asks, chats])
@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (50, "Requested sample logprobs of 128, which is greater than max allowed: 50 (parameter=logprobs, value=128)"),
        (20, "Invalid value for 'top_logprobs': must be less than or equal to 20."),
        (20, "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 128 instead."),
        (20, "too many top_logprobs"),
        (5, "logprobs: that is too large"),
        (11, "logprobs must be between 0 and 11"),
    ],
)
def test_k_falls_to_the_servers_limit_once_and_for_all(server: Stub, ask, limit: int, message: str) -> None:
    server.script = lambda path, body, tries: most(body, limit, message)
    notes: list[str] = []
    found = run(server, *ask(Decoding(uncertainty=128), *map(str, range(20))), notes=notes)
    assert {reply.k for reply in found.values()} == {limit}
    assert [reply.samples[0].uncertainty for reply in found.values()] == [(pytest.approx(1.0),)] * 20
    assert notes == [f"the server gives {limit} log-probabilities a step: uncertainty is over K={limit}, not 128"]
    refused = [body for body in server.bodies if body.get("top_logprobs", body["logprobs"]) > limit]
    assert len(refused) <= 2  # by the first request alone


def test_k_falls_to_what_comes_without_a_word(server: Stub) -> None:
    server.script = lambda path, body, tries: completion("xy", [("t0", -1.0, uniform(7)), ("t0", -1.0, uniform(7))])
    notes: list[str] = []
    found = run(server, *asks(Decoding(uncertainty=20), "a", "b"), notes=notes)
    assert [reply.k for reply in found.values()] == [7, 7]
    assert "K=7, not 20" in notes[0]
    assert server.bodies[1]["logprobs"] == 7


def test_replicas_agree_on_one_k(server: Stub) -> None:
    message = "logprobs: max allowed: {}"
    server.script = lambda path, body, tries: most(body, 128, "")
    with Stub() as other:
        other.models = OTHER
        other.script = lambda path, body, tries: most(body, 9, message.format(9))
        found = run(server, *asks(Decoding(uncertainty=64), *map(str, range(20))), more=(other.url,))
    assert {reply.k for reply in found.values()} == {9}
    assert len(server.bodies) > 3 < len(other.bodies)


def test_steps_with_fewer_than_others_are_refused(server: Stub) -> None:
    """Texts collided: two tokens of one text are one key."""
    server.script = lambda path, body, tries: completion("xy", [("t0", -1.0, uniform(4)), ("t0", -1.0, uniform(3))])
    assert run(server, *asks(UNCERTAIN, "q"))[0] == Refusal(0, "steps have from 3 to 4 log-probabilities, not 4")

    def later(path: str, body: dict, tries: int) -> object:
        return completion("x", [("t0", -1.0, uniform(3 if body["prompt"] == "b" else 4))])

    server.script = later
    found = run(server, *asks(UNCERTAIN, "a", "b", "c"))
    assert found[1] == Refusal(1, "step 1 has 3 finite log-probabilities, not K=4")
    assert (found[0].k, found[2].k) == (4, 4)


def test_tokens_of_one_text_are_kept_apart_by_id(server: Stub) -> None:
    server.models = VLLM
    texts = {1: " Paris", 2: " Paris", 3: " the", 4: " a"}

    def script(path: str, body: dict, tries: int) -> object:
        if path == "/detokenize":
            return {"prompt": texts[body["tokens"][0]]}
        assert body["return_tokens_as_token_ids"]
        return completion("x", [("token_id:1", math.log(0.25), {f"token_id:{at}": math.log(0.25) for at in texts})])

    server.script = script
    sample = run(server, *asks(Decoding(uncertainty=4, logprobs=2), "q"))[0].samples[0]
    assert sample.uncertainty == pytest.approx((1.0,))
    first, second = (Likely(" Paris", at, math.log(0.25)) for at in (1, 2))
    assert sample.steps == (Step(first, (first, second)),)


def test_a_server_of_unknown_make_is_tried_with_ids(server: Stub) -> None:
    server.models = None

    def script(path: str, body: dict, tries: int) -> object:
        if "return_tokens_as_token_ids" in body:
            return 400, {"error": {"message": "Unrecognized request argument supplied: return_tokens_as_token_ids"}}
        return most(body, 99, "")

    server.script = script
    assert {reply.k for reply in run(server, *asks(UNCERTAIN, "a", "b", "c")).values()} == {4}
    assert sum("return_tokens_as_token_ids" in body for body in server.bodies) == 1


@pytest.mark.parametrize("ask", [asks, chats])
@pytest.mark.parametrize("how", [Decoding(logprobs=0), UNCERTAIN, Decoding(choices=(("Yes",),))])
def test_a_server_without_logprobs_ends_the_run(server: Stub, ask, how: Decoding) -> None:
    server.script = lambda path, body, tries: chat("x") if "messages" in body else completion("x")
    with pytest.raises(BackendError, match="gives no log-probabilities although asked"):
        run(server, *ask(how, "a", "b"))


def test_a_server_that_will_not_give_any_ends_the_run(server: Stub) -> None:
    server.script = lambda path, body, tries: (400, {"error": {"message": "logprobs are not supported"}})
    with pytest.raises(BackendError, match="gives no log-probabilities: logprobs are not supported"):
        run(server, *asks(UNCERTAIN, "a"))


def test_uncertainty_over_one_token_is_no_uncertainty(server: Stub) -> None:
    server.script = lambda path, body, tries: completion("x", [("t0", -1.0, uniform(1))])
    with pytest.raises(BackendError, match="K=1 log-probabilities is not defined"):
        run(server, *asks(UNCERTAIN, "a"))


def test_a_limit_that_falls_within_the_run_ends_it(server: Stub) -> None:
    server.script = lambda path, body, tries: most(body, 99 if body["prompt"] == "a" else 3, "logprobs: at most 3")
    with pytest.raises(BackendError, match="gave 4 log-probabilities a step and now gives 3"):
        run(server, *asks(UNCERTAIN, "a", "b"))


def test_nan_is_refused_and_minus_infinity_is_null(server: Stub) -> None:
    def script(path: str, body: dict, tries: int) -> object:
        worst = {"nan": math.nan, "inf": -math.inf, "clamped": -9999.0, "fine": -5.0}[body["prompt"]]
        return completion("xy", [("a", -0.5, {"a": -0.5, "b": -1.0}), ("a", -0.5, {"a": -0.5, "b": worst})])

    server.script = script
    texts = ("fine", "nan", "inf", "clamped")
    found = run(server, *asks(Decoding(uncertainty=2), *texts))
    assert isinstance(found[0], Completion)
    assert found[1] == Refusal(1, "step 2 has a log-probability that is not a number")
    assert found[2] == Refusal(2, "step 2 has 1 finite log-probabilities, not K=2")
    assert found[3] == Refusal(3, "step 2 has 1 finite log-probabilities, not K=2")
    found = run(server, *asks(Decoding(logprobs=2), *texts))
    assert found[3].samples[0].steps[1].top == (Likely("a", None, -0.5), Likely("b", None, None))
    assert found[3].samples[0].logprob == -1.0


def test_choices_by_text_are_sums_and_null_where_nothing_is_named(server: Stub) -> None:
    top = {"Yes": math.log(0.5), " Yes": math.log(0.25), "No": math.log(0.125), "nope": -3.0}
    server.script = lambda path, body, tries: chat("Yes", steps=[listed("Yes", -0.7, top)])
    how = Decoding(max_tokens=1, choices=(("Yes", " Yes"), ("No",), ("Maybe",)))
    found = run(server, *chats(how, "a", "b"))
    assert found[1].samples[0].choices == (pytest.approx(math.log(0.75)), pytest.approx(math.log(0.125)), None)
    assert server.bodies[0]["top_logprobs"] == 20
    assert "return_tokens_as_token_ids" not in server.bodies[0]


WORDS = {"Yes": [7], "No": [8], "Perhaps": [9, 10]}


@pytest.mark.parametrize("new", [True, False])
def test_choices_of_vllm_are_asked_for_by_id_where_it_can(server: Stub, new: bool) -> None:
    server.models = VLLM

    def script(path: str, body: dict, tries: int) -> object:
        if path == "/tokenize":
            assert body["add_special_tokens"] is False
            return {"tokens": WORDS[body["prompt"]]}
        if new and "logprob_token_ids" in body:
            return completion("x", [("token_id:3", -0.1, {"token_id:3": -0.1, "token_id:7": -2.0, "token_id:8": -4.0})])
        names = ("token_id:3", "token_id:8") if "return_tokens_as_token_ids" in body else ("x", "No")
        return completion("x", [(names[0], -0.1, {names[0]: -0.1, names[1]: -4.0})])

    server.script = script
    how = Decoding(max_tokens=1, choices=(("Yes",), ("No", "Perhaps"), ("Perhaps",)))
    found = run(server, *asks(how, "a", "b"))
    expected = (-2.0 if new else None, pytest.approx(-4.0), None)
    assert [reply.samples[0].choices for reply in found.values()] == [expected] * 2
    asked = [body for path, body in zip(server.paths, server.bodies, strict=True) if path == "/v1/completions"]
    assert asked[0]["logprob_token_ids"] == [7, 8]
    assert len(asked) == (2 if new else 3)


def test_named_tokens_are_never_in_flight_with_most_likely_ones(server: Stub) -> None:
    """vLLM's engine would give the named ones to all requests of its batch."""
    server.models = VLLM
    now = {True: 0, False: 0}
    lock = threading.Lock()

    def script(path: str, body: dict, tries: int) -> object:
        if path == "/tokenize":
            return {"tokens": WORDS[body["prompt"]]}
        kind = "logprob_token_ids" in body
        with lock:
            now[kind] += 1
            assert not now[not kind]
        time.sleep(0.01)
        with lock:
            now[kind] -= 1
        ids = body["logprob_token_ids"] if kind else range(4)
        return completion("x", [("token_id:7", -1.0, {f"token_id:{one}": -1.0 for one in [7, *ids]})])

    server.script = script
    choosing = Decoding(max_tokens=1, choices=(("Yes",), ("No",)))
    kinds = [UNCERTAIN, choosing, UNCERTAIN, Decoding(logprobs=0), choosing, choosing] * 12
    found = run(server, *(Request(at, text=f"q{at}", decoding=how) for at, how in enumerate(kinds)))
    assert len(found) == len(kinds)
    assert not [reply for reply in found.values() if isinstance(reply, Refusal)]


def test_choices_beside_uncertainty_are_looked_for_among_the_most_likely(server: Stub) -> None:
    server.models = VLLM

    def script(path: str, body: dict, tries: int) -> object:
        if path == "/tokenize":
            return {"tokens": WORDS[body["prompt"]]}
        assert "logprob_token_ids" not in body
        return completion("x", [("token_id:7", -1.0, {f"token_id:{at}": -float(at) for at in range(7, 27)})])

    server.script = script
    how = Decoding(uncertainty=4, choices=(("Yes",), ("No", "Perhaps"), ("Perhaps",)))
    sample = run(server, *asks(how, "a"))[0].samples[0]
    assert sample.choices == (-7.0, -8.0, None)
    assert len(sample.uncertainty) == 1
