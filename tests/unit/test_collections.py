"""BEIR folders and TREC runs: ids alone, in files that must agree. Facts are invented."""

import json

import pytest

from ragpack.datasets import beir, trec
from ragpack.datasets.gold import read_gold
from ragpack.errors import DataError, UsageError
from ragpack.exports.trec import escaped
from ragpack.records import Doc, Question

QUESTIONS = [{"_id": "1", "text": "Who built the Ostra Bridge?", "metadata": {"answers": ["Ida Vale"], "year": 3}},
             {"_id": 2, "text": "Where does the Lisk end?"}, {"_id": "3", "text": "Not judged?"}]  # fmt: skip
CORPUS = [{"_id": "d1", "title": "Ostra", "text": "Built by Ida Vale."}, {"_id": 7, "title": "", "text": "A river."}]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "beir"
    (place / "qrels").mkdir(parents=True)
    write(place / "queries.jsonl", *QUESTIONS)
    write(place / "corpus.jsonl", *CORPUS)
    (place / "qrels" / "test.tsv").write_bytes(
        b"query-id\tcorpus-id\tscore\r\n1\td1\t2\r\n1\t7\t0\r\n2\t7\t1\r\n2\td1\t1\r\n2\t7\t1\r\n"
    )
    return place


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def run(read, *args, **options):
    failed = []

    def fail(source, number, error, identity):
        failed.append((source.rsplit("/", 1)[-1], number, error.message))

    return list(read(args[0], fail, **options)), failed


def test_beir_folder(folder):
    """The judged questions, in the order of queries.jsonl; a score of 0 names none; numbers are ids."""
    found, failed = run(beir.read, str(folder))
    assert not failed
    assert found == [
        Question(id="1", question=QUESTIONS[0]["text"], answers=["Ida Vale"], gold=["d1"], meta={"year": 3}),
        Question(id="2", question=QUESTIONS[1]["text"], gold=["7", "d1"]),
    ]


def test_beir_files(folder):
    found, _ = run(beir.read, str(folder / "corpus.jsonl"))
    assert found == [Doc(id="d1", title="Ostra", text="Built by Ida Vale."), Doc(id="7", text="A river.")]
    found, _ = run(beir.read, str(folder / "queries.jsonl"), gold=str(folder / "qrels/test.tsv"))
    assert [(one.id, one.gold) for one in found] == [("1", ["d1"]), ("2", ["7", "d1"]), ("3", [])]
    with pytest.raises(DataError, match="the file holds documents, not questions"):
        run(beir.read, str(folder / "corpus.jsonl"), gold=str(folder / "qrels/test.tsv"))


def test_beir_splits(folder):
    (folder / "qrels" / "dev.tsv").write_text("3\t7\t1\n")
    assert [one.id for one in run(beir.read, str(folder), split="dev")[0]] == ["3"]
    assert [one.id for one in run(beir.read, str(folder))[0]] == ["1", "2"], "test where there are several"
    with pytest.raises(UsageError, match=r"no split 'tets'. Did you mean 'test'"):
        run(beir.read, str(folder), split="tets")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "train.tsv")
    with pytest.raises(UsageError, match="has several splits: dev, train"):
        run(beir.read, str(folder))
    with pytest.raises(UsageError, match="a split is one of a folder's"):
        run(beir.read, str(folder / "queries.jsonl"), split="dev")
    (folder / "qrels" / "dev.tsv").unlink()
    assert len(run(beir.read, str(folder))[0]) == 2, "the only one"
    (folder / "qrels" / "train.tsv").unlink()
    assert [one.gold for one in run(beir.read, str(folder))[0]] == [[], [], []], "no qrels: all questions"


def test_beir_queries_that_are_there_twice(folder):
    """Even where their titles look like a document's; the first one stays."""
    write(folder / "queries.jsonl", {"_id": 1, "title": "", "text": "Who?"}, {"_id": "1", "text": "Whom?"})
    (folder / "qrels" / "test.tsv").write_text("1\td1\t1\n")
    found, failed = run(beir.read, str(folder))
    assert [(one.id, one.question) for one in found] == [("1", "Who?")]
    assert failed == [("queries.jsonl", 2, "the query is there already")]


def test_beir_qrels_with_unknown_ids(folder):
    (folder / "qrels" / "test.tsv").write_text("1\td1\t1\n9\td1\t1\n2\td8\t1\n2\td9\t0\n2\t7\t1\n")
    found, failed = run(beir.read, str(folder))
    assert [(one.id, one.gold) for one in found] == [("1", ["d1"]), ("2", ["7"])]
    assert failed == [("test.tsv", 2, "no such query: '9'"), ("test.tsv", 3, "no such document: 'd8'")]
    (folder / "corpus.jsonl").unlink()
    assert run(beir.read, str(folder))[1] == failed[:1], "without a corpus there is nothing to look it up in"


def asked(tmp_path, *questions):
    return write(tmp_path / "q.jsonl", *({"schema": "ragpack.question/1", **one} for one in questions))


def test_trec_run(tmp_path):
    """By hand: q1 has scores 2, 1, 1: the tie goes by rank, though the file has it the other way round; q2's ranks are
    unsorted, and its score decides; equal rank and score: the larger id first, as in trec_eval."""
    path = tmp_path / "x.run"
    path.write_bytes(
        b"\xef\xbb\xbfq1 Q0 c 3 1.0 t\r\nq2\tQ0\ta\t2\t5e0\tt\r\nq1 Q0 b 2 1.0 t\r\nq1 Q0 a 1 2 t\r\n\r\n"
        b"q2 Q0 b 1 4 t\r\nq3 q0 x 0 0 t\r\nq3 q0 y 0 0 t\r\n"
    )
    found, failed = run(trec.read, str(path))
    assert not failed
    assert [(one.id, one.question, [(hit.rank, hit.id, hit.score) for hit in one.hits]) for one in found] == [
        ("q1", "q1", [(1, "a", 2.0), (2, "b", 1.0), (3, "c", 1.0)]),
        ("q2", "q2", [(1, "a", 5.0), (2, "b", 4.0)]),
        ("q3", "q3", [(1, "y", 0.0), (2, "x", 0.0)]),
    ]


def test_trec_with_questions_and_corpus(tmp_path):
    """Blanks in ids come back, from ids that are known as they stand least of all."""
    questions = asked(
        tmp_path,
        {"id": "who built it?", "question": "Who built it?", "answers": ["Ida Vale"], "gold": ["Red Lisk"],
         "group": "g", "docs": [{"id": "x", "text": "x"}]},
        {"id": "q%201", "question": "Where?"},
    )  # fmt: skip
    corpus = write(
        tmp_path / "c.jsonl",
        {"schema": "ragpack.doc/1", "id": "Red Lisk", "title": "Red Lisk", "text": "One. Two.",
         "sentences": [[0, 4], [5, 9]]},
        {"id": "http://x/a%20b", "text": "An address."}, {"id": "other", "text": "Not in the run."},
    )  # fmt: skip
    path = tmp_path / "x.run"
    path.write_text("who%20built%20it? Q0 Red%20Lisk 1 1 t\nq%201 Q0 http://x/a%20b 1 1 t\n")
    found, failed = run(trec.read, str(path), questions=questions, corpus=corpus)
    assert not failed
    first, second = found
    assert (first.id, first.answers, first.gold, first.group) == ("who built it?", ["Ida Vale"], ["Red Lisk"], "g")
    (hit,) = first.hits
    assert (hit.id, hit.title, hit.text, hit.sentences) == ("Red Lisk", "Red Lisk", "One. Two.", [(0, 4), (5, 9)])
    assert (second.question, second.hits[0].id) == ("Where?", "http://x/a%20b")


def test_trec_unknown_ids(tmp_path):
    questions = asked(tmp_path, {"id": "q1", "question": "Who?"})
    corpus = write(tmp_path / "c.jsonl", {"id": "a", "text": "One."})
    path = tmp_path / "x.run"
    path.write_text("q1 Q0 b 1 9 t\nq1 Q0 a 2 8 t\nq7 Q0 a 1 1 t\n")
    found, failed = run(trec.read, str(path), questions=questions, corpus=corpus)
    assert [(one.id, [(hit.rank, hit.id) for hit in one.hits]) for one in found] == [("q1", [(1, "a")])]
    assert failed == [("x.run", 1, "no such document: 'b'"), ("x.run", 3, "no such question: 'q7'")]
    with pytest.raises(DataError, match=r"--questions .*c.jsonl:1: the field 'question' is missing"):
        run(trec.read, str(path), questions=corpus)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file is empty"),
        ("q1 Q0 a 1 1 t\nq1 Q0 a 2 0.5 t\n", "document 'a' is there twice, in lines 1 and 2"),
        ("q1 Q0 a 1 nan t\n", "score: expected a finite number, got 'nan'"),
        ("q1 Q0 a 1 high t\n", "score: expected a number, got 'high'"),
        ("q1 Q0 a first 1 t\n", "rank: expected a whole number, got 'first'"),
        ("q1 Q0 Red Lisk 1 1 t\n", "expected 6 columns, got 7"),
        ("q1 0 a 1\n", "4 columns: this is a file of qrels"),
    ],
)
def test_bad_runs(tmp_path, text, expected):
    path = tmp_path / "x.run"
    path.write_text(text)
    _, failed = run(trec.read, str(path))
    assert [message for _, _, message in failed] == [expected]


def test_side_files_of_other_toolkits(tmp_path):
    path = tmp_path / "gold"
    path.write_text("q1 0 d1 1\nq1  0  d2  0\nq2 0 d3 2\n")
    assert read_gold(str(path)) == {"q1": ["d1"], "q2": ["d3"]}, "TREC's qrels, with blanks"
    path.write_text("query-id\tcorpus-id\tscore\nq1\tRed Lisk\t1\nq1\td2\t0\n")
    assert read_gold(str(path)) == {"q1": ["Red Lisk"]}, "BEIR's, with its header"


@pytest.mark.parametrize(
    "identity", ["Red Lisk", "a%20b", "100 %", "no\u00a0break", "%", "%25 x", "北\u3000京", "x%C2%A0y"]
)
def test_ids_come_back_from_a_run(identity):
    written = escaped(identity)
    assert len(written.split()) == 1
    assert trec.unescaped(written) == identity
