"""Real MuSiQue, 2WikiMultihopQA and NQ files: gold of side files, and hops finds what BM25 does not.

The files lie beside the repository, or in $RAGPACK_TEST_DATA; they are no part of it.
"""

from __future__ import annotations

from functools import cache

import pytest
from shared import DATA, FILES

from ragpack.datasets import DATASETS
from ragpack.metrics.retrieval import all_gold_at, recall_at
from ragpack.records import Doc, Hits, Question
from ragpack.registry import load
from ragpack.retrievers import RETRIEVERS
from ragpack.retrievers.corpus import Corpus

MUSIQUE = ("musique/musique_ans_train_sample.jsonl", "musique/musique_ans_dev_sample.jsonl")
GOLD = {"2wiki": "2wikimultihopqa/2wikimultihopqa_gold_titles.derived.tsv", "nq": "nq/nq_gold.derived.tsv"}

pytestmark = pytest.mark.skipif(
    not (DATA / "musique").is_dir(),
    reason="the samples are not there: set RAGPACK_TEST_DATA to a folder that holds musique/ and the others",
)


@cache
def imported(name: str, gold: bool = False) -> tuple[Question | Doc | Hits, ...]:
    def fail(source, number, error, identity):
        raise AssertionError(f"{source}:{number}: {identity}: {error}")

    format = FILES[name].format
    options = {"gold": str(DATA / GOLD[format])} if gold else {}
    return tuple(load(DATASETS, format)(str(DATA / name), fail, **options))


def test_gold_of_side_files():
    """413 of 481 questions of 2Wiki: 2 gold documents for 297, 4 for 116; one for each question of NQ."""
    counts = [len(one.gold) for one in imported("2wikimultihopqa/2wikimultihopqa_questions.json", True)]
    assert [counts.count(number) for number in (0, 2, 4)] == [68, 297, 116]
    nq = imported("nq/nq-open-oracle.jsonl.gz", True)
    assert {len(one.gold) for one in nq} == {1}
    for questions, corpus in (
        (
            imported("2wikimultihopqa/2wikimultihopqa_questions.json", True),
            "2wikimultihopqa/2wikimultihopqa_corpus.json",
        ),
        (nq, "nq/nq_corpus.derived.jsonl.gz"),
    ):
        documents = {doc.id for doc in imported(corpus)}
        assert all(set(one.gold) <= documents for one in questions)


def means(retriever: str, questions, corpus: Corpus | None) -> tuple[float, float]:
    """recall@5, all_gold@5."""
    search = load(RETRIEVERS, retriever)(corpus).search
    ranked = [([hit.doc.id for hit in search(one.question, one.docs, 5)], one.gold) for one in questions]
    return (sum(recall_at(ids, gold, 5) for ids, gold in ranked) / len(ranked),
            sum(all_gold_at(ids, gold, 5) for ids, gold in ranked) / len(ranked))  # fmt: skip


def test_hops_on_musique():
    questions = [one for name in MUSIQUE for one in imported(name)]
    assert means("bm25", questions, None)[1] < 0.35
    assert means("hops", questions, None)[1] >= 0.70


def test_hops_on_2wiki():
    found = imported("2wikimultihopqa/2wikimultihopqa_questions.json", True)
    questions = [one for one in found if one.gold]
    corpus = Corpus(list(imported("2wikimultihopqa/2wikimultihopqa_corpus.json")), "")
    assert means("bm25", questions, corpus)[1] < 0.35
    recall, everything = means("hops", questions, corpus)
    assert recall >= 0.97
    assert everything >= 0.94


def test_hops_on_hotpotqa():
    questions = list(load(DATASETS, "hotpotqa")(str(DATA / "hotpotqa/hotpot_dev_distractor_sample.json"), print))
    assert means("bm25", questions, None)[1] < 0.85
    assert means("hops", questions, None)[1] >= 0.95
