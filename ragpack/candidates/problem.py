"""The arrays that a packer sees: one Problem a question, shared by every policy and budget.

Numbers only: the text stays with the stage, so a packer cannot do I/O and cannot look at the answer.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)  # eq=False: an == of arrays has no truth value
class Problem:
    """n candidate snippets in canonical order (rank, position): that order is what breaks every tie.

    Whoever builds a Problem sorts first. Then the order in which hits happened to arrive cannot change a
    pick, not even through the last bit of a sum that ran in another order.
    """

    relevance: NDArray[np.float64]
    """[n] at least 0; the largest is 1 unless all are 0."""
    cost: NDArray[np.int64]
    """[n] reader tokens that each adds to the context, header and separator included; at least 0."""
    document: NDArray[np.int64]
    """[n] index of its document, from 0 in rank order."""
    rank: NDArray[np.int64]
    """[n] rank of its hit, from 1."""
    position: NDArray[np.int64]
    """[n] position within its document."""
    terms: NDArray[np.bool_]
    """[n, q] which of the q distinct content terms of the question it covers."""
    vectors: NDArray[np.float64]
    """[n, v] tf-idf rows of length 1 (or 0): their product is the similarity."""
    slack: int = 0
    """Tokens of the separator, which the last snippet of a context does not pay."""

    def __post_init__(self) -> None:
        """Shapes only: they catch a mix-up of arrays, and cost a microsecond."""
        n = len(self.relevance)
        for name in ("relevance", "cost", "document", "rank", "position"):
            shape = getattr(self, name).shape
            if shape != (n,):
                raise ValueError(f"{name}: expected shape ({n},), got {shape}")
        for name in ("terms", "vectors"):
            shape = getattr(self, name).shape
            if len(shape) != 2 or shape[0] != n:
                raise ValueError(f"{name}: expected shape ({n}, …), got {shape}")

    @property
    def n(self) -> int:
        """Number of candidates."""
        return len(self.relevance)

    def capacity(self, budget: int) -> int:
        """The sum of costs that fits: every cost pays a separator, but the last snippet has none after it."""
        return budget + self.slack if budget > 0 else 0

    @cached_property
    def similarity(self) -> NDArray[np.float64]:
        """[n, n] cosine in [0, 1], exactly symmetric, 1 on the diagonal (0 for a snippet without terms)."""
        used = self.vectors > 0
        # A term of one snippet alone adds to the diagonal only: most columns need not be multiplied.
        common = self.vectors[:, used.sum(axis=0) > 1]
        product = common @ common.T
        similarity = np.clip(np.maximum(product, product.T), 0.0, 1.0)
        np.fill_diagonal(similarity, used.any(axis=1))
        # Every selection of this question shares the array: one that wrote into it would change the next.
        similarity.setflags(write=False)
        return similarity
