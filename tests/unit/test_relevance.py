"""Relevance of candidates: by words, by rank, or by the word of whoever scored the hits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapped import mapped, rows

from ragpack.candidates.lexical import bm25
from ragpack.candidates.relevance import RELEVANCES, relevance_of, scaled
from ragpack.candidates.snippet import Candidate, Document
from ragpack.errors import UsageError
from ragpack.flow.streams import Line
from ragpack.stages.pack import PackParams, open_pack
from ragpack.text import content_terms, words

QUESTION = "Who built the mill?"
TEXTS = ["A mill. Ida Vale built the mill.", "The Lisk runs.", "A tern."]


def hit(rank, **fields):
    return {"rank": rank, "id": f"d{rank}", "text": TEXTS[rank - 1], **fields}


def hits(*found):
    return {"schema": "ragpack.hits/1", "id": "a", "question": QUESTION, "hits": list(found)}


def relevance(record, name, space="chunk_packed", more=""):
    """[n] in canonical order."""
    found = rows(open_pack(PackParams((f"{space}:relevance={name}{more}",), (99,), explain=True)), [record])
    return [row["relevance"] for row in found[0]["pack"]["explain"]]


def failed(record, policy):
    (done,) = mapped(open_pack(PackParams((policy,), (9,))), [record])
    return done.failed


def test_bm25_is_of_each_snippet():
    """Of its line's words against the content terms of the question, over the candidates; the best has 1."""
    record = hits(hit(1), hit(2), hit(3))
    lines = ["A mill.", "Ida Vale built the mill.", "The Lisk runs.", "A tern."]
    scores = bm25(content_terms(QUESTION), [words(line) for line in lines])
    assert relevance(record, "bm25") == pytest.approx((scores / scores.max()).tolist())
    assert relevance(record, "bm25")[1:] == [1.0, 0.0, 0.0]
    titled = hits(hit(2, title="The mill"), hit(3))
    assert relevance(titled, "bm25") == [1.0, 0.0], "the title is part of the line"
    assert relevance(titled, "bm25", more=",header=false") == [0.0, 0.0]


def test_the_others_are_of_the_hit_and_so_of_all_its_snippets():
    record = hits(
        hit(1, score=4.0, scores={"ig": 0.1, "dense": -0.5}),
        hit(2, score=3.0, scores={"ig": 0.2, "dense": 0.5}),
        hit(3, score=1.0, scores={"ig": -0.2, "dense": 0.0}),
    )
    assert relevance(record, "rank") == pytest.approx([1, 1, 1 / 2, 1 / 3])
    assert relevance(record, "score") == pytest.approx([1, 1, 3 / 4, 1 / 4])
    # -0.2 is the least and becomes 0: (0.1 + 0.2) / (0.2 + 0.2)
    assert relevance(record, "ig") == pytest.approx([3 / 4, 3 / 4, 1, 0])
    assert relevance(record, "dense") == pytest.approx([0, 0, 1, 1 / 2])


def test_ranks_may_begin_anywhere():
    """A filtered list: the best of those left has 1."""
    assert relevance(hits(hit(2), hit(3)), "rank") == pytest.approx([1, 2 / 3])


def test_relevance_decides():
    """The lexically best is the hit of the lowest score."""
    record = hits(hit(1, score=1.0), hit(2, score=5.0), hit(3, score=3.0))
    by = {name: rows(open_pack(PackParams((f"chunk_packed:relevance={name}",), (4,))), [record])[0]["pack"]["context"]
          for name in ("bm25", "score", "rank")}  # fmt: skip
    assert by == {"bm25": "", "score": "The Lisk runs.", "rank": "A mill."}


@pytest.mark.parametrize(
    ("name", "fields", "expected", "hint"),
    [
        ("ig", {}, "hit of rank 2: scores.ig is missing: relevance=ig needs it", "`ragpack generate --probe ig`"),
        ("ig", {"scores": {"ig": None}}, "hit of rank 2: scores.ig is missing", "`ragpack generate --probe ig`"),
        ("dense", {"scores": {"ig": 1.0}}, "hit of rank 2: scores.dense is missing", "A dense retriever"),
        ("score", {}, "hits of rank 2: score is missing: relevance=score needs it", None),
        ("score", {"score": None}, "score is missing", None),
    ],
)
def test_a_missing_score_names_the_hit_and_who_adds_it(name, fields, expected, hint):
    full = {"score": 1.0, "scores": {"ig": 1.0, "dense": 1.0}}
    error = failed(hits(hit(1, **full), hit(2, **fields)), f"chunk_mmr:relevance={name}")
    assert expected in error.message
    assert hint is None or hint in error.hint


def test_one_record_without_scores_does_not_spoil_the_others():
    good = hits(hit(1, scores={"ig": 1.0}))
    stage = open_pack(PackParams(("chunk_packed:relevance=ig",), (9,)))
    assert [done.failed is None for done in mapped(stage, [good, hits(hit(1)), good])] == [True, False, True]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_no_finite_number_is_no_score(value):
    """A line can't hold one (JSON has none), a record made in Python can."""
    document = Document("x", "", "a", 7, [(0, 1)], value, {"ig": value})
    for name in ("ig", "score"):
        with pytest.raises(Exception, match=r"rank 7.*is no finite number"):
            relevance_of(name, [], [[]], [document], [Candidate(0, 0, (0, 1), "", "a")])


def test_nan_in_a_line_is_no_json():
    from ragpack.flow.mapper import Mapper

    line = b'{"schema":"ragpack.hits/1","id":"a","question":"?","hits":[{"rank":1,"id":"x","text":"a","score":NaN}]}'
    (done,) = Mapper(open_pack(PackParams(("topk",), (9,))))(iter([Line("in", 1, line)]))
    assert "JSON" in done.failed.message


def test_values_of_relevance():
    assert set(RELEVANCES) == {"bm25", "dense", "ig", "rank", "score"}
    with pytest.raises(UsageError, match="relevance=bm52 is not one of bm25, "):
        open_pack(PackParams(("chunk_packed:relevance=bm52",), (9,)))
    with pytest.raises(UsageError, match="embedder=m is for relevance=dense, not for relevance=bm25"):
        open_pack(PackParams(("chunk_packed:embedder=m",), (9,)))
    with pytest.raises(UsageError, match="'topk' has no parameter 'relevance'"):
        open_pack(PackParams(("topk:relevance=rank",), (9,)))


@given(st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), max_size=8))
def test_scaled(values):
    """From 0 to 1, the largest 1 unless all are equal and at most 0; the order stays; positive ones keep their
    ratios."""
    found = scaled(np.array(values, dtype=np.float64))
    assert ((found >= 0) & (found <= 1)).all()
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if a > b:
                assert found[i] > found[j]
            if a == b:
                assert found[i] == found[j]
    if values and min(values) >= 0 and max(values) > 0:
        assert found == pytest.approx(np.array(values) / max(values))
    if values and (max(values) > 0 or min(values) < max(values)):
        assert found.max() == 1.0


def test_scores_as_large_as_they_get():
    with np.errstate(all="raise"):
        assert scaled(np.array([1.7e308, 0.0, -1.7e308])).tolist() == [1.0, 0.5, 0.0]
        assert scaled(np.array([1.7e308, 1.7e307])) == pytest.approx([1.0, 0.1])


@pytest.mark.parametrize("rank", [0, -3])
def test_ranks_count_from_1(rank):
    """A run that counts from 0 is found out at once, whatever the policy."""
    for policy in ("topk", "chunk_packed:relevance=rank", "ragpack"):
        error = failed(hits(hit(1), hit(2) | {"rank": rank}), policy)
        assert error.message == f"hits[1].rank: ranks count from 1, got {rank}"


def test_scores_of_twins_are_those_of_the_first_in_canonical_order():
    """Hits of the same id and text count once; which scores count does not depend on where they stand."""
    one, other = hit(1, scores={"ig": 0.3}), hit(1, scores={"ig": 0.1})
    third = hit(2, scores={"ig": 0.6})
    assert relevance(hits(one, other, third), "ig") == relevance(hits(third, other, one), "ig")
