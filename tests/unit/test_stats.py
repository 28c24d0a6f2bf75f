"""stats: rows in, tables out; numbers by hand, and the same bytes for any order of rows."""

import json
import random

import pytest

from ragpack.errors import DataError, RagpackError, UsageError
from ragpack.records import Diagnosed, view
from ragpack.report.tables import FORMATS, choose_format
from ragpack.stages.stats import Stats, StatsParams


def row(id, policy="p", budget=9, *, seed=None, model="m", tokens=8, kind="span", profile="squad", **measured):
    """A row of the diagnostic; what is not given is undefined."""
    made = {"reader": "x", "model": model, "prompt": {"name": "", "hash": ""}, "answer": "", "finish": "stop",
            "tokens": {"prompt": 1, "completion": 1}}  # fmt: skip
    return {
        "schema": "ragpack.diagnosis/1",
        "id": id,
        "question": "?",
        "hits": [],
        **({"sample": {"seed": seed, "n": 2}} if seed is not None else {}),
        "pack": {"policy": policy, "budget": budget, "unit": "regex", "tokens": tokens, "context": "", "snippets": [],
                 "dropped": 0},
        **({"generate": made} if model else {}),
        "diagnose": {"profile": profile, "answer_kind": kind, **measured},
    }  # fmt: skip


def stats(rows, *tables, **params):
    """The tables' rows, and what was said."""
    fold = Stats(StatsParams(tables, **{"resamples": 200, **params}))
    for one in rows:
        fold.take(view(one, (Diagnosed,)), one)
    said = []
    return list(fold.give(said.append)), said


# Ten rows, no two means alike. (F1, EM, AiC, retrieval-perfect)
TEN = [
    row(f"q{at}", f1=f1, em=em, answer_in_context=aic, all_gold_in_hits=perfect)
    for at, (f1, em, aic, perfect) in enumerate(
        [(1.0, 1.0, 1.0, 1.0), (0.5, 0.0, 1.0, 1.0), (0.8, 0.0, 1.0, 0.0), (1.0, 1.0, 1.0, None), (0.2, 0.0, 0.0, 1.0),
         (0.0, 0.0, 0.0, 1.0), (0.1, 0.0, 0.0, 0.0), (None, None, 1.0, 1.0), (0.4, 0.0, None, 1.0)]
    )
] + [row("q9", kind="yes_no", f1=1.0, em=1.0, answer_in_context=0.0, all_gold_in_hits=1.0)]  # fmt: skip


def test_conditional_means_by_hand():
    found, _ = stats(TEN, "conditional")
    table = {(one["subset"], one["metric"]): one for one in found}
    span = table["span", "f1"]  # q7 has no F1, q8 no AiC, q9 is no span
    assert (span["n"], span["given_1_n"], span["given_0_n"], span["questions"]) == (7, 4, 3, 7)
    assert span["given_1"] == pytest.approx((1.0 + 0.5 + 0.8 + 1.0) / 4)
    assert span["given_0"] == pytest.approx((0.2 + 0.0 + 0.1) / 3)
    assert span["difference"] == pytest.approx(0.825 - 0.1)
    assert span["ratio"] == pytest.approx(8.25)
    assert span["lost"] == pytest.approx(3 / 7)
    perfect = table["span, retrieval-perfect", "f1"]  # q0, q1, q4, q5
    assert (perfect["given_1"], perfect["given_0"], perfect["lost"]) == pytest.approx((0.75, 0.1, 0.5))
    every = table["all", "em"]
    assert (every["given_1"], every["given_0"]) == pytest.approx((0.5, 0.25))
    assert every["given_0_n"] == 4
    for one in found:
        assert one["difference_ci"][0] <= one["difference"] <= one["difference_ci"][1]


def test_a_side_without_rows_is_undefined():
    (one, _) = stats(TEN[:3], "conditional")[0][:2]
    assert (one["given_0"], one["given_0_n"], one["difference"], one["ratio"], one["difference_ci"]) == (
        None, 0, None, None, None)  # fmt: skip
    zero = [TEN[0], TEN[5]]
    one = stats(zero, "conditional")[0][0]
    assert (one["difference"], one["ratio"], one["ratio_ci"], one["lost"]) == (1.0, None, None, 0.5)


def test_means_with_their_n():
    rows = [row("a", f1=1.0, em=None, tokens=10), row("b", f1=0.5, tokens=20), row("c", tokens=30),
            row("a", budget=18, f1=0.0), row("a", "other", f1=0.25, model="")]  # fmt: skip
    found, _ = stats(rows, "policies")
    named = {(one["model"], one["policy"], one["budget"]): one for one in found}
    small = named["m", "p", 9]
    assert (small["n"], small["questions"], small["f1"], small["f1_n"]) == (3, 3, 0.75, 2)
    assert (small["em"], small["em_n"], small["tokens"]) == (None, 0, 20.0)
    both = named["m", "p", None]
    assert (both["n"], both["questions"], both["f1"], both["f1_n"]) == (4, 3, 0.5, 3)
    assert named[None, "other", 9]["f1"] == 0.25
    assert list(found[0])[:6] == ["schema", "table", "model", "policy", "budget", "n"]


def test_no_means_over_budgets_where_there_is_one():
    assert [one["budget"] for one in stats([row("a"), row("b", "r")], "policies")[0]] == [9, 9]


def contrast(rows, metric="f1", **params):
    found, _ = stats(rows, "contrasts", baseline="p", **params)
    return [one for one in found if one["metric"] == metric]


def test_pairs():
    """A pair with a side that is missing or undefined is counted as excluded."""
    rows = [row("a", f1=0.2), row("a", "r", f1=0.7), row("b", f1=0.5), row("b", "r", f1=0.5), row("c", "r", f1=1.0),
            row("d", f1=1.0), row("e"), row("e", "r", f1=1.0), row("a", "r", 18, f1=1.0)]  # fmt: skip
    small, large = contrast(rows)
    assert (small["policy"], small["budget"], small["n"], small["excluded"]) == ("r", 9, 2, 3)
    assert small["difference"] == pytest.approx(0.25)
    assert (large["budget"], large["n"], large["excluded"], large["difference"], large["p"]) == (18, 0, 1, None, None)
    assert [one["difference"] for one in contrast(rows, "tokens")] == [0.0, None]
    assert contrast(rows, "gold_doc_coverage") == [], "a metric that no row has is no row of the table"


def test_seeds_and_models_pair_with_their_own():
    found = [("p", 1, "m", 0.0), ("p", 2, "m", 1.0), ("r", 1, "m", 0.5), ("r", 2, "m", 1.0), ("p", 1, "n", 0.3),
             ("r", 1, "n", 0.2)]  # fmt: skip
    rows = [row("a", policy, seed=seed, model=model, f1=f1) for policy, seed, model, f1 in found]
    first, second = contrast(rows)
    assert (first["model"], first["n"], first["difference"]) == ("m", 2, 0.25)
    assert (second["model"], second["n"], second["difference"]) == ("n", 1, pytest.approx(-0.1))


def many(number=40):
    draw = random.Random(3)
    return [
        row(f"q{at}", policy, budget, model=model, tokens=draw.randint(1, budget), f1=draw.random(),
            graded=draw.random(), em=draw.choice([0.0, 1.0]), answer_in_context=draw.choice([0.0, 1.0, None]),
            all_gold_in_hits=draw.choice([0.0, 1.0]))
        for at in range(number) for policy in ("p", "r", "s") for budget in (9, 18) for model in ("m", "n")
    ]  # fmt: skip


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_the_order_of_rows_changes_no_byte(form):
    rows = many()
    mixed = random.Random(5).sample(rows, len(rows))
    write = choose_format(form, "-")
    one, other = (b"".join(write(iter(stats(found, baseline="p")[0]))) for found in (rows, mixed))
    assert one == other
    assert one


def test_intervals_follow_seed_and_resamples():
    rows = many()
    base = stats(rows, baseline="p")[0]
    assert stats(rows, baseline="p")[0] == base
    others = stats(rows, baseline="p", seed=1)[0]
    assert [one.get("ci") for one in others] != [one.get("ci") for one in base]
    assert [one.get("difference") for one in others] == [one.get("difference") for one in base]
    assert "200 resamples, seed 0" in contrast(rows)[0]["method"]


def test_formats_hold_the_same_numbers():
    found = stats(many(), baseline="p")[0]
    jsonl, whole, csv = (b"".join(FORMATS[form](iter(found))).decode() for form in ("jsonl", "json", "csv"))
    assert [json.loads(line) for line in jsonl.split("\n")[:-1]] == json.loads(whole) == found
    blocks = csv.split("\n\n")
    tables = len({one["table"] for one in found})
    assert len(blocks) == tables
    assert sum(len(block.strip("\n").split("\n")) - 1 for block in blocks) == len(found)
    assert "difference_ci_low,difference_ci_high" in csv
    markdown = b"".join(FORMATS["md"](iter(found))).decode()
    assert markdown.count("\n| ") - tables == len(found), "a line for each row, and a head for each table"
    assert "undefined)" in markdown, "a mean says what it leaves out"


def test_warnings():
    few = [row("a"), row("b", "r", profile="hotpot")]
    said = " ".join(stats(few)[1])
    for part in ("mix profiles (hotpot, squad)", "2 questions are few", "not on the same questions"):
        assert part in said
    assert stats(many())[1] == []
    other = row("b") | {"pack": row("b")["pack"] | {"unit": "bpe@1"}}
    assert "mix tokenizers (bpe@1, regex)" in " ".join(stats([row("a"), other])[1])
    assert "nothing to show" in " ".join(stats([row("a")], "conditional")[1])


def test_a_row_that_comes_twice_is_refused():
    with pytest.raises(DataError, match="a row of policy p, budget 9, model m is there twice"):
        stats([row("a"), row("a")])
    stats([row("a", seed=1), row("a", seed=2), row("a", model=""), row("a", budget=10)])


@pytest.mark.parametrize(
    ("rows", "params", "kind", "expected"),
    [
        ([], {}, RagpackError, "no rows came in"),
        ([row("a")], {"baseline": "q"}, UsageError, "no row has the policy 'q'"),
        ([row("a")], {"tables": ("contrast",)}, UsageError, "Did you mean 'contrasts'"),
        ([row("a")], {"tables": ("contrasts",)}, UsageError, "needs --baseline"),
        ([row("a")], {"resamples": 99}, UsageError, "99 is less than 100"),
    ],
)
def test_refusals(rows, params, kind, expected):
    with pytest.raises(kind, match=expected):
        stats(rows, *params.pop("tables", ()), **params)


@pytest.mark.parametrize("seed", ["7", [1], 1.5, True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(DataError, match=r"sample\.seed: expected a whole number"):
        stats([row("a"), row("b", seed=seed)])


def test_a_row_without_a_seed_is_told_from_one_of_any_seed():
    rows = [row("a", seed=seed, f1=f1) for seed, f1 in [(None, 0.1), (-1, 0.2), (0, 0.4)]]
    assert stats(rows)[0] == stats(rows[::-1])[0]
