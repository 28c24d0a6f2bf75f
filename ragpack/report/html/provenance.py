"""Where the rows come from: what they say themselves, and what the run files beside the inputs say."""

from __future__ import annotations

import os
from collections.abc import Sequence

import orjson

from ragpack.records import Diagnosed, Raw

TOLD = ("stage", "params", "counts", "ragpack", "python", "versions", "environment", "git", "started", "seconds")
"""Of a run file. Its host and its command line name a machine and its folders: a page is sent to others."""


class Origins:
    """What the rows say of the stages before, each value with the number of its rows."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, int]] = {}

    def take(self, record: Diagnosed) -> None:
        """Count a row's values."""
        generate, retrieve = record.generate, record.retrieve
        told = {
            "dataset": record.group,
            "retriever": f"{retrieve.retriever}, k={retrieve.k}, index {retrieve.index}" if retrieve else None,
            "policy": record.pack.policy,
            "budget": str(record.pack.budget),
            "tokenizer": record.pack.unit,
            "reader": f"{generate.model} ({generate.reader})" if generate else None,
            "prompt": f"{generate.prompt.name}, hash {generate.prompt.hash}" if generate else None,
            "profile": record.diagnose.profile,
        }
        for name, value in told.items():
            if value is not None:
                counts = self._found.setdefault(name, {})
                counts[value] = counts.get(value, 0) + 1

    def told(self) -> dict[str, list[tuple[str, int]]]:
        """Each name's values with their rows, sorted."""
        return {name: sorted(counts.items(), key=_natural) for name, counts in self._found.items()}


def _natural(item: tuple[str, int]) -> tuple[int, str]:
    return (int(item[0]) if item[0].isdigit() else -1, item[0])


def runs(files: Sequence[str]) -> list[Raw]:
    """What is told of the runs that made the inputs, the last stage first.

    `FILE.run.json` beside an input names in its command line what that run read. Where that file lies in the same
    folder, with a run file that counts as many rows out as the next one counts in, the chain goes on.
    """
    found: list[Raw] = []
    seen: set[str] = set()
    waiting = [name for name in files if name != "-"]
    while waiting:
        name = waiting.pop(0)
        run = _read(name)
        if run is None or os.path.realpath(name) in seen:
            continue
        seen.add(os.path.realpath(name))
        found.append({"file": os.path.basename(name), **{key: run[key] for key in TOLD if run.get(key) is not None}})
        waiting += _before(name, run)
    return found


def _before(name: str, run: Raw) -> list[str]:
    """The inputs of a run: words of its command line that are files here."""
    argv = run.get("argv")
    beside = [os.path.join(os.path.dirname(name), os.path.basename(word))
              for word in (argv if isinstance(argv, list) else []) if isinstance(word, str)]  # fmt: skip
    candidates = {one: _read(one) for one in dict.fromkeys(beside) if os.path.realpath(one) != os.path.realpath(name)}
    inputs = {one: earlier for one, earlier in candidates.items() if earlier is not None}
    out = sum(_count(earlier, "out") for earlier in inputs.values())
    return list(inputs) if out == _count(run, "in") else []


def _count(run: Raw, name: str) -> int:
    counts = run.get("counts")
    found = counts.get(name) if isinstance(counts, dict) else None
    return found if isinstance(found, int) else -1


def _read(name: str) -> Raw | None:
    """The run file of an output; None where there is none, or another thing under its name."""
    try:
        with open(f"{name}.run.json", "rb") as file:
            run = orjson.loads(file.read())
    except (OSError, orjson.JSONDecodeError):
        return None
    return run if isinstance(run, dict) and "stage" in run else None
