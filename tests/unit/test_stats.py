"""stats: rows in, tables out; numbers by hand, and the same bytes for any order of rows."""

import json
import random

import pytest
from diagnosed import row, stats

from ragpack.errors import DataError, RagpackError, UsageError
from ragpack.report.tables import FORMATS, choose_format

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
    tables = len({(one["table"], one.get("kind")) for one in found})
    assert len(blocks) == tables
    assert sum(len(block.strip("\n").split("\n")) - 1 for block in blocks) == len(found)
    assert "difference_ci_low,difference_ci_high" in csv
    markdown = b"".join(FORMATS["md"](iter(found))).decode()
    assert markdown.count("\n| ") - tables == len(found), "a line for each row, and a head for each table"
    assert "undefined)" in markdown, "a mean says what it leaves out"


def test_warnings():
    few = [row("a"), row("b", "r", profile="hotpot")]
    said = " ".join(stats(few)[1])
    for part in ("mix profiles (hotpot, squad)", "only 2 questions: bootstrap", "not on the same questions"):
        assert part in said
    assert stats(many())[1] == []
    other = row("b") | {"pack": row("b")["pack"] | {"unit": "bpe@1"}}
    assert "mix tokenizers (bpe@1, regex)" in " ".join(stats([row("a"), other])[1])
    assert "the readers are not on the same questions" in " ".join(stats([row("a"), row("b", model="n")])[1])
    lacking = [row("a"), row("a", "r"), row("b"), row("b", "r"), row("a", budget=18), row("b", "r", 18)]
    assert "the policies are not on the same questions" in " ".join(stats(lacking)[1]), "at 18 they are not"
    assert not any("not on the same" in one for one in stats([row("a"), row("a", "r", 18)])[1])
    assert "only 1 question: bootstrap" in " ".join(stats([row("a")])[1])


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
        ([row("a")], {"margin": 1.0}, UsageError, "--margin: 1.0 is not between"),
        ([row("a")], {"by": ("reeder",)}, UsageError, "Did you mean 'reader'"),
        ([row("a")], {"where": ("budget",)}, UsageError, "is no condition"),
        ([row("a")], {"where": ("budget=10",)}, RagpackError, "'budget=10': no row is left\nThe rows have 9."),
        ([row("a")], {"contrasts": ("p,q",)}, UsageError, "no row has the policy 'q'"),
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


def failure(id):
    return {"schema": "ragpack.failure/1", "stage": "generate", "source": "packs.jsonl", "line": 7, "id": id,
            "error": {"type": "BackendError", "message": "timed out"}}  # fmt: skip


def cells(rows, **params):
    found, said = stats(rows, "policies", **params)
    return {(one["policy"], one["budget"]): (one["missing"], one["failed"]) for one in found}, said


def test_failures_are_counted_where_their_question_is_lacking():
    """a: both have it, in spite of an earlier failure. b: failed for r. c: nobody has it. d: r was never asked."""
    rows = [row("a"), row("a", "r"), row("b"), row("d"), *map(failure, ("a", "b", "b", "c", None))]
    found, said = cells(rows)
    assert found == {("p", 9): (0, 1), ("r", 9): (2, 2)}
    assert any("1 failed line without an id" in one for one in said)


def test_failures_by_budget_seed_and_dataset():
    """(missing, failed). At 18 r lacks a; over both budgets the failures add up."""
    rows = [
        row("a", budget=9),
        row("a", "r", 9),
        row("a", budget=18),
        row("b", budget=18),
        row("b", "r", 18),
        failure("a"),
    ]
    assert cells(rows)[0] == {("p", 9): (0, 0), ("r", 9): (0, 0), ("p", 18): (0, 0), ("r", 18): (1, 1),
                              ("p", None): (0, 0), ("r", None): (1, 1)}  # fmt: skip
    seeds = [row("a", seed=1), row("a", seed=2), row("a", "r", seed=1), failure("a")]
    assert cells(seeds)[0] == {("p", 9): (0, 0), ("r", 9): (1, 1)}
    sets = [row("a", group="x"), row("b", group="y"), row("b", "r", group="y"), failure("a")]
    found = stats(sets, "policies", by=("dataset",))[0]
    assert [(one["dataset"], one["policy"], one["failed"]) for one in found] == [
        ("x", "p", 0),
        ("y", "p", 0),
        ("y", "r", 0),
    ]
    assert cells(sets, where=("dataset=y",))[0] == {("p", 9): (0, 0), ("r", 9): (0, 0)}, "a is not of this dataset"
    assert cells(sets, where=("policy=r",))[0] == {("r", 9): (0, 1)}


def test_costs_and_certificates():
    paid = {"calls": 5, "tokens": 100}
    rows = [row("a", "igp", prompt=10, objective=3.0, bound=4.0, probe=paid),
            row("b", "igp", prompt=30, objective=1.0, bound=1.0, probe={"calls": 7, "tokens": 200}),
            row("a", "r"), row("b", "r", objective=1.0, bound=0.0),
            row("a", "topk", probe=paid), row("a", "topk:by=yesno", probe=paid)]  # fmt: skip
    p, r, plain, ranked = stats(rows, "policies")[0]
    assert plain["probe_calls"] is None, "topk goes by rank: it doesn't need what was probed"
    assert ranked["probe_calls"] == 5.0
    assert (p["prompt_tokens"], p["probe_calls"], p["probe_tokens"]) == (20.0, 6.0, 150.0)
    assert (p["certified"], p["certified_n"]) == (0.875, 2)
    assert p["certified_p05"] == pytest.approx(0.75 + 0.05 * 0.25)
    assert (r["certified"], r["certified_n"], r["certified_p05"], r["probe_calls"]) == (None, 0, None, None)
    assert "certified" not in stats([row("a")], "policies")[0][0]


def test_nte_by_hand():
    """On a and b, which both have: (0.9 / 0.6) / (30 / 60). c has no baseline, d no F1."""
    rows = [row("a", f1=0.2, prompt=40), row("b", f1=0.4, prompt=20), row("a", "r", f1=0.5, prompt=10),
            row("b", "r", f1=0.4, prompt=20), row("c", "r", f1=1.0, prompt=1), row("d", prompt=9),
            row("d", "r", f1=1.0, prompt=9)]  # fmt: skip
    p, r = stats(rows, "policies", baseline="p")[0]
    assert (r["nte"], r["nte_n"], r["nte_baseline"]) == (pytest.approx(3.0), 2, "p")
    assert r["nte_ci"] == pytest.approx([1.0, 10.0])  # b twice: 1 / 1; a twice: 2.5 / 0.25; each a quarter of the draws
    assert (p["nte"], p["nte_ci"]) == (1.0, [1.0, 1.0])
    assert "nte" not in stats(rows, "policies")[0][0]
    zero = [row("a", f1=0.0), row("a", "r", f1=1.0)]
    assert [one["nte"] for one in stats(zero, "policies", baseline="p")[0]] == [None, None]


def test_nte_takes_a_baseline_with_one_budget_at_that():
    """Deployed practice has no budget of its own: every budget is compared with its only one."""
    rows = [row("a", "topk", 500, f1=0.5, prompt=400), row("a", "r", 9, f1=0.5, prompt=40),
            row("a", "r", 18, f1=0.5, prompt=80)]  # fmt: skip
    found = {(one["policy"], one["budget"]): one["nte"] for one in stats(rows, "policies", baseline="topk")[0]}
    assert found == {("topk", 500): 1.0, ("r", 9): 10.0, ("r", 18): 5.0, ("topk", None): None, ("r", None): None}


def test_intervals_of_means():
    found = stats(many(), "policies", "sweep", resamples=400)[0]
    means = {(one["model"], one["policy"], one["budget"]): one for one in found if one.get("kind") == "mean"}
    assert len(means) == 12
    for one in found:
        if one["table"] == "policies":
            for name in ("f1", "answer_in_context"):
                low, high = one[f"{name}_ci"]
                assert low < one[name] < high
                if one["budget"]:
                    other = means[one["model"], one["policy"], one["budget"]]
                    assert (other[name], other[f"{name}_ci"]) == (one[name], one[f"{name}_ci"])


SCORED = [row(id, policy, f1=0.5, answer_in_context=1.0, gold_doc_coverage=1.0) for id in "ab" for policy in "pr"]
PACKS = [row(id, policy, model="", answer_in_context=float(policy == "r"), gold_doc_coverage=1.0)
         for id in "ab" for policy in "pr"]  # fmt: skip
ALONE = [row(id, f1=0.5, answer_in_context=1.0) for id in "ab"]
BLIND = [row(id, policy, model="") for id in "ab" for policy in "pr"]


@pytest.mark.parametrize(
    ("rows", "table", "reason"),
    [
        (PACKS, "conditional", "no row has an F1"),
        (ALONE, "oracle", "all rows are of one policy, p"),
        (ALONE, "contrasts", "all rows are of one policy, p"),
        (ALONE, "sweep", "all rows are of one policy and one budget, p at 9"),
        (ALONE, "scope", "no row names gold documents"),
        (BLIND, "oracle", "no row has an F1 or a known answer"),
        (BLIND, "sweep", "no row has an F1 or a known answer"),
        ([row("a", f1=1.0), row("a", "r", f1=1.0)], "conditional", "no row has a known answer"),
        ([row("a", f1=1.0), row("b", "r", f1=1.0)], "oracle", "no part of the rows has all that it needs"),
    ],
)
def test_a_table_that_the_rows_cannot_give_says_why(rows, table, reason):
    with pytest.raises(RagpackError, match=f"no table {table}: {reason}"):
        stats(rows, table, baseline="p")
    found, said = stats(rows, "policies", table, baseline="p")
    assert {one["table"] for one in found} == {"policies"}
    assert sum(f"no table {table}: {reason}" in one for one in said) == 1
    assert not any("no table" in one for one in stats(rows, baseline="p")[1]), "what was not asked for is no loss"


def test_default_tables_are_those_that_the_rows_allow():
    def tables(rows, **params):
        return [*dict.fromkeys(one["table"] for one in stats(rows, **params)[0])]

    assert {"policies", "conditional", "oracle", "sweep", "scope"} <= set(tables(SCORED))
    assert "contrasts" not in tables(SCORED)
    assert "contrasts" in tables(SCORED, baseline="p")
    assert "contrasts" in tables(SCORED, contrasts=("r,p",))
    assert tables(PACKS, baseline="p") == ["policies", "contrasts", "oracle", "sweep", "scope"]
    assert tables(BLIND, baseline="p")[:2] == ["policies", "contrasts"], "tokens can still be compared"


def test_scores_that_are_all_equal():
    found = stats([row(f"q{at}", policy, f1=0.5, em=0.0, answer_in_context=1.0) for at in range(4) for policy in "pr"],
                  baseline="p")[0]  # fmt: skip
    for one in found:
        if one["table"] == "contrasts":
            assert (one["difference"], one["ci"], one["p"], one["significant"]) == (0.0, [0.0, 0.0], 1.0, False)
        if one["table"] == "oracle" and one["policy"] != "oracle":
            assert (one["headroom"], one["best"], one["sole_best"]) == (0.0, 1.0, 0.0)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_mixed_schema_versions_are_refused():
    later = row("b") | {"schema": "ragpack.diagnosis/2"}
    with pytest.raises(
        DataError, match=r"ragpack\.diagnosis/2 is another version; this ragpack reads ragpack\.diagnosis/1"
    ):
        stats([row("a"), later])


def test_a_split_shows_its_label():
    rows = [row(f"q{at}", policy, group=group, f1=0.5) for at, group in enumerate("xyx") for policy in "pr"]
    found = stats(rows, "policies", by=("dataset",))[0]
    text = b"".join(FORMATS["md"](iter(found))).decode()
    assert "| dataset | policy |" in text
    only = b"".join(FORMATS["md"](iter(found[:2]))).decode()
    assert "**Policies (model m, dataset x)**" in only, "a label that all rows share stands once"


def test_few_questions_in_a_part():
    rows = [row(f"q{at}", group="x" if at < 40 else "y", f1=0.5) for at in range(45)]
    said = stats(rows, "policies", by=("dataset",))[1]
    assert said == [
        "table policies: 1 of 2 rows have fewer than 30 questions, the least 5: their intervals are too narrow"
    ]


def test_notes_are_said(monkeypatch):
    monkeypatch.setattr("ragpack.stages.stats.load", lambda *_: lambda *_: [{"n": 1, "note": "recall@5 is constant"}])
    assert "table policies: recall@5 is constant" in stats([row("a")], "policies")[1]


def test_not_significant_is_said_in_words():
    found = stats(many(), "contrasts", baseline="p")[0]
    unclear = sum(one["significant"] is False for one in found)
    for form in ("table", "md"):
        text = b"".join(FORMATS[form](iter(found))).decode()
        assert f"{unclear} of {len(found)} differences are not significant at 0.05 (corrected: holm over" in text


def test_numbers_as_a_person_reads_them():
    """No -0.000, shares in per cent, depths kept, words for flags; an unknown is a dash."""
    rows = [{"table": "correlations", "metric": "f1", "feature": "all_gold@5", "n": 9, "undefined": 0, "pearson": -1e-9,
             "pearson_ci": [-1e-9, None], "spearman": None}]  # fmt: skip
    rows += [{"table": "sweep", "kind": "iso", "policy": "a|b", "baseline": "c", "budget": None, "baseline_budget": 160,
              "n": None, "saved": 0.298, "tried": 2, "margin": 0.01}]  # fmt: skip
    rows += [{"table": "contrasts", "policy": "p", "n": 1, "significant": None, "p": 0.00019998, "excluded": 3}]
    text = b"".join(FORMATS["md"](iter(rows))).decode()
    assert "| F1 | all-gold@5 | 9 | 0.000 | [0.000, –] |" in text
    assert "| a\\|b | none | c | 160 | 30 % | 2 |" in text
    assert "| p | 1 | 3 | 0.0002 |" in text
