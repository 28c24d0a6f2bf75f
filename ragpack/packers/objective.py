"""The set function F that the submodular packer maximises: what is good, apart from how it is searched for.

F(S) = rel * Rel(S) + qry * Qry(S) + cov * Cov(S) + div * Div(S), over the candidates of one problem:

    Rel(S) = sum of relevance in S / sum of all relevance
    Qry(S) = question terms covered by S / question terms
    Cov(S) = sum_i min(sum_{j in S} sim(i, j), alpha * deg_i) / sum_i alpha * deg_i,
             where deg_i = sum over all j of sim(i, j)
    Div(S) = sum over documents d of sqrt(relevance of S within d) / the same for all candidates

Each part is monotone, submodular, 0 for nothing and at most 1. A part whose denominator is 0 (no relevance,
no question terms, …) is 0: it cannot tell candidates apart, so it must not turn F into NaN.

Two routes to the same number: `parts` reads like the formulas; `gains` and `add` keep running state, so
that one step of a greedy search costs O(n²) at most. The tests hold them equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError

Floats = NDArray[np.float64]


class Parts(NamedTuple):
    """One number for each part of F: its weight, or its value."""

    rel: float
    qry: float
    cov: float
    div: float


@dataclass
class State:
    """What a growing set has used up; scaled by the weights, like the arrays of the objective."""

    uncovered: Floats
    """[q] 1 for a question term not covered yet, else 0."""
    unsaturated: Floats
    """[n] similarity that each candidate can still receive before it is saturated."""
    mass: Floats
    """[n] relevance already taken from the document of each candidate."""


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


class Objective:
    """F over one problem. The state of a search is apart, in `State`, so that searches can share it."""

    def __init__(self, problem: Problem, weights: Parts, alpha: float) -> None:
        for name, number in (*weights._asdict().items(), ("alpha", alpha)):
            if not (0.0 <= number < np.inf):
                raise UsageError(f"{name} must be a finite number of at least 0, got {number}")
        self.problem = problem
        self.weights = weights
        similarity, relevance = problem.similarity, problem.relevance
        self._saturation = alpha * similarity.sum(axis=1)

        # The weight and the denominator of each part are multiplied in once, here, and not at every step.
        self._rel = relevance * _ratio(weights.rel, float(relevance.sum()))
        self._qry = problem.terms * _ratio(weights.qry, problem.terms.shape[1])
        scale = _ratio(weights.cov, float(self._saturation.sum()))
        self._cov, self._cov_limit = similarity * scale, self._saturation * scale
        # Div sums square roots, so its factor goes under the root squared: k sqrt(x) = sqrt(k² x).
        self._div = relevance * _ratio(weights.div, self._roots(range(problem.n))) ** 2
        self._buffer = np.empty_like(self._cov)

    def _roots(self, chosen: Sequence[int]) -> float:
        index = np.asarray(chosen, dtype=np.intp)
        mass = np.bincount(self.problem.document[index], weights=self.problem.relevance[index])
        return float(np.sqrt(mass).sum())

    def parts(self, chosen: Sequence[int]) -> Parts:
        """The four parts of a set, unweighted, straight from the formulas. O(n |S|)."""
        p, index = self.problem, np.asarray(chosen, dtype=np.intp)
        received = p.similarity[:, index].sum(axis=1)
        return Parts(
            rel=_ratio(float(p.relevance[index].sum()), float(p.relevance.sum())),
            qry=_ratio(float(p.terms[index].any(axis=0).sum()), p.terms.shape[1]),
            cov=_ratio(float(np.minimum(received, self._saturation).sum()), float(self._saturation.sum())),
            div=_ratio(self._roots(index.tolist()), self._roots(range(p.n))),
        )

    def value(self, chosen: Sequence[int]) -> float:
        """F of a set."""
        return sum(weight * part for weight, part in zip(self.weights, self.parts(chosen), strict=True))

    @cached_property
    def whole(self) -> float:
        """F of all candidates: no set has more."""
        return self.value(range(self.problem.n))

    def start(self) -> State:
        """The state of the empty set."""
        return State(np.ones(self._qry.shape[1]), self._cov_limit.copy(), np.zeros(self.problem.n))

    def gains(self, state: State) -> Floats:
        """[n] what each candidate would add to F now. Means nothing for a candidate that is already in."""
        gains = self._rel.copy()
        if self.weights.qry:
            gains += self._qry @ state.uncovered
        if self.weights.cov:
            gains += np.minimum(self._cov, state.unsaturated, out=self._buffer).sum(axis=1)
        if self.weights.div:
            gains += np.sqrt(state.mass + self._div) - np.sqrt(state.mass)
        return gains

    def add(self, state: State, i: int) -> None:
        """Put candidate i into the set that `state` stands for."""
        state.uncovered[self.problem.terms[i]] = 0.0
        np.maximum(state.unsaturated - self._cov[i], 0.0, out=state.unsaturated)
        state.mass[self.problem.document == self.problem.document[i]] += self._div[i]
