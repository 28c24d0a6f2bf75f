"""HotpotQA in its three layouts. Facts are invented."""

import gzip
import json

import pytest

from ragpack.checked import view
from ragpack.datasets.emit import written
from ragpack.datasets.hotpotqa import read
from ragpack.datasets.sample import sample
from ragpack.errors import DataError
from ragpack.records import Question

ORIGINAL = {
    "_id": "h1",
    "answer": "Ida Vale",
    "question": "Who built the bridge over the Lisk?",
    "supporting_facts": [["Ostra Bridge", 2], ["Lisk", 0], ["Ostra Bridge", 0]],
    "context": [
        ["Lisk", ["The Lisk is a river.", " It is 41 km long. 😀"]],
        ["Ostra Bridge", ["Ostra Bridge crosses the Lisk.", "", " Ida Vale built it."]],
    ],
    "type": "bridge",
    "level": "easy",
}
COLUMNAR = {
    **{key: ORIGINAL[key] for key in ("question", "answer", "type", "level")},
    "id": "h1",
    "supporting_facts": {"title": ["Ostra Bridge", "Lisk", "Ostra Bridge"], "sent_id": [2, 0, 0]},
    "context": {
        "title": ["Lisk", "Ostra Bridge"],
        "sentences": [["The Lisk is a river.", " It is 41 km long. 😀"], ORIGINAL["context"][1][1]],
    },
}
IRCOT = {
    "question_id": "h1",
    "question_text": ORIGINAL["question"],
    "answers_objects": [{"number": "", "spans": ["Ida Vale"]}, {"spans": ["I. Vale", "Vale"]}],
    "contexts": [
        {
            "idx": 0,
            "title": "Lisk",
            "paragraph_text": "The Lisk is a river.  It is 41 km long.   😀",
            "is_supporting": True,
        },
        {"idx": 1, "title": "Tern", "paragraph_text": "A tern is a bird. It flies.", "is_supporting": False},
    ],
}


def questions(tmp_path, text, name="dev.json"):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    failed = []
    found = list(read(str(file), lambda source, number, error, identity: failed.append((number, error, identity))))
    return found, failed


def one(tmp_path, entry):
    found, failed = questions(tmp_path, json.dumps(entry))
    assert not failed
    return found[0]


def test_original_and_columnar_are_the_same_question(tmp_path):
    question = one(tmp_path, ORIGINAL)
    assert question == one(tmp_path, COLUMNAR)
    assert (question.id, question.answers, question.group) == ("h1", ["Ida Vale"], "hotpotqa")
    assert question.gold == ["Ostra Bridge", "Lisk"], "each once, in the order of the facts"
    assert question.gold_sentences == [("Ostra Bridge", 2), ("Lisk", 0), ("Ostra Bridge", 0)]
    assert question.meta == {"type": "bridge", "level": "easy"}


def test_an_empty_sentence_keeps_its_index(tmp_path):
    """Gold sentences count it, so the third one must stay the third one."""
    bridge = one(tmp_path, ORIGINAL).docs[1]
    assert bridge.sentences == [(0, 30), (30, 30), (30, 49)]
    start, end = bridge.sentences[2]
    assert bridge.text[start:end] == " Ida Vale built it."


def test_ircot(tmp_path):
    question = one(tmp_path, IRCOT)
    assert question.answers == ["Ida Vale", "I. Vale", "Vale"]
    assert question.gold == ["Lisk"]
    assert question.gold_sentences is None
    assert question.meta is None
    texts = [[doc.text[start:end] for start, end in doc.sentences] for doc in question.docs]
    assert texts == [["The Lisk is a river.", "It is 41 km long.", "😀"], ["A tern is a bird. It flies."]]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ORIGINAL, {**ORIGINAL, "_id": "h2"}]),
        json.dumps([ORIGINAL, {**ORIGINAL, "_id": "h2"}], indent=1),
        "\n" + json.dumps(ORIGINAL) + "\r\n\n" + json.dumps({**ORIGINAL, "_id": "h2"}),
        b"\xef\xbb\xbf" + json.dumps([ORIGINAL, {**ORIGINAL, "_id": "h2"}]).encode(),
        gzip.compress(json.dumps([ORIGINAL, {**ORIGINAL, "_id": "h2"}]).encode()),
    ],
    ids=["list", "indented", "lines", "bom", "gzip"],
)
def test_files(tmp_path, text):
    found, failed = questions(tmp_path, text)
    assert [question.id for question in found] == ["h1", "h2"]
    assert not failed


def test_nothing_in_a_file(tmp_path):
    """An empty list is a dataset of no questions; an empty file is one that something went wrong with."""
    assert questions(tmp_path, "[]") == ([], [])
    for text in ("", "\n \n"):
        found, ((number, error, _),) = questions(tmp_path, text)
        assert (found, number, error.message) == ([], 1, "the file is empty")


def without(entry, field):
    return {key: value for key, value in entry.items() if key != field}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (without(ORIGINAL, "answer"), "the field 'answer' is missing"),
        (without(COLUMNAR, "context"), "none of the layouts"),
        (without(IRCOT, "contexts"), "the field 'contexts' is missing"),
        ({**ORIGINAL, "answer": 7}, "answer: expected a string, got 7"),
        ({**ORIGINAL, "question": None}, "question: expected a string, got None"),
        ({**ORIGINAL, "context": [["Lisk"]]}, "another form"),
        ({**ORIGINAL, "context": 3}, "another form"),
        ({**ORIGINAL, "context": [["Lisk", "one string"]]}, "context"),
        ({**ORIGINAL, "context": [["Lisk", [7]]]}, "context"),
        ({**ORIGINAL, "context": [[7, ["One."]]]}, "context"),
        ({**ORIGINAL, "supporting_facts": [["Lisk", None]]}, "supporting_facts: expected a whole number, got None"),
        ({**ORIGINAL, "supporting_facts": [["Lisk", "x"]]}, "supporting_facts: expected a whole number, got 'x'"),
        ({**ORIGINAL, "supporting_facts": [["Lisk", 2.7]]}, "supporting_facts: expected a whole number, got 2.7"),
        ({**ORIGINAL, "_id": None}, "id: expected a string or a whole number, got None"),
        ({**COLUMNAR, "id": ["h1"]}, "id: expected a string or a whole number, got ['h1']"),
        ({**IRCOT, "question_id": ""}, "id: expected a string or a whole number, got ''"),
        (
            {**COLUMNAR, "context": {"title": ["A", "B"], "sentences": [["One."]]}},
            "context: 2 of 'title', but 1 of 'sentences'",
        ),
        ({**COLUMNAR, "supporting_facts": {"title": [], "sent_id": [1]}}, "supporting_facts: 0 of 'title', but 1"),
        ({**IRCOT, "contexts": [{"title": "A", "paragraph_text": None, "is_supporting": True}]}, "paragraph_text"),
        ({**IRCOT, "answers_objects": [{"spans": "Ida"}]}, "spans"),
        ({**IRCOT, "answers_objects": [{"spans": [1950]}]}, "spans"),
        ({"question": "?"}, "none of the layouts"),
        ({}, "none of the layouts"),
    ],
)
def test_bad_entries(tmp_path, entry, expected):
    """Each is told with its line and id; the good ones around it come through."""
    lines = [json.dumps(one) for one in ({**ORIGINAL, "_id": "a"}, entry, {**ORIGINAL, "_id": "z"})]
    found, failed = questions(tmp_path, "\n".join(lines))
    assert [question.id for question in found] == ["a", "z"]
    ((number, error, identity),) = failed
    assert number == 2
    assert isinstance(error, DataError)
    assert expected in error.message
    assert identity == entry.get("_id", entry.get("id", entry.get("question_id")))


def test_what_is_no_entry(tmp_path):
    found, failed = questions(tmp_path, json.dumps(ORIGINAL) + '\n["x"]\n{"_id": \n')
    assert [question.id for question in found] == ["h1"]
    assert [(number, error.message.split(":")[0]) for number, error, _ in failed] == [
        (2, "expected an object"), (3, "not JSON")]  # fmt: skip
    found, failed = questions(tmp_path, '[{"_id": "h1"},\n\n{"_id"\n]')
    assert not found
    assert [number for number, *_ in failed] == [1, 4], "place in the list; then the line on which it shows"


def test_what_is_written_can_be_read(tmp_path):
    for layout in (ORIGINAL, COLUMNAR, IRCOT):
        found, _ = questions(tmp_path, json.dumps(layout))
        (line,) = written(iter(found), None, 0)
        assert view(json.loads(line), (Question,)) == found[0]
        assert b"null" not in line


def test_sample():
    """It follows ids and seed alone; a smaller one is inside a larger one; another seed draws others."""
    every = [Question(id=f"q{number}", question="?") for number in range(60)]
    drawn = [question.id for question in sample(every, 20, 7)]
    assert drawn == sorted(drawn, key=lambda name: int(name[1:])), "in the order of the file"
    assert {question.id for question in sample(every[::-1], 20, 7)} == set(drawn)
    assert {question.id for question in sample(every, 5, 7)} < set(drawn)
    assert {question.id for question in sample(every, 20, 8)} != set(drawn)
    assert len(sample(every, 99, 7)) == 60
    assert sample(every, 1, 7)[0].sample == {"seed": 7, "n": 1}


def test_ids_that_come_twice(tmp_path):
    found, _ = questions(tmp_path, json.dumps([ORIGINAL, {**ORIGINAL, "_id": "h2"}, ORIGINAL]))
    with pytest.raises(DataError, match="id=h1: the question is there twice, as number 1 and 3"):
        list(written(iter(found), None, 0))
