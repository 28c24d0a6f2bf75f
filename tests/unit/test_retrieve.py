"""retrieve: BM25 over pools and corpora."""

import json
import random
from dataclasses import replace

import bm25s
import numpy as np
import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st
from mapped import failure, rows

from ragpack.errors import DataError, UsageError
from ragpack.stages.retrieve import RetrieveParams, open_retrieve
from ragpack.text import STOP_WORDS, words

QUESTIONS = [json.loads(line) for line in (ROOT / "fixtures/questions.jsonl").read_text("utf-8").split("\n")[:20]]


def doc(id, text, title=None):
    return {"id": id, "text": text, **({"title": title} if title else {})}


def question(docs, text="Which bird is the tern?"):
    return {"id": "a", "question": text, "docs": docs}


def retrieved(record, **params):
    (row,) = rows(open_retrieve(RetrieveParams(**params)), [record])
    return [(hit["id"], hit["score"]) for hit in row["hits"]]


def corpus(tmp_path, docs, name="corpus.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in docs), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("spec", ["bm25", "bm25:k1=0.9,b=0.4", "bm25:k1=0,b=0", "bm25:b=1"])
def test_a_pool_scores_as_bm25s_does(spec):
    k1, b = {"bm25": (1.5, 0.75), "bm25:k1=0.9,b=0.4": (0.9, 0.4), "bm25:k1=0,b=0": (0, 0), "bm25:b=1": (1.5, 1)}[spec]
    for record in QUESTIONS:
        texts = [words(f"{one['title']} {one['text']}") for one in record["docs"]]
        index = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
        index.index(texts, show_progress=False)
        known = [word for word in words(record["question"]) if word in index.vocab_dict and word not in STOP_WORDS]
        scores = index.get_scores(known)
        found = retrieved(record, k=10, retriever=spec)
        expected = {one["id"]: score for one, score in zip(record["docs"], scores, strict=True) if score > 0}
        assert dict(found) == pytest.approx(expected, rel=1e-9)
        assert [score for _, score in found] == sorted(expected.values(), reverse=True) or np.allclose(
            [score for _, score in found], sorted(expected.values(), reverse=True), rtol=1e-9
        )


def test_a_pool_and_a_corpus_of_the_same_documents_agree(tmp_path):
    """Two ways to one formula: the second one in single precision."""
    for number, record in enumerate(QUESTIONS[:8]):
        path = corpus(tmp_path, record["docs"], f"{number}.jsonl")
        from_pool, from_corpus = retrieved(record, k=10), retrieved(record, k=10, corpus=path)
        assert [name for name, _ in from_pool] == [name for name, _ in from_corpus]
        assert dict(from_pool) == pytest.approx(dict(from_corpus), rel=1e-5)


def test_score_by_hand():
    """df=1 of N=2, |d|=4, mean length 3: ln(1 + 1.5/1.5) * 1 / (1 + 1.5 * (0.25 + 0.75 * 4/3))."""
    docs = [doc("x", "the tern flies far"), doc("y", "no word")]
    assert retrieved(question(docs, "tern?")) == [("x", pytest.approx(np.log(2) / (1 + 1.5 * (0.25 + 1)), rel=1e-12))]


def test_ties_go_by_id(tmp_path):
    docs = [doc(name, "a tern") for name in ("b", "é", "a", "B", "10", "9")] + [doc("z", "no bird")]
    order = ["10", "9", "B", "a", "b", "é"]
    assert [name for name, _ in retrieved(question(docs, "tern"), k=9)] == order
    assert [name for name, _ in retrieved(question(docs, "tern"), k=3)] == order[:3]
    path = corpus(tmp_path, docs)
    assert [name for name, _ in retrieved(question([], "tern"), k=3, corpus=path)] == order[:3]


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join), min_size=1, max_size=7), st.randoms())
def test_the_order_of_a_pool_changes_nothing(texts, shuffle):
    docs = [doc(f"d{at}", text) for at, text in enumerate(texts)]
    record = question(docs, "b c d e b")
    mixed = question(shuffle.sample(docs, len(docs)), "b c d e b")
    stage = open_retrieve(RetrieveParams(k=3))
    assert rows(stage, [record])[0]["hits"] == rows(stage, [mixed])[0]["hits"], "to the last bit"


def test_the_order_of_a_corpus_changes_no_hit(tmp_path):
    docs = [one for record in QUESTIONS[:5] for one in record["docs"]]
    docs = list({one["id"]: one for one in docs}.values())
    mixed = random.Random(1).sample(docs, len(docs))
    one, other = (corpus(tmp_path, found, name) for found, name in ((docs, "a"), (mixed, "b")))
    for record in QUESTIONS[:10]:
        assert retrieved(record, corpus=one) == retrieved(record, corpus=other)


def test_nothing_in_common_is_no_hit(tmp_path):
    assert retrieved(question([doc("x", "fish"), doc("y", "")], "tern")) == []
    assert retrieved(question([], "tern")) == []
    assert retrieved(question([doc("x", "who is it")], "Who is it?")) != [], "stop words alone are better than nothing"
    path = corpus(tmp_path, [doc("x", "fish")])
    assert retrieved(question([], "tern"), corpus=path) == []


def test_what_a_row_holds(tmp_path):
    docs = [{**doc("x", "a tern.", "Tern"), "sentences": [[0, 7]], "meta": {"n": 1}}]
    record = {"id": "a", "note": [1], "question": "tern?", "answers": ["x"], "docs": docs, "meta": {"m": 2}}
    (row,) = rows(open_retrieve(RetrieveParams(k=2, retriever="bm25:b=0.75,k1=1.5")), [record])
    assert list(row) == ["schema", "id", "question", "answers", "meta", "hits", "retrieve", "note"]
    assert list(row["hits"][0]) == ["rank", "id", "title", "text", "score", "sentences"]
    assert {key: row["retrieve"][key] for key in ("retriever", "k", "index")} == {
        "retriever": "bm25", "k": 2, "index": "pool"}  # fmt: skip


def test_keys_follow_what_decides(tmp_path):
    def key(record, **params):
        return rows(open_retrieve(RetrieveParams(**params)), [record])[0]["retrieve"]["key"]

    base = question([doc("x", "a tern")])
    assert key(base) == key({**base, "answers": ["new"]})
    assert len({key(base), key(base, k=4), key(base, retriever="bm25:b=0.5"), key(question([doc("x", "tern")]))}) == 4
    stage = open_retrieve(RetrieveParams())
    newer = replace(stage, version=stage.version + 1)
    assert rows(newer, [base])[0]["retrieve"]["key"] != key(base), "a stage that computes otherwise is not cached"
    one, same, other = (corpus(tmp_path, [doc("x", text)], text) for text in ("tern", "tern", "gull"))
    assert key(base, corpus=one) == key(question([]), corpus=same) != key(base, corpus=other)


def test_documents_that_come_twice(tmp_path):
    twice = question([doc("x", "tern"), doc("x", "tern"), doc("y", "fish")])
    once = question([doc("x", "tern"), doc("y", "fish")])
    assert retrieved(twice) == retrieved(once)
    stage = open_retrieve(RetrieveParams())
    assert failure(stage, question([doc("x", "tern"), doc("x", "gull")])).startswith(
        "docs[1]: the id 'x' names another"
    )
    with pytest.raises(DataError, match=r"corpus.jsonl:3: id=x: the id is on line 1 too"):
        open_retrieve(RetrieveParams(corpus=corpus(tmp_path, [doc("x", "1"), doc("y", "2"), doc("x", "1")])))


def test_bad_corpora(tmp_path):
    with pytest.raises(UsageError, match="no documents"):
        open_retrieve(RetrieveParams(corpus=corpus(tmp_path, [])))
    with pytest.raises(DataError, match=r":2: the field 'text' is missing"):
        open_retrieve(RetrieveParams(corpus=corpus(tmp_path, [doc("x", "1"), {"id": "y"}])))
    with pytest.raises(UsageError, match="no such file"):
        open_retrieve(RetrieveParams(corpus=str(tmp_path / "none")))


def test_a_question_without_documents_of_its_own():
    assert failure(open_retrieve(RetrieveParams()), {"id": "a", "question": "?"}).startswith(
        "the question has no 'docs'"
    )


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"k": 0}, "-k: 0 is less than 1"),
        ({"retriever": "bm52"}, "Did you mean 'bm25'"),
        ({"retriever": "bm25:b=2"}, "b is between 0 and 1"),
        ({"retriever": "bm25:k1=-1"}, "k1 is at least 0"),
    ],
)
def test_params(params, expected):
    with pytest.raises(UsageError, match=expected):
        open_retrieve(RetrieveParams(**params))
