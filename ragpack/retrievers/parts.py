"""Retrievers that a retriever is made of: specs in a spec, opened through the table as anybody opens them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ragpack.errors import UsageError, did_you_mean
from ragpack.models.folder import without_paths
from ragpack.registry import Spec, inner_specs, inner_text, load, parameters_of, parse_spec
from ragpack.retrievers import RETRIEVERS
from ragpack.retrievers.base import Retriever
from ragpack.retrievers.corpus import Corpus
from ragpack.retrievers.opening import opened

_SPECS = ("of", "base")
"""Options whose value is a spec, or several."""


class Part(NamedTuple):
    """A retriever inside another one."""

    name: str
    """Of its scores: the retriever's, with a number from the second one on."""
    spec: Spec
    retriever: Retriever

    @property
    def fingerprint(self) -> str:
        """What decides its results: the spec without paths, its version and its model."""
        return f"{named(self.spec)} {version_of(self.retriever) or ''}".rstrip()


def named(spec: Spec) -> Spec:
    """A spec as the record has it: canonical to its innermost one, folders by their names."""
    shown = []
    for key, value in without_paths(spec).given:
        inner = [named(parsed(one)) for one in inner_specs(str(value))] if key in _SPECS else None
        shown.append((key, value if inner is None else "+".join(map(inner_text, inner))))
    return Spec(spec.name, tuple(shown))


def parsed(text: str) -> Spec:
    """A retriever's spec. Raises `UsageError`."""
    return parse_spec(text, "retriever", RETRIEVERS, lambda name: parameters_of(load(RETRIEVERS, name)))


def version_of(retriever: Retriever) -> str | None:
    """What a retriever's results depend on beside spec and documents: its version, its models. None for nothing."""
    marks = [getattr(retriever, name, None) for name in ("version", "fingerprint")]
    return " ".join(str(mark) for mark in marks if mark is not None) or None


def open_parts(
    whose: str, text: str, corpus: Corpus | None, index: Path | None, say: Callable[[str], object], shard_size: int,
    but: Sequence[str] = (),
) -> list[Part]:  # fmt: skip
    """The retrievers that a value such as `bm25+dense(model=x)` names, of any kind that is not among `but`. Raises
    `UsageError` with `whose` value it was."""
    known = [name for name in RETRIEVERS if name not in but]
    found: list[Part] = []
    for one in inner_specs(text):
        name = one.partition(":")[0]
        if name not in known:
            raise UsageError(f"{whose}{name} is no retriever to start from. {did_you_mean(name, known)}")
        spec = parsed(one)
        again = sum(part.spec.name == name for part in found)
        retriever = opened(name, corpus, index, say, dict(spec.given), shard_size=shard_size)
        found.append(Part(f"{name}_{again + 1}" if again else name, spec, retriever))
    return found
