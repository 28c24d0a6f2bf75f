"""Incremental validity against statsmodels and refits, and on data whose answer is planted."""

import numpy as np
import pytest
import statsmodels.api as sm
from measured import NAN, rows_of

from ragpack.statistics.bootstrap import counts
from ragpack.statistics.incremental import incremental
from ragpack.statistics.rows import Options


def sample(seed, questions=40, each=5, effect=0.6, base=0.5, noise=1.0, between=0.7):
    """(question, recall, feature, f1): recall is the question's, the feature the row's and in part recall's."""
    draw = np.random.default_rng(seed)
    question = np.arange(questions).repeat(each)
    recall = draw.normal(size=questions)[question]
    feature = 0.5 * recall + draw.normal(size=len(question))
    hard = between * draw.normal(size=questions)[question]
    return question, np.column_stack([recall, feature, base * recall + effect * feature + hard
                                      + noise * draw.normal(size=len(question))])  # fmt: skip


def table(question, values, **options):
    found = [
        (f"q{name:05}", f"p{at}", None, dict(zip(("recall@5", "answer_in_context", "f1"), row, strict=True)))
        for at, (name, row) in enumerate(zip(question, values, strict=True))
    ]
    return incremental(rows_of(found), Options(**{"resamples": 300, **options}))


def z(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def residuals(y, x):
    return sm.OLS(y, sm.add_constant(x)).fit().resid


def refit(values):
    """R², ΔR², β of base and feature, partial correlation: three regressions and two columns of residuals."""
    x1, x2, y = z(values).T
    base, full = sm.OLS(y, sm.add_constant(x1)).fit(), sm.OLS(y, sm.add_constant(np.column_stack([x1, x2]))).fit()
    return {"r2_base": base.rsquared, "r2_full": full.rsquared, "delta_r2": full.rsquared - base.rsquared,
            "beta_base": full.params[1], "beta": full.params[2],
            "partial": np.corrcoef(residuals(y, x1), residuals(x2, x1))[0, 1],
            "corr": np.corrcoef(x1, x2)[0, 1]}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_those_of_regressions(seed):
    question, values = sample(seed)
    (row,) = table(question, values)
    assert (row["metric"], row["base"], row["feature"], row["n"], row["questions"]) == (
        "f1", "recall@5", "answer_in_context", 200, 40)  # fmt: skip
    assert {name: row[name] for name in refit(values)} == pytest.approx(refit(values), abs=1e-10)


def test_standard_errors_are_the_sandwich():
    """(X'X)⁻¹ (Σ_g X_g'e_g e_g'X_g) (X'X)⁻¹ · g/(g − 1) · (n − 1)/(n − k), written out; and statsmodels' own."""
    question, values = sample(7)
    (row,) = table(question, values)
    x = np.column_stack([np.ones(len(values)), z(values)[:, :2]])
    y = z(values)[:, 2]
    bread = np.linalg.inv(x.T @ x)
    error = y - x @ bread @ x.T @ y
    scores = np.stack([x[question == one].T @ error[question == one] for one in range(40)])
    small = 40 / 39 * (len(y) - 1) / (len(y) - 3)
    expected = np.sqrt(np.diag(bread @ scores.T @ scores @ bread) * small)
    assert [row["beta_base_se"], row["beta_se"]] == pytest.approx(expected[1:], rel=1e-9)
    fitted = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": question})
    assert [row["beta_base_se"], row["beta_se"]] == pytest.approx(fitted.bse[1:], rel=1e-9)
    assert row["beta_base_se"] > 1.5 * sm.OLS(y, x).fit().bse[1], "recall is the question's: its rows tell less"


def test_intervals_are_those_of_refits():
    """The same draws, with the rows themselves, refit by statsmodels: equal, not only alike."""
    question, values = sample(3, questions=15, each=4)
    (row,) = table(question, values, resamples=200)
    draws = []
    for drawn in np.concatenate(list(counts(15, 200, 0))):
        rows = np.concatenate([np.tile(np.flatnonzero(question == at), times) for at, times in enumerate(drawn)])
        draws.append(refit(values[rows.astype(int)]))
    for name in ("delta_r2", "beta_base", "beta", "partial"):
        each = [draw[name] for draw in draws]
        assert row[f"{name}_ci"] == pytest.approx(list(np.quantile(each, [0.025, 0.975])), abs=1e-9), name
    below = sum(draw["beta"] <= 0 for draw in draws)
    assert row["p"] == pytest.approx(2 * (1 + below) / 201)


def test_bootstrap_and_sandwich_agree():
    """Two ways to the same uncertainty: 150 questions, so both are near the truth."""
    question, values = sample(11, questions=150)
    (row,) = table(question, values, resamples=2000)
    for name in ("beta", "beta_base"):
        low, high = row[f"{name}_ci"]
        assert (high - low) / (2 * 1.96) == pytest.approx(row[f"{name}_se"], rel=0.15)


def test_a_planted_effect_is_found():
    """y = .5 x₁ + .6 x₂ + question + noise; x₂ = .5 x₁ + u. What x₂ adds is .6² Var(u) / Var(y):
    Var(y) = (.5 + .6 · .5)² + .36 + .49 + 1 = 2.49, so ΔR² = .36 / 2.49 = .1446, and recall alone .64 / 2.49 = .257."""
    question, values = sample(2, questions=1500, each=4)
    (row,) = table(question, values)
    assert row["delta_r2"] == pytest.approx(0.1446, abs=0.015)
    assert row["r2_base"] == pytest.approx(0.2570, abs=0.03)
    assert row["delta_r2_ci"][0] <= 0.1446 <= row["delta_r2_ci"][1]
    assert row["delta_r2_ci"][1] - row["delta_r2_ci"][0] < 0.05
    assert row["beta"] == pytest.approx(0.6 * np.sqrt(1.25 / 2.49), abs=0.03)
    assert row["corr"] == pytest.approx(0.5 / np.sqrt(1.25), abs=0.03)
    assert row["p"] == pytest.approx(2 / 301)


def test_coverage_and_rejections():
    """Both regressors are the question's. 95 in 100 intervals of β hold the truth and 5 in 100 null effects are
    rejected; a bootstrap of rows rejects far more."""
    rejected, held = {True: [], False: []}, []
    for run in range(150):
        question, values = sample(run, questions=60, each=4, effect=0.0, between=1.0)
        feature = 0.5 * values[:, 0] + np.random.default_rng(10_000 + run).normal(size=60)[question]
        values = np.column_stack([values[:, 0], feature, values[:, 2]])
        for clustered in rejected:
            (row,) = table(question if clustered else np.arange(len(question)), values, resamples=200, seed=run)
            rejected[clustered].append(row["p"] <= 0.05)
            if clustered:
                held.append(row["beta_ci"][0] <= 0 <= row["beta_ci"][1])
    # In the long run .062, .925, and .23 for rows; 150 runs scatter by .020, .022 and .034.
    assert 0.01 <= np.mean(rejected[True]) <= 0.13
    assert 0.86 <= np.mean(held) <= 0.99
    assert np.mean(rejected[False]) > 0.14, "the test would not see a bootstrap that forgot the clusters"


@pytest.mark.parametrize(
    ("column", "value", "note"),
    [
        (0, 1.0, "recall@5 is constant: no R²"),
        (1, 0.0, "answer_in_context is constant: no R²"),
        (2, 0.0, "f1 is constant: no R²"),
    ],
)
def test_what_is_constant_has_no_r2(column, value, note):
    question, values = sample(0, questions=6)
    values[:, column] = value
    (row,) = table(question, values)
    assert row["note"] == note
    assert (row["n"], row["questions"]) == (30, 6)
    for name in ("r2_base", "r2_full", "delta_r2", "delta_r2_ci", "beta", "beta_se", "beta_ci", "p", "partial", "corr"):
        assert row[name] is None, name


def test_a_feature_that_is_recall_adds_nothing():
    question, values = sample(0)
    values[:, 1] = 3 - 2 * values[:, 0]
    (row,) = table(question, values)
    assert row["r2_full"] == row["r2_base"] == pytest.approx(refit(values[:, [0, 2, 2]])["r2_base"])
    assert (row["delta_r2"], row["beta"], row["partial"], row["delta_r2_ci"]) == (0.0, None, None, None)
    assert row["corr"] == pytest.approx(-1.0)
    assert "the same up to scale" in row["note"]


def test_one_question_has_estimates_and_no_interval():
    question, values = sample(0, questions=1, each=9)
    values[:, 0] += np.arange(9)
    (row,) = table(question, values)
    assert row["delta_r2"] == pytest.approx(refit(values)["delta_r2"])
    assert (row["delta_r2_ci"], row["beta_se"], row["p"], row["method"]) == (None, None, None, None)
    assert row["note"] == "one question: no interval"


def test_few_questions_have_no_standard_errors():
    """Three coefficients take all that three questions tell."""
    for questions, known in ((2, False), (3, False), (4, True)):
        (row,) = table(*sample(0, questions=questions))
        assert ((row["beta_se"] is not None), (row["beta_base_se"] is not None)) == (known, known)
        assert row["beta_ci"] is not None


def test_undefined_rows_are_counted():
    question, values = sample(0)
    values[:3, 1], values[5, 2], values[9, 0] = NAN, NAN, NAN
    (row,) = table(question, values)
    assert (row["n"], row["undefined"]) == (195, 5)
    kept = ~np.isnan(values).any(axis=1)
    assert row["delta_r2"] == pytest.approx(refit(values[kept])["delta_r2"])
    values[:, 1] = NAN
    assert table(question, values) == []


def test_the_deepest_recall_where_there_is_none_at_5():
    rows = [(f"q{at}", "p", None, {"f1": at % 3 / 2, "graded": at % 5 / 4, "recall@1": 1.0, "recall@2": at % 2 / 1})
            for at in range(20)]  # fmt: skip
    (row,) = incremental(rows_of(rows), Options(resamples=100))
    assert (row["base"], row["note"]) == ("recall@2", None)
