"""Retrieval over hops. Facts are invented."""

import json
import random
import subprocess
import sys

import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st
from mapped import rows

from ragpack.checked import view
from ragpack.errors import UsageError
from ragpack.records import Hits
from ragpack.retrievers.hops import Hops
from ragpack.retrievers.links import COMMON
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

POOL = [
    {"id": "film", "title": "Red Lisk (film)", "text": "Red Lisk is a film directed by Ida Vale."},
    {"id": "ida", "title": "Ida Vale", "text": "Born in Ostra. Her father was Rex Vale."},
    {"id": "rex", "title": "Rex Vale", "text": "A painter from Upper Terngau."},
    {"id": "far", "title": "Upper Terngau", "text": "It has three bridges."},
    {"id": "noise", "title": "Father", "text": "What a father does, a film director may show."},
    {"id": "none", "title": "Gull", "text": "Nothing."},
]
ASKED = "Who is the father of the director of Red Lisk?"


def retrieved(docs, text=ASKED, spec="hops", k=9, **params):
    record = {"id": "a", "question": text, "docs": docs}
    (row,) = rows(open_retrieve(RetrieveParams(k=k, retriever=spec, **params)), [record])
    assert view(row, (Hits,))
    return row["hits"]


def ids(hits):
    return [hit["id"] for hit in hits]


def steps(hits):
    return {hit["id"]: (hit["scores"]["hop"], hit.get("bridge")) for hit in hits}


def corpus(tmp_path, docs, name="corpus.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    return str(path)


def test_a_chain_is_followed_hop_by_hop():
    """Film, its director, her father: the third shares no word with the question."""
    assert "rex" not in ids(retrieved(POOL, spec="bm25"))
    hits = retrieved(POOL, spec="hops:n=3")
    assert steps(hits)["film"] == (0, None)
    assert steps(hits)["ida"] == (1, "film")
    assert steps(hits)["rex"] == (2, "ida")
    assert steps(hits)["far"] == (3, "rex")
    assert ids(hits)[:3] == ["film", "ida", "rex"], "before the one that has the question's words"
    assert "none" not in ids(hits), "neither a word nor a path leads to it"


@pytest.mark.parametrize(("n", "reached"), [(0, set()), (1, {"ida"}), (2, {"ida", "rex"}), (3, {"ida", "rex", "far"})])
def test_n_is_the_longest_path(n, reached):
    hits = retrieved(POOL, "Who made Red Lisk?", f"hops:n={n},names=0,back=0")
    assert {hit["id"] for hit in hits if hit["scores"]["hop"] > 0} == reached


def test_scores_by_hand():
    """keep=1, all else off but own=.5. x is best: 1. Its only mention is y: 1 * 1 * 1 + .5 * y's share of x's score."""
    docs = [
        {"id": "x", "title": "Lisk", "text": "a tern tern met Ida Vale"},
        {"id": "y", "title": "Ida Vale", "text": "once a tern sang in the old tree by the long grey house"},
    ]
    base = {hit["id"]: hit["score"] for hit in retrieved(docs, "tern?", "bm25")}
    assert base["x"] > base["y"]
    hits = {hit["id"]: hit for hit in retrieved(docs, "tern?", "hops:n=1,keep=1,back=0,names=0,rest=0,own=0.5")}
    top = max(base.values())
    assert hits["x"]["score"] == pytest.approx(1.0)
    assert hits["y"]["score"] == pytest.approx(1.0 * 1.0 + 0.5 * base["y"] / top)
    assert (hits["y"]["scores"]["link"], hits["y"]["scores"]["hop"], hits["y"]["bridge"]) == (1.0, 1, "x")
    assert hits["x"]["scores"] == {"base": pytest.approx(base["x"]), "link": None, "hop": 0}
    assert hits["y"]["scores"]["base"] == pytest.approx(base["y"])


def test_a_title_in_the_question_lifts_both_of_a_comparison():
    """`tern` is in every text; the titles decide."""
    docs = [{"id": str(at), "title": title, "text": "a tern, a tern, the older, the first"}
            for at, title in enumerate(["Gull", "Rail", "Ida Vale", "Rex Vale", "Coot"])]  # fmt: skip
    assert set(ids(retrieved(docs, "Which tern is older, Ida Vale or Rex Vale?"))[:2]) == {"2", "3"}
    asked = "Is a tern older than Ida Vale?"
    lifted, plain = (
        {hit["id"]: hit["score"] for hit in retrieved(docs, asked, f"hops:n=0,same=0,lift={at}")} for at in (1, 0)
    )
    assert lifted["2"] == pytest.approx(plain["2"] + 1)
    assert lifted["0"] == pytest.approx(plain["0"])


def test_names_that_the_question_lacks_are_links():
    """No title is mentioned; `Ostra` joins the two. What the question says itself joins nothing."""
    docs = [
        {"id": "a", "title": "Lisk", "text": "The Lisk ends in Ostra."},
        {"id": "b", "title": "Mayors", "text": "Ostra chose Ida Vale."},
        {"id": "c", "title": "Owls", "text": "Owls hunt."},
    ]
    assert steps(retrieved(docs, "Where does the Lisk end?"))["b"] == (1, "a")
    assert ids(retrieved(docs, "Where does the Lisk end?", "hops:names=0")) == ["a"]
    # `Ostra` is in the question now, and in the best document: b comes by its own words alone.
    assert steps(retrieved(docs, "Where near Ostra does the Lisk end?"))["b"] == (0, None)


def test_common_names_are_no_links():
    """What a search follows does not grow with the corpus."""
    start = {"id": "a", "title": None, "text": "lisk Ostra"}
    few = [{"id": f"{at:03}", "title": None, "text": "Ostra"} for at in range(COMMON - 1)]
    assert len(retrieved([start, *few], "lisk?", k=99)) == COMMON
    assert ids(retrieved([start, *few, {"id": "z", "title": None, "text": "Ostra"}], "lisk?", k=99)) == ["a"]


def test_scores_do_not_feed_on_themselves():
    """Two documents that link to each other: the first keeps its own score, and the second hangs on it."""
    docs = [
        {"id": "a", "title": "Ida Vale", "text": "lisk Rex Vale"},
        {"id": "b", "title": "Rex Vale", "text": "Ida Vale"},
    ]
    for n in (1, 2, 5, 9):
        hits = retrieved(docs, "lisk?", f"hops:n={n}")
        assert steps(hits) == {"a": (0, None), "b": (1, "a")}
        assert hits[0]["score"] == pytest.approx(1.0)


def test_without_anything_to_follow_it_is_the_base():
    docs = [{"id": str(at), "text": text} for at, text in enumerate(["a tern", "tern tern lisk", "b", "lisk tern x y"])]
    assert ids(retrieved(docs, "tern lisk")) == ids(retrieved(docs, "tern lisk", "bm25"))


@pytest.mark.parametrize(
    ("docs", "text"),
    [
        ([], "Which?"),
        ([{"id": "a", "title": "", "text": ""}], "Which?"),
        ([{"id": "a", "title": "The", "text": "The The"}, {"id": "b", "title": "!", "text": "?"}], "…"),
        ([{"id": "a", "title": "東京", "text": "東京 tower"}], "東京?"),
        ([{"id": "a", "title": "Ida Vale", "text": "Ida Vale"}] * 2, ""),
    ],
)
def test_odd_input_gives_no_error(docs, text):
    hits = retrieved(docs, text)
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))


def test_titles_that_come_twice():
    """As in MuSiQue: two paragraphs of one title are two documents, and a mention leads to both."""
    docs = [{"id": "0", "title": "Lisk", "text": "The lisk meets Ida Vale."},
            {"id": "1", "title": "Ida Vale", "text": "Born in Terngau."},
            {"id": "2", "title": "Ida Vale", "text": "A career."}]  # fmt: skip
    assert steps(retrieved(docs, "lisk?", "hops:names=0,back=0")) == {"0": (0, None), "1": (1, "0"), "2": (1, "0")}


def test_a_larger_k_only_adds():
    hits = retrieved(POOL, k=99)
    for k in range(1, len(hits) + 1):
        assert retrieved(POOL, k=k) == hits[:k]


PARTS = ("Ida Vale", "Rex Vale", "Ostra", "the tern", "lisk", "met", ".", "Upper Terngau")


DOCS = st.lists(st.tuples(st.sampled_from(PARTS), st.lists(st.sampled_from(PARTS), max_size=6)), min_size=1, max_size=7)


@given(DOCS, st.randoms())
def test_the_order_of_a_pool_changes_nothing(parts, shuffle):
    docs = [{"id": f"d{at}", "title": title, "text": " ".join(text)} for at, (title, text) in enumerate(parts)]
    mixed = shuffle.sample(docs, len(docs))
    assert retrieved(docs, "the tern lisk of Rex Vale") == retrieved(mixed, "the tern lisk of Rex Vale")


def test_a_corpus_and_a_pool_find_the_same(tmp_path):
    """The order of the corpus changes nothing, and its base scores are those of the pool in single precision."""
    one = retrieved([], corpus=corpus(tmp_path, POOL))
    assert one == retrieved([], corpus=corpus(tmp_path, random.Random(3).sample(POOL, len(POOL)), "mixed"))
    assert [(hit["id"], hit.get("bridge")) for hit in one] == [
        (hit["id"], hit.get("bridge")) for hit in retrieved(POOL)
    ]


def test_every_process_finds_the_same():
    """Sets of strings have another order in each process; no sum may follow it."""
    command = [sys.executable, "-m", "ragpack", "retrieve", "fixtures/questions.jsonl", "--retriever", "hops", "-q"]
    outs = {subprocess.run(command, cwd=ROOT, env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
                           capture_output=True, check=True).stdout for seed in ("1", "2", "3")}  # fmt: skip
    assert len(outs) == 1


def test_the_version_is_in_the_key(monkeypatch):
    def key(spec):
        (row,) = rows(open_retrieve(RetrieveParams(retriever=spec)), [{"id": "a", "question": ASKED, "docs": POOL}])
        return row["retrieve"]["key"]

    before = key("hops"), key("bm25")
    assert key("hops:n=2") == before[0] != key("hops:n=3")
    monkeypatch.setattr(Hops, "version", Hops.version + 1)
    assert key("hops") != before[0]
    assert key("bm25") == before[1]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("hops:base=bm52", "base=bm52 is no retriever to start from. Did you mean 'bm25'?"),
        ("hops:base=hops", "base=hops is no retriever to start from"),
        ("hops:n=-1", "n is at least 0"),
        ("hops:beam=0", "beam at least 1"),
        ("hops:keep=1.5", "keep=1.5: weights are at least 0; keep, title, back and names at most 1"),
        ("hops:lift=-1", "lift=-1.0: weights are at least 0"),
        ("hops:hop=2", "has no parameter 'hop'"),
    ],
)
def test_bad_specs(spec, expected):
    with pytest.raises(UsageError) as caught:
        open_retrieve(RetrieveParams(retriever=spec))
    assert expected in str(caught.value)
