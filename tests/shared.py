"""Samples of published datasets that lie beside the repository, or in $RAGPACK_TEST_DATA; they are no part of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from command import ROOT

DATA = Path(os.environ.get("RAGPACK_TEST_DATA") or ROOT.parent / "shared/data")


class Sample(NamedTuple):
    """A file: the format that it is told by, its names besides, its records."""

    format: str
    count: int
    also: tuple[str, ...] = ()


FILES = {
    "hotpotqa/hotpot_dev_distractor_sample.json": Sample("hotpotqa", 113),
    "hotpotqa/hotpot_train_sample.json": Sample("hotpotqa", 49),
    "hotpotqa/hotpot_hf_columnar_sample.jsonl": Sample("hotpotqa", 55),
    "hotpotqa/hotpotqa_ircot_dev_subsampled.jsonl": Sample("hotpotqa", 258),
    "musique/musique_ans_train_sample.jsonl": Sample("musique", 53),
    "musique/musique_ans_dev_sample.jsonl": Sample("musique", 21),
    "musique/musique_full_unanswerable_sample.jsonl": Sample("musique", 33),
    "musique/musique_dev1000_retrieved_top5.jsonl": Sample("dpr", 495),
    "2wikimultihopqa/2wikimultihopqa_questions.json": Sample("2wiki", 481),
    "2wikimultihopqa/2wikimultihopqa_corpus.json": Sample("corpus", 6119, ("2wiki-corpus",)),
    "expertqa/rand_val.jsonl": Sample("expertqa", 217),
    "expertqa/rand_lfqa_val.json": Sample("expertqa", 216),
    "covidqa/200423_covidQA_squad.json": Sample("covidqa", 988, ("squad",)),
    "covidqa/open_domain_covidqa_paragraphs.json": Sample("covidqa", 1300, ("squad",)),
    "nq/nq-open-oracle.jsonl.gz": Sample("nq", 1311),
    "nq/nq_corpus.derived.jsonl.gz": Sample("corpus", 10275),
    "nq/nq_test1000_dpr_ctxs.jsonl": Sample("dpr", 522, ("nq",)),
    "nq/flashrag_test_subsample.jsonl": Sample("flashrag", 523, ("nq",)),
    "triviaqa/triviaqa_test1000_dpr_ctxs.jsonl": Sample("dpr", 493, ("triviaqa",)),
    "triviaqa/flashrag_test_subsample.jsonl": Sample("flashrag", 493, ("triviaqa",)),
    "popqa/popqa_hipporag.json": Sample("popqa", 494),
    "popqa/popqa_corpus.derived.jsonl.gz": Sample("corpus", 5032),
    "popqa/popqa_test1000_dpr_ctxs.jsonl": Sample("dpr", 373, ("popqa",)),
    "popqa/flashrag_test_subsample.jsonl": Sample("flashrag", 498, ("popqa",)),
    "squad/xquad.en.json": Sample("squad", 594),
    "ambigqa/dev_light.json": Sample("ambigqa", 992),
    "wiki/flashrag_sample_corpus.jsonl": Sample("corpus", 1000),
}
SIDES = ("2wikimultihopqa/2wikimultihopqa_gold_titles.derived.tsv", "nq/nq_gold.derived.tsv")
"""Gold documents: `--gold` takes them."""
