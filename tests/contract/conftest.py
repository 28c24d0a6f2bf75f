"""Data for the contract tests, and commands that a test feeds while they run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from command import ROOT

AROUND = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="session")
def hits(hits_file: Path) -> list[bytes]:
    """Twelve of the project's questions with five hits each, as lines with their ends."""
    return hits_file.read_bytes().splitlines(keepends=True)[:12]


@pytest.fixture(scope="session")
def questions() -> list[bytes]:
    """The first twelve of the project's questions, as lines."""
    return (ROOT / "fixtures/questions.jsonl").read_bytes().splitlines(keepends=True)[:12]


@pytest.fixture(scope="session")
def stream() -> list[bytes]:
    """300 synthetic questions with ten hits each, as lines: enough for several batches and blocks."""
    make = [sys.executable, str(ROOT / "fixtures/make.py"), "stream", "--questions", "300"]
    return subprocess.run(make, capture_output=True, check=True).stdout.splitlines(keepends=True)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a command that the test feeds: `started("pack", "-")`; what still runs at the test's end is ended."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*words: object, env: Mapping[str, str] | None = None, **pipes: Any) -> subprocess.Popen[bytes]:
        run = subprocess.Popen(
            [sys.executable, "-m", "ragpack", *map(str, words)],
            cwd=tmp_path,
            env={**AROUND, **(env or {})},
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes},
        )
        running.append(run)
        return run

    yield start
    for run in running:
        run.kill()
        run.wait()
        for pipe in (run.stdin, run.stdout, run.stderr):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
