"""Table 6: does the score move as much as the context lets one expect?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragpack.statistics.bootstrap import cluster_sums, interval, resampled_each
from ragpack.statistics.moments import ONE, defined
from ragpack.statistics.paired import Paired, pair, paired_axes, pairs_of
from ragpack.statistics.rows import Bools, Floats, Options, Row, Rows

METRICS = ("f1", "em", "answer_in_context", "gold_doc_coverage")
EXPECTED = ("f1_given_1", "f1_given_0", "f1_expected")


class Asked(NamedTuple):
    """A row of the table, and the sums that its intervals are to be drawn from."""

    row: Row
    measured: tuple[str, ...]
    """Names of the differences, which are the first columns of `sums`; then the number of pairs, then `_presence`."""
    sums: Floats


def mediation(rows: Rows, options: Options) -> list[Row]:
    """ΔF1 and ΔEM beside ΔAiC and Δcoverage of a policy and a baseline, all on the same pairs.

    A pair counts if each metric that any pair has is defined on both sides; others are in `excluded`. `f1_given_1` and
    `f1_given_0`: mean F1 with and without the answer in the context, over both sides of the pairs. `f1_expected` =
    ΔAiC × (f1_given_1 − f1_given_0) is what ΔF1 would be if nothing but the presence of the answer had changed.
    Intervals: cluster bootstrap on the question. Source: P1 §5; the expectation is the product form of mediation, of
    an association: AiC is not assigned at random.
    """
    asked = []
    for labels, part in rows.split(paired_axes(options)):
        for policy, baseline in pairs_of(rows, options):
            ours = part.is_level("policy", policy)
            if ours.any() and not np.isnan(part.column("f1")).all():
                paired = pair(part, ours, part.is_level("policy", baseline))
                asked.append(_ask({**labels, "policy": policy, "baseline": baseline}, part, paired))
    drawn = resampled_each([ask.sums for ask in asked], options.resamples, options.seed)
    for (row, measured, _), sums in zip(asked, drawn, strict=True):
        if row["questions"] > 1:
            row["method"] = f"paired {options.method}"
            estimates = _estimates(sums, len(measured))
            for name, draws in zip((*measured, *EXPECTED), estimates.T, strict=True):
                if f"{name}_ci" in row:
                    row[f"{name}_ci"] = interval(draws, options.level).ends
    return [ask.row for ask in asked]


def _ask(row: Row, rows: Rows, paired: Paired) -> Asked:
    every = {name: rows.column(name)[paired.ours] - rows.column(name)[paired.theirs] for name in METRICS}
    measured = tuple(name for name in METRICS if not np.isnan(every[name]).all())
    kept = defined(every["f1"], *(every[name] for name in measured))
    questions, question = np.unique(paired.question[kept], return_inverse=True)
    row |= {"n": int(kept.sum()), "questions": len(questions), "excluded": paired.excluded + int((~kept).sum())}
    row |= {name: None for metric in METRICS for name in (metric, f"{metric}_ci")}
    row |= dict.fromkeys([*EXPECTED, "f1_expected_ci", "method", "note"])
    if not kept.any():
        row["note"] = f"no pair has {', '.join(measured) if 'f1' in measured else 'f1'} on both sides"
        return Asked(row, measured, np.zeros((0, 0)))
    differences = [every[name][kept] for name in measured]
    values = np.column_stack([*differences, np.ones(kept.sum()), _presence(rows, paired, kept)])
    sums = cluster_sums(values, question, len(questions))
    estimates = _estimates(sums.sum(axis=0), len(measured))
    for name, value in zip((*measured, *EXPECTED), estimates, strict=True):
        row[name] = None if np.isnan(value) else float(value)
    row["note"] = ONE if len(questions) < 2 else None
    return Asked(row, measured, sums)


def _presence(rows: Rows, paired: Paired, kept: Bools) -> Floats:
    """[m, 5] F1 with the answer, sides with it, F1 without it, sides without it, over both sides of each pair; and what
    the policy has more of it. Zeros where AiC is undefined."""
    sides = []
    for side in (paired.ours[kept], paired.theirs[kept]):
        f1, inside = rows.column("f1")[side], rows.column("answer_in_context")[side]
        there, away = np.nan_to_num(inside), np.nan_to_num(1 - inside)
        sides.append(np.column_stack([f1 * there, there, f1 * away, away]))
    return np.column_stack([sides[0] + sides[1], sides[0][:, 1] - sides[1][:, 1]])


def _estimates(sums: Floats, metrics: int) -> Floats:
    """[..., metrics + 3] differences, F1 with and without the answer, and F1 expected; NaN where undefined."""
    pairs, f1_with, sides_with, f1_without, sides_without, more = np.moveaxis(sums[..., metrics:], -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        given, without = f1_with / sides_with, f1_without / sides_without
        expected = more / pairs * (given - without)
        differences = sums[..., :metrics] / pairs[..., None]
    return np.concatenate([differences, np.stack([given, without, expected], axis=-1)], axis=-1)
