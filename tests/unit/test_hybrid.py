"""Several retrievers fused, and specs in specs. No model is needed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapped import rows

from ragpack.errors import UsageError
from ragpack.records import Doc
from ragpack.registry import Spec, inner_specs, inner_text, parse_spec
from ragpack.retrievers import RETRIEVERS
from ragpack.retrievers.base import Found
from ragpack.retrievers.hybrid import Hybrid
from ragpack.retrievers.parts import Part, named
from ragpack.stages.retrieve import RetrieveParams, open_retrieve, options_of

DOCS = [
    {"id": "a", "title": "Tern", "text": "A tern is a bird. A tern."},
    {"id": "b", "title": "Gull", "text": "The gull is no tern, it is a gull bird of the coast and of the inland."},
    {"id": "c", "title": "Lisk", "text": "A river."},
    {"id": "d", "title": "Coot", "text": "Which is it?"},
]


def retrieved(spec, docs=DOCS, question="Which bird is the tern?", k=9, **params):
    record = {"id": "q", "question": question, "docs": docs}
    return rows(open_retrieve(RetrieveParams(k=k, retriever=spec, **params)), [record])[0]


class Given:
    """Finds what it is told to find, worst last."""

    def __init__(self, scores):
        self.scores = scores

    def search(self, question, docs, k):
        found = [Found(Doc(id=name, text=name), score) for name, score in self.scores.items()]
        return sorted(found, key=lambda one: (-one.score, one.doc.id))[:k]


def fused(parts, fuse="rrf", weights=None, c=60.0, depth=100, k=9):
    made = [Part(name, Spec(name), Given(scores)) for name, scores in parts.items()]
    found = Hybrid(made, weights or [1.0] * len(made), fuse, c, depth).search("?", None, k)
    return {one.doc.id: (one.score, one.scores) for one in found}


PARTS = {"bm25": {"x": 9.0, "y": 5.0, "z": 1.0}, "dense": {"y": 0.8, "w": 0.6}}


def test_ranks_by_hand():
    """c = 60: y is second and first, x first, w second, z third."""
    found = fused(PARTS)
    assert list(found) == ["y", "x", "w", "z"]
    assert [found[name][0] for name in "yxwz"] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])
    assert found["y"][1] == {"bm25": 5.0, "dense": 0.8}
    assert found["x"][1] == {"bm25": 9.0, "dense": None}
    assert [fused(PARTS, c=0, weights=[2, 1])[name][0] for name in "xy"] == pytest.approx([2.0, 1.0 + 1.0])


def test_scores_by_hand():
    """bm25 from 1 to 9: x 1, y 1/2, z 0. dense from .6 to .8: y 1, w 0. Weights 1 and 3."""
    found = fused(PARTS, "weighted", [1, 3])
    assert {name: score for name, (score, _) in found.items()} == pytest.approx({"y": 3.5, "x": 1, "w": 0, "z": 0})
    assert list(found) == ["y", "x", "w", "z"], "ties by id"
    assert fused({"bm25": {"x": 2.0, "y": 2.0}}, "weighted")["y"][0] == 1.0


def test_depth_and_k():
    assert list(fused(PARTS, depth=1, k=1)) == ["x"], "each part is asked for one: x and y tie, the id decides"
    assert list(fused(PARTS, depth=1, k=2)) == ["y", "x"], "k is more than depth"


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(-3, 3).map(float)), st.sampled_from(["rrf", "weighted"]))
def test_one_part_keeps_its_order(scores, fuse):
    assert list(fused({"bm25": scores}, fuse)) == [one.doc.id for one in Given(scores).search("", None, 9)]


def test_both_spellings_are_one():
    short, long = (parse_spec(text, "retriever", RETRIEVERS, options_of)
                   for text in ("hybrid:bm25+hops,fuse=weighted", "hybrid:fuse=weighted,of=bm25+hops"))  # fmt: skip
    assert short == long
    row = retrieved("hybrid:bm25+hops")
    assert row["retrieve"]["retriever"] == "hybrid:of=bm25+hops"
    assert row["retrieve"]["key"] == retrieved("hybrid:of=bm25+hops")["retrieve"]["key"]
    assert {"bm25", "hops", "link", "hop", "base"} <= set(row["hits"][0]["scores"])


def test_parts_have_parameters():
    plain, other = retrieved("bm25:b=0.1,k1=0.5"), retrieved("hybrid:bm25(k1=0.5;b=0.1)+bm25")
    scores = {hit["id"]: hit["score"] for hit in plain["hits"]}
    usual = {hit["id"]: hit["score"] for hit in retrieved("bm25")["hits"]}
    for hit in other["hits"]:
        assert hit["scores"] == {"bm25": scores[hit["id"]], "bm25_2": usual[hit["id"]]}
    assert other["retrieve"]["retriever"] == "hybrid:of=bm25(b=0.1;k1=0.5)+bm25"


def test_hops_starts_from_a_fusion(tmp_path):
    row = retrieved("hops:base=hybrid(bm25+bm25(b=0))")
    assert {"base", "link", "hop", "bm25", "bm25_2"} == set(row["hits"][0]["scores"])
    keys = {
        retrieved(spec)["retrieve"]["key"] for spec in ("hops", "hops:base=bm25(b=0)", "hops:base=hybrid(bm25+bm25)")
    }
    assert len(keys) == 3
    assert retrieved("hops:base=bm25(b=0)")["hits"] != retrieved("hops")["hits"]


def test_paths_stay_out_of_records(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    for text, shown in (
        (f"dense:{folder}", "dense:model=small"),
        (f"hybrid:bm25+dense({folder};dim=9)", "hybrid:of=bm25+dense(dim=9;model=small)"),
        (f"hops:base=hybrid(bm25+dense(model={folder}))", "hops:base=hybrid(of=bm25+dense(model=small))"),
    ):
        spec = parse_spec(text, "retriever", RETRIEVERS, options_of)
        assert str(named(spec)) == shown


NAMES = st.sampled_from(["bm25", "dense", "x"])
GIVEN = st.dictionaries(st.sampled_from(["k", "of"]), st.sampled_from(["1", "a/b"]))


@given(st.lists(st.tuples(NAMES, GIVEN), min_size=1, max_size=3), st.integers(0, 2))
def test_specs_in_specs_come_out_again(parts, depth):
    specs = [Spec(name, tuple(sorted(given.items()))) for name, given in parts]
    for _ in range(depth):
        specs = [Spec("hybrid", (("of", "+".join(map(inner_text, specs))),))]
    assert inner_specs("+".join(map(inner_text, specs))) == [str(spec) for spec in specs]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("hybrid:bm25+bm52", "hybrid: of=bm52 is no retriever to start from. Did you mean 'bm25'?"),
        ("hybrid:bm25++bm25", "has an empty piece"),
        ("hybrid:bm25(b=0", "a parenthesis is not closed"),
        ("hybrid:bm25)", "a parenthesis is not closed, or not opened"),
        ("hybrid:bm25(q=0)", "retriever 'bm25' has no parameter 'q'"),
        ("hybrid:bm25+bm25,weights=1", "weights=1: 1 for 2 retrievers"),
        ("hybrid:bm25,weights=x", "expected numbers of at least 0 joined by `+`, got 'x'"),
        ("hybrid:bm25,weights=-1", "got '-1'"),
        ("hybrid:bm25,depth=0", "depth at least 1"),
        ("hybrid:bm25,fuse=sum", "fuse=sum is not one of rrf, weighted"),
        ("hops:base=bm25+bm25", "Fuse them: base=hybrid(bm25+bm25)"),
        ("hops:base=hops", "base=hops is no retriever to start from"),
    ],
)
def test_bad_specs(spec, expected):
    with pytest.raises(UsageError) as caught:
        open_retrieve(RetrieveParams(retriever=spec))
    assert expected in str(caught.value)
