"""Information-gain pruning: only what makes the reader surer."""

from typing import Literal

import numpy as np

from ragpack.candidates.problem import Problem
from ragpack.errors import DataError, UsageError
from ragpack.packers.scores import scores_of
from ragpack.packers.selection import Knapsack, Overflow, Selection, descending


def igp(
    problem: Problem,
    budget: int,
    *,
    threshold: float = 0.05,
    m: int = 0,
    fallback: Literal["none", "rank"] = "none",
    pass_rate: float = 0.0,
    nu0: float = 0.0,
    overflow: Overflow = "truncate",
) -> Selection:
    """Hits by information gain, those below the threshold dropped, then at most `m` (0: no limit), then the budget.

    Source: "Information Gain Pruning", §3; needs `hits[].scores.ig`, which `generate --probe ig` adds.
    Rule: sort by IG; keep IG >= threshold; cut to m; take until the budget is full. If none passes the context is
    empty, and rightly so, unless fallback=rank: then it is what `topk` would give. `topk`'s order is also taken where
    fewer than `pass_rate` of the hits pass, and where the reader was sure without any passage (its normalised
    uncertainty below `nu0`).
    Gain: the IG. Complexity: O(n log n). Ties: rank.
    """
    if m < 0 or not 0 <= pass_rate <= 1 or not 0 <= nu0 <= 1:
        raise UsageError(f"m={m}, pass_rate={pass_rate}, nu0={nu0}: m is at least 0, the others are from 0 to 1")
    sack = Knapsack(problem, budget, overflow)
    if problem.n == 0:
        return sack.selection()
    ig = scores_of(problem, "ig", "igp")
    if nu0 > 0 and problem.nu0 is None:
        raise DataError("igp: nu0 needs probe.nu0 in the record", "`ragpack generate --probe ig` adds it.")
    passing = ig >= threshold
    sure = nu0 > 0 and problem.nu0 is not None and problem.nu0 < nu0
    reasons = {}
    if sure or passing.mean() < pass_rate or (fallback == "rank" and not passing.any()):
        order = list(range(problem.n))
    else:
        order = [i for i in descending(ig).tolist() if passing[i]]
        reasons = {i: f"threshold: IG {ig[i]:.4f} < {threshold}" for i in np.flatnonzero(~passing).tolist()}
    if m:
        reasons |= dict.fromkeys(order[m:], f"cap: m={m}")
        order = order[:m]
    for i in order:
        if not sack.open:
            break
        if sack.available[i]:
            sack.offer(i, float(ig[i]))
    found = sack.selection()
    return found._replace(reasons={**reasons, **found.reasons})
