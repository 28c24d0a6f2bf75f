"""A policy is a space of candidates and a rule: `chunk_mmr` is the rule `mmr` over the space `chunk`.

Its parameters are those of the space, of the rule, and of what lies between and behind: how candidates are prepared
and how the chosen ones are presented.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ragpack.candidates import CANDIDATES
from ragpack.candidates.problem import Problem
from ragpack.candidates.relevance import Relevance
from ragpack.candidates.snippet import Space
from ragpack.compressors import COMPRESSORS
from ragpack.compressors.base import Compressor
from ragpack.errors import DataError, UsageError
from ragpack.models.folder import without_paths
from ragpack.packers import PACKERS
from ragpack.packers.selection import Selection
from ragpack.readers.prompts.probes import KINDS
from ragpack.registry import Parameter, Spec, Value, arguments_of, load, parameters_of, parse_spec, split_specs

FACTORS = ("chunk", "ace"), ("packed", "focused", "mmr", "submod")
"""Spaces and rules of the papers' factorial design."""
POLICIES: dict[str, tuple[str, str]] = {
    "topk": ("document", "topk"),
    **{
        f"{space}_{rule}": (space, rule)
        for space in ("chunk", "ace")
        for rule in ("packed", "focused", "mmr", "submod")
    },
    "ragpack": ("chunk", "bridge"),
    "igp": ("document", "igp"),
    "gold": ("chunk", "gold"),
    "answer": ("chunk", "answer"),
    "random": ("chunk", "draw"),
}
DEFAULTS: dict[str, dict[str, Value]] = {"ragpack": {"layout": "grouped"}}
"""Parameters that a policy sets otherwise than their functions do."""
CEILINGS = ("gold", "answer")
"""Rules that look at gold documents and answers."""
PROBES = (*KINDS, "nu")
"""Scores that probing gives."""
SCORED = ("igp", "bridge")
"""Rules that look at the scores of hits."""

Layout = Literal["flat", "grouped"]
Order = Literal["score", "document", "edges"]


class Preparation(NamedTuple):
    """How candidates are prepared."""

    relevance: str
    embedder: str
    max_tokens: int
    layout: str


def prepared(
    *, relevance: Relevance = "bm25", embedder: str = "", max_tokens: int = 0, layout: Layout = "flat"
) -> Preparation:
    """Relevance of candidates; most tokens of one (0: no limit), longer ones are cut into several; and whether a
    document's title is printed before each snippet (`flat`) or once (`grouped`)."""
    if max_tokens < 0:
        raise ValueError(f"max_tokens must be at least 0, got {max_tokens}")
    if embedder and relevance != "dense":
        raise ValueError(f"embedder={embedder} is for relevance=dense, not for relevance={relevance}")
    return Preparation(relevance, embedder, max_tokens, layout)


def presented(*, order: Order = "score") -> str:
    """In which order the chosen ones stand: as they were taken (`score`), by document and position (`document`), or
    the first taken at both ends and the last ones in the middle (`edges`)."""
    return order


@dataclass(frozen=True)
class Policy:
    """A policy with its parameters."""

    name: str
    """Canonical string."""
    space: str
    """Canonical string of its space and preparation: policies with the same one share candidates, scores and costs."""
    candidates: Callable[..., Space]
    """(documents, question) -> candidates."""
    preparation: Preparation
    select: Callable[[Problem, int], Selection]
    """(problem, budget) -> selection."""
    order: str
    """How the chosen ones are presented."""
    ceiling: bool
    """It is told the gold documents and the answers."""
    scores: bool
    """It looks at the scores of hits."""
    compress: Callable[..., Compressor] | None = None
    """counter -> compressor, for a policy that leaves out words; it selects nothing."""
    nodes: int | None = None
    """Most candidates, for spaces that have such a limit: it holds when long ones have been cut, too."""


@functools.cache
def options_of(name: str) -> dict[str, Parameter]:
    """The parameters of a policy: its space's, its rule's, then those of preparation and presentation."""
    if name in COMPRESSORS:
        return parameters_of(load(COMPRESSORS, name))
    space, rule = POLICIES[name]
    found = parameters_of(load(CANDIDATES, space)) | parameters_of(load(PACKERS, rule))
    # Whole documents are neither scored nor cut: `topk` goes by rank, and `igp` by information gain.
    found |= (parameters_of(prepared) if space != "document" else {}) | parameters_of(presented)
    return found | {key: found[key]._replace(default=value) for key, value in DEFAULTS.get(name, {}).items()}


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
    given = DEFAULTS.get(spec.name, {}) | dict(spec.given)
    of_space, of_rule, of_preparation = (arguments_of(one, given) for one in (candidates, select, prepared))
    shown = Spec(space, tuple(sorted((key.rstrip("_"), value) for key, value in (of_space | of_preparation).items())))
    limit = options_of(spec.name).get("nodes")
    try:
        preparation = prepared(**of_preparation)  # type: ignore[arg-type] # checked when the spec was read
        policy = Policy(
            str(without_paths(spec)),
            str(shown),
            functools.partial(candidates, **of_space),
            preparation,
            functools.partial(select, **of_rule),
            presented(**arguments_of(presented, given)),  # type: ignore[arg-type] # same
            rule in CEILINGS,
            rule in SCORED or preparation.relevance not in ("bm25", "rank") or of_rule.get("by", "rank") != "rank",
            nodes=of_space.get("nodes", limit.default) if limit else None,  # type: ignore[arg-type] # same
        )
        _try(policy)
    except ValueError as error:
        raise UsageError(f"policy '{spec}': {error}") from None
    return policy


def _compression(spec: Spec) -> Policy:
    """Relevance, and what is dropped, are those of whole documents."""
    given = dict(spec.given)
    opener, candidates = load(COMPRESSORS, spec.name), load(CANDIDATES, "document")
    of_space = arguments_of(candidates, given)
    return Policy(
        str(without_paths(spec)),
        str(Spec("document", tuple(of_space.items()))),
        functools.partial(candidates, **of_space),
        prepared(),
        load(PACKERS, "topk"),
        order="score",
        ceiling=False,
        scores=False,
        compress=functools.partial(opener, **arguments_of(opener, given)),
    )


def _try(policy: Policy) -> None:
    """A value out of range shows itself on the smallest problem, before any record is read."""
    one: Any = np.ones(1, dtype=np.int64)
    tiny = Problem(np.ones(1), one, one - 1, one, one - 1, np.ones((1, 1), dtype=np.bool_), np.ones((1, 1)),
                   scores={"ig": np.ones(1)}, nu0=1.0)  # fmt: skip
    policy.candidates([], "")
    with contextlib.suppress(DataError):  # a score that the smallest problem lacks says nothing about the value
        policy.select(tiny, 1)


@functools.cache
def probed(name: str) -> bool:
    """Whether a policy, by its canonical string, goes by what probing gave: what that cost is then its cost too.

    >>> [probed(name) for name in ("igp", "topk", "topk:by=qlm,m=1", "chunk_mmr:relevance=ig", "another one")]
    [True, False, True, True, False]
    """
    try:
        spec = parse_spec(name, "policy", POLICIES, options_of)
    except UsageError:  # of another version, or of nobody
        return False
    given = dict(spec.given)
    return POLICIES[spec.name][1] == "igp" or given.get("by") in PROBES or given.get("relevance") == "ig"
