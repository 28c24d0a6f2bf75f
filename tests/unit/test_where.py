"""Conditions on rows."""

import pytest
from diagnosed import row
from hypothesis import given
from hypothesis import strategies as st

from ragpack.checked import view
from ragpack.errors import UsageError
from ragpack.records import Diagnosed
from ragpack.stages.stats import BY, Stats, StatsParams
from ragpack.statistics.where import holds, read

ROWS = [
    row("a", "topk", 96, f1=0.5, group="x"),
    row("b", "mmr:lambda=0.5", 96, f1=None, kind="yes_no", group="y"),
    row("c", "topk", 160, f1=0.0, model=""),
    row("d", "gold", 224, f1=1.0, seed=3, group="x"),
]


def left(*conditions):
    """The ids of the rows that are left."""
    fold = Stats(StatsParams(where=conditions))
    for one in ROWS:
        fold.take(view(one, (Diagnosed,)), one)
    rows = fold.rows()
    return sorted(rows.names[at] for at in rows.question)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("policy=topk", "ac"),
        ("policy=mmr:lambda=0.5", "b"),  # the first sign parts; the value may hold others
        ("policy!=topk", "bd"),
        ("policy=topk|gold", "acd"),
        ("policy != topk | gold", "b"),
        ("budget=96", "ab"),
        ("budget>=160", "cd"),
        ("budget<160", "ab"),
        ("budget!=96|224", "c"),
        ("f1=0.5", "a"),
        ("f1=.50", "a"),
        ("f1!=0.5", "cd"),  # undefined fulfils nothing
        ("f1<=0.5", "ac"),
        ("f1>0", "ad"),
        ("answer_kind=yes_no", "b"),
        ("reader=m", "abd"),
        ("model=null", "c"),
        ("dataset!=null", "abd"),
        ("seed=3", "d"),
        ("seed>=0", "d"),
        ("id=a|c", "ac"),
        ("id!=a", "bcd"),
    ],
)
def test_conditions(condition, expected):
    assert left(condition) == list(expected)


def test_all_conditions_hold():
    assert left("policy=topk", "budget>100") == ["c"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("policy", "is no condition"),
        ("=x", "is no condition"),
        ("policy=", "is no condition"),
        ("polcy=topk", "unknown name 'polcy'. Did you mean 'policy'"),
        ("f1=high", "f1 is a number, got 'high'"),
        ("policy<topk", "policy is a"),
        ("policy<3", "policy is a name: it can be = or !=, not <"),
        ("budget<96|160", "compares with several numbers"),
    ],
)
def test_refusals(condition, expected):
    with pytest.raises(UsageError, match=expected):
        left(condition)


def test_a_condition_that_cannot_be_read_is_refused_before_any_row():
    with pytest.raises(UsageError, match="is no condition"):
        Stats(StatsParams(where=("budget",)))


@given(
    st.sampled_from(["budget", "f1", "policy"]),
    st.lists(st.sampled_from(["96", "160", "0.5", "0", "topk", "gold"]), min_size=1, max_size=3),
)
def test_equal_and_not_equal_part_the_defined_rows(name, values):
    fold = Stats(StatsParams())
    for one in ROWS:
        fold.take(view(one, (Diagnosed,)), one)
    rows = fold.rows()
    try:
        same, other = (holds(rows, read(f"{name}{sign}{'|'.join(values)}"), BY) for sign in ("=", "!="))
    except UsageError:
        assert name == "f1", "only a number can be wrong"
        return
    defined = rows.column("f1") == rows.column("f1") if name == "f1" else rows.column("tokens") > 0
    assert not (same & other).any()
    assert ((same | other) == defined).all()
