"""Real HotpotQA files through the stages that need no model: every layout in full, nothing fails.

The files lie beside the repository, or in $RAGPACK_TEST_DATA; they are no part of it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import orjson
import pytest
from command import ROOT
from mapped import rows

from ragpack.datasets.hotpotqa import read
from ragpack.metrics.context import AnswerMatcher
from ragpack.metrics.normalise import normalise
from ragpack.records import Question, ordered
from ragpack.stages.diagnose import DiagnoseParams, open_diagnose
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import POLICIES
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

DATA = Path(os.environ.get("RAGPACK_TEST_DATA") or ROOT.parent / "shared/data") / "hotpotqa"
FILES = {
    "hotpot_dev_distractor_sample.json": 113,
    "hotpot_train_sample.json": 49,
    "hotpot_hf_columnar_sample.jsonl": 55,
    "hotpotqa_ircot_dev_subsampled.jsonl": 258,
}
COLUMNAR, IRCOT = "hotpot_hf_columnar_sample.jsonl", "hotpotqa_ircot_dev_subsampled.jsonl"
EVERYTHING = 1_000_000

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(),
    reason="the HotpotQA samples are not there: set RAGPACK_TEST_DATA to a folder that holds hotpotqa/",
)


def imported(name: str) -> list[Question]:
    def fail(source, number, error, identity):
        raise AssertionError(f"{source}:{number}: {identity}: {error}")

    return list(read(str(DATA / name), fail))


@cache
def questions() -> tuple[Question, ...]:
    """All of them, each once; the original layout first, since it has most."""
    found = {question.id: question for name in FILES for question in reversed(imported(name))}
    return tuple(found.values())


@cache
def diagnosed() -> list[dict]:
    """All questions, all policies at 160, and everything retrieved shown."""
    raw = [orjson.loads(orjson.dumps(ordered(Question, _fields(question)))) for question in questions()]
    hits = rows(open_retrieve(RetrieveParams(k=5)), raw)
    packs = rows(open_pack(PackParams(tuple(POLICIES), (160,))), hits)
    packs += rows(open_pack(PackParams(("topk",), (EVERYTHING,))), hits)
    return rows(open_diagnose(DiagnoseParams(profile="hotpot")), packs)


def _fields(question: Question) -> dict:
    docs = [{"id": doc.id, "title": doc.title, "text": doc.text, "sentences": doc.sentences} for doc in question.docs]
    return {"id": question.id, "question": question.question, "answers": question.answers, "gold": question.gold,
            "docs": docs}  # fmt: skip


@pytest.mark.parametrize(("name", "count"), FILES.items())
def test_every_entry_comes_in(name, count):
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
    for name in (*list(FILES)[:2], COLUMNAR):
        for question in imported(name):
            docs = {doc.id: doc for doc in question.docs}
            for title, index in question.gold_sentences:
                start, end = docs[title].sentences[index]
                assert docs[title].text[start:end].strip(), (question.id, title, index)
            if question.answers[0] not in ("yes", "no"):
                assert any(question.answers[0] in docs[title].text for title in question.gold), question.id


def test_two_layouts_give_the_same_questions():
    original = {question.id: question for name in list(FILES)[:2] for question in imported(name)}
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
    assert len(found) == len(questions()) * (len(POLICIES) + 1)
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
    for policy in POLICIES:
        assert 0.35 <= mean(policy, 160, "answer_in_context") < everything - 0.1
    assert mean("chunk_focused", 160, "answer_in_context") > mean("chunk_packed", 160, "answer_in_context")
