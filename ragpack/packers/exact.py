"""The optimum by branch and bound: for few candidates, and to see what the greedy searches lose."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragpack.errors import DataError
from ragpack.packers.costs import Costs
from ragpack.packers.objective import FREE, Floats, Objective, State
from ragpack.packers.selection import TIE, first_best

MOST = 64
"""Candidates that fit and gain something: with more of them the search is refused before it starts."""
STEPS = 100_000
"""Sets that are looked into before the search is given up. A count and not a time, so that the same problem gives the
same answer on every machine."""
SMALLER = "Set a smaller nodes= or budget, or optimiser=best, which comes with a bound."


@dataclass
class Search:
    """Depth first through the sets that fit, from the best one that a greedy search found."""

    objective: Objective
    best: list[int]
    value: float
    """F of the best one."""
    cheapest: int
    """Tokens of the cheapest candidate: gain per so many tokens is of order 1, where TIE has its meaning."""
    steps: int = 0
    inside: list[int] = field(default_factory=list)

    def look(self, value: float, state: State, costs: Costs, left: NDArray[np.intp], cap: int) -> None:
        """Every set of those inside, at least one and at most `cap` (0: no cap) of `left` that may be better.

        Children take the first; leave the first and take the second; and so on, in the order of gain per token. Gains
        only shrink, so what the k-th child and all below it can gain is at most a fill of the room with the k-th and
        those after it, a fraction of the last one. These fills fall with k.
        """
        self.steps += 1
        if self.steps > STEPS:
            raise DataError(
                f"optimiser=exact gave up after {STEPS} sets of {self.objective.problem.n} snippets", SMALLER
            )
        gains = state.gains()
        left = left[(costs.now[left] <= costs.room) & (gains[left] > TIE)]
        if not len(left):
            return
        gain = gains[left]
        single = first_best(gain)
        if value + gain[single] > self.value + TIE:
            self.best, self.value = [*self.inside, int(left[single])], value + float(gain[single])
        if cap == 1 or len(left) == 1:
            return
        price = np.maximum(costs.shared(left), FREE)
        # Rounded, so that the last bit of a sum does not decide which of two equal optima is met first.
        ratio = gain / np.maximum(price / self.cheapest, FREE)
        order = (-np.round(ratio, 12)).argsort(kind="stable")
        left, gain = left[order], gain[order]
        fills = suffix_fills(gain, price[order], costs.room, cap)
        for at in range(len(left) - 1):  # the last child alone is a single, and was looked at
            if value + fills[at] <= self.value + TIE:
                break
            i = int(left[at])
            deeper, paid = state.copy(), costs.copy()
            deeper.add(i)
            paid.take(i)
            self.inside.append(i)
            self.look(value + float(gain[at]), deeper, paid, left[at + 1 :], max(cap - 1, 0))
            self.inside.pop()


def suffix_fills(gain: Floats, price: Floats, room: int, cap: int) -> Floats:
    """[k] the most that the k-th and those after it can gain in `room`, the last one as a fraction; at most `cap` of
    them (0: no cap). They are in the order of gain per price, and none is dearer than the room.

    >>> suffix_fills(np.array([6.0, 4.0, 1.0]), np.array([2.0, 2.0, 1.0]), 3, 0).tolist()  # 6 + 4 / 2, 4 + 1, 1
    [8.0, 5.0, 1.0]
    >>> suffix_fills(np.array([6.0, 4.0, 1.0]), np.array([2.0, 2.0, 1.0]), 3, 1).tolist()
    [6.0, 4.0, 1.0]
    """
    spent, gained = np.concatenate(([0.0], price.cumsum())), np.concatenate(([0.0], gain.cumsum()))
    target = spent[:-1] + room
    whole = spent.searchsorted(target, side="right") - 1  # so many are in before the fraction
    last = np.minimum(whole, len(gain) - 1)
    part = np.where(whole < len(gain), np.clip((target - spent[whole]) / price[last], 0.0, 1.0) * gain[last], 0.0)
    fills: Floats = gained[whole] - gained[:-1] + part
    if cap:
        most = [
            np.partition(gain[at:], -cap)[-cap:].sum() if len(gain) - at > cap else np.inf for at in range(len(gain))
        ]
        np.minimum(fills, most, out=fills)
    return fills


def exact(objective: Objective, costs: Costs, cap: int, chosen: list[int], value: float) -> list[int]:
    """The set with the largest F that fits, or `chosen` with its F `value` if none is better by more than TIE.

    Raises `DataError` where there are more than MOST candidates, or more than STEPS sets to look into.
    """
    state = State(objective)
    # What gains nothing alone gains nothing with others.
    left = np.flatnonzero(costs.fits() & (state.bounds() > TIE))
    if len(left) > MOST:
        raise DataError(f"optimiser=exact takes at most {MOST} snippets that fit, here are {len(left)}", SMALLER)
    search = Search(objective, chosen, value, max(1, int(costs.now.min())))
    search.look(0.0, state, costs, left, cap)
    return search.best
