"""Start-up is a budget in modules, and each family's table is the whole family."""

from __future__ import annotations

import inspect
from itertools import product
from pathlib import Path

import pytest

import ragpack as package
from ragpack.candidates import CANDIDATES
from ragpack.cli import app
from ragpack.compressors import COMPRESSORS
from ragpack.datasets import DATASETS
from ragpack.encoders import ENCODERS
from ragpack.exports import EXPORTS
from ragpack.packers import PACKERS
from ragpack.readers import READERS
from ragpack.registry import load, parameters_of
from ragpack.rerankers import RERANKERS
from ragpack.retrievers import RETRIEVERS
from ragpack.statistics import TABLES

COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]
HEAVY = {
    "torch", "transformers", "vllm", "faiss", "sentence_transformers", "llmlingua", "ray", "scipy", "statsmodels",
    "pandas", "matplotlib", "pydantic", "openai", "bm25s", "tokenizers", "jinja2",
}  # fmt: skip
FAMILIES = {
    "candidates": (
        CANDIDATES,
        {"clues", "duplicates", "entities", "lexical", "problem", "quantities", "relations", "relevance", "snippet"},
    ),
    "packers": (PACKERS, {"bound", "costs", "exact", "greedy", "objective", "scores", "selection"}),
    "retrievers": (
        RETRIEVERS,
        {
            "base",
            "corpus",
            "index",
            "link_index",
            "links",
            "mapped",
            "names",
            "opening",
            "parts",
            "postings",
            "vectors",
        },
    ),
    "readers": (READERS, {"base", "turns"}),
    "rerankers": (RERANKERS, {"base"}),
    "compressors": (COMPRESSORS, {"base", "budget", "model", "perplexity", "spacing"}),
    "encoders": (ENCODERS, {"base"}),
    "datasets": (DATASETS, {"choice", "detect", "emit", "entries", "fields", "gold", "openqa", "sample"}),
    "exports": (EXPORTS, {"base", "choice"}),
    "statistics": (TABLES, {"bootstrap", "draws", "estimates", "moments", "needs", "paired", "rows", "where"}),
}
"""Folder → its table, and the modules in it that are no plug-ins."""
PLUGINS = [(folder, name) for folder, (table, _) in FAMILIES.items() for name in table]


def imported(ragpack, *args: str) -> set[str]:
    """Top-level packages that a fresh interpreter imports for a command line."""
    done = ragpack(*args, env={"PYTHONPROFILEIMPORTTIME": "1"})
    rows = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in rows}


def test_the_commands_are_known() -> None:
    assert {"retrieve", "pack", "generate", "diagnose", "stats", "import", "export"} <= set(COMMANDS)


@pytest.mark.parametrize("args", [*([name, "--help"] for name in COMMANDS), ["--help"], ["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(ragpack, args: list[str]) -> None:
    found = imported(ragpack, *args)
    assert {"ragpack", "typer"} <= found  # the list is a list
    assert not found & HEAVY


@pytest.mark.parametrize(("folder", "name"), PLUGINS)
def test_a_plugin_imports_and_says_what_it_is(folder: str, name: str) -> None:
    table, _ = FAMILIES[folder]
    assert table[name].startswith(f"ragpack.{folder}.")
    found = load(table, name)
    assert callable(found)
    assert (inspect.getdoc(found) or "").strip(), f"{table[name]} has no docstring"


@pytest.mark.parametrize("folder", FAMILIES)
def test_a_family_is_its_folder(folder: str) -> None:
    table, others = FAMILIES[folder]
    files = {path.stem for path in (Path(package.__file__).parent / folder).glob("*.py")} - {"__init__"}
    modules = {target.partition(":")[0].rpartition(".")[2] for target in table.values()}
    assert files - others == modules
    assert others <= files, "a helper that is gone"


@pytest.mark.parametrize(("space", "rule"), list(product(CANDIDATES, PACKERS)))
def test_parameters_of_a_policy_are_told_apart(space: str, rule: str) -> None:
    """A spec `space_rule:key=value` gives both their parameters by one name."""
    assert not parameters_of(load(CANDIDATES, space)).keys() & parameters_of(load(PACKERS, rule)).keys()
