"""What each table needs of the rows, so that a table that they can't give is told apart from an empty one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ragpack.statistics.rows import Options, Rows

Need = Callable[[Rows, Options], str | None]
"""None where the rows have it; otherwise the reason why there can be no table, as the end of a sentence."""


def scores(rows: Rows, options: Options) -> str | None:
    """F1 of an answer."""
    del options
    return None if _known(rows, "f1") else "no row has an F1; `ragpack generate` and then `ragpack diagnose` give it"


def answers(rows: Rows, options: Options) -> str | None:
    """A gold answer to look for in the context."""
    del options
    return None if _known(rows, "answer_in_context") else "no row has a known answer, so answer_in_context is undefined"


def quality(rows: Rows, options: Options) -> str | None:
    """F1, or answer_in_context in its place."""
    del options
    if _known(rows, "f1") or _known(rows, "answer_in_context"):
        return None
    return "no row has an F1 or a known answer"


def gold(rows: Rows, options: Options) -> str | None:
    """Gold documents."""
    del options
    known = _known(rows, "gold_doc_coverage") or _known(rows, "all_gold_in_hits")
    return None if known else "no row names gold documents"


def contrast(rows: Rows, options: Options) -> str | None:
    """Two policies to compare."""
    del rows
    return None if options.pairs else "it compares policies: give --baseline POLICY or --contrast A,B"


def policies(rows: Rows, options: Options) -> str | None:
    """Several policies."""
    del options
    names = rows.levels("policy")
    return None if len(names) > 1 else f"all rows are of one policy, {names[0]}"


def points(rows: Rows, options: Options) -> str | None:
    """Several policies or budgets."""
    del options
    names, budgets = rows.levels("policy"), rows.levels("budget")
    if len(names) > 1 or len(budgets) > 1:
        return None
    return f"all rows are of one policy and one budget, {names[0]} at {budgets[0]}"


NEEDS: dict[str, tuple[Need, ...]] = {
    "correlations": (scores,),
    "conditional": (scores, answers),
    "incremental": (scores, gold),
    "contrasts": (policies, contrast),
    "mediation": (scores, policies, contrast),
    "decomposition": (scores, answers, policies, contrast),
    "oracle": (policies, quality),
    "sweep": (points, quality),
    "scope": (gold,),
}
"""By table; one without a line can be made of any rows."""


def lacking(table: str, rows: Rows, options: Options) -> str | None:
    """The first reason why rows (one or more) can't give a table, or None."""
    return next(filter(None, (need(rows, options) for need in NEEDS.get(table, ()))), None)


def needs_contrast(table: str) -> bool:
    """Does it compare policies that the user has to name?"""
    return contrast in NEEDS.get(table, ())


def score_of(rows: Rows) -> str:
    """The column that stands for quality: F1 where any row has one, else answer_in_context."""
    return "f1" if _known(rows, "f1") else "answer_in_context"


def _known(rows: Rows, name: str) -> bool:
    return not np.isnan(rows.column(name)).all()
