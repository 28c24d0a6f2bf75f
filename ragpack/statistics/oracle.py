"""Table 8: what the best policy for each question would reach."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragpack.statistics.estimates import Part, drawn, ends, mean_interval, mean_part
from ragpack.statistics.needs import score_of
from ragpack.statistics.paired import paired_axes
from ragpack.statistics.rows import Bools, Ints, Level, Options, Row, Rows, mean

ORACLE = "oracle"
TIE = 1e-12
"""Scores that differ by less are the same fraction."""
MEANS = ("f1", "em", "answer_in_context", "tokens")


class Shared(NamedTuple):
    """The instances (question, seed) on which every policy of a part has a score."""

    policies: list[Level]
    """[p] their names."""
    rows: NDArray[np.int64]
    """[p, m] the row of each policy for each instance."""
    excluded: int
    """Instances that a policy lacks, or has without a score."""


def oracle(rows: Rows, options: Options) -> list[Row]:
    """Each policy's mean, and that of the best policy for each instance (question, seed), by model and budget.

    The best policy is the one with the largest `score`: F1, or answer_in_context where no row has an F1. Of tied
    policies the oracle takes the one with the fewest tokens, then the first by name, so its EM, AiC and tokens are
    those of the cheapest best context. `headroom` is the oracle's mean score less the policy's. `best` is the share of
    instances on which the policy reaches the largest score, `sole_best` that on which no other does; `all_tied`, in
    the oracle's row, that on which all policies score the same. Only instances that all policies have; the others are
    `excluded`. Never deployable: it knows the answers. Source: P1 §5.
    """
    table: list[Row] = []
    parts: list[Part] = []
    score = score_of(rows)
    for labels, part in rows.split(paired_axes(options)):
        shared = shared_instances(part, score)
        count = shared.rows.shape[1]
        if len(shared.policies) < 2 or not count:
            continue
        question = part.question[shared.rows[0]]
        scores = part.column(score)[shared.rows]
        largest = scores.max(axis=0)
        tied = scores >= largest - TIE
        about = {"n": count, "questions": len(np.unique(question)), "excluded": shared.excluded, "score": score}
        for at, policy in enumerate([*shared.policies, ORACLE]):
            chosen = shared.rows[at] if at < len(shared.policies) else _cheapest(part, shared.rows, tied)
            row: Row = {**labels, "policy": policy, **about}
            for name in MEANS:
                row[name] = mean(part.column(name)[chosen]).value
                if name == score:
                    row[f"{name}_ci"] = None
            parts += [mean_part(question, part.column(score)[chosen])]
            if at < len(shared.policies):
                headroom = largest - scores[at]
                parts += [mean_part(question, headroom)]
                row |= {"headroom": float(headroom.mean()), "headroom_ci": None, "best": float(tied[at].mean()),
                        "sole_best": float((tied[at] & (tied.sum(axis=0) == 1)).mean()), "all_tied": None}  # fmt: skip
            else:
                row |= {"headroom": None, "headroom_ci": None, "best": None, "sole_best": None,
                        "all_tied": float(tied.all(axis=0).mean())}  # fmt: skip
            table.append(row | {"method": options.method})
    draws = iter(drawn(parts, options))
    for row in table:
        row[f"{row['score']}_ci"] = ends(mean_interval(next(draws), options))
        if row["headroom"] is not None:
            row["headroom_ci"] = ends(mean_interval(next(draws), options))
    return table


def shared_instances(rows: Rows, score: str, masks: list[Bools] | None = None) -> Shared:
    """The instances that all policies have, or all masks [n] where these are given, with a defined score.

    Each (question, seed) stands once in each.
    """
    levels = rows.levels("policy")
    instance = rows.question * len(rows.factors["seed"].levels) + rows.factors["seed"].codes
    defined = ~np.isnan(rows.column(score))
    each = masks if masks is not None else [rows.is_level("policy", level) for level in levels]
    found: list[Ints] = [np.flatnonzero(mask & defined) for mask in each]
    if not found:
        return Shared(levels, np.zeros((0, 0), np.int64), 0)
    common = reduce(np.intersect1d, [instance[at] for at in found])
    matched = []
    for at in found:
        order = at[np.argsort(instance[at], kind="stable")]
        matched.append(order[np.isin(instance[order], common)])
    return Shared(levels, np.stack(matched), len(np.unique(instance)) - len(common))


def _cheapest(part: Rows, rows: NDArray[np.int64], tied: NDArray[np.bool_]) -> Ints:
    """[m] of the tied-best rows of each instance the one with the fewest tokens, then of the first policy."""
    tokens = np.where(tied, part.column("tokens")[rows], np.inf)
    pick = tokens.argmin(axis=0)
    chosen: Ints = rows[pick, np.arange(rows.shape[1])]
    return chosen
