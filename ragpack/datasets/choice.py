"""What `import` was asked for: a format by name, or that of the files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple

from ragpack.datasets import DATASETS, FOLDERS
from ragpack.datasets.detect import detect, with_guess
from ragpack.datasets.sample import Imported
from ragpack.errors import DataError, UsageError, did_you_mean
from ragpack.flow.run import Fail
from ragpack.flow.streams import check_inputs
from ragpack.registry import load


class Choice(NamedTuple):
    """A format, or `None` where the files say it, and the files."""

    format: str | None
    files: tuple[str, ...]


def choose(word: str | None, forced: str | None, files: Sequence[str]) -> Choice:
    """Read `import WORD FILES --format FORCED`: the word is a format's name, or a file. Raises `UsageError`."""
    if forced is not None:
        if forced not in DATASETS:
            raise UsageError(f"--format: unknown format '{forced}'. {did_you_mean(forced, DATASETS)}")
        found = Choice(forced, (*([word] if word is not None else []), *files))
    elif word is None or word in DATASETS:
        found = Choice(word, tuple(files))
    elif word == "-" or os.path.exists(word):
        found = Choice(None, (word, *files))
    elif "." in word or os.sep in word:
        raise UsageError(f"no such file: {word}")
    else:
        raise UsageError(f"unknown format '{word}'. {did_you_mean(word, DATASETS)}")
    folders = [name for name in found.files if os.path.isdir(name)]
    if found.format is None or found.format in FOLDERS:
        rest = [name for name in found.files if name not in folders]
        if rest or not folders:
            check_inputs(rest)
    else:
        check_inputs(found.files)
    return found


def detected(files: Sequence[str]) -> str:
    """The one format of all files. Raises `DataError` where there are several."""
    found = {name: detect(name) for name in files}
    first, format = next(iter(found.items()))
    for name, other in found.items():
        if other != format:
            raise DataError(f"{first} is {format}, and {name} is {other}", "Import them one by one, or force --format.")
    return format


def check_sides(format: str, sides: Mapping[str, str]) -> None:
    """Refuse options that this format has no use for."""
    known = signature(load(DATASETS, format)).parameters
    for name in sides:
        if name not in known:
            why = "brings its own gold documents, or has none" if name == "gold" else f"has no {name}"
            raise UsageError(f"--{name}: {format} {why}", f"Leave --{name} out.")


def records(
    format: str, files: Sequence[str], sides: Mapping[str, str], fail: Fail, count: Callable[[], None]
) -> Iterator[Imported]:
    """The records of all files, each counted."""
    read: Callable[..., Iterator[Any]] = load(DATASETS, format)
    for path in files or ("-",):
        for record in read(path, with_guess(fail, path, format), **sides):
            count()
            yield record
