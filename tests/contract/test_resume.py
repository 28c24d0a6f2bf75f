"""--resume: the bytes of an uninterrupted run, whatever is left of earlier ones."""

from __future__ import annotations

import gzip
import re
import signal
from pathlib import Path

import orjson
import pytest
from command import Run

PACK = ("pack", "hits.jsonl", "--policy", "chunk_packed,chunk_mmr", "--budget", "96,160")


@pytest.fixture
def folder(tmp_path: Path, hits: list[bytes]) -> Path:
    """A folder with `hits.jsonl`."""
    (tmp_path / "hits.jsonl").write_bytes(b"".join(hits))
    return tmp_path


@pytest.fixture
def whole(ragpack: Run, folder: Path) -> bytes:
    """What an uninterrupted run writes: 48 rows."""
    return ragpack(*PACK).stdout


def cached(said: bytes) -> int:
    found = re.search(rb"(\d+) cached", said)
    assert found
    return int(found[1])


@pytest.mark.parametrize("rest", ["row", "half a row", "half a row and a whole one", "foreign lines"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_is_left_may_be_torn(ragpack: Run, folder: Path, whole: bytes, rest: str, jobs: str) -> None:
    rows = whole.splitlines(keepends=True)
    left, kept = {
        "row": (b"".join(rows[:5]), 5),
        "half a row": (b"".join(rows[:5]) + rows[5][:300], 5),
        "half a row and a whole one": (rows[0] + rows[1][:300] + b"\n" + rows[2], 2),
        "foreign lines": (b'{"pack": 1}\n[]\n\xff\n\n{"pack": {"key": "no hex"}}\n' + rows[3], 1),
    }[rest]
    (folder / "out.jsonl.part").write_bytes(left)
    done = ragpack(*PACK, "-o", "out.jsonl", "--resume", "-j", jobs)
    assert (folder / "out.jsonl").read_bytes() == whole
    assert cached(done.stderr) == kept
    assert sorted(path.name for path in folder.iterdir()) == ["hits.jsonl", "out.jsonl", "out.jsonl.run.json"]


def test_a_torn_rest_does_not_spoil_the_next_one(ragpack: Run, folder: Path, whole: bytes) -> None:
    rows = whole.splitlines(keepends=True)
    (folder / "out.jsonl.part.earlier").write_bytes(rows[0] + rows[1][:99])
    (folder / "out.jsonl.part").write_bytes(rows[2])
    assert cached(ragpack(*PACK, "-o", "out.jsonl", "--resume").stderr) == 2
    assert (folder / "out.jsonl").read_bytes() == whole


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_output_is_a_cache_too(ragpack: Run, folder: Path, whole: bytes, suffix: str) -> None:
    if suffix == ".zst":
        pytest.importorskip("zstandard", reason="the extra 'zstd' is not installed")
    out = f"out.jsonl{suffix}"
    ragpack(*PACK, "-o", out)
    first = (folder / out).read_bytes()
    assert cached(ragpack(*PACK, "-o", out, "--resume").stderr) == 48
    assert (folder / out).read_bytes() == first
    (folder / out).unlink()
    (folder / f"{out}.part").write_bytes(whole[: len(whole) // 2])  # plain, whatever the suffix
    assert 0 < cached(ragpack(*PACK, "-o", out, "--resume").stderr) < 48
    assert (folder / out).read_bytes() == first
    if suffix == ".gz":
        assert gzip.decompress(first) == whole


def test_what_passes_through_is_that_of_the_new_input(ragpack: Run, folder: Path, hits: list[bytes]) -> None:
    ragpack(*PACK, "-o", "out.jsonl")
    noted = [orjson.dumps({**orjson.loads(line), "note": number, "group": "new"}) for number, line in enumerate(hits)]
    (folder / "hits.jsonl").write_bytes(b"\n".join(reversed(noted)) + b"\n")
    assert cached(ragpack(*PACK, "-o", "out.jsonl", "--resume").stderr) == 48
    assert (folder / "out.jsonl").read_bytes() == ragpack(*PACK).stdout


def test_what_is_read_makes_the_key(ragpack: Run, folder: Path, hits: list[bytes]) -> None:
    """A changed question is computed anew, the others are not; nor is anything that another version made kept."""
    ragpack(*PACK, "-o", "out.jsonl")
    changed = {**orjson.loads(hits[3]), "question": "Which one is it?"}
    (folder / "hits.jsonl").write_bytes(b"".join([*hits[:3], orjson.dumps(changed) + b"\n", *hits[4:]]))
    assert cached(ragpack(*PACK, "-o", "out.jsonl", "--resume").stderr) == 44
    assert (folder / "out.jsonl").read_bytes() == ragpack(*PACK).stdout


def test_a_cell_less_is_a_cell_less(ragpack: Run, folder: Path) -> None:
    ragpack(*PACK, "-o", "out.jsonl")
    fewer = ("pack", "hits.jsonl", "--policy", "chunk_mmr", "--budget", "160")
    assert cached(ragpack(*fewer, "-o", "out.jsonl", "--resume").stderr) == 12
    assert (folder / "out.jsonl").read_bytes() == ragpack(*fewer).stdout


@pytest.mark.parametrize("stage", [["retrieve", "-k", "3"], ["diagnose"], ["generate", "--reader", "extractive"]])
def test_every_stage_resumes(
    ragpack: Run, folder: Path, whole: bytes, stage: list[str], questions: list[bytes]
) -> None:
    given = b"".join(questions) if stage[0] == "retrieve" else whole
    first = ragpack(*stage, "-o", "out.jsonl", stdin=given)
    rows = (folder / "out.jsonl").read_bytes()
    (folder / "out.jsonl").unlink()
    (folder / "out.jsonl.part").write_bytes(rows[: len(rows) // 2])
    again = ragpack(*stage, "-o", "out.jsonl", "--resume", stdin=given)
    assert (folder / "out.jsonl").read_bytes() == rows
    assert cached(first.stderr) == 0
    assert cached(again.stderr) > 0


def test_two_runs_on_one_output(ragpack: Run, started, folder: Path, hits: list[bytes]) -> None:
    run = started("pack", "-", "-o", "out.jsonl", "--on-error", "skip")
    run.stdin.write(b"not json\n")
    run.stdin.flush()
    assert run.stderr.readline().startswith(b"<stdin>:1: ")  # it is there
    for more in ([], ["--resume"]):
        done = ragpack(*PACK, "-o", "out.jsonl", *more, check=2)
        assert "another run is writing out.jsonl.part" in done.stderr.decode()
    run.stdin.write(b"".join(hits))
    run.stdin.close()
    assert run.wait() == 3
    assert (folder / "out.jsonl").read_bytes() == ragpack("pack", "hits.jsonl").stdout


def test_workers_end_with_the_run_that_is_killed(started, stream: list[bytes], folder: Path) -> None:
    """Standard error is theirs too: it reaches its end when the last one has gone."""
    run = started("pack", "-j", "2", "-o", "out.jsonl", "--on-error", "skip")
    run.stdin.write(b"{}\n" * 64)
    run.stdin.flush()
    run.stderr.readline()
    run.send_signal(signal.SIGKILL)
    run.stderr.read()  # would hang
    assert run.wait() == -signal.SIGKILL
