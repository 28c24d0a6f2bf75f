"""What a candidate costs now, given what is chosen: its own tokens, and a header where its document has none yet."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.problem import Problem


def header_of(problem: Problem) -> NDArray[np.int64] | None:
    """[n] tokens of the header that the first snippet of a document pays; None where every line has its own."""
    header = problem.header
    return header if header is not None and header.any() else None


class Costs:
    """Marginal costs while a set grows, and the room that is left."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self._header = header_of(problem)
        self._document = problem.document
        self.now: NDArray[np.int64] = problem.cost if self._header is None else problem.cost + self._header
        """[n] tokens that each would add now. Read only: a pick that opens a document makes a new array."""
        self.room = problem.capacity(budget)
        """Tokens left."""

    def fits(self) -> NDArray[np.bool_]:
        """[n] which would fit now. A set that fits still fits without some of its members, so a candidate that does
        not fit alone is in no feasible set."""
        return self.now <= self.room

    def take(self, i: int) -> int:
        """Pay for candidate i, and open its document. Returns what it cost."""
        paid = int(self.now[i])
        self.room -= paid
        if self._header is not None:
            # Counted on a copy: whoever still holds the costs of an earlier step keeps them.
            same = self._document == self._document[i]
            self.now = np.where(same & (self._header > 0), self.now - self._header, self.now)
            self._header = np.where(same, 0, self._header)
        return paid

    def shared(self, at: NDArray[np.intp]) -> NDArray[np.float64]:
        """[at] costs whose plain sum over any set of these candidates is at most what the set adds now: each pays an
        equal part of a header that is not paid yet, as if all of its document among `at` were in."""
        now = self.now[at].astype(np.float64)
        if self._header is None:
            return now
        document, header = self._document[at], self._header[at]
        parts: NDArray[np.float64] = now - header + header / np.bincount(document)[document]
        return parts

    def copy(self) -> Costs:
        """Costs of their own: `take` replaces the arrays and does not write into them."""
        return copy(self)


def relaxed(problem: Problem, capacity: int, cap: int = 0) -> NDArray[np.float64]:
    """[n] costs whose plain sum over a feasible set is at most what the set really costs; for bounds.

    A feasible set O with m > 0 snippets of document d pays the header h of d once: that is h / m for each of
    them. m is at most k, the number of snippets of d that can be in one set: no more than there are that fit
    alone, than the cheapest of them that fit together behind one header, and than `cap`. So own cost + h / k,
    summed over O, never exceeds the cost of O.
    """
    header = header_of(problem)
    cost = problem.cost.astype(np.float64)
    if header is None:
        return cost
    for document in np.unique(problem.document[header > 0]):
        at = np.flatnonzero(problem.document == document)
        alone = at[problem.cost[at] + header[at] <= capacity]
        if len(alone):
            h = int(header[alone].min())
            together = int((np.cumsum(np.sort(problem.cost[alone])) <= capacity - h).sum())
            cost[alone] += h / max(1, min(together, cap or together))
    return cost
