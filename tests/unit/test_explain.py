"""pack --explain: every candidate once, and what became of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped import rows

from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import POLICIES

BRIDGE = "Ostra Bridge crosses the Lisk. It was built by Ida Vale. Ida Vale also built a mill."


def hit(rank, text, title="", id=None, ig=0.1):
    return {"rank": rank, "id": id or f"d{rank}", "title": title, "text": text, "score": 9.0 - rank,
            "scores": {"ig": ig}}  # fmt: skip


def hits(*found, question="Who built the mill?"):
    return {"schema": "ragpack.hits/1", "id": "a", "question": question, "answers": ["Ida Vale"], "gold": ["d1"],
            "hits": list(found)}  # fmt: skip


def pack(record, policy, budget, explain=True):
    return rows(open_pack(PackParams((policy,), (budget,), explain=explain)), [record])[0]["pack"]


def reasons(found):
    return [row["reason"] for row in found["explain"]]


def test_by_hand():
    """Lines of 9, 10 and 10 tokens: the third has both words of the question, the second one of them, the first none.
    20 tokens hold two and no other."""
    found = pack(hits(hit(1, BRIDGE, "Ostra Bridge")), "chunk_packed:overflow=skip", 20)
    rows = found["explain"]
    assert [row["span"] for row in rows] == [[0, 30], [31, 56], [57, 84]]
    assert [row["cost"] for row in rows] == [9, 10, 10]
    assert [row["terms"] for row in rows] == [[], ["built"], ["built", "mill"]]
    assert [row.get("step") for row in rows] == [None, 2, 1]
    assert rows[2]["relevance"] == rows[2]["gain"] == 1.0
    assert rows[0].get("gain") is None
    assert reasons(found) == ["budget: 9 tokens, 0 left", "taken", "taken"]


def test_what_did_not_fit_says_by_how_much():
    found = pack(hits(hit(1, BRIDGE, "Ostra Bridge")), "chunk_packed:overflow=skip", 19)
    assert reasons(found) == ["taken", "budget: 10 tokens, 9 left", "taken"]
    found = pack(hits(hit(1, BRIDGE, "Ostra Bridge")), "chunk_packed", 19)
    assert reasons(found) == ["budget: the room was used up before", "budget: 10 tokens, 9 left", "taken"]


def test_nothing_but_a_header_left():
    found = pack(hits(hit(1, "Mill.", "A long title of a page")), "chunk_focused", 7)
    assert reasons(found) == ["budget: it was taken, and the whole was too long"]
    assert found["snippets"] == []


def test_a_group_costs_its_header_once():
    """What a row states is own tokens and header, as the first of its document would pay."""
    found = pack(hits(hit(1, BRIDGE, "Ostra Bridge")), "chunk_packed:layout=grouped", 23)
    assert [row["cost"] for row in found["explain"]] == [9, 10, 10]
    assert [row["step"] for row in found["explain"]] == [3, 2, 1]
    assert found["tokens"] == 23


def test_reasons_of_rules():
    record = hits(hit(1, "One.", ig=0.2), hit(2, "Two.", ig=0.01), hit(3, "Three.", ig=0.1), hit(4, "Four.", ig=0.3))
    assert reasons(pack(record, "igp:m=2", 99)) == ["taken", "threshold: IG 0.0100 < 0.05", "cap: m=2", "taken"]
    assert reasons(pack(record, "gold", 99)) == ["taken", *["not of a gold document"] * 3]


def test_reasons_of_submod():
    """The cap, the objective and the budget are told apart. A line of 4, 5 or 6 tokens; 9 hold two."""
    record = hits(hit(1, "Built a mill."), hit(2, "A mill was built."), hit(3, "The mill was never built."))
    cap = [row["reason"] for row in pack(record, "chunk_submod:cap=1", 99)["explain"]]
    assert sorted(cap) == ["cap: cap=1", "cap: cap=1", "taken"]
    # Coverage of the question alone: whichever comes first covers both words.
    alone = "chunk_submod:rel=0,cov=0,div=0"
    assert sorted(reasons(pack(record, alone, 99))) == ["objective: no better set was found with it"] * 2 + ["taken"]
    found = reasons(pack(record, "chunk_submod", 9))
    assert found == ["taken", "taken", "budget: the room was used up before"]


def test_a_duplicate_names_what_it_is_left_out_for():
    """The claim graph merges what two documents say alike."""
    record = hits(hit(1, "Ida Vale built the mill."), hit(2, "Ida Vale built the mill. She died in Orrel."))
    found = pack(record, "ace_packed", 99)
    (twin,) = [row for row in found["explain"] if row["reason"].startswith("duplicate")]
    assert (twin["id"], twin["span"], twin["reason"]) == ("d2", [0, 24], "duplicate of d1")
    assert twin.get("step") is None
    (snippet,) = [one for one in found["snippets"] if one["id"] == "d1"]
    assert snippet["also"] == [{"id": "d2", "span": [0, 24]}]


def test_two_hits_of_one_rank_and_id():
    """They differ by their texts alone: what was not taken must not pass for what was."""
    record = hits(hit(1, "Built a mill.", id="x"), hit(1, "Something else here.", id="x"))
    found = pack(record, "chunk_packed:overflow=skip", 5)
    assert [row.get("step") for row in found["explain"]] == [1, None]
    assert reasons(found) == ["taken", "budget: 4 tokens, 1 left"]


TEXTS = st.lists(st.sampled_from(["Ida Vale built a mill.", "It is old.", "The Lisk runs by.", "A mill!", "It runs."]),
                 max_size=4).map(" ".join)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(st.tuples(TEXTS, st.sampled_from(["", "Mill", "Ida Vale"])), max_size=4),
       st.sampled_from([*POLICIES, "chunk_packed:layout=grouped,order=edges", "chunk_mmr:window=2,stride=1",
                        "chunk_focused:max_tokens=3"]), st.integers(0, 50))  # fmt: skip
def test_every_candidate_has_one_row(found, policy, budget):
    record = hits(*(hit(rank, text, title) for rank, (text, title) in enumerate(found, 1)))
    plain, made = pack(record, policy, budget, explain=False), pack(record, policy, budget)
    rows = [row for row in made["explain"] if not row["reason"].startswith("duplicate")]
    assert len(rows) == len(made["snippets"]) + made["dropped"]
    places = [(row["rank"], row["id"], *row["span"]) for row in rows]
    assert len(set(places)) == len(places)
    assert [row["rank"] for row in rows] == sorted(row["rank"] for row in rows)
    taken = [row for row in rows if row["reason"] == "taken"]
    assert sorted(row["step"] for row in taken) == list(range(1, len(made["snippets"]) + 1))
    assert all(row.get("step") is None for row in rows if row["reason"] != "taken")
    assert all(row["reason"] for row in rows)
    shown = {(one["rank"], one["span"][0]): one for one in made["snippets"]}
    assert {(row["rank"], row["span"][0]) for row in taken} == set(shown)
    for row in taken:
        one = shown[row["rank"], row["span"][0]]
        assert (row["relevance"], row.get("gain")) == (one["relevance"], one.get("gain"))
    # It explains, and changes nothing; what has more fields is another row of the cache.
    assert plain.pop("key") != made.pop("key")
    explained = {"explain", "graph"}
    assert plain == {key: value for key, value in made.items() if key not in explained}


def test_the_order_taken_is_the_order_of_steps():
    """order=score prints as taken: steps 1, 2, 3, … stand in the context one after another."""
    record = hits(hit(1, BRIDGE), hit(2, "A mill was built. It burnt."))
    made = pack(record, "chunk_mmr", 99)
    step = {(row["rank"], row["span"][0]): row["step"] for row in made["explain"]}
    assert [step[one["rank"], one["span"][0]] for one in made["snippets"]] == list(range(1, 6))


@pytest.mark.parametrize("found", [[], [hit(1, " ")]])
def test_no_candidates(found):
    for policy in POLICIES:
        assert pack(hits(*found), policy, 9)["explain"] == []
