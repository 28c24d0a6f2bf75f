"""Worked examples: the numbers in the docstrings are the hand computation."""

from typing import Any

import numpy as np
import pytest

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.focused import focused
from ragpack.packers.mmr import mmr
from ragpack.packers.objective import Objective, Parts
from ragpack.packers.packed import packed
from ragpack.packers.selection import Selection, first_best
from ragpack.packers.submod import submod
from ragpack.packers.topk import topk


def make(
    relevance: list[float],
    cost: list[int],
    document: list[int] | None = None,
    terms: list[str] | None = None,
    vectors: list[list[float]] | None = None,
    slack: int = 0,
) -> Problem:
    """A problem; terms are words like "ac", one letter a term, out of those that occur."""
    n = len(relevance)
    document = document if document is not None else list(range(n))
    letters = sorted(set("".join(terms or [])))
    return Problem(
        relevance=np.array(relevance, dtype=np.float64),
        cost=np.array(cost, dtype=np.int64),
        document=np.array(document, dtype=np.int64),
        rank=np.array(document, dtype=np.int64) + 1,
        position=np.array([document[:i].count(d) for i, d in enumerate(document)], dtype=np.int64),
        terms=np.array([[letter in word for letter in letters] for word in terms or [""] * n], dtype=np.bool_),
        vectors=np.array(vectors or np.eye(n), dtype=np.float64),
        slack=slack,
    )


def test_topk_cuts_the_first_document_that_does_not_fit() -> None:
    """Costs 50, 60, 10 in 100: 50 fits, 60 does not (110), so it is the last one, cut to the 50 left."""
    problem = make([0.1, 0.2, 1.0], [50, 60, 10])
    assert topk(problem, 100)._replace(reasons={}) == Selection((0, 1), None, cut_last=True)
    assert topk(problem, 110)._replace(reasons={}) == Selection((0, 1), None, cut_last=False)  # just full
    assert topk(problem, 120)._replace(reasons={}) == Selection((0, 1, 2), None, cut_last=False)
    assert topk(problem, 0)._replace(reasons={}) == Selection((), None)


def test_the_last_snippet_does_not_pay_its_separator() -> None:
    """Two snippets of 9 tokens and a separator of 1 render as 9 + 1 + 9 = 19, although their costs sum to 20.

    With 11, one is in (9 + 1) and 1 is left for text of the second. With 10, that separator fills the budget.
    """
    problem = make([1.0, 1.0], [10, 10], slack=1)
    assert topk(problem, 19)._replace(reasons={}) == Selection((0, 1), None, cut_last=False)
    assert topk(problem, 18)._replace(reasons={}) == Selection((0, 1), None, cut_last=True)
    assert topk(problem, 11)._replace(reasons={}) == Selection((0, 1), None, cut_last=True)
    assert topk(problem, 10)._replace(reasons={}) == Selection((0,), None, cut_last=False)


@pytest.mark.parametrize(
    ("overflow", "chosen", "cut"),
    [("stop", (1,), False), ("skip", (1, 3, 0), False), ("truncate", (1, 2), True)],
)
def test_packed_goes_down_the_relevance(overflow: Any, chosen: tuple[int, ...], cut: bool) -> None:
    """Relevance order 1, 2, 3, 0 in 10 tokens. 1 costs 6, leaving 4, and 2 costs 5: too much.

    Stop ends here; truncate takes it, cut to 4. Skip goes on: 3 costs 1, leaving 3, and 0 costs just that.
    """
    selection = packed(make([0.4, 1.0, 0.8, 0.5], [3, 6, 5, 1]), 10, overflow=overflow)
    assert (selection.chosen, selection.cut_last) == (chosen, cut)
    assert selection.gains == tuple([0.4, 1.0, 0.8, 0.5][i] for i in chosen)


def test_packed_breaks_ties_by_rank_even_where_the_last_bit_differs() -> None:
    """0.1 + 0.2 is 0.30000000000000004 and not 0.3: the same relevance, so the better rank is first."""
    assert packed(make([0.3, 0.1 + 0.2, 1.0], [1, 1, 1]), 3).chosen == (2, 0, 1)
    assert first_best(np.array([0.3, 0.1 + 0.2])) == 0


def test_focused_takes_new_terms_first() -> None:
    """Terms ab, a, bc, d. First ab and bc tie at 2 new terms in unused documents: bc is more relevant.

    Then ab adds a, a adds a, d adds d: all 1 and all in unused documents, so relevance: d (0.9). Then ab
    and a tie at 1 again: ab (0.5) over a (0.4). The last one adds 0 and is still taken: there is room.
    """
    problem = make([0.5, 0.4, 0.6, 0.9], [1, 1, 1, 1], terms=["ab", "a", "bc", "d"])
    assert focused(problem, 10) == Selection((2, 3, 0, 1), (2.0, 1.0, 1.0, 0.0))


def test_focused_prefers_an_unused_document_then_relevance_then_rank() -> None:
    """0, 1 in document 0; 2, 3 in documents 1, 2. Nobody covers anything, so ties decide.

    All unused: relevance takes 0 (1.0). Now 1 (0.9) is in a used document: 2 and 3 (0.2 both) go first, 2
    by rank.
    """
    problem = make([1.0, 0.9, 0.2, 0.2], [1, 1, 1, 1], document=[0, 0, 1, 2])
    assert focused(problem, 10).chosen == (0, 2, 3, 1)
    # A new term outweighs an unused document: 1 covers b, and 2 covers nothing.
    problem = make([1.0, 0.9, 0.2, 0.2], [1, 1, 1, 1], document=[0, 0, 1, 2], terms=["a", "b", "", ""])
    assert focused(problem, 10).chosen == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("overflow", "chosen", "cut"),
    [("stop", (0,), False), ("skip", (0, 2), False), ("truncate", (0, 1), True)],
)
def test_focused_checks_the_budget_after_it_chose(overflow: Any, chosen: tuple[int, ...], cut: bool) -> None:
    """ab costs 5 of 10; then cd (2 new, cost 8) goes before c (1 new, cost 4): nobody looks at the budget.

    Cut: it is last. Stop: it is left out. Skip: it is left out and covers nothing, so c still adds 1.
    """
    selection = focused(make([1.0, 0.5, 0.5], [5, 8, 4], terms=["ab", "cd", "c"]), 10, overflow=overflow)
    assert (selection.chosen, selection.cut_last) == (chosen, cut)
    assert selection.gains == {"stop": (2.0,), "skip": (2.0, 1.0), "truncate": (2.0, 2.0)}[overflow]


@pytest.mark.parametrize(
    ("lambda_", "chosen", "gains"),
    [
        (1.0, (0, 1, 2), (1.0, 0.9, 0.3)),
        (0.5, (0, 2, 1), (0.5, 0.15, 0.05)),
        (0.0, (0, 2, 1), (0.0, 0.0, -0.8)),
    ],
)
def test_mmr(lambda_: float, chosen: tuple[int, ...], gains: tuple[float, ...]) -> None:
    """Relevance 1, 0.9, 0.3; similarity(0, 1) = 0.8, the others 0.

    lambda 1: relevance order. lambda 0.5: 0.5 * 1 = 0.5 first; then 1 has 0.45 - 0.4 = 0.05 and 2 has 0.15.
    lambda 0: nothing chosen is similarity 0 for all, so rank: 0; then 1 has -0.8 and 2 has 0.
    """
    problem = make([1.0, 0.9, 0.3], [1, 1, 1], vectors=[[1, 0, 0], [0.8, 0.6, 0], [0, 0, 1]])
    selection = mmr(problem, 10, lambda_=lambda_)
    assert selection.chosen == chosen
    assert selection.gains == pytest.approx(gains)


def test_mmr_skips_without_learning_from_what_it_skipped() -> None:
    """0 costs 5 of 8, and 1 costs 4: passed over. 2 is a copy of 1, but 1 is not in, so 2 is new."""
    problem = make([1.0, 0.9, 0.8, 0.7], [5, 4, 2, 1], vectors=[[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert mmr(problem, 8, overflow="skip").chosen == (0, 2, 3)
    assert mmr(problem, 8).chosen == (0,)
    cut = mmr(problem, 8, overflow="truncate")
    assert (cut.chosen, cut.cut_last) == ((0, 1), True)


def test_objective_parts() -> None:
    """Relevance 1, 0.5, 0.25 in documents 0, 0, 1; terms ab, b, c; similarity(0, 1) = 0.6, the others 0.

    S = {0, 2}. Rel = 1.25 / 1.75. Qry = 3 / 3. Degrees 1.6, 1.6, 1, at alpha 0.5: limits 0.8, 0.8, 0.5; S
    gives 1, 0.6, 1, capped 0.8, 0.6, 0.5; Cov = 1.9 / 2.1. Div = (1 + 0.5) / (sqrt(1.5) + 0.5).
    """
    problem = make([1.0, 0.5, 0.25], [1, 1, 1], [0, 0, 1], ["ab", "b", "c"], [[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]])
    parts = Objective(problem, Parts(1, 1, 1, 1), 0.5).parts([0, 2])
    assert parts == pytest.approx((1.25 / 1.75, 1.0, 1.9 / 2.1, 1.5 / (1.5**0.5 + 0.5)))


def test_submod_returns_the_best_single_where_the_ratio_misleads() -> None:
    """Values 2 and 100 at costs 1 and 100 in 100. By ratio 2 comes before 1; then the 100 no longer fits.

    F is value / 102, so the pair is worth 2 / 102 and the single 100 / 102. Bound from the empty set: 2 /
    102 whole and 99 of 100 tokens of the other, 101 / 102; once 0 is in, the same; all of it would be 1.
    """
    selection = submod(make([0.02, 1.0], [1, 100]), 100, qry=0, cov=0, div=0)
    assert selection.chosen == (1,)
    assert selection.gains == pytest.approx((100 / 102,))
    assert selection.objective == pytest.approx(100 / 102)
    assert selection.bound == pytest.approx(101 / 102)


def test_submod_spreads_over_documents_by_concave_relevance() -> None:
    """Relevance 1, 1, 0.5 in documents 0, 0, 1; Div alone, unit costs. 1 / (sqrt 2 + sqrt 0.5) first for 0.

    Then 1 adds sqrt 2 - 1 = 0.41 and 2 adds sqrt 0.5 = 0.71: the other document, although it is less
    relevant.
    """
    problem = make([1.0, 1.0, 0.5], [1, 1, 1], [0, 0, 1])
    total = 2**0.5 + 0.5**0.5
    selection = submod(problem, 2, rel=0, qry=0, cov=0, div=1)
    assert selection.chosen == (0, 2)
    assert selection.gains == pytest.approx((1 / total, 0.5**0.5 / total))


def test_submod_stops_at_the_cap_and_when_nothing_gains() -> None:
    """Terms a, a, b; query coverage alone. 0 adds 1/2, 2 adds 1/2, then 1 adds nothing: it stays out."""
    problem = make([1.0, 1.0, 1.0], [1, 1, 1], terms=["a", "a", "b"])
    only: dict[str, Any] = {"rel": 0.0, "qry": 1.0, "cov": 0.0, "div": 0.0}
    assert submod(problem, 10, **only).chosen == (0, 2)
    left = dict.fromkeys((1, 2), "cap: cap=1")
    assert submod(problem, 10, **only, cap=1) == Selection((0,), (0.5,), objective=0.5, bound=0.5, reasons=left)


@pytest.mark.parametrize(
    ("relevance", "cost", "budget", "bound"),
    [
        ([1.0, 0.01, 0.01, 0.01], [1, 1, 1, 1], 2, (1 + 2 * (1.01**0.5 - 1)) / 1.03**0.5),
        ([1.0, 1.0, 1.0, 1.0], [2, 2, 2, 2], 5, 1.0),
    ],
)
def test_submod_bound_is_the_lowest_of_all(relevance: list[float], cost: list[int], budget: int, bound: float) -> None:
    """Div alone, one document. First case, two fit, all times 1 / sqrt 1.03:

    from nothing 1 + 0.1; once 0 is in, 1 + 2 (sqrt 1.01 - 1) = 1.00998, the lowest; once two are in,
    sqrt 1.01 + 2 (sqrt 1.02 - sqrt 1.01) = 1.0149; all of it sqrt 1.03 = 1.0149.
    Second case, two and a half fit, all times 1 / 2: from nothing 2.5; then 1 + 2.5 * 0.414 = 2.04; then
    1.414 + 2 * 0.318 = 2.05; but all of it is worth 2, the lowest.
    """
    problem = make(relevance, cost, document=[0, 0, 0, 0])
    assert submod(problem, budget, rel=0, qry=0, cov=0, div=1).bound == pytest.approx(bound, abs=1e-9)


def test_submod_bound_is_never_below_the_objective_by_a_bit() -> None:
    """Everything fits, so both are the same number, from sums that run in different orders."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        selection = submod(make(rng.random(20).tolist(), [1] * 20, rng.integers(0, 4, 20).tolist()), 20)
        assert selection.objective is not None
        assert selection.bound is not None
        assert 0 <= selection.bound - selection.objective < 1e-12


def test_problem_similarity_is_clipped_symmetric_and_read_only() -> None:
    """(1, 0) and (-0.6, 0.8) have cosine -0.6, clipped to 0; zeros are not even similar to themselves."""
    similarity = make([1.0] * 3, [1] * 3, vectors=[[1, 0], [-0.6, 0.8], [0, 0]]).similarity
    assert similarity.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match="read-only"):
        similarity[0, 0] = 2.0


def test_mistakes_are_named() -> None:
    problem = make([1.0], [1])
    with pytest.raises(UsageError, match="overflow must be one of stop, skip, truncate, got 'cut'"):
        packed(problem, 1, overflow="cut")  # type: ignore[arg-type] # the mistake
    with pytest.raises(UsageError, match="lambda must be from 0 to 1"):
        mmr(problem, 1, lambda_=1.5)
    with pytest.raises(UsageError, match="div must be a finite number of at least 0, got -1"):
        submod(problem, 1, div=-1)
    with pytest.raises(UsageError, match="cap must be a number"):
        submod(problem, 1, cap=-1)
    with pytest.raises(ValueError, match=r"cost: expected shape \(2,\), got \(1,\)"):
        make([1.0, 1.0], [1])
