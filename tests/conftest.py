"""What all tests share: the command as a user runs it, and the project's own data."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
PATIENCE = 300  # seconds after which a command counts as hanging; nothing is timed

# The same examples in every run, and no failure because a machine is slow.
settings.register_profile("ragpack", deadline=None, derandomize=True)
settings.load_profile("ragpack")

Command = Callable[..., "subprocess.CompletedProcess[bytes]"]
"""`ragpack(*args, stdin=None, env=None, cwd=None)` runs the command in a process of its own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden outputs anew instead of comparing")


def surroundings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command under test: this tree's code, none of the developer's own settings."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RAGPACK_", "FORCE_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **(more or {})}


@pytest.fixture(scope="session")
def ragpack() -> Command:
    """Run a command to its end: `ragpack("pack", file, stdin=b"…")`; output and errors are bytes."""

    def run(
        *args: object, stdin: bytes | None = None, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        command = [sys.executable, "-m", "ragpack", *map(str, args)]
        return subprocess.run(
            command, capture_output=True, check=False, env=surroundings(env), cwd=cwd, timeout=PATIENCE, **given
        )

    return run


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a command and let the test feed it: `started("pack", "-")`; what still runs at the end is ended."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*args: object, env: Mapping[str, str] | None = None, **given: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **given}
        run = subprocess.Popen([sys.executable, "-m", "ragpack", *map(str, args)], env=surroundings(env), **pipes)
        running.append(run)
        return run

    yield start
    for run in running:
        run.kill()
        run.wait()
        for pipe in (run.stdin, run.stdout, run.stderr):
            if pipe and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The project's own data: `questions.jsonl`, `corpus.jsonl`."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def questions(fixtures: Path) -> list[bytes]:
    """The first twelve questions, as lines with their ends."""
    return fixtures.joinpath("questions.jsonl").read_bytes().splitlines(keepends=True)[:12]


@pytest.fixture(scope="session")
def hits(ragpack: Command, questions: list[bytes]) -> list[bytes]:
    """The twelve questions with five hits each, as lines with their ends."""
    done = ragpack("retrieve", stdin=b"".join(questions))
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.splitlines(keepends=True)


@pytest.fixture(scope="session")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 400 synthetic questions with ten hits each: enough for several batches and blocks."""
    path = tmp_path_factory.mktemp("stream") / "hits.jsonl"
    with path.open("wb") as file:
        make = [sys.executable, str(ROOT / "fixtures/make.py"), "stream", "--questions", "400"]
        subprocess.run(make, stdout=file, check=True)
    return path
