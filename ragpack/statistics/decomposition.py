"""Table 7: which questions a difference in F1 comes from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragpack.statistics.bootstrap import cluster_sums, interval, resampled_each
from ragpack.statistics.moments import ONE, defined
from ragpack.statistics.paired import Paired, pair, paired_axes, pairs_of
from ragpack.statistics.rows import Bools, Floats, Ints, Options, Row, Rows

GROUPS = ("entered", "left", "in_both", "in_neither", "all")
"""Where the answer is: in the policy's context alone, in the baseline's alone, in both, in neither; and all pairs."""


class Asked(NamedTuple):
    """The five rows of a contrast, and the sums that their intervals are to be drawn from."""

    rows: list[Row]
    sums: Floats
    """[questions, 11] for each group the sum of gains and the pairs in it, then all pairs."""


def decomposition(rows: Rows, options: Options) -> list[Row]:
    """The mean gain in F1 of a policy over a baseline, parted by what happened to the answer.

    Pairs are grouped by answer_in_context of both sides: `entered`, `left`, `in_both`, `in_neither`; `all` is the
    whole. `gain` is the mean gain within the group, `contribution` the group's sum of gains over the number of all
    pairs: contributions add up to the whole difference. `share_of_gain` = contribution / whole difference; it is None
    where that is 0, and shares of a difference that can't be told from 0 mean little (`note`). `all_gold` and
    `all_gold_baseline` count the pairs whose context has every gold document, of the `all_gold_n` pairs for which both
    sides know. Pairs without F1 or AiC on both sides are in `excluded`. Intervals: cluster bootstrap on the question,
    in which the size of a group varies too. Source: P1 §5.
    """
    asked = []
    for labels, part in rows.split(paired_axes(options)):
        for policy, baseline in pairs_of(rows, options):
            ours = part.is_level("policy", policy)
            if ours.any() and not np.isnan(part.column("f1") + part.column("answer_in_context")).all():
                paired = pair(part, ours, part.is_level("policy", baseline))
                asked.append(_ask({**labels, "policy": policy, "baseline": baseline}, part, paired))
    drawn = resampled_each([ask.sums for ask in asked], options.resamples, options.seed)
    for (found, _), sums in zip(asked, drawn, strict=True):
        whole = found[-1]
        if whole["questions"] > 1:
            _infer(found, sums, options)
    return [row for ask in asked for row in ask.rows]


def _ask(labels: Row, rows: Rows, paired: Paired) -> Asked:
    f1, inside = rows.column("f1"), rows.column("answer_in_context")
    gain = f1[paired.ours] - f1[paired.theirs]
    ours, theirs = inside[paired.ours], inside[paired.theirs]
    kept = defined(gain, ours, theirs)
    gain, ours, theirs, question = gain[kept], ours[kept] == 1, theirs[kept] == 1, paired.question[kept]
    sides = (ours & ~theirs, ~ours & theirs, ours & theirs, ~ours & ~theirs, np.ones(len(gain), np.bool_))
    groups = dict(zip(GROUPS, sides, strict=True))
    gold = [rows.column("all_gold_in_context")[side[kept]] for side in (paired.ours, paired.theirs)]
    excluded = paired.excluded + int((~kept).sum())
    found = [
        {**labels, "group": name, **_group(group, gain, question, gold), "excluded": excluded}
        for name, group in groups.items()
    ]
    whole = found[-1]["contribution"]
    for row in found:
        share = row["contribution"] / whole + 0.0 if whole else None  # never -0.0
        row |= {"share_of_gain": share, "method": None, "note": ONE if found[-1]["questions"] == 1 else None}
        if not len(gain):
            row["note"] = "no pair has F1 and answer_in_context on both sides"
    names, cluster = np.unique(question, return_inverse=True)
    columns = [column for group in groups.values() for column in (gain * group, group.astype(np.float64))]
    return Asked(found, cluster_sums(np.column_stack([*columns, np.ones(len(gain))]), cluster, len(names)))


def _group(group: Bools, gain: Floats, question: Ints, gold: list[Floats]) -> Row:
    number, every = int(group.sum()), len(group)
    known = group & defined(*gold)
    return {
        "n": number,
        "questions": len(np.unique(question[group])),
        "share": number / every if every else None,
        "gain": float(gain[group].mean()) if number else None,
        "gain_ci": None,
        "contribution": float(gain[group].sum()) / every if every else None,
        "contribution_ci": None,
        "share_of_gain": None,
        "all_gold": int(gold[0][known].sum()) if known.any() else None,
        "all_gold_baseline": int(gold[1][known].sum()) if known.any() else None,
        "all_gold_n": int(known.sum()),
    }


def _infer(found: list[Row], sums: Floats, options: Options) -> None:
    for at, row in enumerate(found):
        gains, pairs = sums[:, 2 * at], sums[:, 2 * at + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            row["gain_ci"] = interval(gains / pairs, options.level).ends if row["n"] else None
        row["contribution_ci"] = interval(gains / sums[:, -1], options.level).ends
        row["method"] = f"paired {options.method}"
    low, high = found[-1]["contribution_ci"]
    if low <= 0 <= high:
        for row in found:
            row["note"] = "the whole difference is not told from 0: its shares mean little"
