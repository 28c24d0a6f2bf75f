"""pack: one context for each policy and budget, from the same candidates."""

import json

import pytest
from command import ROOT
from mapped import failure, rows

from ragpack.errors import UsageError
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import POLICIES

TEXT = "Ostra Bridge crosses the Lisk. It was built by Ida Vale. Ida Vale also built a mill."


def hit(rank=1, id="ostra", text=TEXT, **fields):
    return {"rank": rank, "id": id, "title": "Ostra Bridge", "text": text, "scores": {"ig": 0.1}, **fields}


def hits(*found, question="Who built the bridge that crosses the Lisk?", **fields):
    return {"schema": "ragpack.hits/1", "id": "a", "question": question, "hits": list(found), **fields}


def packs(record, *policies, budgets=(20,)):
    return [row["pack"] for row in rows(open_pack(PackParams(policies, budgets)), [record])]


def pack(record, policy, budget=20):
    return packs(record, policy, budgets=(budget,))[0]


def test_one_row_for_each_policy_and_budget_in_their_order():
    found = packs(hits(hit()), "topk,chunk_mmr", "chunk_packed:overflow=skip", budgets=(30, 10))
    assert [(one["policy"], one["budget"]) for one in found] == [
        ("topk", 30), ("topk", 10), ("chunk_mmr", 30), ("chunk_mmr", 10),
        ("chunk_packed:overflow=skip", 30), ("chunk_packed:overflow=skip", 10)]  # fmt: skip


def test_by_hand():
    """Lines of 9, 10 and 11 tokens; the second has most words of the question that are rare here."""
    found = pack(hits(hit()), "chunk_packed", 19)
    assert found["context"] == "Ostra Bridge: Ostra Bridge crosses the Lisk.\nOstra Bridge: It was built by Ida Vale."
    assert [snippet["span"] for snippet in found["snippets"]] == [[0, 30], [31, 56]]
    assert [snippet["tokens"] for snippet in found["snippets"]] == [9, 10]
    assert (found["tokens"], found["dropped"], found["unit"]) == (19, 1, "regex")
    assert found["snippets"][0]["relevance"] == 1.0


def test_topk_is_cut_at_the_budget():
    """Deployed practice: titles and texts in rank order, to the last token that fits."""
    second = hit(2, "tern", "A tern is a bird.") | {"title": None}
    whole = f"Ostra Bridge: {TEXT}\nA tern is a bird."
    for budget, expected in [
        (0, ""),
        (3, ""),
        (4, "Ostra Bridge: Ostra"),
        (99, whole),
        (26, whole[: -len(" a bird.")]),
    ]:
        found = pack(hits(hit(), second), "topk", budget)
        assert found["context"] == expected
        assert "gain" not in "".join(found["snippets"][0] if found["snippets"] else {})
    assert pack(hits(hit(), second), "topk", 26)["snippets"][1]["span"] == [0, 9]


def test_a_cut_span_is_what_is_still_shown():
    """Blanks that printing changed do not move it."""
    text = "Ida  Vale\n\nbuilt   the mill. "
    found = pack(hits(hit(text=text, title=None)), "topk", 3)
    assert found["context"] == "Ida Vale built"
    assert found["snippets"][0]["span"] == [0, len("Ida  Vale\n\nbuilt")]


def test_nothing_but_a_header_is_left_out():
    found = pack(hits(hit(text="Ida.", title="A long title of a page")), "chunk_focused", 7)
    assert (found["context"], found["snippets"], found["tokens"], found["dropped"]) == ("", [], 0, 1)


def test_the_header_is_one_line_and_may_be_left_out():
    record = hits(hit(title=" Ostra \n Bridge ", text="It is\nlong."))
    assert pack(record, "chunk_packed")["context"] == "Ostra Bridge: It is long."
    assert pack(record, "chunk_packed:header=false")["context"] == "It is long."
    assert pack(record, "topk:header=false")["context"] == "It is long."


def test_sentences_of_the_record_are_taken():
    found = pack(hits(hit(sentences=[[0, 12], [12, 12], [13, 30]])), "chunk_packed:header=false", 99)
    assert sorted(snippet["span"] for snippet in found["snippets"]) == [[0, 12], [13, 30]]
    assert failure(open_pack(PackParams(("topk",), (9,))), hits(hit(sentences=[[0, 999]]))).startswith(
        "hits[0].sentences: [0, 999] is not inside the text of 84 characters"
    )


def test_windows():
    def spans(options):
        return [snippet["span"] for snippet in pack(hits(hit()), f"chunk_packed:{options}", 999)["snippets"]]

    assert sorted(spans("window=2")) == [[0, 56], [57, 84]]
    assert sorted(spans("window=2,stride=1")) == [[0, 56], [31, 84]]
    assert spans("window=9") == [[0, 84]]
    assert sorted(spans("nodes=1")) == [[0, 30]]


def test_hits_of_the_same_text_count_once():
    once, twice = (pack(hits(*found), "chunk_packed", 99) for found in ([hit()], [hit(), hit(2), hit(3)]))
    assert twice["context"] == once["context"]
    other = pack(hits(hit(), hit(2, text="Another text of it.")), "topk", 99)
    assert [snippet["rank"] for snippet in other["snippets"]] == [1, 2]


def test_no_candidates():
    for found in ([], [hit(text="")], [hit(text=" \n ")]):
        for one in packs(hits(*found), *POLICIES):
            assert (one["context"], one["tokens"], one["snippets"], one["dropped"]) == ("", 0, [], 0)


def test_a_question_without_words():
    for question in ("", "?", "Who is it?", "who who the"):
        for one in packs(hits(hit(), question=question), *POLICIES):
            assert one["tokens"] <= 20


def test_what_a_row_holds():
    found = hit(site="x", score=1.5, sentences=[[0, 30]], scores={"ig": None})
    record = hits(found, answers=["Ida Vale"], retrieve={"retriever": "bm25", "k": 5, "index": "pool"}, note=1)
    (row,) = rows(open_pack(PackParams(("chunk_submod",), (20,))), [record])
    assert list(row) == ["schema", "id", "question", "answers", "hits", "retrieve", "pack", "note"]
    assert row["hits"] == [{"rank": 1, "id": "ostra", "title": "Ostra Bridge", "score": 1.5, "has_answer": True,
                            "scores": {"ig": None}, "site": "x"}]  # fmt: skip
    assert list(row["hits"][0]) == ["rank", "id", "title", "score", "has_answer", "scores", "site"]
    assert 0 < row["pack"]["objective"] <= row["pack"]["bound"]


def test_has_answer_is_a_match_of_tokens_in_title_and_text():
    def known(answers, **fields):
        return rows(open_pack(PackParams(("topk",), (9,))), [hits(hit(**fields), answers=answers)])[0]["hits"][0][
            "has_answer"
        ]

    assert known(["ida vale"]) is True
    assert known(["Vale also"]) is True
    assert known(["da Val"]) is False
    assert known(["Ostra Bridge"], text="none") is True
    assert known([]) is None
    assert known(["the"]) is None, "it normalises to nothing"


def test_keys_follow_what_decides():
    def key(record, policy="chunk_mmr", budget=20):
        return pack(record, policy, budget)["key"]

    base = hits(hit())
    assert key(base) == key({**base, "answers": ["new"], "id": "b"}) == key(base, "chunk_mmr:lambda=0.7")
    assert len({key(base), key(base, budget=21), key(base, "chunk_mmr:lambda=0.6"), key(hits(hit(text="x"))),
                key(hits(hit(2))), key(hits(hit(), question="?"))}) == 6  # fmt: skip


def test_a_policy_gives_the_same_in_company():
    """Shared candidates and memos carry nothing over from one cell to the next."""
    lines = (ROOT / "fixtures/questions.jsonl").read_text("utf-8").split("\n")[:6]
    for question in map(json.loads, lines):
        found = [{"rank": at, "scores": {"ig": 0.1 / at}, **doc} for at, doc in enumerate(question.pop("docs")[:5], 1)]
        record = {**question, "schema": "ragpack.hits/1", "hits": found}
        together = packs(record, *POLICIES, budgets=(17, 96))
        alone = [pack(record, policy, budget) for policy in POLICIES for budget in (17, 96)]
        assert together == alone


@pytest.mark.parametrize(
    ("policies", "budgets", "expected"),
    [
        ((), (9,), "name at least one policy"),
        (("topk", "topk"), (9,), "given twice"),
        (("topk",), (), "give different whole numbers"),
        (("topk",), (9, 9), "give different whole numbers"),
        (("topk",), (-1,), "-1 is negative"),
        (("chunk_sumbod",), (9,), "Did you mean 'chunk_submod'"),
        (("chunk_packed:stride=-1",), (9,), "stride at least 0"),
    ],
)
def test_params(policies, budgets, expected):
    with pytest.raises(UsageError, match=expected):
        open_pack(PackParams(policies, budgets))


def test_packed_hits_cannot_be_packed_again():
    bare = {"rank": 1, "id": "x"}
    assert failure(open_pack(PackParams(("topk",), (9,))), hits(hit(), bare)) == "hits[1]: the field 'text' is missing"
