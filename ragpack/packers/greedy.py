"""Greedy searches through the sets that fit: by gain per token or by gain, counting all again or only what may win.

Each leaves a `Path`: the sets that it went through, with what it knew of each. That is what `bound` needs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragpack.packers.costs import Costs
from ragpack.packers.objective import Floats, Objective, State
from ragpack.packers.selection import TIE, first_best


@dataclass
class Path:
    """The sets that a search went through, from the empty one."""

    chosen: list[int]
    gains: list[float]
    """What each one added when it was taken."""
    values: list[float]
    """[t] F of each set, t = len(chosen) + 1."""
    trail: Floats
    """[t, n] at least what each candidate adds to that set; 0 for what is in it, and for what fits nowhere."""
    evaluations: int
    """How many times the gain of a candidate was counted."""

    @property
    def value(self) -> float:
        """F of the last set."""
        return self.values[-1]


def greedy(
    objective: Objective,
    costs: Costs,
    cap: int = 0,
    *,
    per_token: bool = True,
    lazy: bool = False,
    among: NDArray[np.bool_] | None = None,
) -> Path:
    """Of the candidates that fit, the one with the largest gain (per token), until none fits, none gains anything,
    or there are `cap` of them (0: no cap). `costs` is used up. `among` [n] restricts it to some candidates.

    lazy: gains never grow, so an old one is an upper bound, and a candidate whose bound per token is below the best
    that was counted in this step need not be counted (Minoux 1978). Bounds are not kept in a heap: costs change where
    a document's header has been paid, so all ratios are made anew in each step, which is one division of arrays. The
    path is the same to the last bit as without `lazy`; only its trail is looser.
    """
    state = State(objective)
    feasible = costs.fits() if among is None else costs.fits() & among
    # Costs relative to the cheapest keep gain per token of order 1, where TIE has its meaning. A snippet that
    # costs nothing counts as one token, so that its ratio stays finite. Whatever is not to be taken is infinitely dear.
    cheapest, dearest = max(1, int(costs.now.min())), int(costs.now.max())
    inside: list[int] = []

    def prices() -> Floats:
        price: Floats = np.maximum(costs.now, 1) / cheapest if per_token else np.ones(len(feasible))
        price[~feasible] = np.inf
        price[inside] = np.inf
        return price

    price = prices()
    gains, trail, taken, values = state.bounds(), [], [], [0.0]  # of the empty set the bounds are the gains
    while True:
        trail.append(gains)
        if len(inside) == cap > 0:
            break
        scores = gains / price
        i = _lazy_best(state, gains, scores, price) if lazy and inside else int(scores.argmax())
        i = int((scores >= scores[i] - TIE).argmax())
        if price[i] == np.inf:
            # What can be taken scores no more than TIE. A small score may still be a gain, at a large cost.
            scores[price == np.inf] = -1.0
            i = first_best(scores)
        gain = float(gains[i])
        if price[i] == np.inf or gain <= TIE:
            break
        inside.append(i)
        taken.append(gain)
        values.append(values[-1] + gain)
        before = costs.now
        costs.take(i)
        if costs.now is not before:
            price = prices()
        price[i] = np.inf
        if costs.room < dearest:
            price[costs.now > costs.room] = np.inf
        state.add(i)
        gains = state.bounds() if lazy else state.gains()

    known = np.array(trail)
    known *= feasible
    for step, i in enumerate(inside):
        known[step + 1 :, i] = 0.0
    return Path(inside, taken, values, known, state.evaluations)


def _lazy_best(state: State, gains: Floats, scores: Floats, price: Floats) -> int:
    """Index of the largest true score, where the scores are upper bounds; what is counted is written into gains and
    scores. All that may come within TIE of the largest one are counted too, since the first of them is taken.

    Counted are the largest bounds: one, then two, four, …: calls on few numbers cost as much as calls on one.
    """
    stale = price < np.inf
    width = 1
    while True:
        i = int(scores.argmax())
        if not stale[i]:
            at = (stale & (scores >= scores[i] - TIE)).nonzero()[0]
            if not len(at):
                return i
        elif width == 1:
            at = np.array([i])
        else:
            at = scores.argpartition(-width)[-width:] if width < len(scores) else stale.nonzero()[0]
            at = at[stale[at]]
        width *= 2
        stale[at] = False
        gains[at] = state.count(at)
        scores[at] = gains[at] / price[at]
