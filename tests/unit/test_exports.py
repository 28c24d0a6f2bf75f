"""Exports: what they write, what they refuse, and that import reads it again."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import orjson
import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st
from mapped import rows

from ragpack.checked import view
from ragpack.datasets import DATASETS
from ragpack.errors import DataError, UsageError
from ragpack.exports import EXPORTS
from ragpack.exports.base import RANKED, Selection, exported, passages
from ragpack.exports.choice import opened
from ragpack.exports.flashrag import contents
from ragpack.exports.trec import falling
from ragpack.records import Hit, Hits, Packed, Question
from ragpack.registry import load
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

HITS = {
    "schema": "ragpack.hits/1", "id": "q 1", "question": "Who built it?", "answers": ["Ida Vale", "Vale"],
    "gold": ["Red Lisk", "b"], "group": "g", "meta": {"hops": 2},
    "hits": [{"rank": 1, "id": "Red Lisk", "title": "Red Lisk", "text": "A river.", "score": 2.5},
             {"rank": 2, "id": "b", "text": "No title.", "score": 2.5},
             {"rank": 3, "id": "c", "title": "C\nc", "text": "", "score": 7}],
}  # fmt: skip


@cache
def questions() -> list[dict]:
    return [orjson.loads(line) for line in (ROOT / "fixtures/questions.jsonl").read_bytes().splitlines()][:12]


@cache
def hits() -> list[dict]:
    return rows(open_retrieve(RetrieveParams(k=5)), questions())


@cache
def packs() -> list[dict]:
    return rows(open_pack(PackParams(("topk", "chunk_packed"), (48, 96))), hits())


def answered(pack, answer="Vale"):
    made = {"reader": "extractive", "model": "m", "prompt": {"name": "p/1", "hash": "h"}, "answer": answer,
            "finish": "stop", "tokens": {"prompt": 9, "completion": 2}}  # fmt: skip
    return {**pack, "schema": "ragpack.answer/1", "generate": made}


def write(tmp_path, name, records, *, output=None, wanted=None, **options):
    """What an export gives; nothing may fail, unless `failed` is asked for."""
    text, failed = attempt(tmp_path, name, records, output=output, wanted=wanted, **options)
    assert not failed
    return text


def attempt(tmp_path, name, records, *, output=None, wanted=None, **options):
    source = tmp_path / "records.jsonl"
    source.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    failed = []

    def fail(source, number, error, identity):
        failed.append((number, identity, error.message))

    with opened(name, str(output) if output else None, options).target as export:
        blocks = list(exported(export, [str(source)], wanted or Selection(), fail, lambda: None))
    return b"".join(blocks).decode(), failed


def read(tmp_path, name, text, **options):
    path = tmp_path / "again"
    path.write_text(text, encoding="utf-8")

    def fail(source, number, error, identity):
        raise AssertionError(f"{number}: {identity}: {error}")

    return list(load(DATASETS, name)(str(path), fail, **options))


def test_trec_run(tmp_path):
    """By hand: 2.5 again becomes the next smaller number of single precision, 2.5 - 2^-22 = 2.49999976; so does 7."""
    assert write(tmp_path, "trec", [HITS], tag="bm25") == (
        "q%201 Q0 Red%20Lisk 1 2.5 bm25\nq%201 Q0 b 2 2.49999976 bm25\nq%201 Q0 c 3 2.49999952 bm25\n"
    )
    without = [{key: value for key, value in hit.items() if key != "score"} for hit in HITS["hits"]]
    text = write(tmp_path, "trec", [{**HITS, "hits": without}])
    assert [line.split()[4] for line in text.splitlines()] == ["3", "2", "1"], "no score: they count down"
    assert write(tmp_path, "trec", [{**HITS, "hits": HITS["hits"][::-1]}]).split()[2] == "Red%20Lisk", (
        "the rank decides"
    )
    assert write(tmp_path, "trec", [{**HITS, "hits": []}]) == ""


def test_trec_qrels(tmp_path):
    assert write(tmp_path, "qrels", [HITS, {**HITS, "id": "none", "gold": []}]) == "q%201 0 Red%20Lisk 1\nq%201 0 b 1\n"
    assert write(tmp_path, "qrels", questions()) == write(tmp_path, "qrels", packs()), "each question once"


scores = st.floats(-1e30, 1e30) | st.sampled_from([0.0, -0.0, 1.0, 1e-45, 3e38, -1e38, 1e300])


@given(st.lists(scores, max_size=30))
def test_scores_fall_in_single_precision(found):
    """In the order of the rank, as decimals and as trec_eval's floats; one that falls already is kept to 6 digits."""
    import numpy as np

    texts = falling([Hit(rank=rank, id=str(rank), score=score) for rank, score in enumerate(found, 1)])
    single = [np.float32(text) for text in texts]
    assert all(float(one) > float(other) for one, other in pairwise(texts))
    assert all(one > other for one, other in pairwise(single))
    if found and abs(found[0]) < 1e38:
        assert float(texts[0]) == pytest.approx(found[0], rel=1e-6, abs=1e-44)


def test_a_run_comes_back(tmp_path):
    """Export, import with its questions and corpus: the same hits, but for the scores' last digits."""
    corpus = tmp_path / "corpus.jsonl"
    docs = {doc["id"]: doc for question in questions() for doc in question["docs"]}
    corpus.write_bytes(b"".join(orjson.dumps({**doc, "schema": "ragpack.doc/1"}) + b"\n" for doc in docs.values()))
    asked = tmp_path / "questions.jsonl"
    asked.write_bytes(b"".join(orjson.dumps(question) + b"\n" for question in questions()))
    found = read(tmp_path, "trec", write(tmp_path, "trec", hits()), questions=str(asked), corpus=str(corpus))
    for one, raw in zip(found, hits(), strict=True):
        expected = view(raw, (Hits,))
        assert (one.id, one.question, one.answers, one.gold) == (
            expected.id, expected.question, expected.answers, expected.gold)  # fmt: skip
        assert [(hit.rank, hit.id, hit.title, hit.text) for hit in one.hits] == [
            (hit.rank, hit.id, hit.title, hit.text) for hit in expected.hits
        ]
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in expected.hits], rel=1e-6)


def test_flashrag_items_come_back(tmp_path):
    for one, raw in zip(read(tmp_path, "flashrag", write(tmp_path, "flashrag", questions())), questions(), strict=True):
        expected = view(raw, (Question,))
        for name in ("id", "question", "answers", "gold", "gold_sentences", "group", "meta"):
            assert getattr(one, name) == getattr(expected, name), name


def test_flashrag_results_come_back(tmp_path):
    """Of results and of the cache: ids, titles, texts, scores."""
    expected = [
        [(hit["rank"], hit["id"], hit["title"], hit["text"], hit["score"]) for hit in one["hits"]] for one in hits()
    ]
    for name in ("flashrag", "flashrag-cache"):
        found = read(tmp_path, "flashrag", write(tmp_path, name, hits()))
        assert [[(hit.rank, hit.id, hit.title, hit.text, hit.score) for hit in one.hits] for one in found] == expected
    assert [one.id for one in found] == [one["question"] for one in hits()], "a cache knows questions by their text"


def test_flashrag_by_hand(tmp_path):
    row = json.loads(write(tmp_path, "flashrag", [HITS]))
    assert row == {
        "id": "q 1", "question": "Who built it?", "golden_answers": ["Ida Vale", "Vale"],
        "metadata": {"hops": 2, "ragpack": {"gold": ["Red Lisk", "b"], "group": "g"}},
        "output": {"retrieval_result": [
            {"id": "Red Lisk", "contents": '"Red Lisk"\nA river.', "score": 2.5},
            {"id": "b", "contents": "\nNo title.", "score": 2.5}, {"id": "c", "contents": '"C c"\n', "score": 7.0}]},
    }  # fmt: skip
    doc = {"schema": "ragpack.doc/1", "id": "a", "title": 'The "Lisk"', "text": "x"}
    assert json.loads(write(tmp_path, "flashrag", [doc])) == {"id": "a", "contents": '"The "Lisk""\nx'}
    pack = next(pack for pack in packs() if pack["pack"]["snippets"])
    row = json.loads(write(tmp_path, "flashrag", [answered(pack)]))
    assert row["output"]["pred"] == "Vale"
    assert [one["id"] for one in row["output"]["retrieval_result"]] == list(
        dict.fromkeys(snippet["id"] for snippet in pack["pack"]["snippets"])
    )


@given(st.text(alphabet='ab "\u00e9', max_size=8), st.text(alphabet="ab \n\u2028", max_size=8))
def test_contents_come_back(title, text):
    from ragpack.datasets.flashrag import title_and_text

    title = " ".join(title.split())
    assert title_and_text(contents(title or None, text)) == (title or None, text)


def test_ragchecker(tmp_path):
    """The documents of the context, each once, with their lines: together they are the context."""
    rows = [answered(pack) for pack in packs()]
    wanted = Selection(frozenset({"chunk_packed"}), frozenset({96}))
    results = json.loads(write(tmp_path, "ragchecker", rows, wanted=wanted))["results"]
    chosen = [row for row in rows if (row["pack"]["policy"], row["pack"]["budget"]) == ("chunk_packed", 96)]
    assert len(results) == len(chosen) == len(questions())
    for result, row in zip(results, chosen, strict=True):
        assert list(result) == ["query_id", "query", "gt_answer", "response", "retrieved_context"]
        assert (result["query_id"], result["query"], result["response"]) == (row["id"], row["question"], "Vale")
        assert result["gt_answer"] == row["answers"][0]
        found = result["retrieved_context"]
        assert {one["doc_id"] for one in found} == {one["id"] for one in row["pack"]["snippets"]}
        assert sorted(line for one in found for line in one["text"].split("\n")) == sorted(
            row["pack"]["context"].split("\n")
        )
    assert json.loads(write(tmp_path, "ragchecker", [])) == {"results": []}


def test_passages_of_a_compressed_context():
    """Its lines are no snippets: one passage; of an empty context, none."""
    pack = {
        **packs()[0]["pack"],
        "context": "a\nb\nc\nd\ne\nf\ng\nh\ni",
        "snippets": packs()[0]["pack"]["snippets"][:1],
    }
    (found,) = passages(view({**packs()[0], "pack": pack}, (Packed,)))
    assert (found.id, found.text) == ("context", pack["context"])
    assert passages(view({**packs()[0], "pack": {**pack, "context": "", "snippets": []}}, (Packed,))) == []


def test_beir_comes_back(tmp_path):
    folder = tmp_path / "beir"
    assert write(tmp_path, "beir", questions(), output=folder) == ""

    def fail(*what):
        raise AssertionError(what)

    found = {one.id: one for one in load(DATASETS, "beir")(str(folder), fail)}
    for raw in questions():
        expected = view(raw, (Question,))
        one = found.pop(expected.id)
        for name in ("question", "answers", "gold", "group", "meta"):
            assert getattr(one, name) == getattr(expected, name), name
    assert not found
    docs = list(load(DATASETS, "corpus")(str(folder), fail))
    expected = {doc["id"]: doc for question in questions() for doc in question["docs"]}
    assert [(doc.id, doc.title, doc.text) for doc in docs] == [
        (doc["id"], doc.get("title"), doc["text"]) for doc in expected.values()
    ]
    assert sorted(path.name for path in folder.rglob("*")) == ["corpus.jsonl", "qrels", "queries.jsonl", "test.tsv"]


def test_beir_pools_with_ids_of_their_own(tmp_path):
    """MuSiQue's `0` is another paragraph in each question."""
    pools = [
        {"id": name, "question": "?", "gold": ["0"], "docs": [{"id": "0", "title": "T", "text": name}]} for name in "ab"
    ]
    _, failed = attempt(tmp_path, "beir", pools, output=tmp_path / "one")
    assert failed == [(2, "b", "the document '0' has another text than in the pool of question a")]
    write(tmp_path, "beir", pools, output=tmp_path / "two", qualify=True, split="dev")
    assert (tmp_path / "two/qrels/dev.tsv").read_text() == "query-id\tcorpus-id\tscore\na\ta/0\t1\nb\tb/0\t1\n"
    assert [json.loads(line)["_id"] for line in (tmp_path / "two/corpus.jsonl").read_text().splitlines()] == [
        "a/0",
        "b/0",
    ]
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"id": "0", "contents": "T\\nx"}\n')
    write(tmp_path, "beir", pools, output=tmp_path / "three", corpus=str(corpus))
    assert (tmp_path / "three/corpus.jsonl").read_text() == '{"_id":"0","title":"T","text":"x"}\n'


def test_beir_wants_its_gold_documents(tmp_path):
    """Hits alone lack what was not found: a corpus without it would be another test collection."""
    short = {**HITS, "hits": HITS["hits"][1:]}
    with pytest.raises(DataError, match="1 gold documents are not among the pools and hits, such as 'Red"):
        write(tmp_path, "beir", [short], output=tmp_path / "out")
    assert not (tmp_path / "out/queries.jsonl").exists()
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("Red Lisk", "b"):
        (folder / f"{name}.txt").write_text("x")
    named = {**short, "gold": ["Red Lisk.txt", "b.txt"]}
    write(tmp_path, "beir", [named], output=tmp_path / "out", corpus=str(folder))
    assert (tmp_path / "out/qrels/test.tsv").read_text().count("\n") == 3
    with pytest.raises(DataError, match=r"2 gold documents are not in .*texts"):
        write(tmp_path, "beir", [short], output=tmp_path / "other", corpus=str(folder))


@pytest.mark.parametrize("kind", ["question", "hits", "pack", "answer"])
def test_huggingface_rows_are_flat_and_alike(tmp_path, kind):
    """The same keys in every row; a value is a scalar or a list of scalars; a column has one type, nulls apart."""
    records = {"question": questions(), "hits": hits(), "pack": packs(), "answer": [answered(one) for one in packs()]}
    found = [json.loads(line) for line in write(tmp_path, "huggingface", records[kind]).splitlines()]
    assert len(found) == len(records[kind])
    assert len({tuple(row) for row in found}) == 1
    for column in found[0]:
        values = [row[column] for row in found]
        lists = [value for value in values if isinstance(value, list)]
        assert len(lists) in (0, len(values)), column
        scalars = [one for value in lists for one in value] if lists else values
        assert len({type(one) for one in scalars if one is not None}) <= 1, column
        assert not any(isinstance(one, (dict, list)) for one in scalars), column


def test_huggingface_by_hand(tmp_path):
    row = json.loads(write(tmp_path, "huggingface", [HITS]))
    assert row["hits_id"] == ["Red Lisk", "b", "c"]
    assert row["hits_score"] == [2.5, 2.5, 7.0]
    assert row["hits_title"] == ["Red Lisk", None, "C\nc"]
    assert row["meta"] == '{"hops":2}'


@pytest.mark.parametrize(
    ("name", "records", "expected"),
    [
        ("trec", [HITS, {**HITS, "hits": HITS["hits"][:1]}], (2, "q 1", "there already, with another ranking")),
        ("trec", [{**HITS, "hits": HITS["hits"][:1] * 2}], (1, "q 1", "the document 'Red Lisk' is hit twice")),
        ("qrels", [HITS, {**HITS, "gold": ["b"]}], (2, "q 1", "there already, with other gold documents")),
        ("flashrag", [HITS, HITS], (2, "q 1", "a second row of this question")),
        ("flashrag", [{**HITS, "hits": [{"rank": 1, "id": "a"}]}], (1, "q 1", "the field 'text' is missing")),
        ("flashrag-cache", [HITS, {**HITS, "id": "q2"}], (2, "q2", "is there already, as id=q 1")),
        ("beir", [HITS, HITS], (2, "q 1", "the question is there already")),
        ("beir", [{**HITS, "id": "a\tb"}], (1, "a\tb", "has a tab or a line end")),
        ("beir", [{**HITS, "hits": [{"rank": 1, "id": "a"}]}], (1, "q 1", "the document 'a' has no text")),
        ("huggingface", [HITS, {"schema": "ragpack.question/1", "id": "x", "question": "?"}],
         (2, "x", "behind ragpack.hits/1")),
        ("ragchecker", [HITS], (1, "q 1", "expected ragpack.answer/1 or ragpack.diagnosis/1")),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, name, records, expected):
    _, ((number, identity, message),) = attempt(tmp_path, name, records, output=tmp_path / "out")
    assert (number, identity, expected[2] in message) == (*expected[:2], True), message


def test_answers_that_ragchecker_can_not_take(tmp_path):
    rows = [answered(packs()[0]), {**answered(packs()[4]), "answers": []}, answered(packs()[1])]
    text, failed = attempt(tmp_path, "ragchecker", rows)
    assert [message.split(":")[0] for *_, message in failed] == [
        "no gold answer is known",
        "a second row of this question",
    ]
    assert len(json.loads(text)["results"]) == 1, "whole JSON without the bad ones"


def test_usage(tmp_path):
    for words, expected in (
        (("trek", None, {}), "unknown format 'trek'. Did you mean 'trec'?"),
        (("qrels", None, {"tag": "x"}), "--tag: qrels has no use for it"),
        (("beir", None, {}), "beir is a folder of files"),
        (("beir", "-", {}), "beir is a folder of files"),
    ):
        with pytest.raises(UsageError) as error:
            opened(*words)
        assert error.value.message == expected
    for name, output, options in (
        ("trec", None, {"tag": "two words"}),
        ("beir", tmp_path / "x", {"split": "a/b"}),
        ("beir", tmp_path / "x", {"corpus": __file__, "qualify": True}),
        ("beir", __file__, {}),
    ):
        with pytest.raises(UsageError), opened(name, str(output), options).target:
            pass
    with pytest.raises(UsageError, match=r"--policy: no row of 'topq'. Did you mean 'topk'"):
        write(tmp_path, "trec", packs(), wanted=Selection(frozenset({"topq"})))
    with pytest.raises(UsageError, match="no row has this policy and budget"):
        write(tmp_path, "trec", packs(), wanted=Selection(budgets=frozenset({7})))


def test_every_export_takes_records():
    assert all(load(EXPORTS, name).ACCEPTS for name in EXPORTS)
    assert Hits in RANKED
