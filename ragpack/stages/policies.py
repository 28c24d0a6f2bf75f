"""A policy is a space of candidates and a rule: `chunk_mmr` is the rule `mmr` over the space `chunk`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragpack.candidates import CANDIDATES
from ragpack.candidates.problem import Problem
from ragpack.candidates.snippet import Candidate
from ragpack.compressors import COMPRESSORS
from ragpack.compressors.base import Compressor
from ragpack.errors import UsageError
from ragpack.packers import PACKERS
from ragpack.packers.selection import Selection
from ragpack.registry import Parameter, Spec, Value, arguments_of, load, parameters_of, parse_spec, split_specs

POLICIES: dict[str, tuple[str, str]] = {
    "topk": ("document", "topk"),
    **{
        f"{space}_{rule}": (space, rule)
        for space in CANDIDATES
        if space != "document"
        for rule in PACKERS
        if rule != "topk"
    },
}


@dataclass(frozen=True)
class Policy:
    """A policy with its parameters."""

    name: str
    """Canonical string."""
    space: str
    """Canonical string of its space: policies with the same one share candidates, scores and costs."""
    candidates: Callable[..., list[Candidate]]
    """documents -> candidates."""
    select: Callable[[Problem, int], Selection]
    """(problem, budget) -> selection."""
    compress: Callable[..., Compressor] | None = None
    """counter -> compressor, for a policy that leaves out words; it selects nothing."""


@functools.cache
def options_of(name: str) -> dict[str, Parameter]:
    """The parameters of a policy: its space's, then its rule's."""
    if name in COMPRESSORS:
        return parameters_of(load(COMPRESSORS, name))
    space, rule = POLICIES[name]
    return parameters_of(load(CANDIDATES, space)) | parameters_of(load(PACKERS, rule))


def parse_policies(texts: Iterable[str]) -> list[Policy]:
    """Read the policies of a command line. Raises `UsageError` for an unknown one, for a value out of range, and
    for the same one twice."""
    policies = [
        _policy(parse_spec(text, "policy", [*POLICIES, *COMPRESSORS], options_of)) for text in split_specs(texts)
    ]
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"policy '{name}' is given twice")
    return policies


def _policy(spec: Spec) -> Policy:
    if spec.name in COMPRESSORS:
        return _compression(spec)
    space, rule = POLICIES[spec.name]
    candidates, select = load(CANDIDATES, space), load(PACKERS, rule)
    given = dict(spec.given)
    of_space, of_rule = arguments_of(candidates, given), arguments_of(select, given)
    shown = Spec(space, tuple(sorted((key.rstrip("_"), value) for key, value in of_space.items())))
    policy = Policy(
        str(spec),
        str(shown),
        functools.partial(candidates, **of_space),
        functools.partial(select, **of_rule),
    )
    _try(policy)
    return policy


def _compression(spec: Spec) -> Policy:
    """Relevance, and what is dropped, are those of whole documents."""
    given = dict(spec.given)
    opener, candidates = load(COMPRESSORS, spec.name), load(CANDIDATES, "document")
    of_space = arguments_of(candidates, given)
    return Policy(
        # A path belongs to one machine: the record has the folder's name, and the key the fingerprint of its files.
        str(Spec(spec.name, tuple((key, _shown(key, value)) for key, value in spec.given))),
        str(Spec("document", tuple(of_space.items()))),
        functools.partial(candidates, **of_space),
        load(PACKERS, "topk"),
        functools.partial(opener, **arguments_of(opener, given)),
    )


def _shown(key: str, value: Value) -> Value:
    path = Path(str(value)).expanduser()
    return path.resolve().name if key == "model" and path.is_dir() else value


def _try(policy: Policy) -> None:
    """A value out of range shows itself on the smallest problem, before any record is read."""
    one: Any = np.ones(1, dtype=np.int64)
    tiny = Problem(np.ones(1), one, one - 1, one, one - 1, np.ones((1, 1), dtype=np.bool_), np.ones((1, 1)))
    try:
        policy.candidates([])
        policy.select(tiny, 1)
    except ValueError as error:
        raise UsageError(f"policy '{policy.name}': {error}") from None
