"""Records that ask several things each: order, bounds, refusals, with a reader that answers as it likes."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.errors import BackendError, DataError
from ragpack.readers.base import Completion, Refusal, Request, Sample
from ragpack.stage import Task
from ragpack.stages import session
from ragpack.stages.session import Job, outcomes


class Fake:
    """Answers what it was asked in windows, each shuffled."""

    name = "fake"

    def __init__(self, width, seed=0, forget=()):
        self.width, self.random, self.forget, self.most, self.sessions = width, random.Random(seed), forget, 0, 0

    def answer(self, requests):
        self.sessions += 1
        while window := list(itertools.islice(requests, self.width)):
            self.most = max(self.most, len(window))
            self.random.shuffle(window)
            for request in window:
                if request.text in self.forget:
                    continue
                if "!" in request.text:
                    yield Refusal(request.id, "no")
                else:
                    yield Completion(request.id, (Sample(request.text, "stop", 1),), 1)


def begin(task):
    texts = task.record
    if texts == ["bad"]:
        raise DataError("a bad record")
    return Job(
        [Request(0, text=text) for text in texts],
        lambda replies: [{"said": [reply.text for reply in replies]}],
        lambda at: f"part {at}: ",
    )


def tasks(records):
    return (Task({}, record, () if record is None else (0,)) for record in records)


def expected(record):
    if record is None:
        return []
    if record == ["bad"]:
        return "a bad record"
    refused = [f"part {at}: no" for at, text in enumerate(record) if "!" in text]
    return refused or [{"said": record}]


words = st.one_of(st.none(), st.just(["bad"]), st.lists(st.sampled_from(["a", "b", "c!", "d"]), max_size=5))


@given(st.lists(words, max_size=12), st.integers(1, 9), st.integers(0, 99))
def test_each_task_has_its_outcome_in_order(records, width, seed):
    found = list(outcomes(Fake(width, seed), begin, tasks(records)))
    assert len(found) == len(records)
    for record, outcome in zip(records, found, strict=True):
        wanted = expected(record)
        if isinstance(wanted, str):
            assert isinstance(outcome, DataError)
        elif wanted and isinstance(wanted[0], str):
            assert isinstance(outcome, BackendError)
            assert outcome.message in wanted  # the first that came
        else:
            assert outcome == wanted


def test_the_stream_is_pulled_as_the_reader_has_room():
    pulled = 0

    def watched():
        nonlocal pulled
        for at in range(50):
            pulled += 1
            yield Task({}, [f"{at} a", f"{at} b", f"{at} c"], (0,))

    for given_, _ in enumerate(outcomes(Fake(6), begin, watched()), 1):
        assert pulled <= given_ + 3


def test_tasks_held_are_bounded(monkeypatch):
    """Behind an answer that is awaited no more than `PATIENCE` tasks are held."""
    monkeypatch.setattr(session, "PATIENCE", 5)
    held = 0

    def watched():
        nonlocal held
        yield Task({}, ["first"], (0,))
        for _ in range(100):
            held += 1
            yield Task({}, None, ())

    found = outcomes(Fake(100), begin, watched())
    assert next(found) == [{"said": ["first"]}]
    assert held <= 5
    assert sum(1 for _ in found) == 100


def test_a_bad_record_alone_waits_for_nobody():
    def watched():
        yield Task({}, ["bad"], (0,))
        pytest.fail("the bad record was held back until the next one came")

    assert isinstance(next(outcomes(Fake(3), begin, watched())), DataError)


def test_a_reader_that_forgets_is_an_error():
    with pytest.raises(BackendError, match="no answer to 1 prompts"):
        list(outcomes(Fake(3, forget=("b",)), begin, tasks([["a", "b"]])))
