"""What was asked once is not asked again: each request one right reply, each prompt asked once."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.errors import BackendError
from ragpack.readers.base import Completion, Decoding, Refusal, Request, Sample
from ragpack.readers.kept import once as kept_once
from ragpack.readers.kept.once import key_of, once

SAMPLED = Decoding(temperature=0.7)


def request(number: int, prompt: str, **more) -> Request:
    return Request(number, [{"role": "user", "content": prompt}], **more)


class Fake:
    """Has room for `width` requests, answers in any order, and refuses prompts that begin with `no`."""

    name, model, fingerprint = "fake", "fake/1", "f"

    def __init__(self, width: int = 3, seed: int = 0, forget: int = 0) -> None:
        self.width, self.chance, self.forget = width, random.Random(seed), forget
        self.seen: list[Request] = []
        self.about = {"engine": "e"}
        self.sessions = self.ended = self.closed = 0

    def answer(self, requests):
        self.sessions += 1
        room: list[Request] = []
        more = True
        try:
            while more or room:
                while more and len(room) < self.width:
                    one = next(requests, None)
                    more = one is not None
                    if one is not None:
                        self.seen.append(one)
                        room.append(one)
                for _ in range(self.chance.randint(1, 3)):
                    if room:
                        one = room.pop(self.chance.randrange(len(room)))
                        if self.forget and len(self.seen) >= self.forget:
                            continue
                        yield said(one)
        finally:
            self.ended += 1

    def close(self) -> None:
        self.closed += 1

    def prompts(self) -> list[str]:
        return [one.messages[-1]["content"] for one in self.seen]


Fake.prompts_asked = Fake.prompts
Fake.prompts = True  # the protocol's word: it reads prompts


def said(one: Request) -> Completion | Refusal:
    prompt = one.messages[-1]["content"]
    if prompt.startswith("no"):
        return Refusal(one.id, f"refused: {prompt}")
    return Completion(one.id, (Sample(f"<{prompt}> {one.decoding.max_tokens}", "stop", 2, -0.1),), 5)


class Never(Fake):
    """A model that must not be loaded."""

    def answer(self, requests):
        raise AssertionError("the reader was started")
        yield


def right(requests: list[Request], replies: list) -> None:
    assert Counter(one.id for one in replies) == Counter(one.id for one in requests)
    by_id = {one.id: one for one in requests}
    for reply in replies:
        assert reply == said(by_id[reply.id])


@given(
    prompts=st.lists(st.sampled_from([*"abcdefgh", "no1", "no2"]), max_size=60),
    width=st.integers(1, 9), held=st.integers(1, 12), last=st.integers(1, 6), seed=st.integers(0, 99),
    stored=st.booleans(),
)  # fmt: skip
def test_every_request_gets_one_right_reply(tmp_path_factory, prompts, width, held, last, seed, stored) -> None:
    """Whatever the room, the order and the limits. With a store each prompt reaches the reader once, but for what it
    refused; without one at most once while it is remembered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_once, "HELD", held)
        patch.setattr(kept_once, "LAST", last)
        inner = Fake(width, seed)
        reader = once(inner, str(tmp_path_factory.mktemp("cache")) if stored else None)
        requests = [request(at, prompt) for at, prompt in enumerate(prompts)]
        right(requests, list(reader.answer(iter(requests))))
        reached = Counter(inner.prompts_asked())
        assert set(reached) == set(prompts)
        if stored or last >= len(set(prompts)):
            assert all(count == 1 for prompt, count in reached.items() if not prompt.startswith("no"))
        tally = reader.tally()
        assert tally.counts["misses"] == len(inner.seen)
        assert sum(tally.counts.values()) == len(prompts)
        assert inner.ended == inner.sessions
        reader.close()


@given(prompts=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40), width=st.integers(1, 5),
       taken=st.integers(1, 10), seed=st.integers(0, 99))  # fmt: skip
def test_who_leaves_early_ends_the_reader_behind(prompts, width, taken, seed) -> None:
    held = []  # else it would end by itself, as nobody knows of it

    class Held(Fake):
        def answer(self, requests):
            held.append(super().answer(requests))
            return held[-1]

    inner = Held(width, seed)
    replies = once(inner).answer(request(at, prompt) for at, prompt in enumerate(prompts))
    list(itertools.islice(replies, taken))
    replies.close()
    assert inner.ended == inner.sessions


@given(prompts=st.lists(st.sampled_from("abcdefghijkl"), max_size=80), known=st.sets(st.sampled_from("abcdefghijkl")),
       width=st.integers(1, 6), held=st.integers(1, 8), seed=st.integers(0, 99))  # fmt: skip
def test_pulls_no_more_than_the_readers_room_and_what_is_held(prompts, known, width, held, seed) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_once, "HELD", held)
        reader = once(Fake(width, seed))
        list(reader.answer(request(at, prompt) for at, prompt in enumerate(sorted(known))))
        pulled = given = 0

        def requests():
            nonlocal pulled
            for at, prompt in enumerate(prompts):
                pulled += 1
                assert pulled - given <= width + held
                yield request(at, prompt)

        for _ in reader.answer(requests()):
            given += 1
        assert given == len(prompts)


def test_a_run_of_hits_starts_no_reader_and_waits_for_nothing(tmp_path) -> None:
    first = once(Fake(), str(tmp_path))
    list(first.answer(request(at, f"p{at}") for at in range(50)))
    first.close()
    again = once(Never(), str(tmp_path))
    pulled = 0

    def requests():
        nonlocal pulled
        for at in range(50):
            pulled += 1
            yield request(at, f"p{at}")

    for at, reply in enumerate(again.answer(requests())):
        assert reply == said(request(at, f"p{at}"))
        assert pulled == at + 1, "given before the next is taken"
    assert again.tally().counts == {"hits": 50, "shared": 0, "misses": 0}


def test_a_hit_behind_an_idle_reader_is_given_at_once() -> None:
    """The reader behind has answered all it had: no request of a slow input is waited for."""
    inner = Fake(width=1)
    reader = once(inner)

    def requests():
        yield request(0, "a")
        yield request(1, "a")
        assert given == [0, 1]
        yield request(2, "b")
        yield request(3, "a")
        assert given == [0, 1, 2, 3]

    given: list[int] = []
    for reply in reader.answer(requests()):
        given.append(reply.id)
    assert inner.prompts_asked() == ["a", "b"]


def test_hits_are_given_with_the_next_reply_of_a_busy_reader() -> None:
    inner = Fake(width=2)
    reader = once(inner)
    list(reader.answer(iter([request(0, "a")])))
    replies = reader.answer(iter([request(at, prompt) for at, prompt in enumerate("baac")]))
    assert [next(replies).id for _ in range(2)] == [1, 2]


def test_a_refusal_is_shared_but_not_kept(tmp_path) -> None:
    inner = Fake(width=1)
    reader = once(inner, str(tmp_path))
    replies = list(reader.answer(iter([request(0, "no"), request(1, "x")])))
    assert replies[0] == Refusal(0, "refused: no")
    inner.width = 5
    both = list(reader.answer(iter([request(2, "no"), request(3, "no")])))
    assert sorted(both, key=lambda one: one.id) == [Refusal(2, "refused: no"), Refusal(3, "refused: no")]
    assert inner.prompts_asked() == ["no", "x", "no"]


def test_the_last_replies_are_remembered_and_older_ones_are_not(monkeypatch) -> None:
    monkeypatch.setattr(kept_once, "LAST", 2)
    inner = Fake(width=1)
    reader = once(inner)
    list(reader.answer(request(at, prompt) for at, prompt in enumerate("ababcabab")))
    assert inner.prompts_asked() == ["a", "b", "c", "a", "b"]  # c pushed a out, a pushed b out
    assert len(reader._last) == 2
    list(reader.answer(request(at, prompt) for at, prompt in enumerate("aba" + "da")))
    assert inner.prompts_asked() == [*"abcab", "d"], "what is asked for stays"


def test_a_cut_passage_is_for_this_run_only(tmp_path) -> None:
    """Another run may have room for more of it."""

    class Cut(Fake):
        def answer(self, requests):
            return (replace(reply, cut=reply.text.startswith("<long")) for reply in super().answer(requests))

    for share in (0, 1):
        inner = Cut(width=1)
        reader = once(inner, str(tmp_path))
        replies = list(reader.answer(request(at, prompt) for at, prompt in enumerate(["long", "short", "long"])))
        reader.close()
        assert [reply.cut for reply in replies] == [True, False, True]
        assert inner.prompts_asked() == (["long", "short"] if share == 0 else ["long"])


@pytest.mark.parametrize(
    "how",
    [{"logprobs": 0}, {"logprobs": 2}, {"uncertainty": 8}, {"choices": (("yes",), ("no",))}, {"n": 2}],
    ids=str,
)  # fmt: skip
def test_a_reply_without_what_was_asked_for_is_not_kept(how) -> None:
    """A server that is started with log-probabilities afterwards must be asked again."""

    class Poor(Fake):
        def answer(self, requests):
            for one in requests:
                self.seen.append(one)
                yield Completion(one.id, (Sample("x", "stop", 1),), 5)

    inner = Poor()
    reader = once(inner)
    for _ in range(2):
        list(reader.answer(iter([request(0, "a", decoding=Decoding(**how))])))
    list(reader.answer(iter([Request(0, text="a", continuation="b"), request(1, "a")])))
    list(reader.answer(iter([Request(0, text="a", continuation="b"), request(1, "a")])))
    assert len(inner.seen) == 2 + 2 + 1


def test_sentences_of_the_reader_are_passed_on() -> None:
    inner = Fake()
    assert once(inner).notes == []
    inner.notes = ["K fell to 20"]
    assert once(inner).notes == ["K fell to 20"]


def test_draws_without_a_seed_are_not_shared() -> None:
    inner = Fake()
    reader = once(inner)
    list(reader.answer(request(at, "a", decoding=SAMPLED) for at in range(4)))
    assert len(inner.seen) == 4
    list(reader.answer(request(at, "a", decoding=replace(SAMPLED, seed=0)) for at in range(4)))
    assert len(inner.seen) == 5


def test_a_reader_that_forgets_is_not_asked_further() -> None:
    """Whoever asked counts what is missing."""
    inner = Fake(width=2, forget=3)
    replies = list(once(inner).answer(request(at, prompt) for at, prompt in enumerate("abcdd")))
    assert len(replies) < 5
    assert inner.sessions == 1


def test_an_error_of_the_reader_goes_through_and_what_came_before_is_kept(tmp_path) -> None:
    class Dying(Fake):
        def answer(self, requests):
            for reply in super().answer(requests):
                if len(self.seen) > 5:
                    raise BackendError("the server went away")
                yield reply

    dying = Dying(width=1)
    reader = once(dying, str(tmp_path))
    replies = reader.answer(request(at, f"p{at}") for at in range(20))
    with pytest.raises(BackendError, match="went away"):
        list(replies)
    reader.close()
    again = Fake(width=1)
    list(once(again, str(tmp_path)).answer(request(at, f"p{at}") for at in range(20)))
    assert again.prompts_asked() == [f"p{at}" for at in range(5, 20)]


def test_what_makes_a_prompt_the_same() -> None:
    """The caller's number, and for a reader of prompts the bare question and context, are not in it."""
    base = request(1, "a")
    reader = Fake()
    assert key_of(reader, base) == key_of(reader, replace(base, id=2, question="q", context="c"))
    others = [
        request(1, "b"), Request(1, text="a"), Request(1, text="a", continuation="b"),
        Request(1, text="ab"), replace(base, cut=(0, 1)), Request(1, [{"role": "system", "content": "a"}]),
        *(replace(base, decoding=Decoding(**one)) for one in (
            {"max_tokens": 5}, {"temperature": 0.5, "seed": 1}, {"temperature": 0.5, "seed": 0}, {"top_p": 0.5},
            {"n": 2}, {"stop": ("a",)}, {"logprobs": 0}, {"logprobs": 1}, {"uncertainty": 8},
            {"choices": (("a",), ("b",))}, {"choices": (("a", "b"),)}, {"keep_prompt": True},
        )),
    ]  # fmt: skip
    keys = {key_of(reader, one) for one in [base, *others]}
    assert len(keys) == 1 + len(others)
    other = Fake()
    other.fingerprint = "g"
    assert key_of(other, base) not in keys


def test_a_reader_without_prompts_is_told_apart_by_question_and_context() -> None:
    from ragpack.readers.extractive import open_reader

    reader = open_reader()
    base = request(1, "a", question="q", context="c")
    assert key_of(reader, base) == key_of(reader, request(2, "b", question="q", context="c"))
    assert len({key_of(reader, one) for one in (base, replace(base, question="r"), replace(base, context="d"))}) == 3


def test_an_option_that_comes_later_leaves_old_keys() -> None:
    """A key that was made by hand: what is in it, and nothing else."""
    from ragpack.flow.keys import digest

    prompt = [[{"role": "user", "content": "a"}], None, "", None]
    said = {"max_tokens": 32, "temperature": 0.0, "top_p": 1.0, "n": 1}
    assert key_of(Fake(), request(1, "a")) == bytes.fromhex(digest(["f", prompt, said]))


def test_what_the_summary_says() -> None:
    reader = once(Fake())
    list(reader.answer(iter([request(0, "a"), request(1, "b")])))
    assert reader.tally().said == {}, "nothing was saved, and nobody asked for it"
    list(reader.answer(iter([request(0, "a")])))
    tally = reader.tally()
    assert list(tally.said.items()) == [("shared", "prompts shared"), ("misses", "asked")]
    assert tally.facts == {"name": "fake", "model": "fake/1", "fingerprint": "f", "engine": "e"}
