"""The index of a corpus against bm25s: every variant, shards, and bm25s itself on the same files."""

import random

import bm25s
import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.candidates.lexical import METHODS, bm25
from ragpack.errors import Missing, UsageError
from ragpack.records import Doc
from ragpack.retrievers.bm25 import needs_of, open_retriever
from ragpack.retrievers.corpus import Corpus, read_corpus
from ragpack.retrievers.postings import Postings, Variant, build


def some_texts(seed, n):
    """Skewed word frequencies, some empty texts, one of another script."""
    draw = random.Random(seed)
    names = [f"w{at}" for at in range(60)]
    texts = [draw.choices(names, [1 / (at + 1) for at in range(60)], k=draw.choice([0, 1, 6, 30])) for _ in range(n)]
    return [*texts, ["東", "京", "w0"], texts[0]]


def built(folder, texts, method="lucene", k1=1.5, b=0.75, shard_size=10**6):
    build(iter(texts), folder, Variant(method, k1, b), shard_size)
    return Postings(folder, np.arange(len(texts)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0), (1.2, 1.0)])
def test_scores_are_those_of_bm25s(tmp_path, method, k1, b):
    """Of an index, and of a pool; a word comes twice, one is unknown. bm25s adds to every document what absent words
    count in bm25l and bm25+; ours are no hits unless they hold a word."""
    texts = some_texts(1, 40)
    index = bm25s.BM25(method=method, k1=k1, b=b)
    index.index(texts, show_progress=False)
    ours = built(tmp_path, texts, method, k1, b)
    for query in (["w0", "w5", "w5", "none"], ["w30", "東"], ["w1"], ["w2", "w3", "w4"]):
        scores = index.get_scores(query)
        zero = index.get_scores([*query]).min() if method in ("bm25l", "bm25+") else 0.0
        expected = {at: score for at, score in enumerate(scores) if score > zero * (1 + 1e-6)}
        found = ours.search(query, 1000)
        assert dict(found) == pytest.approx(expected, rel=2e-6)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        pool = bm25(query, texts, k1=k1, b=b, method=method)
        assert {at: score for at, score in enumerate(pool) if score > 0} == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("method", METHODS)
def test_bm25s_opens_a_shard(tmp_path, method):
    """The files are its own format: weights, documents, runs, vocabulary, parameters."""
    texts = some_texts(2, 50)
    ours = built(tmp_path, texts, method)
    theirs = bm25s.BM25.load(tmp_path / "shard-0", mmap=True)
    fresh = bm25s.BM25(method=method)
    fresh.index(texts, show_progress=False)
    assert (theirs.method, theirs.k1, theirs.b, theirs.scores["num_docs"]) == (method, 1.5, 0.75, len(texts))
    for query in (["w0", "w7"], ["w1", "w1", "東"]):
        assert theirs.get_scores(query) == pytest.approx(fresh.get_scores(query), rel=2e-6)
        scores = theirs.get_scores(query)
        for place, score in ours.search(query, 7):
            assert score == pytest.approx(float(scores[place]), rel=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 12), st.sampled_from(METHODS), st.integers(1, 9))
def test_shards_change_nothing(tmp_path_factory, seed, n, shard_size, method, k):
    """To the last bit: frequencies and the mean length are those of the whole corpus."""
    texts = some_texts(seed, n)
    whole = built(tmp_path_factory.mktemp("whole"), texts, method)
    folder = tmp_path_factory.mktemp("parts")
    parts = built(folder, texts, method, shard_size=shard_size)
    assert len(list(folder.glob("shard-*"))) == -(-len(texts) // shard_size)
    assert not list(folder.glob("blocks-*"))
    draw = random.Random(seed)
    for _ in range(4):
        query = draw.choices(["w0", "w1", "w9", "東", "none", "w40"], k=draw.randint(0, 5))
        assert parts.search(query, k) == whole.search(query, k)


def test_blocks_of_a_large_corpus(tmp_path):
    """More documents than a block has, more words than the first array of frequencies."""
    draw = random.Random(5)
    texts = [[f"x{draw.randrange(200_000)}" for _ in range(20)] + ["all"] for _ in range(9000)]
    ours = built(tmp_path, texts, shard_size=5000)
    index = bm25s.BM25(method="lucene")
    index.index(texts, show_progress=False)
    for query in ([texts[4500][0], texts[8999][3], "all"], [texts[0][1], texts[0][2]]):
        scores = index.get_scores(query)
        best = [at for at in np.lexsort((np.arange(len(texts)), -scores))[:10] if scores[at] > 0]
        found = ours.search(query, 10)
        assert [one.score for one in found] == pytest.approx(scores[best].tolist(), rel=2e-6)
        assert all(one.score == pytest.approx(float(scores[one.place]), rel=2e-6) for one in found)


def docs_of(*texts):
    return [Doc(id=str(at), text=text) for at, text in enumerate(texts)]


def ids(retriever, question, docs=None):
    return [one.doc.id for one in retriever.search(question, docs, 9)]


def test_stemming_and_stop_words():
    """The stem of both sides; stop words are known before they are stemmed."""
    docs = docs_of("the terns were flying", "a tern flies over the sea", "who", "gull")
    corpus = Corpus(docs, "")
    for opened, pool in ((corpus, None), (None, docs)):
        assert ids(open_retriever(opened), "fly tern", pool) == ["1"]
        assert sorted(ids(open_retriever(opened, stemmer="english"), "fly tern", pool)) == ["0", "1"]
        assert ids(open_retriever(opened), "who flies", pool) == ["1"]
        assert sorted(ids(open_retriever(opened, stop=False), "who flies", pool)) == ["1", "2"]
        assert ids(open_retriever(opened), "who", pool) == ["2"], "stop words alone are better than nothing"
    with pytest.raises(UsageError, match="Did you mean 'english'"):
        open_retriever(corpus, stemmer="englsh")


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "Stemmer", None)
    with pytest.raises(Missing, match=r"needs the extra 'stem': pip install 'ragpack\[stem\]'"):
        open_retriever(None, stemmer="english")


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_and_a_corpus_agree(tmp_path, method):
    docs = [Doc(id=f"d{at}", text=" ".join(text)) for at, text in enumerate(some_texts(7, 25))]
    path = tmp_path / "c"
    path.write_bytes(b"".join(orjson.dumps({"id": one.id, "text": one.text}) + b"\n" for one in docs))
    retriever = open_retriever(read_corpus(str(path)), None, print, 9, method=method, k1=0.9)
    for question in ("w0 w3", "w12 東 w1 w1", "w50"):
        pool, corpus = (retriever.search(question, given, 30) for given in (docs, None))
        assert {one.doc.id: one.score for one in pool} == pytest.approx(
            {one.doc.id: one.score for one in corpus}, rel=2e-6
        )


def test_needs_are_told_before(tmp_path):
    """The estimate against what is written: postings of a corpus whose texts are alike are told exactly."""
    docs = docs_of(*[f"alpha beta gamma w{at}" for at in range(3000)])
    needs = needs_of(docs, 1000)
    assert (needs.passages, needs.shards) == (3000, 3)
    assert needs.work - needs.disk == 12 * 4 * 3000
    open_retriever(Corpus(docs, "x"), tmp_path, print, 1000)
    written = sum(one.stat().st_size for one in tmp_path.rglob("*.csc.index.npy") if "indptr" not in one.name)
    assert 8 * 4 * 3000 <= written < 8 * 4 * 3000 + 6 * 200
    assert "3,000 passages in 3 shards" in str(needs)
    assert "in 1 shard:" in str(needs._replace(shards=1))


def test_a_scored_place_is_an_index(tmp_path):
    ours = built(tmp_path, [["a"], ["b"], ["a", "b"]], shard_size=1)
    assert [one.place for one in ours.search(["b"], 5)] == [1, 2]
    assert ours.search([], 5) == []
    assert ours.search(["none"], 5) == []
