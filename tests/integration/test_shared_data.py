"""Real files: every one of them comes in; and HotpotQA goes through the stages that need no model, nothing fails.

The files lie beside the repository, or in $RAGPACK_TEST_DATA; they are no part of it.
"""

from __future__ import annotations

from functools import cache

import orjson
import pytest
from mapped import rows
from shared import DATA, FILES, SIDES

from ragpack.datasets import DATASETS
from ragpack.datasets.detect import detect
from ragpack.datasets.hotpotqa import read
from ragpack.metrics.context import AnswerMatcher
from ragpack.metrics.normalise import normalise
from ragpack.records import Doc, Hits, Question, ordered
from ragpack.registry import load
from ragpack.stages.diagnose import DiagnoseParams, open_diagnose
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import CEILINGS, POLICIES
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

HOTPOT = DATA / "hotpotqa"
LAYOUTS = {name.partition("/")[2]: sample.count for name, sample in FILES.items() if sample.format == "hotpotqa"}
COLUMNAR, IRCOT = "hotpot_hf_columnar_sample.jsonl", "hotpotqa_ircot_dev_subsampled.jsonl"
EVERYTHING = 1_000_000
PACKED = tuple(policy for policy in POLICIES if policy != "igp")
"""`igp` wants hits that a reader has probed."""

pytestmark = pytest.mark.skipif(
    not HOTPOT.is_dir(),
    reason="the samples are not there: set RAGPACK_TEST_DATA to a folder that holds hotpotqa/ and the others",
)


@cache
def every(name: str, format: str) -> tuple[Question | Hits | Doc, ...]:
    """All records of a file; none may fail."""

    def fail(source, number, error, identity):
        raise AssertionError(f"{source}:{number}: {identity}: {error}")

    return tuple(load(DATASETS, format)(str(DATA / name), fail))


def test_the_table_is_the_folder():
    there = {str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file() and path.name != "README.md"}
    assert there == {*FILES, *SIDES}


@pytest.mark.parametrize(("name", "sample"), FILES.items(), ids=FILES)
def test_every_file_comes_in(name, sample):
    """Under the format that it is told by and under its other names: as many records as its README says, ids once, gold
    in the pool."""
    assert detect(str(DATA / name)) == sample.format
    for format in (sample.format, *sample.also):
        found = every(name, format)
        assert len(found) == len({one.id for one in found}) == sample.count
        for one in found:
            assert isinstance(one, Doc if sample.format == "corpus" else Hits if sample.format == "dpr" else Question)
            if isinstance(one, Question) and one.docs:
                documents = [doc.id for doc in one.docs]
                assert len(set(documents)) == len(documents)
                assert one.gold or one.group in ("musique_unanswerable", "expertqa")
                assert set(one.gold) <= set(documents)
            if format in sample.also and format not in ("2wiki-corpus", "squad"):
                assert one.group == format


def test_what_the_readme_says_of_them():
    """Paragraphs, answers and evidence, counted by the folder's README."""
    for name, format, count in (
        ("covidqa/200423_covidQA_squad.json", "covidqa", 57),
        ("covidqa/open_domain_covidqa_paragraphs.json", "covidqa", 690),
        ("squad/xquad.en.json", "squad", 115),
    ):
        questions = every(name, format)
        documents = {doc.id: doc for one in questions for doc in one.docs}
        assert len(documents) == count
        assert all(any(answer in documents[one.gold[0]].text for answer in one.answers) for one in questions)
        assert {doc.id: doc for doc in every(name, "corpus")} == documents, "the same file as a corpus"
    expert = every("expertqa/rand_val.jsonl", "expertqa")
    assert sum(bool(one.docs) for one in expert) == 149
    assert sum(bool(one.answers) for one in expert) == 216
    long_form = every("expertqa/rand_lfqa_val.json", "expertqa")
    assert {one.question for one in long_form} <= {one.question for one in expert}
    ambiguous = every("ambigqa/dev_light.json", "ambigqa")
    assert all(one.answers for one in ambiguous)
    assert sum(one.meta["ambiguous"] for one in ambiguous) == 496 + 79, "multipleQAs alone, and both kinds"


def imported(name: str) -> list[Question]:
    def fail(source, number, error, identity):
        raise AssertionError(f"{source}:{number}: {identity}: {error}")

    return list(read(str(HOTPOT / name), fail))


@cache
def questions() -> tuple[Question, ...]:
    """All of them, each once; the original layout first, since it has most."""
    found = {question.id: question for name in LAYOUTS for question in reversed(imported(name))}
    return tuple(found.values())


@cache
def diagnosed() -> list[dict]:
    """All questions, all policies at 160, and everything retrieved shown."""
    raw = [orjson.loads(orjson.dumps(ordered(Question, _fields(question)))) for question in questions()]
    hits = rows(open_retrieve(RetrieveParams(k=5)), raw)
    packs = rows(open_pack(PackParams(PACKED, (160,))), hits)
    packs += rows(open_pack(PackParams(("topk",), (EVERYTHING,))), hits)
    return rows(open_diagnose(DiagnoseParams(profile="hotpot")), packs)


def _fields(question: Question) -> dict:
    docs = [{"id": doc.id, "title": doc.title, "text": doc.text, "sentences": doc.sentences} for doc in question.docs]
    return {"id": question.id, "question": question.question, "answers": question.answers, "gold": question.gold,
            "docs": docs}  # fmt: skip


@pytest.mark.parametrize(("name", "count"), LAYOUTS.items())
def test_every_layout_of_hotpotqa_comes_in(name, count):
    found = imported(name)
    assert len(found) == len({question.id for question in found}) == count
    for question in found:
        titles = {doc.id for doc in question.docs}
        assert len(titles) == len(question.docs)
        assert 1 <= len(question.gold) <= 2
        assert set(question.gold) <= titles
        assert question.answers
        for doc in question.docs:
            assert all(0 <= start <= end <= len(doc.text) for start, end in doc.sentences)
            assert (
                "".join(doc.text[start:end] for start, end in doc.sentences).split()
                == "".join(doc.text.split("  ") if name == IRCOT else doc.text).split()
            )


def test_gold_sentences_point_at_sentences():
    """By index, so an empty sentence must have kept its place; and a span answer stands in a gold document."""
    for name in (*list(LAYOUTS)[:2], COLUMNAR):
        for question in imported(name):
            docs = {doc.id: doc for doc in question.docs}
            for title, index in question.gold_sentences:
                start, end = docs[title].sentences[index]
                assert docs[title].text[start:end].strip(), (question.id, title, index)
            if question.answers[0] not in ("yes", "no"):
                assert any(question.answers[0] in docs[title].text for title in question.gold), question.id


def test_two_layouts_give_the_same_questions():
    original = {question.id: question for name in list(LAYOUTS)[:2] for question in imported(name)}
    shared = [question for question in imported(COLUMNAR) if question.id in original]
    assert len(shared) >= 45
    for question in shared:
        other = original[question.id]
        assert (question.question, question.answers, question.docs) == (other.question, other.answers, other.docs)
        assert set(question.gold) == set(other.gold)
        assert set(question.gold_sentences) == set(other.gold_sentences)


def test_ircot_gives_the_same_facts():
    """Its paragraphs are joined otherwise, but words, answers and gold documents are those of the original."""
    original = {question.id: question for question in imported("hotpot_dev_distractor_sample.json")}
    shared = [question for question in imported(IRCOT) if question.id in original]
    assert len(shared) >= 50
    same = 0
    for question in shared:
        other = original[question.id]
        assert {normalise(one) for one in question.answers} == {normalise(one) for one in other.answers}
        assert set(question.gold) == set(other.gold)
        same += {doc.id for doc in question.docs} == {doc.id for doc in other.docs}
    assert same >= 0.9 * len(shared)


def test_all_stages_run_over_all_of_them():
    """`rows` lets no failure pass; every row keeps its budget, and no metric leaves [0, 1]."""
    found = diagnosed()
    assert len(found) == len(questions()) * (len(PACKED) + 1)
    for row in found:
        assert row["pack"]["tokens"] <= row["pack"]["budget"]
        for name, value in row["diagnose"].items():
            if isinstance(value, float):
                assert 0 <= value <= 1, (row["id"], name)
        assert row["diagnose"]["verdict"] in ("in_context", "dropped_by_packing", "not_retrieved")


def mean(policy: str, budget: int, metric: str) -> float:
    values = [
        row["diagnose"][metric]
        for row in diagnosed()
        if (row["pack"]["policy"], row["pack"]["budget"]) == (policy, budget)
        and row["diagnose"]["answer_kind"] == "span"
    ]
    return sum(values) / len(values)


def test_answers_are_there_to_be_found():
    """An answer that is a span stands in its pool; with all five documents shown nearly nine in ten are in context."""
    spans = [question for question in questions() if question.answers[0].lower() not in ("yes", "no")]
    inside = [
        AnswerMatcher(question.answers).occurs(" ".join(f"{doc.title} {doc.text}" for doc in question.docs))
        for question in spans
    ]
    assert sum(map(bool, inside)) >= 0.98 * len(spans)
    assert 0.82 <= mean("topk", EVERYTHING, "answer_in_context") <= 0.93
    assert mean("topk", EVERYTHING, "answer_in_context") == mean("topk", EVERYTHING, "answer_in_hits")


def test_packing_drops_answers():
    """What the project is about: at 160 tokens every policy loses some of what was retrieved."""
    everything = mean("topk", EVERYTHING, "answer_in_context")
    for policy in PACKED:
        if policy in CEILINGS:  # they know the answers
            continue
        assert 0.35 <= mean(policy, 160, "answer_in_context") < everything - 0.03
    assert mean("chunk_focused", 160, "answer_in_context") > mean("chunk_packed", 160, "answer_in_context")
