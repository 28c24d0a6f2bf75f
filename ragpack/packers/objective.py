"""The set function F that the submodular packer maximises: what is good, apart from how it is searched for.

F(S) = rel * Rel(S) + qry * Qry(S) + cov * Cov(S) + div * Div(S), over the candidates of one problem:

    Rel(S) = sum of relevance in S / sum of all relevance
    Qry(S) = question terms covered by S / question terms
    Cov(S) = sum_i min(sum_{j in S} sim(i, j), alpha * deg_i) / sum_i alpha * deg_i,
             where deg_i = sum over all j of sim(i, j)
    Div(S) = sum over documents d of sqrt(relevance of S within d) / the same for all candidates

Each part is monotone, submodular, 0 for nothing and at most 1. A part whose denominator is 0 (no relevance,
no question terms, …) is 0: it cannot tell candidates apart, so it must not turn F into NaN.

Two routes to the same number: `parts` reads like the formulas; `State` keeps what a growing set has used up, so
that one step of a greedy search costs O(n²) at most. The tests hold them equal.
"""

import math
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError

Floats = NDArray[np.float64]

BITS = 52
"""Qry and Cov are counted in whole units of their weight / 2**52. Sums of whole numbers below 2**53 are exact in
float64, in any order: a candidate's gain is the same bits alone, within a matrix product, and with the columns left
out that are full. So a lazy search can be held to the plain one, and equal snippets tie exactly."""

FREE = 1e-100
"""Stands for a divisor of 0."""


class Parts(NamedTuple):
    """One number for each part of F: its weight, or its value."""

    rel: float
    qry: float
    cov: float
    div: float


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


class Objective:
    """F over one problem. What a search has used up is apart, in `State`, so that searches can share it."""

    def __init__(self, problem: Problem, weights: Parts, alpha: float) -> None:
        for name, number in (*weights._asdict().items(), ("alpha", alpha)):
            if not (0.0 <= number < math.inf):
                raise UsageError(f"{name} must be a finite number of at least 0, got {number}")
        self.problem = problem
        self.weights = weights
        self.alpha = alpha
        n, relevance = problem.n, problem.relevance

        # The weight and the denominator of each part are multiplied in once, here, and not at every step.
        self.rel: Floats = relevance * _ratio(weights.rel, float(relevance.sum()))
        # Div sums square roots, so its factor goes under the root squared: k sqrt(x) = sqrt(k² x).
        self.div: Floats | None = None
        if weights.div:
            self.div = relevance * _ratio(weights.div, self._roots(np.arange(n))) ** 2

        # Qry is Cov with other receivers: a term can take one share, and whoever has the term gives all of it.
        self.unit = math.ldexp(1.0, max(math.frexp(weights.qry + weights.cov)[1], -900) - BITS)
        supply: list[Floats] = [np.zeros((n, 0))]
        demand: list[Floats] = [np.zeros(0)]
        if weights.cov:
            limit = self._saturation
            scale = _ratio(weights.cov, float(limit.sum())) / self.unit
            # Clipped before it is scaled: with an alpha near 0 the scaled similarity would overflow.
            for shares, part in ((supply, np.minimum(problem.similarity, limit)), (demand, limit)):
                units: Floats = part * scale
                np.rint(units, out=units)
                shares.append(units)
        if weights.qry and (q := problem.terms.shape[1]):
            share = float(np.rint(weights.qry / q / self.unit))
            supply.append(problem.terms * share)
            demand.append(np.full(q, share))
        self.supply: Floats = supply[1] if len(supply) == 2 else np.hstack(supply)
        """[n, m] what each candidate can give to each receiver, in units."""
        self.demand: Floats = np.concatenate(demand)
        """[m] what each receiver can take, in units."""

    @cached_property
    def _saturation(self) -> Floats:
        """[n] the similarity that each candidate can receive."""
        limit: Floats = self.alpha * self.problem.similarity.sum(axis=1)
        return limit

    def _roots(self, index: NDArray[np.intp]) -> float:
        mass = np.bincount(self.problem.document[index], weights=self.problem.relevance[index])
        return float(np.sqrt(mass).sum())

    def parts(self, chosen: Sequence[int]) -> Parts:
        """The four parts of a set, unweighted, straight from the formulas. O(n |S|)."""
        p, index = self.problem, np.asarray(chosen, dtype=np.intp)
        received, saturation = p.similarity[:, index].sum(axis=1), self._saturation
        return Parts(
            rel=_ratio(float(p.relevance[index].sum()), float(p.relevance.sum())),
            qry=_ratio(float(p.terms[index].any(axis=0).sum()), p.terms.shape[1]),
            cov=_ratio(float(np.minimum(received, saturation).sum()), float(saturation.sum())),
            div=_ratio(self._roots(index), self._roots(np.arange(p.n))),
        )

    def value(self, chosen: Sequence[int]) -> float:
        """F of a set."""
        return sum(weight * part for weight, part in zip(self.weights, self.parts(chosen), strict=True))

    @cached_property
    def whole(self) -> float:
        """F of all candidates: no set has more."""
        received = np.minimum(self.supply.sum(axis=0), self.demand).sum() * self.unit
        return float(received + self.rel.sum() + (0.0 if self.div is None else self.weights.div * self.div.any()))


class State:
    """A growing set, with what it has used up and what each candidate would add to F.

    A candidate's gain is base + unit * given: `base` (Rel and Div) is cheap and always up to date; `given` (Qry and
    Cov) costs O(m) a candidate, never grows, and is counted again only when asked: until then it is an upper bound.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._supply, self._demand = objective.supply, objective.demand
        self._ones = np.ones(len(self._demand))
        self._buffer: Floats | None = None
        self._given: Floats = self._supply @ self._ones  # nothing is used up, and no supply is above a demand
        self._mass = np.zeros(len(self._given))
        self._base = objective.rel
        if objective.div is not None:
            self._spread()
        self.evaluations = len(self._given)
        """How many times some candidate's `given` was counted."""

    def _spread(self) -> None:
        div = self._objective.div
        assert div is not None
        # sqrt(m + d) - sqrt(m), without its cancellation. A relevance of 0 in an empty document is 0 / FREE = 0.
        roots = np.sqrt(self._mass + div) + np.sqrt(self._mass)
        self._base = self._objective.rel + div / np.maximum(roots, FREE)

    def bounds(self) -> Floats:
        """[n] at least what each candidate would add now, without counting again. A new array."""
        return self._base + self._given * self._objective.unit

    def gains(self) -> Floats:
        """[n] what each candidate would add now; means nothing for a candidate that is in. A new array."""
        if len(self._demand):
            if self._buffer is None:
                self._buffer = np.empty_like(self._supply)
            self._given = np.minimum(self._supply, self._demand, out=self._buffer) @ self._ones
            self.evaluations += len(self._given)
        return self.bounds()

    def gain(self, i: int) -> float:
        """What candidate i would add now: the same bits as in `gains`. O(m)."""
        if len(self._demand):
            self._given[i] = np.minimum(self._supply[i], self._demand).dot(self._ones)
            self.evaluations += 1
        return float(self._base[i] + self._given[i] * self._objective.unit)

    def add(self, i: int) -> None:
        """Put candidate i into the set."""
        objective = self._objective
        if len(self._demand):
            demand = self._demand - self._supply[i]
            np.maximum(demand, 0.0, out=demand)
            # Most receivers are soon full. Copying the others is worth it when half of them are: O(n m) in all.
            if 2 * np.count_nonzero(demand) <= len(demand):
                left = np.flatnonzero(demand)
                self._supply, self._buffer = self._supply.take(left, axis=1), None
                self._ones, demand = self._ones[: len(left)], demand[left]
                if not len(left):
                    self._given = np.zeros(len(self._given))
            self._demand = demand
        if objective.div is not None:
            document = objective.problem.document
            self._mass[document == document[i]] += objective.div[i]
            self._spread()

    def copy(self) -> "State":
        """A state of its own."""
        twin = copy(self)
        twin._given, twin._mass = self._given.copy(), self._mass.copy()
        return twin
