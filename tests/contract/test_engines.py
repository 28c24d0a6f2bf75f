"""The same bytes, in the same order, wherever the work runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT, Run

PACK = ("pack", "--policy", "chunk_packed,chunk_submod", "--budget", "96,160", "--on-error", "skip")


@pytest.fixture
def holed(hits_file: Path, tmp_path: Path) -> Path:
    """Hits with two bad lines in different batches."""
    lines = hits_file.read_bytes().splitlines(keepends=True)
    lines[10], lines[70] = b"not json\n", b'{"id": 7}\n'
    path = tmp_path / "holed.jsonl"
    path.write_bytes(b"".join(lines))
    return path


@pytest.mark.parametrize("words", [["-j", "2"], ["-j", "3", "--engine", "processes"], ["--engine", "ray", "-j", "2"]])
def test_workers_change_nothing(ragpack: Run, holed: Path, words: list[str]) -> None:
    if "ray" in words:
        pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    alone = ragpack(*PACK, holed, "--failures", "a.jsonl", check=3)
    many = ragpack(*PACK, holed, "--failures", "b.jsonl", *words, check=3)
    assert many.stdout == alone.stdout
    assert (holed.parent / "a.jsonl").read_bytes() == (holed.parent / "b.jsonl").read_bytes()


def test_workers_with_an_index_end_quietly(ragpack: Run) -> None:
    """Each worker builds its own; none is killed in the middle, and nothing is said of leaked locks."""
    words = ("retrieve", ROOT / "fixtures/questions.jsonl", "--corpus", ROOT / "fixtures/corpus.jsonl", "-q")
    done = ragpack(*words, "-j", "2")
    assert done.stderr == b""
    assert done.stdout == ragpack(*words).stdout


@pytest.mark.parametrize(
    ("words", "wrong", "given"),
    [
        (["-j", "2"], ["--policy", "chunk_pakced"], b"{}\n"),
        (["-j", "2"], ["--tokenizer", "./none.json"], b""),
        (["--engine", "ray"], ["--policy", "chunk_pakced"], b""),
    ],
)
def test_a_stage_that_can_not_be_opened_is_one_sentence(
    ragpack: Run, words: list[str], wrong: list[str], given: bytes
) -> None:
    """Workers open their own, and what stops them is no trouble of theirs; with no line coming it is told too."""
    if "ray" in words:
        pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    alone = ragpack("pack", *wrong, stdin=given, check=2)
    many = ragpack("pack", *wrong, *words, stdin=given, check=2)
    assert (many.stdout, many.stderr.splitlines()[-1:]) == (b"", alone.stderr.splitlines()[-1:])
    assert b"Traceback" not in many.stderr
    assert b"worker" not in many.stderr


DYING = """
import os, sys
from ragpack.__main__ import main
import ragpack.flow.engines as engines
from dying import open_dying

for name, run in list(engines.ENGINES.items()):
    engines.ENGINES[name] = lambda plan, *rest, run=run: run(plan._replace(open=open_dying), *rest)
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_a_worker_that_dies_is_one_sentence(hits_file: Path, tmp_path: Path, engine: str) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    (tmp_path / "dying.py").write_text("import os\n\n\ndef open_dying(params):\n    os._exit(9)\n")
    (tmp_path / "main.py").write_text(DYING)
    done = subprocess.run(
        [sys.executable, "main.py", "pack", str(hits_file), "-j", "2", "--engine", engine],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert b"a worker died" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("jobs", "lines"), [("1", 1), ("2", 40)])
def test_results_do_not_wait_for_input(hits_file: Path, jobs: str, lines: int) -> None:
    """A slow pipe: what is computed comes out before more goes in."""
    run = subprocess.Popen(
        [sys.executable, "-m", "ragpack", "pack", "-j", jobs, "-q"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert run.stdin is not None
    assert run.stdout is not None
    run.stdin.write(b"".join(hits_file.read_bytes().splitlines(keepends=True)[:lines]))
    run.stdin.flush()
    assert run.stdout.readline().startswith(b'{"schema":"ragpack.pack/1"')  # would hang
    run.stdin.close()
    run.stdout.read()
    assert run.wait(timeout=30) == 0
