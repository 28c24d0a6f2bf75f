"""The project's own test data is what its generator writes, and its questions can be answered from it."""

import json
import math
import string
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"
Record = dict[str, Any]


def make(*arguments: str) -> bytes:
    # -B: the generator's modules leave no bytecode beside the data.
    command = [sys.executable, "-B", str(FIXTURES / "make.py"), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def records(data: bytes) -> list[Record]:
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def tokens(text: str) -> list[str]:
    words = text.lower().translate(str.maketrans("", "", string.punctuation)).split()
    return [word for word in words if word not in ("a", "an", "the")]


def occurs(answer: str, text: str) -> bool:
    wanted, found = tokens(answer), tokens(text)
    assert wanted
    return any(found[i : i + len(wanted)] == wanted for i in range(len(found) - len(wanted) + 1))


def closest(question: str, docs: list[Record], k: int) -> list[Record]:
    """BM25 over the question's own pool."""
    counts = [Counter(tokens(f"{doc['title']} {doc['text']}")) for doc in docs]
    mean = sum(sum(c.values()) for c in counts) / len(docs)

    def score(count: Counter[str]) -> float:
        norm = 1.5 * (0.25 + 0.75 * sum(count.values()) / mean)
        total = 0.0
        for term in sorted(set(tokens(question))):
            df = sum(term in c for c in counts)
            total += math.log(1 + (len(docs) - df + 0.5) / (df + 0.5)) * count[term] * 2.5 / (count[term] + norm)
        return total

    order = sorted(range(len(docs)), key=lambda i: (-score(counts[i]), i))
    return [docs[i] for i in order[:k]]


def check_spans(doc: Record) -> None:
    end = -1
    for start, stop in doc["sentences"]:
        sentence = doc["text"][start:stop]
        assert start == end + 1, f"{doc['id']}: one blank stands between two sentences"
        assert sentence
        assert sentence == sentence.strip()
        end = stop
    assert end == len(doc["text"])


@pytest.fixture(scope="module")
def questions() -> list[Record]:
    return records((FIXTURES / "questions.jsonl").read_bytes())


@pytest.fixture(scope="module")
def corpus() -> dict[str, Record]:
    docs = records((FIXTURES / "corpus.jsonl").read_bytes())
    by_id = {doc["id"]: doc for doc in docs}
    assert len(by_id) == len(docs), "ids are unique"
    return by_id


def test_set_is_what_the_generator_writes(tmp_path: Path) -> None:
    make("set", "--out", str(tmp_path))
    for name in ("questions.jsonl", "corpus.jsonl"):
        assert (tmp_path / name).read_bytes() == (FIXTURES / name).read_bytes()


def test_counts(questions: list[Record], corpus: dict[str, Record]) -> None:
    assert len(questions) >= 60
    assert len(corpus) >= 300
    kinds = Counter(q["meta"]["kind"] for q in questions)
    assert set(kinds) == {"bridge", "comparison", "yes_no", "single"}
    assert {q["answers"][0] for q in questions if q["meta"]["kind"] == "yes_no"} == {"yes", "no"}
    assert any(len(q["answers"]) == 3 for q in questions)
    assert len({q["question"] for q in questions}) == len(questions)


def test_records_follow_the_contract(questions: list[Record], corpus: dict[str, Record]) -> None:
    assert len({q["id"] for q in questions}) == len(questions)
    for question in questions:
        assert next(iter(question.items())) == ("schema", "ragpack.question/1")
        pool = {doc["id"]: doc for doc in question["docs"]}
        assert len(pool) == len(question["docs"]) == 10
        assert question["gold"]
        assert set(question["gold"]) <= set(pool)
        for doc in question["docs"]:
            assert {"schema": "ragpack.doc/1", **doc} == corpus[doc["id"]]
        for doc_id, index in question["gold_sentences"]:
            assert doc_id in question["gold"]
            assert 0 <= index < len(pool[doc_id]["sentences"])
        assert {doc_id for doc_id, _ in question["gold_sentences"]} == set(question["gold"])
    for doc in corpus.values():
        assert next(iter(doc.items())) == ("schema", "ragpack.doc/1")
        check_spans(doc)


def test_ids_are_not_always_titles(corpus: dict[str, Record]) -> None:
    same = sum(doc["id"] == doc["title"] for doc in corpus.values())
    assert 50 < same < len(corpus) - 50


def test_answers_stand_in_a_gold_sentence(questions: list[Record], corpus: dict[str, Record]) -> None:
    for question in questions:
        if question["meta"]["kind"] == "yes_no":
            continue
        sentences = []
        for doc_id, index in question["gold_sentences"]:
            start, end = corpus[doc_id]["sentences"][index]
            sentences.append(corpus[doc_id]["text"][start:end])
        assert any(occurs(question["answers"][0], s) for s in sentences), question["id"]


def test_some_answers_are_not_retrieved(questions: list[Record]) -> None:
    """Retrieval must fail here and there, or no row is ever `not_retrieved`; and it must mostly succeed."""
    spans = [q for q in questions if q["meta"]["kind"] != "yes_no"]
    missed = 0
    for question in spans:
        hits = closest(question["question"], question["docs"], 5)
        missed += not any(occurs(a, f"{h['title']} {h['text']}") for a in question["answers"] for h in hits)
    assert 8 <= missed <= len(spans) // 2


def test_passages_vary_in_length_and_script(corpus: dict[str, Record]) -> None:
    sentences = [len(doc["sentences"]) for doc in corpus.values()]
    assert min(sentences) <= 2
    assert max(sentences) >= 8
    words = sorted(len(doc["text"].split()) for doc in corpus.values())
    assert 60 <= words[len(words) // 2] <= 110
    titles = "".join(doc["title"] for doc in corpus.values())
    for sample in "рλ鳴قöÇ":
        assert sample in titles


def test_near_duplicates_differ_in_a_sentence(corpus: dict[str, Record]) -> None:
    editions = [doc for doc in corpus.values() if doc["title"].endswith("(1911 gazetteer)")]
    assert len(editions) >= 4
    for edition in editions:
        original = corpus[edition["id"].removesuffix("-1911")]
        pairs = zip(original["sentences"], edition["sentences"], strict=True)
        changed = sum(original["text"][a:b] != edition["text"][c:d] for (a, b), (c, d) in pairs)
        assert changed == 1


def test_stream() -> None:
    data = make("stream", "--questions", "25", "--hits", "10", "--seed", "7")
    assert data == make("stream", "--questions", "25", "--seed", "7")
    assert data != make("stream", "--questions", "25", "--seed", "8")
    assert make("stream", "--questions", "40", "--seed", "7").startswith(data)
    lines = records(data)
    assert len(lines) == len({line["id"] for line in lines}) == 25
    for line in lines:
        assert list(line) == ["schema", "id", "question", "answers", "gold", "hits", "retrieve"]
        assert line["schema"] == "ragpack.hits/1"
        assert set(line["retrieve"]) == {"retriever", "k", "index", "key"}
        hits = line["hits"]
        assert [hit["rank"] for hit in hits] == list(range(1, 11))
        assert all(list(hit) == ["rank", "id", "title", "text", "score", "sentences"] for hit in hits)
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert len({hit["id"] for hit in hits}) == 10
        for hit in hits:
            check_spans(hit)
            assert 4 <= len(hit["sentences"]) <= 6
            assert occurs(line["answers"][0], hit["text"]) == (hit["id"] in line["gold"])
    assert any(set(line["gold"]) <= {hit["id"] for hit in line["hits"]} for line in lines)


def test_synthetic_corpus() -> None:
    data = make("corpus", "--passages", "200", "--seed", "7")
    assert data == make("corpus", "--passages", "200", "--seed", "7")
    assert data != make("corpus", "--passages", "200", "--seed", "8")
    docs = records(data)
    assert len(docs) == len({doc["id"] for doc in docs}) == 200
    for doc in docs:
        assert list(doc) == ["schema", "id", "title", "text", "sentences"]
        check_spans(doc)
    mean = sum(len(doc["text"].split()) for doc in docs) / 200
    assert 60 <= mean <= 100


def test_closed_pipe_is_quiet() -> None:
    command = [sys.executable, "-B", str(FIXTURES / "make.py"), "stream", "--questions", "5000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141
