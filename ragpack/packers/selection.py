"""What a packer returns, how ties are broken, and what happens to a snippet that does not fit."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.costs import Costs

TIE = 1e-12
"""Scores closer than this are equal. Scores are of order 1, so this is far above the noise of a float sum
(1e-16), and far below any difference that means something. Without it two equal snippets can differ in the
last bit, because their sums ran in another order, and then the tie rule never fires."""

Overflow = Literal["stop", "skip", "truncate"]
OVERFLOWS: tuple[str, ...] = get_args(Overflow)


class Selection(NamedTuple):
    """The chosen candidates, and what the rule can say about them."""

    chosen: tuple[int, ...]
    """Indices in the order taken, which is the order of presentation."""
    gains: tuple[float, ...] | None
    """What each one added when it was taken, in the units of the rule; None where the rule has no score."""
    cut_last: bool = False
    """The last one does not fit whole: the renderer cuts its tail."""
    objective: float | None = None
    """F of the selection, for rules that maximise something."""
    bound: float | None = None
    """No selection within the budget has an F above this."""
    reasons: Mapping[int, str] = {}
    """Why a candidate was not taken, where the rule knows; elsewhere it was the budget."""


def first_best(scores: NDArray[np.float64]) -> int:
    """Index of the largest score; of those that tie for it, the first in canonical order.

    >>> first_best(np.array([0.1 + 0.2, 0.6 / 2, 0.3 + 1e-9]))
    2
    >>> first_best(np.array([0.3, 0.1 + 0.2]))
    0
    """
    return int((scores >= scores.max() - TIE).argmax())


def descending(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """All indices, best first, ties in canonical order.

    Subtle: being closer than TIE is not transitive, so a sort rounds to its decimals instead.

    >>> descending(np.array([0.3, 0.1 + 0.2, 1.0])).tolist()
    [2, 0, 1]
    """
    return np.argsort(-np.round(scores, 12), kind="stable")


class Knapsack:
    """The room left while a packer offers one candidate after the other.

    A candidate that does not fit ends the packing (`stop`), is passed over (`skip`), or is the last one and
    is cut to fit (`truncate`). The first snippet of a document pays its header, where headers are shared.
    """

    def __init__(self, problem: Problem, budget: int, overflow: str) -> None:
        if overflow not in OVERFLOWS:
            raise UsageError(f"overflow must be one of {', '.join(OVERFLOWS)}, got '{overflow}'")
        self._overflow = overflow
        self._least = problem.cost
        self._slack = problem.slack
        self._costs = Costs(problem, budget)
        self._chosen: list[int] = []
        self._gains: list[float] = []
        self._cut_last = False
        self._reasons: dict[int, str] = {}
        # A budget of 0 holds nothing, not even a snippet that costs nothing.
        self._open = self._costs.room > 0
        self.available = np.ones(problem.n, dtype=np.bool_)
        """[n] not offered yet, and not known to be too large."""

    @property
    def open(self) -> bool:
        """Whether there is a candidate left that may be offered."""
        return self._open and bool(self.available.any())

    def offer(self, i: int, gain: float) -> bool:
        """Take candidate i if it fits. True if it went in whole: then the packer updates its state."""
        self.available[i] = False
        price, room = int(self._costs.now[i]), self._costs.room
        if price <= room:
            self._costs.take(i)
        elif self._overflow == "truncate" and room > self._slack:
            # Subtle: a cut snippet stands behind a separator too: up to `slack` there is no room for text.
            self._open, self._cut_last = False, True
        else:
            self._reasons[i] = f"budget: {price} tokens, {room} left"
            # The room only shrinks: what is too large without its header will not fit later either.
            self._open = self._overflow == "skip"
            self.available &= self._least <= room
            return False
        self._chosen.append(i)
        self._gains.append(gain)
        return not self._cut_last

    def selection(self) -> Selection:
        """What was taken."""
        return Selection(tuple(self._chosen), tuple(self._gains), self._cut_last, reasons=self._reasons)
