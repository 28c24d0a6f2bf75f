"""The export that a command line asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from inspect import signature
from typing import Any, NamedTuple

from ragpack.errors import UsageError, did_you_mean
from ragpack.exports import EXPORTS
from ragpack.exports.base import Export
from ragpack.flow.streams import check_inputs
from ragpack.registry import load


class Opened(NamedTuple):
    """An export, open inside of its block; what a failed one has written stays behind as `.part`."""

    target: AbstractContextManager[Export]
    folder: bool


def opened(name: str, output: str | None, options: Mapping[str, Any]) -> Opened:
    """The export of this name. Raises `UsageError` for an unknown name, for options of other formats, and for a folder
    without `-o`."""
    if name not in EXPORTS:
        raise UsageError(f"unknown format '{name}'. {did_you_mean(name, EXPORTS)}")
    make = load(EXPORTS, name)
    known = signature(make).parameters
    for option in options:
        if option not in known:
            raise UsageError(f"--{option}: {name} has no use for it", f"Leave --{option} out.")
    if "corpus" in options and not os.path.isdir(options["corpus"]):
        check_inputs([options["corpus"]])
    folder = "folder" in known
    if folder and output in (None, "-", ""):
        raise UsageError(f"{name} is a folder of files", "Name it: -o FOLDER.")
    return Opened(_open(make, {**({"folder": output} if folder else {}), **options}), folder)


@contextmanager
def _open(make: Any, options: Mapping[str, Any]) -> Iterator[Export]:  # noqa: ANN401 # any export's class
    export = make(**options)
    try:
        yield export
    except BaseException:
        if hasattr(export, "abandon"):
            export.abandon()
        raise
