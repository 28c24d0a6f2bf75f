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
"""Qry and Cov are counted in whole units of 2**-52 of their weight (a power of two). Sums of less than 2**53 units
are exact in float64, in any order: a candidate's gain is the same bits alone, within a matrix product, and with the
full receivers left out. So a lazy search can be held to the plain one, and equal snippets tie exactly."""

BLOCK = 2**16
"""Numbers that are worked on at a time: few enough to stay in the processor's cache."""

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
        self._unit = math.ldexp(1.0, max(math.frexp(weights.qry + weights.cov)[1], -900) - BITS)
        supply: list[Floats] = []
        demand: list[Floats] = []
        if weights.cov:
            limit = self._saturation
            scale = _ratio(weights.cov, float(limit.sum()))
            # Clipped before it is scaled: with an alpha near 0 the scaled similarity would overflow.
            supply.append(self._whole_units(np.minimum(problem.similarity, limit) * scale))
            demand.append(self._whole_units(limit * scale))
        if weights.qry and (q := problem.terms.shape[1]):
            share = self._whole_units(np.full(q, weights.qry / q))
            supply.append(problem.terms * share)
            demand.append(share)
        if not supply:
            supply, demand = [np.zeros((n, 0))], [np.zeros(0)]
        self.supply: Floats = supply[0] if len(supply) == 1 else np.hstack(supply)
        """[n, m] what each candidate can give to each receiver."""
        self.demand: Floats = demand[0] if len(demand) == 1 else np.concatenate(demand)
        """[m] what each receiver can take."""

    def _whole_units(self, values: Floats) -> Floats:
        values /= self._unit
        np.rint(values, out=values)
        values *= self._unit
        return values

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
        rel, qry, cov, div = self.weights
        terms = self.problem.terms
        value = rel * bool(self.rel.any())
        if qry and terms.shape[1]:
            value += qry * np.count_nonzero(terms.any(axis=0)) / terms.shape[1]
        if cov and self._saturation.any():
            value += cov / max(1.0, self.alpha)  # each receives deg of alpha * deg
        if self.div is not None and self.div.any():
            value += div
        return float(value)


class State:
    """A growing set, with what it has used up and what each candidate would add to F.

    A candidate's gain is base + given: `base` (Rel and Div) is cheap and always up to date; `given` (Qry and Cov)
    costs O(m) a candidate, never grows, and is counted again only when asked: until then it is an upper bound.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._supply, self._demand = objective.supply, objective.demand
        n, m = self._supply.shape
        self._ones, self._zeros = np.ones(m), np.zeros(m)
        self._buffer: Floats | None = None
        self._given: Floats = self._supply.dot(self._ones)  # nothing is used up, and no supply is above a demand
        self._base = objective.rel
        if objective.div is not None:
            self._mass = np.zeros(n)
            self._spread(objective.div)
        self.evaluations = n
        """How many times some candidate's `given` was counted."""

    def _spread(self, div: Floats) -> None:
        # sqrt(m + d) - sqrt(m), without its cancellation. A relevance of 0 in an empty document is 0 / FREE = 0.
        roots = np.sqrt(self._mass + div)
        roots += np.sqrt(self._mass)
        self._base = self._objective.rel + div / np.maximum(roots, FREE)

    def bounds(self) -> Floats:
        """[n] at least what each candidate would add now, without counting again. A new array."""
        return self._base + self._given

    def gains(self) -> Floats:
        """[n] what each candidate would add now; means nothing for a candidate that is in. A new array."""
        if len(self._demand):
            n, m = self._supply.shape
            rows = max(1, BLOCK // m)
            if self._buffer is None:
                self._buffer = np.empty((min(n, rows), m))
            given = np.empty(n)
            for at in range(0, n, rows):
                part = self._supply[at : at + rows]
                given[at : at + rows] = np.minimum(part, self._demand, out=self._buffer[: len(part)]).dot(self._ones)
            self._given = given
            self.evaluations += n
        return self.bounds()

    def count(self, at: NDArray[np.intp]) -> Floats:
        """[at] what these candidates would add now: the same bits as in `gains`. O(m) a candidate."""
        if len(self._demand):
            supply = self._supply.take(at, axis=0)
            self._given[at] = np.minimum(supply, self._demand, out=supply).dot(self._ones)
            self.evaluations += len(at)
        return self._base[at] + self._given[at]

    def add(self, i: int) -> None:
        """Put candidate i into the set."""
        objective = self._objective
        if len(self._demand):
            demand = self._demand - self._supply[i]
            np.maximum(demand, self._zeros, out=demand)
            # Most receivers are soon full. Copying the others is worth it when half of them are: O(n m) in all.
            if 2 * np.count_nonzero(demand) <= len(demand):
                left = demand.nonzero()[0]
                self._supply, self._buffer = self._supply.take(left, axis=1), None
                demand, self._ones, self._zeros = demand[left], self._ones[: len(left)], self._zeros[: len(left)]
                if not len(left):
                    self._given = np.zeros(len(self._given))
            self._demand = demand
        if objective.div is not None:
            document = objective.problem.document
            self._mass[document == document[i]] += objective.div[i]
            self._spread(objective.div)

    def copy(self) -> "State":
        """A state of its own."""
        twin = copy(self)
        twin._given = self._given.copy()
        if self._objective.div is not None:
            twin._mass = self._mass.copy()
        return twin
