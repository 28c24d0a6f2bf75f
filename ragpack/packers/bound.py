"""An upper bound on F over all feasible sets, from what a search has seen anyway."""

import numpy as np
from numpy.typing import NDArray

from ragpack.packers.objective import FREE


def fill_bound(
    values: NDArray[np.float64], gains: NDArray[np.float64], cost: NDArray[np.float64], capacity: int, cap: int
) -> float:
    """Upper bound on F over all feasible sets, from the sets that a search went through.

    values [t] is F of each of those sets; gains [t, n] is at least what each candidate adds to it, and 0 for its
    members and for what is in no feasible set; cost [n] is such that its sum over a feasible set is at most
    `capacity`. By submodularity no feasible set O is better than values + the gains of O, and no O gains more than
    filling the capacity by gain per token with a fraction of the last one. The lowest of the t bounds holds.

    Gains (6, 4) at costs (2, 2) in a capacity of 3, from the empty set: 6 + 4 * 1/2.
    >>> fill_bound(np.array([0.0]), np.array([[6.0, 4.0]]), np.array([2.0, 2.0]), 3, 0)
    8.0
    >>> fill_bound(np.array([0.0]), np.array([[6.0, 4.0]]), np.array([0.0, 2.0]), 2, 0)  # a cost of 0 takes no room
    10.0
    >>> fill_bound(np.array([0.0]), np.array([[6.0, 4.0]]), np.array([0.0, 2.0]), 2, 1)  # one snippet at most
    6.0
    """
    price = np.maximum(cost, FREE)
    density = gains / -price
    order = density.argsort(axis=1)
    price, sorted_gains = price[order], gains[np.arange(len(gains))[:, None], order]
    room = capacity - price.cumsum(axis=1)
    room += price  # before each one
    room /= price
    np.minimum(np.maximum(room, 0.0, out=room), 1.0, out=room)
    room *= sorted_gains
    fill = room.sum(axis=1)
    if cap:
        fill = np.minimum(fill, np.sort(gains, axis=1)[:, -cap:].sum(axis=1))
    return float((values + fill).min())
