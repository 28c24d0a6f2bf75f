"""Rows of two policies, side by side: what contrasts, mediation, decomposition and sweeps stand on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragpack.statistics.rows import Bools, Ints, Options, Rows, axes


class Paired(NamedTuple):
    """m pairs of rows of one (question, seed), and what has no partner."""

    question: Ints
    """[m] the cluster."""
    ours: Ints
    """[m] the row of the policy."""
    theirs: Ints
    """[m] the row of the baseline."""
    excluded: int
    """Instances (question, seed) that only one of the two has."""


def pair(rows: Rows, ours: Bools, theirs: Bools) -> Paired:
    """Pair the rows of two masks [n] on (question, seed). Each mask holds a (question, seed) once.

    Raises `ValueError` where one is there twice: then the caller has pooled what must be kept apart.
    """
    instance = rows.question * len(rows.factors["seed"].levels) + rows.factors["seed"].codes
    left, right = np.flatnonzero(ours), np.flatnonzero(theirs)
    for side in (left, right):
        if len(np.unique(instance[side])) < len(side):
            raise ValueError("a question is on one side of a pair twice")
    common, mine, other = np.intersect1d(instance[left], instance[right], return_indices=True)
    mine, other = left[mine], right[other]
    return Paired(rows.question[mine], mine, other, len(left) + len(right) - 2 * len(common))


def paired_axes(options: Options) -> tuple[str, ...]:
    """The factors that paired tables are cut by; a pair spans two policies, so never by these."""
    return axes(("model", "budget"), tuple(name for name in options.by if name != "policy"))


def pairs_of(rows: Rows, options: Options) -> list[tuple[str, str]]:
    """The contrasts asked for, (policy, baseline), each once, in the order asked: `*` is every other policy."""
    names = [str(level) for level in rows.levels("policy")]
    found = []
    for policy, baseline in options.pairs:
        found += [(name, baseline) for name in (names if policy == "*" else [policy]) if name != baseline]
    return list(dict.fromkeys(found))
