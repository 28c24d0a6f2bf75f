"""What is made of an engine's output, in both of its forms, and what is refused. No engine is needed."""

import math
from types import SimpleNamespace

import pytest

from ragpack.errors import BackendError, DataError
from ragpack.readers.base import Decoding, Likely
from ragpack.readers.engine.told import continuation_of, sample_of, top_values


class One(SimpleNamespace):
    """A log-probability with its rank and text."""


def dicts(*steps):
    """Steps as dicts by token id: (id, logprob, rank)."""
    return [{token: One(logprob=value, rank=rank, decoded_token=f"t{token}") for token, value, rank in step}
            for step in steps]  # fmt: skip


class Flat:
    """The flat form: the given token first, and again among the most likely ones."""

    def __init__(self, *steps):
        self.start_indices, self.end_indices, self.logprobs = [], [], []
        for step in steps:
            self.start_indices.append(len(self.logprobs))
            self.logprobs += step
            self.end_indices.append(len(self.logprobs))


def output(logprobs, total=0.0, tokens=1):
    return SimpleNamespace(
        logprobs=logprobs, cumulative_logprob=total, finish_reason="stop", token_ids=[1] * tokens, text="t"
    )


def test_both_forms_give_the_k_most_likely_and_no_other() -> None:
    # The given token was not among the two most likely at the second step.
    flat = Flat([-1.0, -1.0, -2.0], [-9.0, -0.5, -1.5])
    listed = dicts([(7, -1.0, 1), (8, -2.0, 2)], [(5, -9.0, 40), (7, -0.5, 1), (8, -1.5, 2)])
    for form in (flat, listed):
        assert top_values(form, 2).tolist() == [[-1.0, -2.0], [-0.5, -1.5]]


@pytest.mark.parametrize("form", [Flat([-1.0, -1.0, -2.0], [-1.0, -1.0]),
                                  dicts([(1, -1.0, 1), (2, -2.0, 2)], [(1, -1.0, 1)])])  # fmt: skip
def test_fewer_than_k_are_refused_with_the_step(form) -> None:
    with pytest.raises(DataError, match="step 2 has 1 log-probabilities, not K=2"):
        top_values(form, 2)


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(DataError, match="step 1 has 1 finite log-probabilities, not K=2"):
        sample_of(output(Flat([-1.0, -1.0, -math.inf])), Decoding(uncertainty=2), "", ())
    for decoding, form in ((Decoding(logprobs=0), dicts([(1, math.nan, 1)])), (Decoding(logprobs=0), [])):
        with pytest.raises(DataError, match="not a number"):
            sample_of(output(form, total=math.nan), decoding, "", ())
    with pytest.raises(DataError, match="not a number"):
        sample_of(output(dicts([(1, math.nan, 1)])), Decoding(choices=(("y",),)), "", ((1,),))
    with pytest.raises(DataError, match="not a number"):
        continuation_of([None, {5: One(logprob=math.nan)}], [4, 5], 1)


def test_nothing_told_is_an_error_of_the_back_end() -> None:
    with pytest.raises(BackendError, match="gave no log-probabilities"):
        sample_of(output(None), Decoding(choices=(("y",),)), "", ((1,),))
    with pytest.raises(BackendError, match="of the prompt"):
        continuation_of(None, [4, 5], 1)


def test_choices_add_up_and_one_that_is_not_known_is_null() -> None:
    form = dicts([(9, -0.1, 1), (1, math.log(0.2), 3), (2, math.log(0.1), 4)])
    found = sample_of(output(form), Decoding(choices=(("y", " y"), ("n",))), "", ((1, 2), (3,)))
    assert found.choices == (pytest.approx(math.log(0.3)), None)


def test_steps_by_rank_with_the_given_one_first() -> None:
    form = dicts([(5, -3.0, 9), (8, -1.0, 2), (7, -0.5, 1), (6, -math.inf, 3)])
    (step,) = sample_of(output(form, total=-3.0), Decoding(logprobs=3), "t", ()).steps
    assert step.given == Likely("t5", 5, -3.0)
    assert step.top == (Likely("t7", 7, -0.5), Likely("t8", 8, -1.0), Likely("t6", 6, None))
