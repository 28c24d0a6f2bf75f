"""igp: hits in the order of information gain, those below the threshold left out."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapped import mapped, rows

from ragpack.errors import UsageError
from ragpack.packers.igp import igp
from ragpack.packers.topk import topk
from ragpack.stages.pack import PackParams, open_pack
from tests.properties.strategies import budgets, problems

NAMES = ["zero", "one", "two", "three", "four", "five"]


def hits(*gains, nu0=None, question="Which?"):
    """Hits of rank 1, 2, …: two tokens of text each (`one.`), no title."""
    found = [{"rank": n, "id": f"d{n}", "text": f"{NAMES[n]}.", "scores": {"ig": gain}}
             for n, gain in enumerate(gains, 1)]  # fmt: skip
    record = {"schema": "ragpack.hits/1", "id": "a", "question": question, "hits": found}
    return record if nu0 is None else {**record, "probe": {"nu0": nu0}}


def pack(record, spec="igp", budget=99):
    return rows(open_pack(PackParams((spec,), (budget,), explain=True)), [record])[0]["pack"]


def ranks(record, spec="igp", budget=99):
    return [one["rank"] for one in pack(record, spec, budget)["snippets"]]


def failed(record, spec="igp"):
    (done,) = mapped(open_pack(PackParams((spec,), (9,))), [record])
    return done.failed


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("igp", [4, 1, 5]),  # 0.05 itself passes
        ("igp:threshold=0.051", [4, 1]),
        ("igp:threshold=0", [4, 1, 5, 2]),
        ("igp:threshold=-1", [4, 1, 5, 2, 3]),
        ("igp:threshold=0.3", [4]),
        ("igp:threshold=0.31", []),
        ("igp:m=2", [4, 1]),
        ("igp:m=9", [4, 1, 5]),
        ("igp:threshold=-1,m=4", [4, 1, 5, 2]),
        ("igp:threshold=0.31,fallback=rank", [1, 2, 3, 4, 5]),
        ("igp:threshold=0.31,fallback=rank,m=2", [1, 2]),
        ("igp:fallback=rank", [4, 1, 5]),
        # Three of five pass.
        ("igp:pass_rate=0.6", [4, 1, 5]),
        ("igp:pass_rate=0.61", [1, 2, 3, 4, 5]),
    ],
)
def test_threshold_cap_and_fallbacks(spec, expected):
    assert ranks(hits(0.2, 0.0, -0.1, 0.3, 0.05), spec) == expected


def test_an_empty_context_is_honest():
    """Nothing passes: no snippet, no fallback, and every hit says why."""
    found = pack(hits(0.01, -0.2))
    assert (found["context"], found["tokens"], found["snippets"], found["dropped"]) == ("", 0, [], 2)
    assert [row["reason"] for row in found["explain"]] == [
        "threshold: IG 0.0100 < 0.05",
        "threshold: IG -0.2000 < 0.05",
    ]


def test_the_reader_was_sure_without_a_passage():
    """nu0=0.4: below it the hits come in the order of rank, at it and above by information gain."""
    gains = (0.1, 0.2, 0.0)
    assert ranks(hits(*gains, nu0=0.39), "igp:nu0=0.4") == [1, 2, 3]
    assert ranks(hits(*gains, nu0=0.4), "igp:nu0=0.4") == [2, 1]
    assert ranks(hits(*gains, nu0=0.0)) == [2, 1], "off unless it is asked for"
    error = failed(hits(*gains), "igp:nu0=0.4")
    assert error.message == "igp: nu0 needs probe.nu0 in the record"
    assert "--probe ig" in error.hint


def test_the_token_guard_comes_last():
    """Two tokens each: 5 hold two, and cut (or leave) the third; what is cut off is no matter of the threshold."""
    record = hits(0.2, 0.3, 0.1, 0.01)
    assert pack(record, budget=4)["context"] == "two.\none."
    found = pack(record, budget=5)
    assert (found["context"], found["tokens"]) == ("two.\none.\nthree", 5)
    assert pack(record, "igp:overflow=stop", 5)["context"] == "two.\none."
    reasons = [row["reason"] for row in pack(record, "igp:overflow=stop", 5)["explain"]]
    assert reasons == ["taken", "taken", "budget: 2 tokens, 1 left", "threshold: IG 0.0100 < 0.05"]
    assert pack(record, budget=0)["context"] == ""


def test_what_is_beyond_m_does_not_fill_the_room():
    reasons = [row["reason"] for row in pack(hits(0.2, 0.3, 0.1, 0.01), "igp:m=1")["explain"]]
    assert reasons == ["cap: m=1", "taken", "cap: m=1", "threshold: IG 0.0100 < 0.05"]


def test_ties_by_rank():
    assert ranks(hits(0.1, 0.2, 0.1, 0.2)) == [2, 4, 1, 3]
    assert ranks(hits(0.3, 0.1 + 0.2)) == [1, 2], "the last bit of a sum is no difference"


def test_gains_are_the_information_gains():
    found = pack(hits(0.1, 0.2))
    assert [one["gain"] for one in found["snippets"]] == [0.2, 0.1]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda hit: hit.pop("scores"), "igp: the hits have no scores.ig"),
        (lambda hit: hit["scores"].pop("ig"), "igp: the hits have no scores.ig"),
        (lambda hit: hit.update(scores={"ce": 0.4}), "igp: the hits have no scores.ig"),
        (lambda hit: hit["scores"].update(ig=None), "igp: 2 of 2 hits have no scores.ig"),
    ],
)
def test_hits_that_were_not_probed(change, expected):
    record = hits(0.1, 0.2)
    for hit in record["hits"]:
        change(hit)
    error = failed(record)
    assert error.message == expected
    assert error.hint == "`ragpack generate --probe ig` adds it, before `pack`."


def test_one_hit_that_was_not_probed():
    record = hits(0.1, 0.2, 0.3)
    record["hits"][1]["scores"] = None
    assert failed(record).message == "igp: 1 of 3 hits have no scores.ig"


def test_no_hits_need_no_scores():
    assert pack(hits())["context"] == ""
    assert pack(hits(), "igp:nu0=0.4")["context"] == ""


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("igp:m=-1", "m=-1.*m is at least 0"),
        ("igp:pass_rate=1.1", "from 0 to 1"),
        ("igp:nu0=-0.1", "from 0 to 1"),
        ("igp:threshold=nan", "threshold must be finite"),
        ("igp:fallback=bm25", "fallback=bm25 is not one of none, rank"),
        ("igp:treshold=0", "Did you mean 'threshold'"),
    ],
)
def test_values_out_of_range(spec, expected):
    with pytest.raises(UsageError, match=expected):
        open_pack(PackParams((spec,), (9,)))


@given(problem=problems(), budget=budgets, threshold=st.sampled_from([-0.2, 0.0, 0.05, 0.3]), m=st.integers(0, 4),
       fallback=st.sampled_from(["none", "rank"]), pass_rate=st.sampled_from([0.0, 0.5, 1.0]),
       nu0=st.sampled_from([0.0, 0.5]), measured=st.sampled_from([0.2, 0.8]))  # fmt: skip
def test_it_is_the_steps_of_its_rule(problem, budget, threshold, m, fallback, pass_rate, nu0, measured):
    problem = dataclasses.replace(problem, nu0=measured)
    ig = problem.scores["ig"]
    passing = [i for i in range(problem.n) if ig[i] >= threshold]
    order = sorted(passing, key=lambda i: (-round(ig[i], 12), i))
    if measured < nu0 or len(passing) < pass_rate * problem.n or (fallback == "rank" and not passing):
        order = list(range(problem.n))
    order = order[: m or None]
    expected, room = [], problem.capacity(budget)
    for i in order:
        if problem.cost[i] > room or budget == 0:
            break
        expected.append(i)
        room -= problem.cost[i]
    found = igp(problem, budget, threshold=threshold, m=m, fallback=fallback, pass_rate=pass_rate, nu0=nu0,
                overflow="stop")  # fmt: skip
    assert found.chosen == tuple(expected)
    left = set(range(problem.n)) - set(order)
    assert all(found.reasons[i].startswith(("threshold", "cap")) for i in left)
    if order == list(range(problem.n)):
        cut = igp(problem, budget, threshold=threshold, m=m, fallback=fallback, pass_rate=pass_rate, nu0=nu0)
        assert (cut.chosen, cut.cut_last) == topk(problem, budget)[:1] + topk(problem, budget)[2:3]


def named(*values, name="qlm"):
    record = hits(*range(len(values)))
    for hit, value in zip(record["hits"], values, strict=True):
        hit["scores"] = {name: value} if value is not None else {}
    return record


def ids(packed):
    return [snippet["id"] for snippet in packed["snippets"]]


def test_topk_takes_at_most_m_and_says_why():
    found = pack(hits(0.1, 0.2, 0.3), "topk:m=2")
    assert ids(found) == ["d1", "d2"]
    assert [one["reason"] for one in found["explain"]] == ["taken", "taken", "cap: m=2"]
    assert ids(pack(hits(0.1, 0.2), "topk:m=9")) == ids(pack(hits(0.1, 0.2), "topk")) == ["d1", "d2"]


def test_topk_goes_by_another_score_ties_by_rank():
    assert ids(pack(named(-3.0, -1.0, -3.0, -2.0), "topk:by=qlm")) == ["d2", "d4", "d1", "d3"]
    assert ids(pack(named(-3.0, -1.0, -3.0), "topk:by=qlm,m=1")) == ["d2"]
    assert ids(pack(hits(0.5, 0.9), "topk:by=ig")) == ids(pack(hits(0.5, 0.9), "igp:threshold=-1")) == ["d2", "d1"]


def test_topk_says_which_score_is_missing():
    stage = open_pack(PackParams(("topk:by=qlm",), (9,)))
    (done,) = mapped(stage, [named(-1.0, None)])
    assert done.failed.message == "topk: 1 of 2 hits have no scores.qlm"
    assert "--probe qlm" in done.failed.hint
    (done,) = mapped(open_pack(PackParams(("topk:by=mine",), (9,))), [named(-1.0)])
    assert done.failed.hint == "Scores of these hits: qlm."
    with pytest.raises(UsageError, match="m is at least 0"):
        open_pack(PackParams(("topk:m=-1",), (9,)))


def test_a_score_that_topk_goes_by_is_in_its_key_and_no_other():
    def key(spec, value, other=1.0):
        record = named(value, 0.5)
        record["hits"][0]["scores"]["ce"] = other
        return rows(open_pack(PackParams((spec,), (9,))), [record])[0]["pack"]["key"]

    assert key("topk:by=qlm", 0.1) != key("topk:by=qlm", 0.2)
    assert key("topk", 0.1) == key("topk", 0.2)
