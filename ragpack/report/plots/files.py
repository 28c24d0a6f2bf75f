"""All plots of a run: drawn where their tables have rows, written as SVG and PNG."""

from __future__ import annotations

import os
from collections.abc import Callable

from ragpack.errors import UsageError
from ragpack.registry import load
from ragpack.report.plots import PLOTS
from ragpack.report.plots.figure import Drawn, drawn, style
from ragpack.report.plots.panels import NothingToDraw, Tables


def draw(tables: Tables, say: Callable[[str], None]) -> dict[str, Drawn]:
    """The plots by name. One that lacks its rows is left out, with a sentence."""
    found = {}
    for name in PLOTS:
        with style():
            try:
                found[name] = drawn(load(PLOTS, name)(tables))
            except NothingToDraw as error:
                say(f"no plot {name}: {error.message}")
    return found


def check_folder(folder: str) -> None:
    """Make the folder of `--plots`. Raises `UsageError` where that can't be."""
    if not folder:
        raise UsageError("--plots: the name is empty")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"--plots {folder} is a file, not a folder")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--plots {folder}: {error.strerror}") from None


def write(folder: str, plots: dict[str, Drawn]) -> None:
    """`NAME.svg` and `NAME.png` of each plot; a file appears complete or not at all."""
    for name, plot in plots.items():
        for suffix, data in (("svg", plot.svg), ("png", plot.png)):
            target = os.path.join(folder, f"{name}.{suffix}")
            with open(f"{target}.part", "wb") as file:
                file.write(data)
            os.replace(f"{target}.part", target)
