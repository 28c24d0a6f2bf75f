"""A run that ends early leaves whole lines, the right exit code, and nothing to repair."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACK = [sys.executable, "-m", "ragpack", "pack", "--policy", "chunk_packed,chunk_submod", "--budget", "96,160"]
ALONE = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def hits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hits") / "hits.jsonl"
    with path.open("wb") as file:
        make = [sys.executable, str(ROOT / "fixtures/make.py"), "stream", "--questions", "300"]
        subprocess.run(make, stdout=file, check=True)
    return path


@pytest.fixture(scope="module")
def whole(hits: Path) -> bytes:
    """What an uninterrupted run writes."""
    return subprocess.run([*PACK, str(hits)], capture_output=True, check=True, env=ALONE).stdout


def started(hits: Path, out: Path, *more: str) -> tuple[subprocess.Popen[bytes], list[bytes]]:
    """A run that has taken a third of its input, and waits for the rest: its lines, so that a test can go on."""
    lines = hits.read_bytes().splitlines(keepends=True)
    run = subprocess.Popen(
        [*PACK, "-", "-o", str(out), *more], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ALONE
    )
    assert run.stdin is not None
    run.stdin.write(b"".join(lines[:100]))
    run.stdin.flush()
    part = Path(f"{out}.part")
    for _ in range(600):
        if part.exists() and part.stat().st_size > 100_000:
            return run, lines
        time.sleep(0.05)
    raise AssertionError("the run did not write")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_and_resumed_gives_the_bytes_of_an_uninterrupted_run(
    hits: Path, whole: bytes, tmp_path: Path, jobs: str
) -> None:
    out = tmp_path / "packs.jsonl"
    for _ in range(2):  # killed twice: the second kill must not lose what the first one left
        run, _ = (
            started(hits, out, "--resume", "-j", jobs)
            if out.with_suffix(".jsonl.part").exists()
            else started(hits, out)
        )
        run.send_signal(signal.SIGKILL)
        run.wait()
        assert not out.exists()
    kept = Path(f"{out}.part").read_bytes().count(b"\n")
    done = subprocess.run(
        [*PACK, str(hits), "-o", str(out), "--resume", "-j", jobs], capture_output=True, env=ALONE, check=True
    )
    assert out.read_bytes() == whole
    assert kept > 0
    cached = int(done.stderr.split(b" cached")[0].rsplit(b" ", 1)[1])
    assert cached >= kept
    assert not Path(f"{out}.part").exists()
    assert not Path(f"{out}.part.earlier").exists()


def test_the_output_may_be_the_input(hits: Path, whole: bytes, tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    both.write_bytes(hits.read_bytes())
    subprocess.run([*PACK, str(both), "-o", str(both)], check=True, capture_output=True, env=ALONE)
    assert both.read_bytes() == whole


def test_resume_computes_only_new_cells(hits: Path, tmp_path: Path) -> None:
    """Adding a policy or a budget never computes the others again; the order is that of the new command."""
    out = tmp_path / "packs.jsonl"
    base = [sys.executable, "-m", "ragpack", "pack", str(hits), "-o", str(out), "--resume"]
    subprocess.run([*base, "--policy", "chunk_packed", "--budget", "96"], check=True, capture_output=True, env=ALONE)
    more = ["--policy", "chunk_mmr,chunk_packed", "--budget", "96,128"]
    done = subprocess.run([*base, *more], check=True, capture_output=True, env=ALONE)
    assert b"300 in, 1200 out, 300 cached, 0 failed" in done.stderr
    fresh = subprocess.run([*base[:5], *more], check=True, capture_output=True, env=ALONE).stdout
    assert out.read_bytes() == fresh
