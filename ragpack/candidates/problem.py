"""The arrays that a packer sees: one Problem a question, shared by every policy and budget.

Numbers only: the text stays with the stage, so a packer cannot do I/O. What is right is known to the ceilings alone,
as `labels`; for every other policy that field is empty.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Labels(NamedTuple):
    """What a deployed packer can't know."""

    gold: NDArray[np.bool_]
    """[n] snippets of gold documents."""
    answer: NDArray[np.bool_]
    """[n] snippets that hold an answer."""


class Clues(NamedTuple):
    """What the wording says of where an answer may stand."""

    roots: NDArray[np.bool_]
    """[n, r] which of the question's r word roots a snippet covers, its title included."""
    weight: NDArray[np.float64]
    """[r] share of each root in the question: idf over the candidates, 1 in all."""
    mentions: NDArray[np.bool_]
    """[n, d] snippets whose text names the title of another document d."""
    asked: NDArray[np.bool_]
    """[d] documents whose title the question names."""
    relation: NDArray[np.float64]
    """[n] share of the relations asked for (birth, parents, authorship, …) for which a snippet has a word."""
    date: NDArray[np.bool_]
    """[n] snippets with a year, where the question asks for a time."""


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
    vectors: NDArray[np.float64] | Callable[[], NDArray[np.float64]]
    """[n, v] tf-idf rows of length 1 (or 0): their product is the similarity; or what makes them, since few rules
    look at it."""
    slack: int = 0
    """Tokens of the separator, which the last snippet of a context does not pay."""
    header: NDArray[np.int64] | None = None
    """[n] tokens of the header of its document, paid by the first snippet of a document that is taken; None where
    each snippet brings its own header, which then is part of its cost."""
    prior: NDArray[np.float64] | None = None
    """[n] retrieval score of its document, scaled to a maximum of 1; None where nobody gave one."""
    scores: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """[n] other scores of its hit by name (`ig`, `ce`, …); NaN where a hit has none."""
    nu0: float | None = None
    """Normalised uncertainty of the reader without a passage, where the hits were probed."""
    salt: int = 0
    """A number of the question, for rules that draw."""
    labels: Labels | None = None
    """For the ceilings."""
    find_clues: Callable[[], Clues] | None = None
    """Finds `clues`: they cost more than the rest, and few rules look at them."""

    def __post_init__(self) -> None:
        """Shapes only: they catch a mix-up of arrays, and cost a microsecond."""
        n = len(self.relevance)
        for name in ("relevance", "cost", "document", "rank", "position"):
            shape = getattr(self, name).shape
            if shape != (n,):
                raise ValueError(f"{name}: expected shape ({n},), got {shape}")
        for name in ("terms", "vectors"):
            shape = getattr(getattr(self, name), "shape", (n, 0))
            if len(shape) != 2 or shape[0] != n:
                raise ValueError(f"{name}: expected shape ({n}, …), got {shape}")

    @property
    def n(self) -> int:
        """Number of candidates."""
        return len(self.relevance)

    @cached_property
    def clues(self) -> Clues:
        """Found on first use; none where nobody gave a way to find them."""
        if self.find_clues:
            return self.find_clues()
        n, documents = self.n, int(self.document.max()) + 1 if self.n else 0
        q = self.terms.shape[1]
        return Clues(self.terms, np.full(q, 1.0 / max(q, 1)), np.zeros((n, documents), np.bool_),
                     np.zeros(documents, np.bool_), np.zeros(n), np.zeros(n, np.bool_))  # fmt: skip

    def capacity(self, budget: int) -> int:
        """The sum of costs that fits: every cost pays a separator, but the last snippet has none after it."""
        return budget + self.slack if budget > 0 else 0

    @cached_property
    def similarity(self) -> NDArray[np.float64]:
        """[n, n] cosine in [0, 1], exactly symmetric, 1 on the diagonal (0 for a snippet without terms)."""
        vectors = self.vectors() if callable(self.vectors) else self.vectors
        used = vectors > 0
        # A term of one snippet alone adds to the diagonal only: most columns need not be multiplied.
        common = vectors[:, used.sum(axis=0) > 1]
        product = common @ common.T
        similarity = np.clip(np.maximum(product, product.T), 0.0, 1.0)
        np.fill_diagonal(similarity, used.any(axis=1))
        # Every selection of this question shares the array: one that wrote into it would change the next.
        similarity.setflags(write=False)
        return similarity
