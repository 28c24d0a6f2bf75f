"""Correlations against scipy, and their intervals against drawing the rows."""

import random

import numpy as np
import pytest
import scipy.stats
from measured import NAN, rows_of

from ragpack.statistics.bootstrap import counts
from ragpack.statistics.correlations import correlations, midranks
from ragpack.statistics.rows import Options


def sample(seed, questions=25, policies=4):
    """Scores full of ties, features of many kinds; rows of one question are alike."""
    draw = random.Random(seed)
    found = []
    for question in range(questions):
        easy, hits = draw.random(), draw.choice([0.0, 0.5, 1.0])
        for policy in range(draw.randint(1, policies)):
            inside = float(draw.random() < easy)
            f1 = round(min(1.0, max(0.0, 0.5 * inside + 0.5 * easy + draw.gauss(0, 0.2))), 1)
            found.append((f"q{question}", f"p{policy}", None, {
                "f1": f1 if draw.random() < 0.9 else NAN, "em": float(f1 == 1.0), "answer_in_context": inside,
                "graded": max(inside, round(draw.random(), 2)) if draw.random() < 0.9 else NAN, "recall@2": 1.0,
                "recall@5": hits, "recall@10": 1.0, "hit@2": float(hits > 0), "ndcg@2": hits, "ndcg@5": hits / 2,
                "tokens": 90.0 + draw.randint(0, 9),
            }))  # fmt: skip
    return found


def table(found, **options):
    rows = correlations(rows_of(found), Options(**{"resamples": 300, **options}))
    return {(row["metric"], row["feature"]): row for row in rows}


def values_of(found, *names):
    values = np.array([[values[name] for name in names] for *_, values in found])
    return values, ~np.isnan(values).any(axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_correlations_are_those_of_scipy(seed):
    found = sample(seed)
    rows = table(found)
    features = ["answer_in_context", "graded", "recall@5", "hit@2", "ndcg@2", "ndcg@5", "tokens"]
    assert [feature for _, feature in rows] == features * 2, "recall at 5, hit at its deepest, nDCG at each depth"
    for (metric, feature), row in rows.items():
        values, kept = values_of(found, feature, metric)
        assert row["n"] == kept.sum()
        assert row["undefined"] == len(found) - kept.sum()
        assert row["pearson"] == pytest.approx(scipy.stats.pearsonr(*values[kept].T).statistic, abs=1e-12)
        assert row["spearman"] == pytest.approx(scipy.stats.spearmanr(*values[kept].T).statistic, abs=1e-12)
    assert rows["f1", "graded"]["undefined"] > rows["f1", "tokens"]["undefined"] > 0


@pytest.mark.parametrize("pair", [("f1", "graded"), ("em", "answer_in_context"), ("f1", "ndcg@5")])
def test_intervals_are_those_of_drawn_rows(pair):
    """The same draws, with the rows themselves: numpy's correlation of each resample."""
    metric, feature = pair
    found = sample(5)
    row = table(found)[pair]
    values, kept = values_of(found, feature, metric)
    names = np.array([question for question, *_ in found])[kept]
    values = values[kept]
    ranked = np.column_stack([scipy.stats.rankdata(column) for column in values.T])
    clusters = [np.flatnonzero(names == name) for name in np.unique(names)]
    draws = {"pearson": [], "spearman": []}
    for drawn in np.concatenate(list(counts(len(clusters), 300, 0))):
        rows = np.concatenate([np.tile(rows, times) for rows, times in zip(clusters, drawn, strict=True)]).astype(int)
        for name, columns in (("pearson", values), ("spearman", ranked)):
            draws[name].append(np.corrcoef(columns[rows].T)[0, 1])
    for name, each in draws.items():
        assert row[f"{name}_ci"] == pytest.approx(list(np.nanquantile(each, [0.025, 0.975])), abs=1e-9)


def test_intervals_keep_the_clusters():
    """A feature of the question: a copy of every row adds nothing, and the interval must not shrink."""
    once = [(f"q{at}", "p", None, {"f1": f1, "tokens": f1 + noise})
            for at, (f1, noise) in enumerate(np.random.default_rng(0).normal(size=(60, 2)))]  # fmt: skip
    copies = [(question, f"p{copy}", None, values) for question, _, _, values in once for copy in range(4)]
    single, fourfold = table(once)["f1", "tokens"], table(copies)["f1", "tokens"]
    assert fourfold["n"] == 4 * single["n"]
    assert fourfold["pearson_ci"] == pytest.approx(single["pearson_ci"], abs=1e-9)
    assert fourfold["spearman_ci"] == pytest.approx(single["spearman_ci"], abs=1e-9)


def test_coverage_of_clustered_rows():
    """Rows of one question are alike in both columns: 95 in 100 intervals hold the truth, and if rows are taken for
    questions, far fewer do."""
    draw = np.random.default_rng(1)
    held = {True: [], False: []}
    for run in range(200):
        x, y = draw.normal(size=(2, 50)).repeat(5, axis=1) + 0.3 * draw.normal(size=(2, 250))
        for clustered in held:
            found = [(f"q{at // 5 if clustered else at}", f"p{at % 5}", None, {"f1": a, "graded": b})
                     for at, (a, b) in enumerate(zip(x, y, strict=True))]  # fmt: skip
            low, high = table(found, resamples=200, seed=run)["f1", "graded"]["pearson_ci"]
            held[clustered].append(low <= 0 <= high)
    # In the long run .93 (50 clusters, 200 resamples) and .60; 200 runs scatter by .018 and .035.
    assert 0.87 <= np.mean(held[True]) <= 0.985
    assert np.mean(held[False]) < 0.8, "the test would not see a bootstrap that forgot the clusters"


def test_what_is_constant_has_no_correlation():
    found = [(f"q{at}", "p", None, {"f1": float(at), "em": 0.0, "answer_in_context": 1.0, "graded": float(at % 3)})
             for at in range(9)]  # fmt: skip
    rows = table(found)
    assert rows["f1", "answer_in_context"]["note"] == "answer_in_context is constant: no correlation"
    assert rows["em", "graded"]["note"] == "em is constant: no correlation"
    assert rows["em", "answer_in_context"]["note"] == "answer_in_context and em are constant: no correlation"
    for key in ("pearson", "pearson_ci", "spearman", "spearman_ci", "method"):
        assert rows["em", "graded"][key] is None
    assert rows["em", "graded"]["n"] == 9
    assert rows["f1", "graded"]["note"] is None


def test_a_feature_undefined_where_the_score_is_not():
    found = [("a", "p", None, {"f1": 0.5}), ("b", "p", None, {"f1": NAN, "graded": 0.5})]
    row = table(found)["f1", "graded"]
    assert (row["n"], row["undefined"], row["pearson"]) == (0, 2, None)
    assert row["note"] == "no row has both graded and f1"
    assert ("f1", "answer_in_context") not in table(found), "a feature that no row has is no row of the table"
    assert table([("a", "p", None, {"graded": 0.5})]) == {}


def test_one_question_has_no_interval():
    found = [("a", f"p{at}", None, {"f1": at / 4, "graded": at % 3 / 2}) for at in range(5)]
    row = table(found)["f1", "graded"]
    assert row["pearson"] == pytest.approx(np.corrcoef([0, 1, 2, 3, 4], [0, 1, 2, 0, 1])[0, 1])
    assert (row["pearson_ci"], row["spearman_ci"], row["note"]) == (None, None, "one question: no interval")


def test_resamples_without_spread_are_counted():
    """One row of three differs: (2/3)³ = 30 % of the resamples miss it, and 4 % have nothing else."""
    found = [(f"q{at}", "p", None, {"f1": float(at), "graded": float(at == 1)}) for at in range(3)]
    row = table(found, resamples=1000)["f1", "graded"]
    number = int(row["note"].split()[2])
    assert row["note"] == f"undefined in {number} of 1000 resamples, which are left out"
    assert number == pytest.approx(333, abs=60)


def test_midranks():
    values = np.array([3.0, 1.0, 3.0, 2.0, 3.0, 1.0])
    assert midranks(values).tolist() == scipy.stats.rankdata(values).tolist() == [5.0, 1.5, 5.0, 3.0, 5.0, 1.5]
