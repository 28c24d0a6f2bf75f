"""What can go wrong with files and descriptors: one sentence, the right code, and nothing lost."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT, Run

AROUND = {**os.environ, "PYTHONPATH": str(ROOT)}
RAGPACK = f'"{sys.executable}" -m ragpack'


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", line], cwd=folder, env=AROUND, capture_output=True, check=False)


@pytest.fixture
def folder(tmp_path: Path, hits: list[bytes]) -> Path:
    """A folder with `hits.jsonl`."""
    (tmp_path / "hits.jsonl").write_bytes(b"".join(hits))
    return tmp_path


def test_the_output_may_be_the_input_compressed(ragpack: Run, folder: Path) -> None:
    both = folder / "both.jsonl.gz"
    both.write_bytes(gzip.compress((folder / "hits.jsonl").read_bytes()))
    ragpack("pack", both, "-o", both)
    assert gzip.decompress(both.read_bytes()) == ragpack("pack", "hits.jsonl").stdout
    assert not list(folder.glob("*.part*"))


def test_torn_zstd_is_not_the_end_of_the_file(ragpack: Run, folder: Path, stream: list[bytes]) -> None:
    zstandard = pytest.importorskip("zstandard", reason="the extra 'zstd' is not installed")
    whole = zstandard.ZstdCompressor().compress(b"".join(stream))
    (folder / "torn.zst").write_bytes(whole[: len(whole) // 2])
    done = ragpack("pack", "torn.zst", check=1)
    assert "can't be read further: the zstd frame is torn" in done.stderr.decode()
    assert 0 < done.stdout.count(b"\n") < len(stream)
    (folder / "spoilt.zst").write_bytes(whole[:4] + b"\xff" * 400 + whole[404:])
    assert "can't be read further" in ragpack("pack", "spoilt.zst", check=1).stderr.decode()


def test_zstd_frames_follow_one_another(ragpack: Run, folder: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="the extra 'zstd' is not installed")
    data = (folder / "hits.jsonl").read_bytes()
    frames = [zstandard.ZstdCompressor().compress(part) for part in (data[:9000], b"", data[9000:])]
    assert ragpack("pack", stdin=b"".join(frames)).stdout == ragpack("pack", "hits.jsonl").stdout


@pytest.mark.parametrize("words", [["pack"], ["pack", "-j", "2"], ["stats"], ["import", "hotpotqa"]], ids=" ".join)
def test_spoilt_gzip_is_one_sentence(ragpack: Run, folder: Path, words: list[str]) -> None:
    whole = gzip.compress((folder / "hits.jsonl").read_bytes())
    (folder / "spoilt.gz").write_bytes(whole[:1000] + b"\xff" * 40 + whole[1040:])
    done = ragpack(*words, "spoilt.gz", check=1)
    assert "spoilt.gz: after line" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["pack hits.jsonl > /dev/full", "pack hits.jsonl -o /dev/full", "list > /dev/full"])
def test_a_full_disk_is_one_sentence(folder: Path, line: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip(reason="the system has no /dev/full")
    done = shell(f"{RAGPACK} {line}", folder)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 1


def test_closed_descriptors_are_no_crash(ragpack: Run, folder: Path) -> None:
    """Descriptors that are closed at the start are given to the next file that is opened."""
    out = ragpack("pack", "hits.jsonl").stdout
    for closed in ("2>&-", "<&-", "2>&- <&-", "-j 2 2>&-"):
        done = shell(f"{RAGPACK} pack hits.jsonl {closed}", folder)
        assert (done.returncode, done.stdout) == (0, out), closed
    for line, code in (("pack hits.jsonl >&-", 0), ("pack <&-", 2), ("pack - <&-", 2), ("pack nowhere 2>&-", 2)):
        done = shell(f"{RAGPACK} {line}", folder)
        assert (done.returncode, done.stdout) == (code, b""), line
        assert b"Traceback" not in done.stderr


def test_a_typo_costs_nothing(ragpack: Run, folder: Path) -> None:
    """What an interrupted run left is there until a new run has rows; an empty rest is taken away."""
    part = folder / "out.jsonl.part"
    part.write_bytes(b"{}\n")
    ragpack("pack", "hits.jsonl", "-o", "out.jsonl", "--policy", "chunk_pakced", check=2)
    assert part.read_bytes() == b"{}\n"
    ragpack("pack", "hits.jsonl", "-o", "out.jsonl")
    assert (folder / "out.jsonl").read_bytes() == ragpack("pack", "hits.jsonl").stdout
    assert not part.exists()


def test_a_failed_run_leaves_the_old_file(ragpack: Run, folder: Path) -> None:
    ragpack("pack", "hits.jsonl", "-o", "out.jsonl")
    before = (folder / "out.jsonl").read_bytes()
    done = ragpack("pack", "-o", "out.jsonl", stdin=(folder / "hits.jsonl").read_bytes() + b"{\n", check=1)
    assert "12 rows are in out.jsonl.part; --resume goes on" in done.stderr.decode()
    assert (folder / "out.jsonl").read_bytes() == before
    assert (folder / "out.jsonl.part").read_bytes() == before


def test_nothing_promises_to_resume_what_can_not_be_resumed(ragpack: Run, folder: Path) -> None:
    entry = b'{"_id":"a","question":"Q?","answer":"A","context":[],"supporting_facts":[]}\n'
    done = ragpack("import", "hotpotqa", "-o", "q.jsonl", stdin=entry + b"{\n", check=1)
    assert done.stderr.decode().endswith("1 rows are in q.jsonl.part\n")
    assert "no such option" in ragpack("import", "hotpotqa", "--resume", check=2).stderr.decode().lower()


def test_one_file_for_output_and_failures_is_refused(ragpack: Run, folder: Path) -> None:
    done = ragpack("pack", "hits.jsonl", "-o", "out.jsonl", "--failures", "./out.jsonl", check=2)
    assert "-o and --failures both name out.jsonl" in done.stderr.decode()
    assert not list(folder.glob("out*"))


def test_failures_do_not_take_the_place_of_an_input(ragpack: Run, folder: Path) -> None:
    before = (folder / "hits.jsonl").read_bytes()
    done = ragpack("pack", "hits.jsonl", "--failures", "./hits.jsonl", check=2)
    assert "--failures ./hits.jsonl is an input" in done.stderr.decode()
    assert (folder / "hits.jsonl").read_bytes() == before


def test_a_link_stays_a_link_and_the_mode_is_kept(ragpack: Run, folder: Path) -> None:
    (folder / "real.jsonl").touch(mode=0o600)
    (folder / "link.jsonl").symlink_to("real.jsonl")
    ragpack("pack", "hits.jsonl", "-o", "link.jsonl")
    assert (folder / "link.jsonl").is_symlink()
    assert (folder / "real.jsonl").stat().st_mode & 0o777 == 0o600
    assert (folder / "real.jsonl").stat().st_size
