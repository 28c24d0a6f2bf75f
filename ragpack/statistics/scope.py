"""Table 10: where a better packing can help at all, and whether it does."""

from __future__ import annotations

import numpy as np

from ragpack.statistics.estimates import Part, drawn, ends, mean_interval, mean_part
from ragpack.statistics.needs import score_of
from ragpack.statistics.paired import pair, pairs_of
from ragpack.statistics.rows import Floats, Options, Row, Rows, axes, mean

SHARE = 0.5
"""A condition on a share holds from here."""
READER = 0.7
"""F1 with the answer in the context below which the reader holds the result back."""


def scope(rows: Rows, options: Options) -> list[Row]:
    """The four conditions, measured, for each model, budget and dataset, beside each contrast asked for.

    - complementary structure: `several_gold`, share of questions with two or more gold documents; `complementary`
      where it is 0.5 or more;
    - retrieval surfaces it: `all_gold_in_hits`, mean over questions; `surfaced` from 0.5;
    - the budget binds: `left_out`, share of rows in which something retrieved did not get into the context; `binds`
      from 0.5. Beside it `lost_gold`, of the rows with every gold document retrieved the share that lost one: near 1
      the budget starves, whatever is chosen;
    - the reader is the bottleneck: `f1_given_1`, mean F1 of the rows with the answer in the context (answers that are
      spans); `reader_limits` below 0.7.

    `all_four` is their conjunction; a condition that can't be measured is null, and so is `all_four` then, unless
    another one fails. Rows of all policies enter the conditions; the contrast is paired, not corrected. Source: P1 §6;
    the thresholds are ours.
    """
    table: list[Row] = []
    parts: list[Part] = []
    wanted: list[tuple[str | None, str | None]] = [*pairs_of(rows, options)] or [(None, None)]
    own = axes(("model", "budget", "dataset"), tuple(name for name in options.by if name != "policy"))
    for labels, part in rows.split(own):
        conditions = _conditions(part)
        score = score_of(part)
        for policy, baseline in wanted:
            row: Row = {**labels, "n": part.n, "questions": part.questions, **conditions}
            difference, question = np.zeros(0), part.question[:0]
            if policy is not None:
                paired = pair(part, part.is_level("policy", policy), part.is_level("policy", baseline))
                column = part.column(score)
                difference, question = column[paired.ours] - column[paired.theirs], paired.question
                average = mean(difference)
                row |= {"policy": policy, "baseline": baseline, "score": score, "pairs": average.n,
                        "excluded": paired.excluded + len(difference) - average.n, "difference": average.value,
                        "ci": None, "p": None}  # fmt: skip
            parts.append(mean_part(question, difference))
            table.append(row | {"method": f"paired {options.method}"} if policy is not None else row)
    for row, draws in zip(table, drawn(parts, options), strict=True):
        if row.get("difference") is not None:
            found = mean_interval(draws, options)
            row["ci"], row["p"] = ends(found), found.p
    return table


def _conditions(part: Rows) -> Row:
    several = _per_question(part, _flag(part.column("gold_documents"), 2))
    surfaced = _per_question(part, part.column("all_gold_in_hits"))
    tokens, dropped = part.column("tokens"), part.column("dropped")
    budget = np.array([np.nan if one is None else one for one in part.factors["budget"].levels], np.float64)
    full = (tokens >= budget[part.factors["budget"].codes]) | (dropped > 0)
    left_out = mean(np.where(np.isnan(dropped), np.nan, full))
    perfect = part.column("all_gold_in_hits") == 1
    lost = mean(1 - part.column("all_gold_in_context")[perfect])
    given = mean(part.column("f1")[part.spans & (part.column("answer_in_context") == 1)])
    checks = {
        "complementary": _at_least(several),
        "surfaced": _at_least(surfaced),
        "binds": _at_least(left_out.value),
        "reader_limits": None if given.value is None else given.value < READER,
    }
    return {
        "several_gold": several,
        "all_gold_in_hits": surfaced,
        "left_out": left_out.value,
        "lost_gold": lost.value,
        "lost_gold_n": lost.n,
        "f1_given_1": given.value,
        "f1_given_1_n": given.n,
        **checks,
        "all_four": False if False in checks.values() else None if None in checks.values() else True,
    }


def _flag(column: Floats, least: float) -> Floats:
    """[n] 1 where a number is at least so large, 0 where not; undefined stays so."""
    return np.where(np.isnan(column), np.nan, column >= least)


def _at_least(share: float | None) -> bool | None:
    return None if share is None else share >= SHARE


def _per_question(part: Rows, column: Floats) -> float | None:
    """Mean over questions of their mean over rows, so that a question with more rows does not count more."""
    defined = ~np.isnan(column)
    _, question = np.unique(part.question[defined], return_inverse=True)
    if not len(question):
        return None
    return float((np.bincount(question, column[defined]) / np.bincount(question)).mean())
