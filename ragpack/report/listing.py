"""Names of each family, with parameters and the first line of their help."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ragpack.compressors import COMPRESSORS
from ragpack.datasets import DATASETS
from ragpack.errors import UsageError, did_you_mean
from ragpack.exports import EXPORTS
from ragpack.metrics.answer import PROFILES
from ragpack.metrics.matching import MATCHES
from ragpack.packers import PACKERS
from ragpack.readers import READERS
from ragpack.readers.prompts.named import TEMPLATES
from ragpack.records import RECORDS
from ragpack.registry import Parameter, load
from ragpack.rerankers import RERANKERS
from ragpack.retrievers import RETRIEVERS
from ragpack.stages import policies, rerank, retrieve
from ragpack.statistics import TABLES


def listing(family: str | None) -> str:
    """One family, or all of them under their names. Raises `UsageError` for an unknown one."""
    if family is not None and family not in FAMILIES:
        raise UsageError(f"unknown family '{family}'. {did_you_mean(family, FAMILIES)}")
    if family:
        return "\n".join(FAMILIES[family]())
    return "\n\n".join("\n".join([f"{name}:", *("  " + line for line in lines())]) for name, lines in FAMILIES.items())


def _policies() -> list[str]:
    found = []
    for name, (_, rule) in policies.POLICIES.items():
        found.append(f"{name} — {_first(load(PACKERS, rule))}")
        found += _parameters(policies.options_of(name))
    for name in COMPRESSORS:
        found.append(f"{name} — {_first(load(COMPRESSORS, name))}")
        found += _parameters(policies.options_of(name))
    return found


def _retrievers() -> list[str]:
    found = []
    for name in RETRIEVERS:
        found.append(f"{name} — {_first(load(RETRIEVERS, name))}")
        found += _parameters(retrieve.options_of(name))
    return found


def _rerankers() -> list[str]:
    found = []
    for name in RERANKERS:
        found.append(f"{name} — {_first(load(RERANKERS, name))}")
        found += _parameters(rerank.options_of(name))
    return found


def _tables() -> list[str]:
    return [f"{name} — {_first(load(TABLES, name))}" for name in TABLES]


def _parameters(options: dict[str, Parameter]) -> list[str]:
    shown = []
    for option in options.values():
        default = str(option.default).lower() if isinstance(option.default, bool) else str(option.default)
        shown.append(f"    {option.name}={default}" + (f"  ({' | '.join(option.choices)})" if option.choices else ""))
    return shown


def _first(thing: object) -> str:
    """The first sentence of a docstring, in one line."""
    text = " ".join((thing.__doc__ or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."


def _names(names: Iterable[str]) -> Callable[[], list[str]]:
    return lambda: list(names)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "policies": _policies,
    "retrievers": _retrievers,
    "rerankers": _rerankers,
    "tables": _tables,
    "profiles": _names(PROFILES),
    "matches": _names(MATCHES),
    "readers": _names(READERS),
    "prompts": _names(TEMPLATES),
    "formats": _names(DATASETS),
    "exports": lambda: [f"{name} — {_first(load(EXPORTS, name))}" for name in EXPORTS],
    "records": _names(record.SCHEMA for record in RECORDS),
}
