"""Retrievers by name, each given what its opener asks for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from ragpack.registry import Value, arguments_of, load
from ragpack.retrievers import RETRIEVERS
from ragpack.retrievers.base import Retriever
from ragpack.retrievers.corpus import Corpus


def opened(
    name: str, corpus: Corpus | None, index: Path | None, say: Callable[[str], object], given: Mapping[str, Value],
    **more: object,
) -> Retriever:  # fmt: skip
    """Open a retriever over a corpus, or over the pools of questions (`corpus` None).

    An opener `open_retriever(corpus, …, *, options)` that names `index`, `say` or one of `more` before its options gets
    them: where to keep files, whom to tell, and settings of the command that change no result.
    """
    opener = load(RETRIEVERS, name)
    named = {one.name for one in inspect.signature(opener).parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD}
    offered = {"index": index, "say": say, **more}
    found: Retriever = opener(
        corpus, **{key: value for key, value in offered.items() if key in named}, **arguments_of(opener, given)
    )
    return found
