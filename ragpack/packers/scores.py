"""Scores that hits bring along, for rules that go by them."""

import numpy as np
from numpy.typing import NDArray

from ragpack.candidates.problem import Problem
from ragpack.errors import DataError

_PROBED = {"ig": "ig", "nu": "ig", "qlm": "qlm", "yesno": "yesno"}
_RERANKED = ("ce", "bge")


def scores_of(problem: Problem, name: str, rule: str) -> NDArray[np.float64]:
    """[n] `hits[].scores[name]` of each candidate's hit. Raises `DataError` where a hit has none, in the name of
    `rule`, with what adds it."""
    found = problem.scores.get(name)
    if found is not None and not np.isnan(found).any():
        return found
    lacking = "the hits" if found is None else f"{int(np.isnan(found).sum())} of {problem.n} hits"
    if name in _PROBED:
        hint = f"`ragpack generate --probe {_PROBED[name]}` adds it, before `pack`."
    elif name in _RERANKED:
        hint = "`ragpack retrieve --rerank` adds it."
    else:
        hint = f"Scores of these hits: {', '.join(sorted(problem.scores)) or 'none'}."
    raise DataError(f"{rule}: {lacking} have no scores.{name}", hint)
