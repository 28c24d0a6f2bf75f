"""TriviaQA, PopQA, AmbigQA, SQuAD, COVID-QA, ExpertQA, RAGBench, FlashRAG, folders of texts. Facts are invented."""

import json

import pytest
from imported import COVID, EXPERT, FLASHRAG, LISK, OSTRA, PARAGRAPHS, RAGBENCH, RESULT, SQUAD

from ragpack.checked import view
from ragpack.datasets import DATASETS
from ragpack.datasets.emit import written
from ragpack.records import Doc, Hits, Question
from ragpack.registry import load


def imported(tmp_path, format, *entries, **options):
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    failed = []

    def fail(source, number, error, identity):
        failed.append((number, identity, error.message))

    return list(load(DATASETS, format)(str(file), fail, **options)), failed


def all_of(tmp_path, format, *entries, **options):
    found, failed = imported(tmp_path, format, *entries, **options)
    assert not failed
    for record in found:
        (line,) = written([record], None, 0)
        assert view(json.loads(line), (Question, Hits, Doc)) == record
    return found


def test_squad(tmp_path):
    """Paragraphs of an article are numbered; a question without an answer has none."""
    found = all_of(tmp_path, "squad", SQUAD)
    first, second = (
        Doc(id=f"Ostra_Bridge #{n}", title="Ostra Bridge", text=text) for n, text in ((1, OSTRA), (3, LISK))
    )
    assert found == [
        Question(id="s1", question="Who built it?", answers=["Ida Vale"], gold=[first.id], docs=[first], group="squad"),
        Question(id="s2", question="What does it cross?", answers=["the Lisk"], gold=[first.id], docs=[first],
                 group="squad"),
        Question(id="s3", question="Why?", gold=[second.id], docs=[second], group="squad",
                 meta={"is_impossible": True}),
    ]  # fmt: skip
    corpus = all_of(tmp_path, "corpus", SQUAD)
    assert corpus[::2] == [first, second], "the same file as a corpus, under the same ids"
    assert [doc.id for doc in corpus] == ["Ostra_Bridge #1", "Ostra_Bridge #2", "Ostra_Bridge #3"], "and all paragraphs"
    rows = [{"id": "s1", "title": "Ostra_Bridge", "context": OSTRA, "question": "Who built it?",
             "answers": {"text": ["Ida Vale"], "answer_start": [51]}}]  # fmt: skip
    assert all_of(tmp_path, "squad", *rows) == found[:1], "rows of Hugging Face"


def test_squad_numbers_its_questions(tmp_path):
    """A bad question is told with its number in the file, and the others come in."""
    broken = json.loads(json.dumps(SQUAD))
    del broken["data"][0]["paragraphs"][0]["qas"][1]["question"]
    broken["data"].append({"title": "x", "paragraphs": [{"qas": []}]})
    found, failed = imported(tmp_path, "squad", broken)
    assert [one.id for one in found] == ["s1", "s3"]
    assert failed == [(2, "s2", "the field 'question' is missing"), (4, None, "the field 'context' is missing")]


def test_covidqa(tmp_path):
    (article,) = all_of(tmp_path, "covidqa", COVID)
    assert (article.id, article.gold, article.group) == ("262", ["630"], "covidqa")
    assert article.docs == [Doc(id="630", text=OSTRA)]
    found = all_of(tmp_path, "covidqa", PARAGRAPHS)
    assert [one.gold for one in found] == [["Bridges #1"], ["Bridges #2"], ["Bridges #1"]]
    assert [doc.id for doc in all_of(tmp_path, "corpus", PARAGRAPHS)] == ["Bridges #1", "Bridges #2"]


def test_expertqa(tmp_path):
    """A passage once; gold where an expert saw support; an address alone is no passage; the answer is the expert's."""
    (found,) = all_of(tmp_path, "expertqa", EXPERT)
    assert found.docs == [Doc(id="http://x/a", text="Ida Vale built it."), Doc(id="http://x/a #2", text="Other.")]
    assert (found.id, found.answers, found.gold) == (EXPERT["question"], ["Ida Vale built it."], ["http://x/a"])
    assert found.meta == {"field": "Bridges", "systems": ["some_system"]}
    long_form = {"example_id": 0, "context": "", "question": "Who?", "answer": "Ida Vale."}
    assert all_of(tmp_path, "expertqa", long_form) == [
        Question(id="0", question="Who?", answers=["Ida Vale."], group="expertqa")
    ]


def test_ragbench(tmp_path):
    """Spans by hand: `Title: Ostra` is [0, 12), a line end, then [13, 33), two blanks, and `It ends here.` [35, 48). A
    key twice, or with a point, is one; one that no sentence has is counted; the response is no gold answer."""
    (found,) = all_of(tmp_path, "ragbench", RAGBENCH)
    assert [doc.sentences for doc in found.docs] == [[(0, 12), (13, 33), (35, 48)], [(0, 25)]]
    assert found.docs[0].text == RAGBENCH["documents"][0]
    assert (found.answers, found.gold, found.gold_sentences) == ([], ["1", "0"], [("1", 0), ("0", 2)])
    assert found.meta == {
        "generation_model_name": "some-model", "response": "Ida Vale did.", "adherence_score": True, "unknown_keys": 1,
    }  # fmt: skip


def test_ragbench_sentences_that_are_not_in_the_text(tmp_path):
    other = {**RAGBENCH, "documents": ["The Lisk.", "It was built by Ida Vale."]}
    (found,) = all_of(tmp_path, "ragbench", other)
    doc = found.docs[0]
    assert [doc.text[start:end] for start, end in doc.sentences] == [
        "Title: Ostra",
        "The Lisk is a river.",
        "It ends  here.",
    ]
    found, failed = imported(tmp_path, "ragbench", RAGBENCH, {**RAGBENCH, "generation_model_name": "another"})
    assert len(found) == 1
    assert failed == [(2, "r1", "the question is there already, with the response of some-model")]
    _, failed = imported(tmp_path, "ragbench", {**RAGBENCH, "documents": ["x"]})
    assert failed == [(1, "r1", "1 documents, but documents_sentences of 2")]


def test_ambigqa(tmp_path):
    """Answers of all annotators and all readings, each once; columns of Hugging Face are the same."""
    pairs = [{"question": "Who designed it?", "answer": ["Rex"]}, {"question": "Who paid?", "answer": ["Ida", "Vale"]}]
    rows = [{"type": "singleAnswer", "answer": ["Ida"]}, {"type": "multipleQAs", "qaPairs": pairs}]
    columns = {
        "type": ["singleAnswer", "multipleQAs"],
        "answer": [["Ida"], []],
        "qaPairs": [{"question": [], "answer": []},
                    {"question": [one["question"] for one in pairs], "answer": [one["answer"] for one in pairs]}],
    }  # fmt: skip
    readings = [{"question": one["question"], "answers": one["answer"]} for one in pairs]
    expected = Question(
        id="a", question="Who built it?", answers=["Ida", "Rex", "Vale"], group="ambigqa",
        meta={"ambiguous": True, "readings": readings},
    )  # fmt: skip
    for annotations in (rows, columns):
        entry = {"id": "a", "question": "Who built it?", "annotations": annotations}
        assert all_of(tmp_path, "ambigqa", entry) == [expected]
    (plain,) = all_of(tmp_path, "ambigqa", {"id": "b", "question": "?", "annotations": rows[:1]})
    assert (plain.answers, plain.meta) == (["Ida"], {"ambiguous": False})
    _, failed = imported(tmp_path, "ambigqa", {"id": "b", "question": "?", "annotations": [{"type": "none"}]})
    assert failed == [(1, "b", "annotations[].type: expected singleAnswer or multipleQAs, got 'none'")]


@pytest.mark.parametrize(
    "entry",
    [
        {"Data": [{"Question": "Who?", "QuestionId": "t1", "Answer": {"Value": "Ida", "Aliases": ["Vale", "Ida"]}}]},
        {"question": "Who?", "question_id": "t1", "answer": {"value": "Ida", "aliases": ["Ida", "Vale"]}},
        {"id": "t1", "question": "Who?", "golden_answers": ["Ida", "Vale"]},
        {"id": "t1", "question": "Who?", "answers": ["Ida", "Vale"]},
    ],
)
def test_triviaqa(tmp_path, entry):
    expected = Question(id="t1", question="Who?", answers=["Ida", "Vale"], group="triviaqa")
    assert all_of(tmp_path, "triviaqa", entry) == [expected]


@pytest.mark.parametrize("format", ["nq", "triviaqa", "popqa", "ambigqa"])
def test_layouts_that_open_domain_questions_share(tmp_path, format):
    """DPR's are hits, FlashRAG's are questions, and the group is the dataset."""
    ctxs = [{"title": "Ostra", "text": "Ida Vale built it.", "has_answer": True}]
    (hits,) = all_of(tmp_path, format, {"id": "1", "question": "Who?", "answers": ["Ida"], "ctxs": ctxs})
    assert isinstance(hits, Hits)
    assert (hits.group, [hit.id for hit in hits.hits]) == (format, ["Ostra"])
    (item,) = all_of(tmp_path, format, FLASHRAG)
    assert isinstance(item, Question)
    assert (item.id, item.group, item.answers, item.meta) == ("f1", format, ["Ida Vale"], {"prop": "builder"})
    tsv = tmp_path / "gold.tsv"
    tsv.write_text("f1\tOstra\n")
    assert all_of(tmp_path, format, FLASHRAG, gold=str(tsv))[0].gold == ["Ostra"]


def test_nq_release_and_popqa_without_paragraphs(tmp_path):
    assert all_of(tmp_path, "nq", {"question": "who?", "answer": ["Ida"]}) == [
        Question(id="who?", question="who?", answers=["Ida"], group="nq")
    ]
    entry = {"id": 3, "prop": "mouth", "question": "Where?", "possible_answers": '["Ostra"]'}
    (found,) = all_of(tmp_path, "popqa", entry)
    assert (found.id, found.answers, found.docs, found.gold) == ("3", ["Ostra"], None, [])


def test_flashrag(tmp_path):
    (item,) = all_of(tmp_path, "flashrag", FLASHRAG)
    assert (item.group, item.docs) == (None, None)
    (result,) = all_of(tmp_path, "flashrag", RESULT)
    (hit,) = result.hits
    assert (hit.rank, hit.id, hit.title, hit.text, hit.score) == (1, "7", "Ostra", "Built.", 2.0)
    cache = {"Who?": [{"id": 7, "contents": "Ostra\nBuilt.\nTwice."}, {"id": 8, "contents": "\nNo title."}], "Why?": []}
    first, second = all_of(tmp_path, "flashrag", cache)
    assert [(hit.id, hit.title, hit.text, hit.score) for hit in first.hits] == [
        ("7", "Ostra", "Built.\nTwice.", None), ("8", None, "No title.", None)]  # fmt: skip
    assert (second.id, second.question, second.hits) == ("Why?", "Why?", [])


def test_flashrag_multi_hop_items_have_their_pool(tmp_path):
    """HotpotQA keeps `sentences`, 2WikiMultihopQA `content`; they are the pool, and leave `meta`."""
    for field in ("sentences", "content"):
        meta = {"type": "bridge", "supporting_facts": {"title": ["Lisk"], "sent_id": [0]},
                "context": {"title": ["Lisk", "Ostra"], field: [["A river."], ["A town."]]}}  # fmt: skip
        (found,) = all_of(tmp_path, "flashrag", {**FLASHRAG, "metadata": meta})
        assert [doc.id for doc in found.docs] == ["Lisk", "Ostra"]
        assert (found.gold, found.gold_sentences, found.meta) == (["Lisk"], [("Lisk", 0)], {"type": "bridge"})


def test_pyserini(tmp_path):
    contexts = [{"docid": 9, "score": "3.5", "text": '"Ostra"\nIda Vale built it.', "has_answer": True}]
    (found,) = all_of(tmp_path, "dpr", {"q1": {"question": "Who?", "answers": ["Ida"], "contexts": contexts}})
    (hit,) = found.hits
    assert (found.id, hit.id, hit.title, hit.text, hit.score, hit.has_answer) == (
        "q1", "9", "Ostra", "Ida Vale built it.", 3.5, True)  # fmt: skip


def test_a_folder_of_texts(tmp_path):
    """Sorted by path; BOM and CR are gone; the first heading is the title; hidden and other files are passed over."""
    folder = tmp_path / "notes"
    (folder / "b" / ".git").mkdir(parents=True)
    (folder / "b" / "x.TXT").write_bytes("\ufeffOne.\r\nTwo — 北.\r\n".encode())
    (folder / "a.md").write_text("intro\n## Part\n# The *Lisk* #\nA river.\n")
    (folder / "c.markdown").write_text("no heading")
    (folder / "d.pdf").write_bytes(b"%PDF")
    (folder / "b" / ".git" / "y.txt").write_text("hidden")
    (folder / "z.txt").write_bytes(b"caf\xe9")
    failed = []
    read = load(DATASETS, "corpus")
    found = list(read(str(folder), lambda source, number, error, identity: failed.append((identity, error.message))))
    assert found == [
        Doc(id="a.md", title="The *Lisk*", text="intro\n## Part\n# The *Lisk* #\nA river."),
        Doc(id="b/x.TXT", title="x", text="One.\nTwo — 北."),
        Doc(id="c.markdown", title="c", text="no heading"),
    ]
    ((identity, message),) = failed
    assert identity == "z.txt"
    assert message.startswith("not UTF-8")


@pytest.mark.parametrize(
    ("format", "entry", "expected"),
    [
        ("squad", {**SQUAD["data"][0], "paragraphs": 3}, "another form"),
        ("squad", {"id": "x", "question": "?", "context": None, "answers": []}, "context: expected a string, got None"),
        ("covidqa", {"data": [3]}, "another form"),
        (
            "expertqa",
            {"question": "?", "answers": {"s": {"claims": [{"evidence": "x"}]}}},
            "claims[].evidence: expected",
        ),
        ("ragbench", {**RAGBENCH, "documents_sentences": None}, "another form"),
        ("flashrag", {"question": "?"}, "neither 'golden_answers' nor 'output.retrieval_result'"),
        ("flashrag", {**RESULT, "output": {"retrieval_result": [{"id": 1}]}}, "the field 'contents' is missing"),
        ("triviaqa", {"question": "?"}, "there are no answers"),
        ("dpr", {"question": "?", "ctxs": [{"title": "x", "text": "y", "score": "nan"}]}, "expected a finite number"),
        ("dpr", {"question": "?", "ctxs": [{"title": "x", "text": "y", "score": True}]}, "expected a finite number"),
        ("beir", {"_id": "", "text": "?"}, "id: expected a string or a whole number, got ''"),
        ("beir", {"_id": 1, "text": None}, "text: expected a string, got None"),
    ],
)
def test_bad_entries(tmp_path, format, entry, expected):
    found, ((number, _, message),) = imported(tmp_path, format, entry)
    assert not found
    assert number == 1
    assert expected in message
