"""Greedy searches through the sets that fit: by gain per token or by gain, counting all again or only what may win.

Each leaves a `Path`: the sets that it went through, with what it knew of each. That is what `bound` needs.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragpack.packers.costs import Costs
from ragpack.packers.objective import Floats, Objective, State
from ragpack.packers.selection import TIE, first_best


@dataclass
class Path:
    """The sets that a search went through, from the empty one."""

    chosen: list[int] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    """What each one added when it was taken."""
    values: list[float] = field(default_factory=lambda: [0.0])
    """[t] F of each set, t = len(chosen) + 1."""
    trail: list[Floats] = field(default_factory=list)
    """[t] arrays [n]: at least what each candidate adds to that set; 0 for what is in it, and for what fits nowhere."""
    evaluations: int = 0
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
    that was counted in this step need not be counted (Minoux 1978). Bounds are sorted by one argmax a time and not in
    a heap: costs change where a document's header has been paid, so all ratios are made anew in each step, which
    is one division of arrays. The path is the same to the last bit as without `lazy`; only its trail is looser.
    """
    state, path = State(objective), Path()
    fits = costs.fits()
    outside = fits if among is None else fits & among
    gains = state.bounds()  # of the empty set these are the gains
    gains *= outside
    # Costs relative to the cheapest keep gain per token of order 1, where TIE has its meaning. A snippet that
    # costs nothing counts as one token, so that its ratio stays finite.
    cheapest = max(1, int(costs.now.min()))
    price: Floats | float = np.maximum(costs.now, 1) / cheapest if per_token else 1.0

    while not cap or len(path.chosen) < cap:
        open_now = outside & costs.fits()
        scores = gains / price
        scores[~open_now] = -1.0
        i = _lazy_best(state, gains, scores, price) if lazy and path.chosen else first_best(scores)
        gain = float(gains[i])
        if not open_now[i] or gain <= TIE:
            break
        path.trail.append(gains)
        path.chosen.append(i)
        path.gains.append(gain)
        path.values.append(path.values[-1] + gain)
        before = costs.now
        costs.take(i)
        if per_token and costs.now is not before:
            price = np.maximum(costs.now, 1) / cheapest
        state.add(i)
        outside[i] = False
        gains = state.bounds() if lazy else state.gains()
        gains *= outside
    path.trail.append(gains)
    path.evaluations = state.evaluations
    return path


def _lazy_best(state: State, gains: Floats, scores: Floats, price: Floats | float) -> int:
    """`first_best` of the true scores, which are at most these; what is counted is written into gains and scores.

    Subtle: ties. The largest true score is found when the largest one of all is a counted one. Whatever may come
    within TIE of it and stands before it has to be counted too: the first of those that do is the answer.
    """
    counted: set[int] = set()

    def count(i: int) -> None:
        counted.add(i)
        gains[i] = state.gain(i)
        scores[i] = gains[i] / (price if isinstance(price, float) else price[i])

    while True:
        i = int(scores.argmax())
        top = float(scores[i])
        if top < 0.0:  # nothing fits
            return i
        if i in counted:
            break
        count(i)
    for j in np.flatnonzero(scores >= top - TIE).tolist():
        if j not in counted:
            count(j)
        if scores[j] >= top - TIE:
            return int(j)
    raise AssertionError("the largest score ties with itself")
