"""Ranking measures: worked cases, and a comparison with ir_measures."""

import math
import random

import pytest

from ragpack.metrics.retrieval import all_gold_at, answer_in_hits_at, hit_at, ndcg_at, recall_at

MEASURES = (recall_at, hit_at, all_gold_at, ndcg_at)
LOG3 = math.log2(3)

CASES = {  # ranking, gold, k, (recall, hit, all gold, nDCG)
    "perfect": (["a", "b"], ["a", "b"], 2, (1, 1, 1, 1)),
    "second_of_two": (["x", "a"], ["a", "b"], 2, (1 / 2, 1, 0, (1 / LOG3) / (1 + 1 / LOG3))),
    "below_the_cut": (["x", "y", "a"], ["a"], 2, (0, 0, 0, 0)),
    "at_the_cut": (["x", "y", "a"], ["a"], 3, (1, 1, 1, 1 / 2)),  # log2(4) = 2
    "more_golds_than_k": (["a", "b"], ["a", "b", "c"], 1, (1 / 3, 1, 0, 1)),  # the ideal is cut at k
    "short_list_is_not_perfect": (["a"], ["a", "b"], 5, (1 / 2, 1, 0, 1 / (1 + 1 / LOG3))),  # 0.613, not 1
    "empty_ranking": ([], ["a"], 5, (0, 0, 0, 0)),
    "repeated_hit_counts_once": (["a", "a"], ["a", "b"], 2, (1 / 2, 1, 0, 1 / (1 + 1 / LOG3))),
    "repeated_hit_takes_no_rank": (["x", "x", "a"], ["a"], 2, (1, 1, 1, 1 / LOG3)),
    "repeated_gold_is_one": (["a"], ["a", "a"], 5, (1, 1, 1, 1)),
    "no_gold": (["a"], [], 5, (None, None, None, None)),
}


@pytest.mark.parametrize(("ranking", "gold", "k", "expected"), CASES.values(), ids=CASES)
def test_measures(ranking, gold, k, expected):
    for measure, value in zip(MEASURES, expected, strict=True):
        wanted = None if value is None else pytest.approx(value)
        assert measure(ranking, gold, k) == wanted, measure.__name__


def test_a_cut_off_below_one_is_refused():
    for measure in MEASURES:
        with pytest.raises(ValueError, match="1 or more, got 0"):
            measure(["a"], ["a"], 0)
    with pytest.raises(ValueError, match="1 or more"):
        answer_in_hits_at([True], 0)


IN_HITS = {
    "at_the_cut": ([False, True], 2, 1.0),
    "below_the_cut": ([False, True], 1, 0.0),
    "unknown": ([None, None], 2, None),
    "found_beside_unknown": ([None, True], 2, 1.0),
    "not_found_beside_unknown": ([None, False], 2, None),
    "unknown_below_the_cut": ([False, None], 1, 0.0),
    "no_hits": ([], 5, 0.0),
}


@pytest.mark.parametrize(("has_answer", "k", "expected"), IN_HITS.values(), ids=IN_HITS)
def test_answer_in_hits(has_answer, k, expected):
    assert answer_in_hits_at(has_answer, k) == expected


def test_against_ir_measures():
    ir_measures = pytest.importorskip("ir_measures", reason="the development dependencies have ir_measures")
    draw = random.Random(7)
    documents = [f"d{number}" for number in range(12)]
    golds = {f"q{n}": draw.sample(documents, draw.randint(1, 6)) for n in range(300)}
    ranked = {query: draw.sample(documents, draw.randint(1, 12)) for query in golds}
    qrels = {query: dict.fromkeys(gold, 1) for query, gold in golds.items()}
    # Scores strictly decreasing: trec_eval sorts by score and breaks ties by name.
    run = {query: {doc: -float(rank) for rank, doc in enumerate(ids)} for query, ids in ranked.items()}
    ours = {"nDCG": ndcg_at, "R": recall_at, "Success": hit_at}
    theirs = [ir_measures.parse_measure(f"{name}@{k}") for name in ours for k in (1, 2, 5, 10)]
    compared = 0
    for metric in ir_measures.iter_calc(theirs, qrels, run):
        name, k = str(metric.measure).split("@")
        value = ours[name](ranked[metric.query_id], golds[metric.query_id], int(k))
        assert value == pytest.approx(metric.value), (metric.measure, metric.query_id)
        compared += 1
    assert compared == 300 * 12
