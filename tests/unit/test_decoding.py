"""How answers are decoded: what is refused, and what decides the key."""

import pytest

from ragpack.errors import UsageError
from ragpack.readers.base import Decoding
from ragpack.stages.decoding import Decoded, canonical, decoding_of, sampling_of

NAN = float("nan")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"temperature": -1}, "--temperature: -1 is not a number from 0"),
        ({"temperature": NAN}, "--temperature: nan is not"),
        ({"temperature": float("inf")}, "--temperature: inf is not"),
        ({"temperature": 0.009}, "--temperature: 0.009 is between 0 and 0.01: vLLM would draw at 0.01 instead"),
        ({"temperature": 1, "top_p": 0}, "--top-p: 0 is not above 0 and at most 1"),
        ({"temperature": 1, "top_p": 1.01}, "--top-p: 1.01 is not"),
        ({"temperature": 1, "top_p": NAN}, "--top-p: nan is not"),
        ({"temperature": 1, "seed": -1}, "--seed: -1 is not from 0 to 9223372036854775807"),
        ({"temperature": 1, "seed": 2**63}, "--seed: 9223372036854775808 is not"),
        ({"temperature": 1, "n": 0}, "--n: 0 is less than 1"),
        ({"n": 3}, "--n 3: at temperature 0 all 3 answers would be the same"),
        ({"top_p": 0.9}, "--top-p 0.9: at temperature 0 nothing is drawn, so it would do nothing"),
        ({"top_p": 1.0}, "--top-p 1.0: at temperature 0"),
        ({"seed": 0}, "--seed 0: at temperature 0 nothing is drawn"),
        ({"logprobs": -1}, "--logprobs: -1 is less than 0"),
        ({"max_tokens": 0}, "--max-tokens: 0 is less than 1"),
        ({"stop": ("a", "")}, "--stop: a text without a character ends nothing"),
    ],
)
def test_what_cannot_be_or_does_nothing(given, expected):
    with pytest.raises(UsageError) as caught:
        decoding_of(Decoded(**given))
    assert expected in caught.value.message


def test_defaults():
    assert decoding_of(Decoded()) == Decoding()
    assert sampling_of(Decoding()) is None
    drawn = decoding_of(Decoded(temperature=0.01))
    assert (drawn.temperature, drawn.top_p, drawn.seed, drawn.n) == (0.01, 1.0, 0, 1)
    assert sampling_of(drawn) == {"temperature": 0.01, "top_p": 1.0, "seed": 0, "n": 1}


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, None),
        ({"logprob": True}, 0),
        ({"logprobs": 0}, 1),
        ({"logprobs": 5}, 5),
        ({"logprob": True, "logprobs": 2}, 2),
    ],
)
def test_log_probabilities_asked_of_the_reader(given, asked):
    """Steps come where more than the given tokens' are asked for: N = 0 asks for one and leaves it out."""
    assert decoding_of(Decoded(**given)).logprobs == asked


def cell(more=None, **given):
    asked = Decoded(**given)
    return canonical(asked, decoding_of(asked), more or {})


def test_greedy_cells_are_spelled_as_they_were():
    """Outputs of earlier versions are resumed."""
    assert cell({"post": [], "plain": False}) == "32 False False"
    assert cell(max_tokens=5, logprob=True, keep_prompt=True) == "5 True True"


def test_everything_that_decides_makes_another_cell():
    drawn = {"temperature": 0.5}
    cells = [
        cell(), cell(logprobs=0), cell(logprobs=1), cell(stop=("a",)), cell(stop=("a", "b")), cell(stop=("a b",)),
        cell({"post": ["first_line"]}), cell({"plain": True}), cell(**drawn), cell(temperature=0.6),
        cell(**drawn, seed=1), cell(**drawn, top_p=0.9), cell(**drawn, n=2), cell(logprob=True),
    ]  # fmt: skip
    assert len(set(cells)) == len(cells)
    assert cell(**drawn) == cell(**drawn, seed=0) == cell(**drawn, top_p=1.0)
