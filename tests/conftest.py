"""What the tests share: the command as a user runs it, and hypothesis without a clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from command import ROOT, Run
from hypothesis import settings

settings.register_profile("ragpack", deadline=None, derandomize=True)  # a busy machine is no failure
settings.load_profile("ragpack")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the expected outputs of tests/cases anew")


@pytest.fixture
def ragpack(tmp_path: Path) -> Run:
    """Run `ragpack` in a process of its own, in an empty folder."""

    def run(
        *words: object,
        stdin: bytes | None = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        check: int | None = 0,
    ) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [sys.executable, "-m", "ragpack", *map(str, words)],
            input=stdin,
            capture_output=True,
            cwd=cwd or tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            timeout=120,
            check=False,
        )
        assert check is None or done.returncode == check, done.stderr.decode()
        return done

    return run


@pytest.fixture(scope="session")
def hits_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixtures' questions with their five best hits."""
    path = tmp_path_factory.mktemp("hits") / "hits.jsonl"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "ragpack",
            "retrieve",
            str(ROOT / "fixtures/questions.jsonl"),
            "-k",
            "5",
            "-o",
            str(path),
        ],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return path
