"""Specs: what a user types, what a record says, and that both are the same."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.errors import UsageError
from ragpack.registry import Parameter, Spec, arguments_of, load, parameters_of, parse_spec, split_specs
from ragpack.stages.policies import POLICIES, options_of, parse_policies


def plug_in(
    problem: object,
    *,
    window: int = 1,
    share: float = 0.5,
    header: bool = True,
    lambda_: float = 0.7,
    overflow: Literal["stop", "skip"] = "stop",
    name: str = "x",
) -> None:
    """Anything with options."""


OPTIONS = parameters_of(plug_in)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "window": st.integers(-(10**20), 10**20),
        "share": st.floats(allow_nan=False, allow_infinity=False),
        "header": st.booleans(),
        "lambda": st.floats(0, 1),
        "overflow": st.sampled_from(["stop", "skip"]),
        "name": st.text("abz_-./0:", min_size=1),
    },
)


def parse(text: str) -> Spec:
    return parse_spec(text, "policy", ["rule", "rule_two"], lambda _: OPTIONS)


def shown(key: str, value: object) -> str:
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"


@given(VALUES, st.randoms())
def test_round_trip(values, random):
    """Any order and any spelling of defaults gives one canonical string, and that string gives itself."""
    pairs = [shown(key, value) for key, value in values.items()]
    random.shuffle(pairs)
    spec = parse("rule:" + ",".join(pairs) if pairs else "rule")
    assert dict(spec.given) == {key: value for key, value in values.items() if value != OPTIONS[key].default}
    assert parse(str(spec)) == spec
    assert str(parse(str(spec))) == str(spec)
    assert [key for key, _ in spec.given] == sorted(key for key, _ in spec.given)
    for text in split_specs([f"rule_two,{spec},rule_two"])[1:-1]:
        assert parse(text) == spec


def test_defaults_vanish_whatever_their_spelling():
    assert str(parse("rule:lambda=0.70,header=TRUE,window=01")) == "rule"
    assert str(parse("rule: share=1e-1 , window = 2")) == "rule:share=0.1,window=2"
    assert str(parse("rule:header=FALSE")) == "rule:header=false"


def test_options_come_from_the_signature():
    assert list(OPTIONS) == ["window", "share", "header", "lambda", "overflow", "name"]
    assert OPTIONS["overflow"] == Parameter("overflow", "stop", ("stop", "skip"))
    assert arguments_of(plug_in, {"lambda": 0.1, "unknown": 3}) == {"lambda_": 0.1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("window=1.5", "'rule:window=1.5': window is a whole number, got '1.5'"),
        ("window=", "'rule:window=': window is a whole number, got ''"),
        ("share=much", "'rule:share=much': share is a number, got 'much'"),
        ("share=nan", "'rule:share=nan': share must be finite, got 'nan'"),
        ("share=inf", "'rule:share=inf': share must be finite, got 'inf'"),
        ("share=-1e999", "'rule:share=-1e999': share must be finite, got '-1e999'"),
        ("header=yes", "'rule:header=yes': header is true or false, got 'yes'"),
        ("overflow=cut", "'rule:overflow=cut': overflow=cut is not one of stop, skip"),
        ("windw=2", "policy 'rule' has no parameter 'windw'. Did you mean 'window'?"),
        ("window", "'rule:window': 'window' is not key=value"),
        ("window=2,window=3", "'rule:window=2,window=3' gives 'window' twice"),
    ],
)
def test_bad_values(text, expected):
    with pytest.raises(UsageError) as caught:
        parse(f"rule:{text}")
    assert caught.value.message == expected


def test_unknown_names():
    with pytest.raises(UsageError, match=r"unknown policy 'rul'\. Did you mean 'rule'\?"):
        parse("rul")
    with pytest.raises(UsageError, match=r"unknown policy ''\. Known: rule, rule_two\."):
        parse(":window=1")
    with pytest.raises(UsageError, match=r"topk has no parameters\."):
        parse_spec("topk:a=1", "policy", ["topk"], lambda _: {})


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a"], ["a"]),
        (["a, b:x=1 ,y=2", "c"], ["a", "b:x=1,y=2", "c"]),
        (["a,x=1,y=2"], ["a:x=1,y=2"]),
        (["igp:threshold=0.05,m=5,topk"], ["igp:threshold=0.05,m=5", "topk"]),
        ([], []),
    ],
)
def test_split(texts, expected):
    assert split_specs(texts) == expected


@pytest.mark.parametrize("text", ["", "a,,b", "a,", "x=1", " ,a"])
def test_split_refuses(text):
    with pytest.raises(UsageError):
        split_specs([text])


def test_a_value_does_not_leak_into_the_next_option():
    """`--policy a --policy x=1`: the second option has no name of its own."""
    with pytest.raises(UsageError, match="no name before it"):
        split_specs(["a", "x=1"])


def test_every_policy_loads_and_reads_its_own_name():
    for name in POLICIES:
        (policy,) = parse_policies([name])
        assert policy.name == name
        full = ",".join(shown(key, option.default) for key, option in options_of(name).items())
        assert parse_policies([f"{name}:{full}"])[0].name == name, "defaults are left out"


def test_policies_share_a_space_just_when_its_options_agree():
    packed, mmr, wide = parse_policies(["chunk_packed,chunk_mmr:lambda=0.5,chunk_mmr:window=2"])
    assert packed.space == mmr.space != wide.space
    with pytest.raises(UsageError, match="'chunk_mmr' is given twice"):
        parse_policies(["chunk_mmr:lambda=0.70", "chunk_mmr"])


def test_load():
    assert load({"it": "ragpack.registry:load"}, "it") is load
