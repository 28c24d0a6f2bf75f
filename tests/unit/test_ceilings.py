"""gold and answer know what is right; random knows nothing."""

import json
import os
import subprocess
import sys

import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st
from mapped import rows

from ragpack.errors import UsageError
from ragpack.stages.pack import PackParams, open_pack

# Five lines of 4, 5, 4, 4 and 3 tokens. `mill` and `built` are asked for.
HITS = [
    {"rank": 1, "id": "a", "text": "Built a mill. It stood in Orrel."},
    {"rank": 2, "id": "b", "text": "Nobody built it. The Orrel mill."},
    {"rank": 3, "id": "c", "text": "A tern."},
]


def record(hits=HITS, answers=("Orrel",), gold=("b",), question="Who built the mill?"):
    return {"schema": "ragpack.hits/1", "id": "q", "question": question, "answers": list(answers), "gold": list(gold),
            "hits": list(hits)}  # fmt: skip


def pack(found, policy, budget=99):
    return rows(open_pack(PackParams((policy,), (budget,), explain=True)), [found])[0]["pack"]


def lines(found, policy, budget=99):
    return pack(found, policy, budget)["context"].split("\n") if pack(found, policy, budget)["context"] else []


def test_gold_shows_gold_documents_only():
    """By relevance: `built` is in two lines, `mill` too; of the two of b the shorter is better."""
    assert lines(record(), "gold") == ["Nobody built it.", "The Orrel mill."]
    assert lines(record(gold=["c", "a"]), "gold") == ["Built a mill.", "It stood in Orrel.", "A tern."]
    assert lines(record(gold=["nowhere"]), "gold") == []
    assert lines(record(gold=[]), "gold") == []
    reasons = [row["reason"] for row in pack(record(), "gold")["explain"]]
    assert reasons == ["not of a gold document"] * 2 + ["taken"] * 2 + ["not of a gold document"]


def test_answer_shows_answers_first():
    """With an answer and gold; with an answer; gold; the rest, by relevance."""
    assert lines(record(), "answer") == ["The Orrel mill.", "It stood in Orrel.", "Nobody built it.", "Built a mill.",
                                         "A tern."]  # fmt: skip
    assert lines(record(answers=[]), "answer")[:2] == ["Nobody built it.", "The Orrel mill."], "gold alone is left"
    assert lines(record(answers=[], gold=[]), "answer") == lines(record(), "chunk_packed:overflow=skip")


def test_an_answer_is_a_match_of_tokens_in_the_line():
    """Title included, as for `has_answer`; any of the answers."""
    hits = [{"rank": 1, "id": "a", "text": "Orrels."}, {"rank": 2, "id": "b", "text": "It is.", "title": "Orrel"}]
    assert lines(record(hits, gold=[]), "answer")[0] == "Orrel: It is."
    assert lines(record(hits, gold=[], answers=["x", "the ORRELS!"]), "answer")[0] == "Orrels."


def test_they_pass_over_what_is_too_long():
    """4 tokens: the one with the answer has 4; with 3 only the last line fits."""
    assert lines(record(), "answer", 4) == ["The Orrel mill."]
    assert lines(record(), "answer", 3) == ["A tern."]
    assert lines(record(), "gold", 3) == []
    assert lines(record(), "answer:overflow=stop", 3) == []


def test_a_ceiling_is_one():
    """Where a line with the answer fits, it is shown: no rule that does not know it can do better."""
    for budget in range(12):
        fits = any(len(line.split()) + 1 <= budget for line in ("It stood in Orrel.", "The Orrel mill."))
        assert ("Orrel" in pack(record(), "answer", budget)["context"]) is fits


# ---- random


def test_random_takes_everything_where_there_is_room():
    assert sorted(lines(record(), "random")) == sorted(lines(record(), "chunk_packed"))
    assert "gain" not in pack(record(), "random")["snippets"][0]


def test_random_differs_between_seeds_and_questions():
    by_seed = {tuple(lines(record(), f"random:seed={seed}")) for seed in range(20)}
    by_question = {tuple(lines(record(question=f"Who built the mill {n}?"), "random")) for n in range(20)}
    by_hits = {tuple(lines(record([{**hit, "id": f"{hit['id']}{n}"} for hit in HITS]), "random")) for n in range(20)}
    # Of 120 orders 20 draws are all different with probability .19, and fewer than 12 of them one in a billion.
    assert min(map(len, (by_seed, by_question, by_hits))) >= 12


def test_random_does_not_look_at_what_is_right_nor_at_scores():
    scored = [{**hit, "score": 1.0 * n, "scores": {"ig": 0.1 * n}} for n, hit in enumerate(HITS)]
    one, other = pack(record(), "random"), pack(record(scored, answers=["x"], gold=["a"]), "random")
    assert one == other


@given(st.permutations(HITS), st.integers(0, 3))
def test_the_order_of_hits_changes_no_draw(hits, seed):
    assert pack(record(hits), f"random:seed={seed}", 12) == pack(record(), f"random:seed={seed}", 12)


def test_random_is_fair():
    """Over seeds every line comes first about equally often: 600 draws of 5 lines, 120 each; a deviation of 50 is
    five standard deviations (sqrt(600 * .2 * .8) = 9.8)."""
    first = [lines(record(), f"random:seed={seed}")[0] for seed in range(600)]
    counts = [first.count(line) for line in set(first)]
    assert len(counts) == 5
    assert all(abs(count - 120) < 50 for count in counts)


def test_a_draw_is_the_same_in_every_process():
    code = ("import sys, json; sys.path.insert(0, 'tests'); sys.path.insert(0, 'tests/unit')\n"
            "from test_ceilings import lines, record\n"
            "print(json.dumps([lines(record(), f'random:seed={n}', 12) for n in range(5)]))")  # fmt: skip
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT,
                       env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    here = [lines(record(), f"random:seed={n}", 12) for n in range(5)]
    assert [json.loads(run) for run in runs] == [here, here]


def test_no_global_generator_is_used():
    import random

    import numpy as np

    random.seed(7)
    np.random.seed(7)  # the global state is what is looked at
    before = random.getstate(), np.random.get_state()[1].tolist()
    lines(record(), "random")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_values_out_of_range():
    with pytest.raises(UsageError, match="seed must be at least 0, got -1"):
        open_pack(PackParams(("random:seed=-1",), (9,)))
    with pytest.raises(UsageError, match=r"seed is a whole number, got '0.5'"):
        open_pack(PackParams(("random:seed=0.5",), (9,)))
