"""What holds for any rows: parts add up, roles swap, order changes nothing."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import NAN, rows_of

from ragpack.statistics.correlations import correlations
from ragpack.statistics.decomposition import decomposition
from ragpack.statistics.incremental import incremental
from ragpack.statistics.mediation import mediation
from ragpack.statistics.rows import Options

SCORE = st.sampled_from([0.0, 1 / 3, 0.5, 1.0, NAN])
FLAG = st.sampled_from([0.0, 1.0, NAN])
MEASURED = st.fixed_dictionaries(
    {"f1": SCORE, "em": FLAG, "answer_in_context": FLAG, "graded": SCORE, "gold_doc_coverage": SCORE,
     "all_gold_in_context": FLAG, "recall@5": st.sampled_from([0.0, 0.5, 1.0])}
)  # fmt: skip
FOUND = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("pr"), st.integers(1, 3), MEASURED),
    min_size=1, max_size=30, unique_by=lambda row: row[:3],
)  # fmt: skip
TABLES = (correlations, incremental, mediation, decomposition)


def options(policy="r", baseline="p"):
    return Options(((policy, baseline),), resamples=100)


def same(one, other):
    """Equal to a rounding error, in every column."""
    assert one.keys() == other.keys()
    for name in one:
        assert one[name] == pytest.approx(other[name], abs=1e-9), name


@settings(deadline=None)
@given(FOUND)
def test_contributions_add_up(found):
    table = decomposition(rows_of(found), options())
    if not table:
        return
    *parts, whole = table
    for name in ("n", "all_gold_n"):
        assert sum(row[name] for row in parts) == whole[name]
    if not whole["n"]:
        return
    assert sum(row["contribution"] for row in parts) == pytest.approx(whole["contribution"], abs=1e-12)
    assert sum(row["share"] for row in parts) == pytest.approx(1.0)
    assert whole["gain"] == pytest.approx(whole["contribution"], abs=1e-12)
    for row in parts:
        if row["n"]:
            assert row["gain"] * row["share"] == pytest.approx(row["contribution"], abs=1e-12)


@settings(deadline=None)
@given(FOUND)
def test_swapping_the_roles_swaps_the_groups(found):
    rows = rows_of(found)
    if not {"p", "r"} <= {policy for _, policy, *_ in found}:
        return
    ours = {row["group"]: row for row in decomposition(rows, options())}
    theirs = {row["group"]: row for row in decomposition(rows, options("p", "r"))}
    assert ours.keys() == theirs.keys()
    swapped = {"entered": "left", "left": "entered"}
    for group, row in ours.items():
        other = theirs[swapped.get(group, group)]
        assert (row["n"], row["all_gold"]) == (other["n"], other["all_gold_baseline"])
        if row["n"]:
            assert row["gain"] == pytest.approx(-other["gain"], abs=1e-12)
        if row["gain_ci"]:
            assert row["gain_ci"] == pytest.approx([-end for end in other["gain_ci"][::-1]], abs=1e-12)
    for one, other in zip(mediation(rows, options()), mediation(rows, options("p", "r")), strict=True):
        for name in ("f1", "em", "answer_in_context", "gold_doc_coverage", "f1_expected"):
            assert (one[name] is None) == (other[name] is None)
            assert one[name] is None or one[name] == pytest.approx(-other[name], abs=1e-12)


@settings(deadline=None)
@given(FOUND, st.randoms(use_true_random=False))
def test_order_changes_no_bit_and_absence_is_none(found, draw):
    mixed = draw.sample(found, len(found))
    for table in TABLES:
        rows = table(rows_of(found), options())
        assert rows == table(rows_of(mixed), options())
        for row in rows:
            assert "note" in row
            for value in row.values():
                for number in value if isinstance(value, list) else [value]:
                    assert not isinstance(number, float) or math.isfinite(number), row


@settings(deadline=None)
@given(FOUND)
def test_correlations_and_r2_are_in_their_bounds(found):
    rows = rows_of(found)
    for row in correlations(rows, options()):
        for name in ("pearson", "spearman"):
            ends = row[f"{name}_ci"] or []
            assert all(-1 <= value <= 1 for value in [row[name], *ends] if value is not None)
        assert (row["pearson"] is None) == (row["spearman"] is None)
        assert row["pearson"] is not None or row["note"]
    for row in incremental(rows, options()):
        if row["r2_full"] is None:
            assert row["note"]
            continue
        assert 0 <= row["r2_base"] <= row["r2_full"] + 1e-12 <= 1 + 1e-9
        assert row["r2_full"] - row["r2_base"] == pytest.approx(row["delta_r2"], abs=1e-12)


@settings(deadline=None)
@given(FOUND, st.sampled_from([2.0, 0.5, 8.0]))
def test_units_change_no_correlation(found, unit):
    """A feature in other units: standardised numbers stay, intervals too."""
    scaled = [(*key, {**values, "graded": values["graded"] * unit + 1}) for *key, values in found]
    for one, other in zip(
        correlations(rows_of(found), options()), correlations(rows_of(scaled), options()), strict=True
    ):
        same(one, other)
