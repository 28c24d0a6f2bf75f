"""MuSiQue, 2WikiMultihopQA, NQ, PopQA, passages of a corpus, passages retrieved elsewhere. Facts are invented."""

import json

import pytest
from imported import BARE, DPR, MUSIQUE, NQ, POPQA, RELEASE

from ragpack.checked import view
from ragpack.datasets import DATASETS
from ragpack.datasets.emit import written
from ragpack.datasets.gold import read_gold
from ragpack.errors import DataError, UsageError
from ragpack.records import Doc, Hits, Question
from ragpack.registry import load


def imported(tmp_path, format, entries, **options):
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    failed = []
    read = load(DATASETS, format)

    def fail(source, number, error, identity):
        failed.append((number, identity, error.message))

    return list(read(str(file), fail, **options)), failed


def one(tmp_path, format, entry, **options):
    found, failed = imported(tmp_path, format, [entry], **options)
    assert not failed
    return found[0]


def gold(tmp_path, text):
    path = tmp_path / "gold.tsv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_musique(tmp_path):
    """Two paragraphs have one title, so places name documents."""
    found = one(tmp_path, "musique", MUSIQUE)
    assert found == Question(
        id="2hop__1_2",
        question=MUSIQUE["question"],
        answers=["Ida Vale", "Vale"],
        gold=["1", "2"],
        docs=[Doc(id=str(at), title=one["title"], text=one["paragraph_text"])
              for at, one in enumerate(MUSIQUE["paragraphs"])],
        group="musique",
        meta={"answerable": True, "hops": 2},
    )  # fmt: skip


def test_musique_full_has_each_question_twice(tmp_path):
    """Under one id: the second gets another, whichever comes first; alone it keeps its own."""
    without = {**MUSIQUE, "answerable": False, "paragraphs": MUSIQUE["paragraphs"][:2]}
    found, _ = imported(tmp_path, "musique", [MUSIQUE, without])
    assert [(one.id, one.group, one.gold) for one in found] == [
        ("2hop__1_2", "musique", ["1", "2"]),
        ("2hop__1_2__unanswerable", "musique_unanswerable", ["1"]),
    ]
    found, _ = imported(tmp_path, "musique", [without, MUSIQUE])
    assert [one.id for one in found] == ["2hop__1_2", "2hop__1_2__answerable"]
    assert one(tmp_path, "musique", without).id == "2hop__1_2"
    found, _ = imported(tmp_path, "musique", [MUSIQUE, MUSIQUE])
    with pytest.raises(DataError, match="id=2hop__1_2: the question is there twice"):
        list(written(found, None, 0))


def test_2wiki_bare_with_a_side_file(tmp_path):
    tsv = gold(tmp_path, "w1\t0\tLisk\t1\nw1\t0\tTern\t0\nw1\t0\tOstra\t2\nw1\t0\tLisk\t1\nw9\t0\tx\t1\n")
    found, failed = imported(tmp_path, "2wiki", [BARE, {**BARE, "id": "w5"}], gold=tsv)
    assert not failed
    assert found[0] == Question(
        id="w1", question=BARE["question"], answers=["Ida Vale"], gold=["Lisk", "Ostra"], group="2wiki",
        meta={"type": "compositional", "evidence": BARE["evidence"]},
    )  # fmt: skip
    assert found[1].gold == [], "a question that the file doesn't name has no known gold"
    assert one(tmp_path, "2wiki", BARE).gold == []


def test_2wiki_release(tmp_path):
    """Sentences come without the blank between them, and spans must follow the one that is put in."""
    found = one(tmp_path, "2wiki", RELEASE)
    assert (found.id, found.group, found.gold) == ("w2", "2wiki", ["Lisk", "Ostra"])
    assert found.gold_sentences == [("Lisk", 1), ("Ostra", 0)]
    assert found.docs == [
        Doc(id="Lisk", title="Lisk", text="The Lisk is a river. It ends in Ostra.",
            sentences=[(0, 20), (21, 38), (38, 38)]),
        Doc(id="Ostra", title="Ostra", text=" A town.", sentences=[(0, 8)]),
    ]  # fmt: skip
    assert one(tmp_path, "2wiki", {**RELEASE, "supporting_facts": []}).gold == []


def test_nq(tmp_path):
    found = one(tmp_path, "nq", NQ)
    assert (found.id, found.answers, found.gold) == ("who built ostra", ["Ida Vale"], ["Ostra #2"])
    assert [doc.id for doc in found.docs] == ["Ostra", "Ostra #2"]
    found = one(tmp_path, "nq", NQ, gold=gold(tmp_path, "who built ostra\t78\n"))
    assert (found.gold, found.docs) == (["78"], None), "ids of a corpus don't name the question's own passages"


def test_popqa(tmp_path):
    found = one(tmp_path, "popqa", POPQA)
    assert (found.id, found.answers, found.gold) == ("3", ["Ostra", "Ostra Town"], ["Lisk"])
    assert found.meta == {"prop": "mouth", "s_pop": 5, "o_pop": 7}


def test_dpr(tmp_path):
    """Hits already: ranks in the order of the file, each id once, what is not known left out."""
    found = one(tmp_path, "dpr", DPR)
    (line,) = written([found], None, 0)
    row = json.loads(line)
    assert view(row, (Hits,)) == found
    assert [tuple(hit.values()) for hit in row["hits"]] == [
        (1, "Ostra", "Ostra", "Ida Vale built it.", 81.5, True),
        (2, "Ostra #2", "Ostra", "A town.", False),
        (3, "p9", "No title."),
    ]
    assert one(tmp_path, "dpr", {key: DPR[key] for key in ("question", "answers", "ctxs")}).id == "who built ostra"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"title": "Lisk", "text": "A river."}, Doc(id="Lisk", title="Lisk", text="A river.")),
        ({"id": 7, "title": "Lisk", "text": ""}, Doc(id="7", title="Lisk", text="")),
        ({"_id": "d1", "title": "", "text": "x"}, Doc(id="d1", text="x")),
        ({"_id": "d1", "text": "x", "metadata": {}}, Doc(id="d1", text="x")),
        ({"id": 0, "contents": '"The "Lisk""\nLong.\nA river.'},
         Doc(id="0", title='The "Lisk"', text="Long.\nA river.")),
    ],
)  # fmt: skip
def test_corpus(tmp_path, entry, expected):
    for format in ("corpus", "2wiki-corpus"):
        found = one(tmp_path, format, entry)
        assert found == expected
        (line,) = written([found], None, 0)
        assert view(json.loads(line), (Doc,)) == expected


def test_a_corpus_is_no_sample(tmp_path):
    doc = Doc(id="a", text="x")
    with pytest.raises(DataError, match="id=a: the document is there twice, as number 1 and 2"):
        list(written([doc, doc], None, 0))
    with pytest.raises(UsageError, match="--sample draws questions"):
        list(written([doc], 1, 0))


@pytest.mark.parametrize(
    ("format", "entry", "expected"),
    [
        ("musique", {**MUSIQUE, "paragraphs": [{**MUSIQUE["paragraphs"][0], "idx": "0"}]}, "expected a whole number"),
        ("musique", {**MUSIQUE, "paragraphs": None}, "another form"),
        ("musique", {**MUSIQUE, "answerable": "yes"}, "answerable: expected true or false, got 'yes'"),
        ("musique", {**MUSIQUE, "answer_aliases": "Vale"}, "answer_aliases: expected a list of strings"),
        ("musique", RELEASE, "'paragraphs' is missing"),
        ("2wiki", {**BARE, "answer": None}, "answer: expected a string, got None"),
        ("2wiki", {**BARE, "evidence": [["a", 1]]}, "evidence: expected a string, got 1"),
        ("2wiki", {**RELEASE, "context": [["Lisk", "one string"]]}, "context: expected a list"),
        ("2wiki", MUSIQUE | {"id": None, "answer": "x"}, "id: expected a string or a whole number, got None"),
        ("nq", {**NQ, "ctxs": [{"title": "x", "text": 3}]}, "ctxs[].text: expected a string, got 3"),
        ("nq", {"question": "x"}, "there are no answers"),
        ("popqa", {**POPQA, "possible_answers": "[Ostra"}, "possible_answers: not JSON"),
        ("popqa", {**POPQA, "possible_answers": "3"}, "possible_answers: expected a list of strings, got 3"),
        ("dpr", {**DPR, "ctxs": [{"title": "x", "text": "y", "score": "high"}]}, "expected a number, got 'high'"),
        ("dpr", {**DPR, "ctxs": [DPR["ctxs"][2]] * 2}, "ctxs[1]: the id 'p9' is there twice"),
        ("dpr", {**DPR, "ctxs": [{"title": "x", "text": "y", "has_answer": 1}]}, "has_answer: expected true or false"),
        ("corpus", {"title": "", "text": "x"}, "neither 'id' nor 'title'"),
        ("corpus", {"title": "x"}, "none of the layouts"),
        ("corpus", {"id": 1, "contents": None}, "contents: expected a string, got None"),
    ],
)  # fmt: skip
def test_bad_entries(tmp_path, format, entry, expected):
    found, failed = imported(tmp_path, format, [entry])
    assert not found
    ((number, identity, message),) = failed
    assert number == 1
    assert expected in message
    assert identity == entry.get("_id", entry.get("id"))


def test_side_files(tmp_path):
    assert read_gold(gold(tmp_path, "a\tx y\na\tz\r\n\nb\t0\tx\t1\n")) == {"a": ["x y", "z"], "b": ["x"]}
    with pytest.raises(DataError, match=r"gold.tsv:2: expected 2, 3 or 4 columns .* got 5"):
        read_gold(gold(tmp_path, "a\tx\na\t0\tx\t1\tz\n"))
    with pytest.raises(DataError, match=r"gold.tsv:1: relevance: expected a whole number, got 'high'"):
        read_gold(gold(tmp_path, "a\t0\tx\thigh\n"))
    with pytest.raises(UsageError, match="no such file"):
        read_gold(str(tmp_path / "none.tsv"))
    with pytest.raises(DataError, match="it names none of the 1 questions"):
        imported(tmp_path, "2wiki", [BARE], gold=gold(tmp_path, "other\tx\n"))
