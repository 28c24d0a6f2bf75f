"""The bootstrap against slow and obvious loops, and against what intervals and p-values promise."""

import random
from collections import defaultdict

import numpy as np
import pytest
import scipy.stats
from measured import NAN, rows_of
from statsmodels.stats.multitest import multipletests

from ragpack.statistics.bootstrap import cluster_sums, counts, interval, resampled, resampled_each
from ragpack.statistics.conditional import conditional
from ragpack.statistics.contrasts import contrasts
from ragpack.statistics.rows import Options


def contrast(found, baseline="p", metric="f1", **options):
    table = contrasts(rows_of(found), Options((("*", baseline),), **{"resamples": 500, **options}))
    return [row for row in table if row["metric"] == metric]


def sample(seed, questions=30, seeds=(1, 2, 3), policies=("p", "r"), gain=0.1):
    """F1 that shares its question's difficulty: seeds of one question are alike."""
    draw = random.Random(seed)
    found = []
    for question in range(questions):
        hard, liking = draw.random(), draw.gauss(0, 0.3)
        for number in seeds[: draw.randint(1, len(seeds))]:
            for policy in policies:
                value = hard + (gain + liking if policy != "p" else 0) + draw.gauss(0, 0.05)
                found.append((f"q{question}", policy, number, {"f1": value, "tokens": float(draw.randint(5, 9))}))
    return found


def looped(found, resamples, seed, policy="r"):
    """Draw questions with all their pairs, in plain Python."""
    value = {(question, number, name): values["f1"] for question, name, number, values in found}
    pairs = defaultdict(list)
    for question, number, name in value:
        if name == policy:
            pairs[question].append(value[question, number, policy] - value[question, number, "p"])
    draw, names = random.Random(seed), sorted(pairs)
    means = []
    for _ in range(resamples):
        drawn = [one for question in draw.choices(names, k=len(names)) for one in pairs[question]]
        means.append(sum(drawn) / len(drawn))
    every = [one for question in names for one in pairs[question]]
    return sum(every) / len(every), sorted(means)


@pytest.mark.parametrize("seed", range(3))
def test_contrast_is_the_loop(seed):
    found = sample(seed)
    (row,) = contrast(found, resamples=8000)
    mean, means = looped(found, 4000, seed)
    spread = float(np.std(means))
    assert row["difference"] == pytest.approx(mean, abs=1e-12)
    assert row["ci"][0] == pytest.approx(means[100], abs=0.15 * spread)
    assert row["ci"][1] == pytest.approx(means[3899], abs=0.15 * spread)
    least = min(sum(one <= 0 for one in means), sum(one >= 0 for one in means))
    assert row["p"] == pytest.approx(2 * (1 + least) / 4001, abs=0.02)


def test_conditional_is_the_loop():
    draw = random.Random(0)
    found = [
        (f"q{at % 25}", f"p{at // 25}", None, {"f1": draw.random() + at % 2, "answer_in_context": float(at % 2)})
        for at in range(75)
    ]
    row = conditional(rows_of(found), Options(resamples=8000))[0]
    by_question = defaultdict(list)
    for question, *_, values in found:
        by_question[question].append((values["f1"], values["answer_in_context"]))
    names, differences, ratios = sorted(by_question), [], []
    for _ in range(4000):
        drawn = [one for name in draw.choices(names, k=len(names)) for one in by_question[name]]
        means = [np.mean([f1 for f1, aic in drawn if aic == side]) for side in (1.0, 0.0)]
        differences.append(means[0] - means[1])
        ratios.append(means[0] / means[1])
    for name, draws in (("difference", differences), ("ratio", ratios)):
        low, high = np.quantile(draws, [0.025, 0.975])
        assert row[f"{name}_ci"] == pytest.approx([low, high], abs=0.15 * np.std(draws))


def test_swapping_the_roles_negates():
    found = sample(1)
    (ours,), (theirs,) = contrast(found, "p"), contrast(found, "r")
    assert theirs["difference"] == pytest.approx(-ours["difference"], abs=1e-12)
    assert theirs["ci"] == pytest.approx([-ours["ci"][1], -ours["ci"][0]], abs=1e-12)
    assert theirs["p"] == ours["p"]
    assert (theirs["policy"], theirs["baseline"]) == ("p", "r")


def test_a_copy_of_every_seed_adds_no_certainty():
    """Seeds of one question stay together: three equal copies are one observation, not three."""
    once = [(question, policy, 1, values) for question, policy, number, values in sample(2) if number == 1]
    thrice = [(question, policy, number, values) for question, policy, _, values in once for number in (1, 2, 3)]
    (single,), (triple,) = contrast(once), contrast(thrice)
    assert triple["n"] == 3 * single["n"]
    assert triple["ci"] == pytest.approx(single["ci"], abs=1e-12)
    assert triple["p"] == single["p"]


def test_holm():
    """Each metric as a family of its own; by hand: sort, multiply by what is left, never go down."""
    found = sample(3, policies=("p", "r", "s", "t"), gain=0.06, questions=20)
    for metric in ("f1", "tokens"):
        family = contrast(found, metric=metric, family="metric")
        ps = [row["p"] for row in family]
        assert len(ps) == 3
        expected, highest = {}, 0.0
        for place, at in enumerate(sorted(range(3), key=ps.__getitem__)):
            highest = max(highest, min(1.0, (3 - place) * ps[at]))
            expected[at] = highest
        assert [row["p_adjusted"] for row in family] == pytest.approx([expected[at] for at in range(3)])
        assert multipletests(ps, method="holm")[1] == pytest.approx([row["p_adjusted"] for row in family])


def test_p_is_never_0_and_never_above_1():
    for gain, spread, expected in [(1.0, 0.0, 2 / 501), (0.0, 0.0, 1.0), (-1.0, 0.0, 2 / 501)]:
        found = [
            (f"q{at}", policy, None, {"f1": gain * (policy == "r") + spread}) for at in range(9) for policy in "pr"
        ]
        assert contrast(found)[0]["p"] == pytest.approx(expected)


def test_a_tie_is_no_difference():
    """Equal scores are the rule with EM: p is 1, and the interval is the point 0."""
    found = [(f"q{at}", policy, None, {"f1": at % 2 / 3}) for at in range(20) for policy in "pr"]
    (row,) = contrast(found)
    assert (row["difference"], row["ci"], row["p"]) == (0.0, [0.0, 0.0], 1.0)


def test_draws_do_not_depend_on_the_block(monkeypatch):
    """Blocks bound the memory; they must not be seen in the numbers. Nor must it be seen whether draws are kept."""
    (whole,) = counts(3000, 200, 3, least=200)
    assert whole.shape == (200, 3000)
    sums = np.random.default_rng(0).normal(size=(3000, 3))
    drawn = resampled(sums, 200, 3)
    assert drawn == pytest.approx(whole.astype(float) @ sums, abs=1e-9)
    for name, least, blocks in (("KEPT", 200, 1), ("KEPT", 1, 5), ("KEPT", 50, 3), ("CELLS", 200, 5)):
        monkeypatch.setattr(f"ragpack.statistics.bootstrap.{name}", 0)
        found = list(counts(3000, 200, 3, least))
        assert len(found) == blocks
        assert (np.concatenate(found) == whole).all(), name
        assert resampled(sums, 200, 3) == pytest.approx(drawn, abs=1e-9)


def test_sums_of_clusters():
    values = np.array([[1.0, 1.0], [2.0, 1.0], [5.0, 1.0]])
    sums = cluster_sums(values, np.array([1, 0, 1]), 3)
    assert sums.tolist() == [[2.0, 1.0], [6.0, 2.0], [0.0, 0.0]]
    drawn = resampled(sums, 100, 0)
    assert drawn.shape == (100, 2)


def test_one_pass_is_many_passes():
    """Statistics of one table share the draws, whatever their clusters; equal columns are one."""
    draw = np.random.default_rng(0)
    shared = draw.normal(size=(20, 1))
    several = [np.hstack([shared, draw.normal(size=(20, 2))]), draw.normal(size=(7, 1)), np.hstack([shared, shared]),
               np.zeros((0, 0)), draw.normal(size=(1, 2))]  # fmt: skip
    found = resampled_each(several, 100, 4)
    for sums, drawn in zip(several, found, strict=True):
        assert drawn == pytest.approx(resampled(sums, 100, 4), abs=1e-12, nan_ok=True)
    assert (found[2][:, 0] == found[2][:, 1]).all()
    assert resampled_each([], 100, 0) == []


def test_one_question_has_no_interval():
    """Drawn again and again it is always itself: an interval of no width would be a lie."""
    found = [("q", policy, number, {"f1": number / 3 * (policy == "r")}) for policy in "pr" for number in (1, 2)]
    (row,) = contrast(found)
    assert (row["n"], row["questions"], row["difference"]) == (2, 1, pytest.approx(0.5))
    assert row["p"] is None
    assert row["ci"] == [None, None]


@pytest.mark.parametrize("seed", range(3))
def test_interval_is_that_of_scipy(seed):
    """One seed of a sample: then pairs are the clusters, and scipy's paired bootstrap is the same thing."""
    found = sample(seed, questions=60, seeds=(1,))
    (row,) = contrast(found, resamples=20_000)
    ours, theirs = ([values["f1"] for _, name, _, values in found if name == policy] for policy in "rp")
    scipys = scipy.stats.bootstrap(
        (ours, theirs), lambda a, b, axis: (a - b).mean(axis=axis), paired=True, n_resamples=20_000,
        method="percentile", rng=np.random.default_rng(seed),
    )  # fmt: skip
    # An end scatters by sqrt(.025 · .975 / R) / density, here .019 of the standard error; two of them, four times.
    spread = scipys.standard_error
    assert row["ci"] == pytest.approx(list(scipys.confidence_interval), abs=0.11 * spread)


def test_a_rounding_error_is_no_difference():
    """0.1 + 0.2 − 0.3 is not 0 to a machine: which side it falls on must not decide a p-value."""
    gains = [0.1, 0.2, -0.3] * 10
    found = [
        (f"q{at}", policy, None, {"f1": gain * (policy == "r")}) for at, gain in enumerate(gains) for policy in "pr"
    ]
    hair = np.array([1e-17, -1e-17, 3e-17, 0.2])
    assert interval(hair, 0.95).p == interval(np.array([0.0, 0.0, 0.0, 0.2]), 0.95).p == 1.0
    assert contrast(found)[0]["p"] > 0.9


def test_interval_is_open_where_the_draws_are_infinite():
    """A ratio whose denominator is 0 in many resamples has no upper end; leaving them out would pretend to one."""
    draws = np.array([*np.linspace(1, 2, 90), *[np.inf] * 10])
    low, high, _ = interval(draws, 0.95)
    assert low == pytest.approx(np.quantile(draws[:90], 0.0275), abs=0.01)
    assert high is None
    assert interval(-draws, 0.95).low is None
    assert interval(np.array([*np.linspace(1, 2, 99), np.inf]), 0.9).high == pytest.approx(1.96, abs=0.01)
    found = [(f"q{at}", "p", None, {"f1": float(at == 1), "answer_in_context": at % 2 / 1}) for at in range(40)]
    found[2][3]["f1"] = 0.5  # the only score without the answer: a third of the resamples miss it
    row = conditional(rows_of(found), Options(resamples=500))[0]
    assert row["ratio"] == pytest.approx(2.0)
    assert row["ratio_ci"][1] is None
    assert row["difference_ci"][1] is not None


def test_interval_leaves_out_what_is_no_number():
    assert interval(np.array([NAN, np.inf]), 0.95) == (None, None, None)
    low, high, p = interval(np.array([0.1, NAN, 0.3]), 0.5)
    assert (low, high) == pytest.approx((0.15, 0.25))
    assert p == pytest.approx(2 / 3)


def null(draw, questions, seeds):
    """No policy is better; each question likes one of them, for all seeds."""
    return draw.normal(size=questions).repeat(seeds) + 0.3 * draw.normal(size=questions * seeds)


def simulated(differences, seeds, seed):
    """(covers 0, rejects) of the contrast over these pair differences, by the module's own parts."""
    question = np.arange(len(differences) // seeds).repeat(seeds)
    sums = cluster_sums(np.column_stack([differences, np.ones(len(differences))]), question, question[-1] + 1)
    drawn = resampled(sums, 200, seed)
    found = interval(drawn[:, 0] / drawn[:, 1], 0.95)
    return found.low <= 0 <= found.high, found.p <= 0.05


def test_rejections_and_coverage_under_the_null():
    """About 5 in 100 null contrasts are rejected, and 95 intervals in 100 hold the truth, for clustered data; taken as
    independent rows the same data are rejected far too often."""
    draw, runs, seeds = np.random.default_rng(0), 400, 4
    clustered, apart = [], []
    for run in range(runs):
        differences = null(draw, 60, seeds)
        clustered.append(simulated(differences, seeds, run))
        apart.append(simulated(differences, 1, run))
    covered, rejected = np.mean(clustered, axis=0)
    # In the long run .055 and .935 (200 resamples give slightly short intervals); 400 runs scatter by .012.
    assert 0.02 <= rejected <= 0.10, rejected
    assert 0.895 <= covered <= 0.98, covered
    covered, rejected = np.mean(apart, axis=0)
    assert rejected > 0.2, "the test would not see a bootstrap that forgot the clusters"
    assert covered < 0.8


def test_the_table_keeps_the_clusters():
    """The same, through `contrasts` itself: its interval is as wide as the clustered one."""
    draw = np.random.default_rng(5)
    differences = null(draw, 60, 4)
    found = [(f"q{at // 4}", policy, at % 4, {"f1": value * (policy == "r")})
             for at, value in enumerate(differences) for policy in "pr"]  # fmt: skip
    low, high = contrast(found, resamples=4000)[0]["ci"]
    means = differences.reshape(60, 4).mean(axis=1)
    assert high - low == pytest.approx(2 * 1.96 * means.std(ddof=0) / np.sqrt(60), rel=0.1)
    assert high - low > 1.6 * 2 * 1.96 * differences.std() / np.sqrt(240)
