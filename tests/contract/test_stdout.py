"""Standard output carries records and what was asked for; all that is said goes to standard error."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from command import ROOT

from ragpack.cli import app

COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]
SUMMARY = re.compile(rb"pack: 12 in, 12 out, 0 cached, 0 failed, \d+\.\d s\n")
ANSI = b"\x1b["

CHATTY = """
import ctypes, dataclasses, os, subprocess, sys
import ragpack.stages.pack as real

opened = real.open_pack

def shout(where):
    print(f"<print {where}>", flush=True)
    sys.__stdout__.write(f"<dunder {where}>\\n")
    sys.__stdout__.flush()
    os.write(1, f"<write {where}>\\n".encode())
    c = ctypes.CDLL(None)
    c.puts(f"<puts {where}>".encode())
    c.fflush(None)
    subprocess.run(["echo", f"<echo {where}>"], check=True)

def open_pack(params):
    shout("open")
    stage = opened(params)

    def run(tasks):
        for at, outcome in enumerate(stage.run(tasks)):
            if at == 1:
                shout("run")
            yield outcome

    return dataclasses.replace(stage, run=run, close=lambda: shout("close"))

real.open_pack = open_pack
"""


def run_chatty(folder: Path, data: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    """The real entry point over a back end that prints in every way there is."""
    (folder / "chatty.py").write_text(CHATTY)
    code = "from ragpack.__main__ import main; import chatty; main()"
    around = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", code, "pack", *args], input=data, capture_output=True, check=False, env=around
    )


def on_terminal(stream: str, env: dict[str, str], *args: object, both: bool = False) -> tuple[int, bytes, bytes]:
    """Run the command with one of its streams, or both, on a terminal: exit code, what that got, what a pipe got."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 200))
    other = "stdout" if stream == "stderr" else "stderr"
    streams = {"stdin": subprocess.DEVNULL, other: follower if both else subprocess.PIPE, stream: follower}
    run = subprocess.Popen([sys.executable, "-m", "ragpack", *map(str, args)], env=env, **streams)
    pipe = (run.stderr if stream == "stdout" else run.stdout) or io.BytesIO()
    os.close(follower)
    seen = b""
    try:
        while block := os.read(leader, 65536):
            seen += block
    except OSError:  # Linux: the last one on the other side has gone
        pass
    finally:
        os.close(leader)
    with pipe:
        return run.wait(), seen, pipe.read()


@pytest.fixture
def surroundings() -> dict[str, str]:
    """A terminal that can draw, and nobody who asked for less."""
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "RAGPACK_QUIET")}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}


@pytest.fixture
def file(tmp_path: Path, hits: list[bytes]) -> Path:
    path = tmp_path / "hits.jsonl"
    path.write_bytes(b"".join(hits))
    return path


@pytest.fixture
def rows(ragpack, tmp_path: Path, hits: list[bytes]) -> Path:
    """Rows of the diagnostic."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ragpack("diagnose", stdin=ragpack("pack", stdin=b"".join(hits)).stdout).stdout)
    return path


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_chatty_back_end_reaches_standard_error_only(ragpack, tmp_path: Path, hits: list[bytes], jobs: str) -> None:
    done = run_chatty(tmp_path, b"".join(hits), "-j", jobs)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == ragpack("pack", stdin=b"".join(hits)).stdout
    for way in ("print", "dunder", "write", "puts", "echo"):
        for where in ("open", "run", *(["close"] if jobs == "1" else [])):
            assert f"<{way} {where}>".encode() in done.stderr


def test_a_chatty_back_end_leaves_a_file_alone(tmp_path: Path, hits: list[bytes]) -> None:
    done = run_chatty(tmp_path, b"".join(hits), "-o", str(tmp_path / "out.jsonl"))
    assert done.stdout == b""
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == len(hits)
    assert b"<puts run>" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_on_standard_output_and_begins_with_an_example(ragpack, command: str) -> None:
    done = ragpack(command, "--help")
    assert done.stderr == b""
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("Usage: ")
    assert next(line for line in lines[1:] if line).startswith(f"  ragpack {command}")
    assert ANSI not in done.stdout
    assert ragpack(command, "-h").stdout == done.stdout


def test_version_is_on_standard_output(ragpack) -> None:
    done = ragpack("--version")
    assert done.stderr == b""
    assert re.fullmatch(rb"ragpack \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "Usage:"),
        (["pakc"], "Did you mean 'pack'?"),
        (["pack", "--polcy", "topk"], "--policy"),
        (["pack", "-j", "0"], "0 is not in the range"),
        (["pack", "nowhere.jsonl"], "no such file: nowhere.jsonl"),
        (["pack", "."], ". is a folder"),
        (["pack", "-o", "."], "-o . is a folder"),
        (["pack", "--failures", "no/where"], "--failures no/where: no such folder: no"),
        (["pack", "--policy", "chunk_pakced"], "Did you mean 'chunk_packed'?"),
        (["pack", "--policy", "chunk_pakced", "-o", "out.jsonl"], "Did you mean 'chunk_packed'?"),
        (["pack", "--policy", "chunk_mmr:lamda=1"], "Did you mean 'lambda'?"),
        (["pack", "--budget", "a lot"], "expected whole numbers such as 96,128"),
        (["pack", "--budget", "96,-1"], "-1 is negative"),
        (["pack", "--engine", "rya"], "Did you mean 'ray'?"),
        (["pack", "--on-error", "ignore"], "--on-error is fail or skip"),
        (["pack", "--resume"], "--resume needs -o FILE"),
        (["pack", "--resume", "-o", "/dev/stdout"], "--resume needs -o FILE"),
        (["pack", "--resume", "-o", "."], "-o . is a folder"),
        (["pack", "-o", ""], "-o: the name is empty"),
        (["retrieve", "--corpus", "-"], "--corpus: name a file"),
        (["retrieve", "-k", "0"], "0 is not in the range"),
        (["retrieve", "--retriever", "bm52"], "Did you mean 'bm25'?"),
        (["retrieve", "--corpus", "nowhere.jsonl"], "no such file: nowhere.jsonl"),
        (["generate"], "--model"),
        (["generate", "--reader", "extractiv"], "Did you mean 'extractive'?"),
        (["diagnose", "--profile", "sqaud"], "Did you mean 'squad'?"),
        (["diagnose", "--match", "tokens"], "unknown match 'tokens'. Did you mean 'token'?"),
        (["diagnose", "--match", "xyz"], "unknown match 'xyz'. Known: dpr, substring, token."),
        (["show", "--verdict", "droped_by_packing"], "Did you mean 'dropped_by_packing'?"),
        (["show", "--color", "yes"], "--color is auto, always or never, got 'yes'"),
        (["validate", "--type", "packs"], "Did you mean 'pack'?"),
        (["stats", "--table", "polices"], "Did you mean 'policies'?"),
        (["stats", "--format", "jsno"], "Did you mean 'json"),
        (["import", "hotpot"], "Did you mean 'hotpotqa'?"),
        (["import", "nowhere.json"], "no such file: nowhere.json"),
        (["import", "--format", "hotpot"], "Did you mean 'hotpotqa'?"),
        (["import", "squad", "--gold", "nowhere.tsv"], "no such file: nowhere.tsv"),
        (["export"], "FORMAT"),
        (["export", "trek"], "Did you mean 'trec'?"),
        (["export", "beir"], "Name it: -o FOLDER."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_usage_error_is_one_sentence_on_standard_error(ragpack, tmp_path: Path, args: list[str], said: str) -> None:
    done = ragpack(*args, check=2)
    assert done.stdout == b""
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert ANSI not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["retrieve", "pack", "diagnose", "stats"])
def test_a_terminal_for_input_is_a_usage_error(command: str, surroundings: dict[str, str]) -> None:
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "ragpack", command], stdin=follower, capture_output=True, env=surroundings, check=False
    )
    os.close(leader)
    os.close(follower)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no input: name a file, or pipe records in" in done.stderr


def test_the_summary_is_one_line(ragpack, file: Path, tmp_path: Path) -> None:
    done = ragpack("pack", file)
    assert SUMMARY.fullmatch(done.stderr)
    assert SUMMARY.fullmatch(ragpack("pack", file, "-o", tmp_path / "out.jsonl").stderr)
    for quiet in (ragpack("pack", file, "-q"), ragpack("pack", file, env={"RAGPACK_QUIET": "1"})):
        assert (quiet.stdout, quiet.stderr) == (done.stdout, b"")


def test_nothing_is_coloured_in_a_pipe(ragpack, file: Path, rows: Path) -> None:
    around = {"TERM": "xterm-256color"}
    for args in (["pack", file], ["show", rows, "--context"], ["stats", rows, "--format", "table"], ["list"]):
        done = ragpack(*args, env=around)
        assert done.stdout
        assert ANSI not in done.stdout + done.stderr


def test_progress_is_drawn_on_a_terminal_only_for_a_file(file: Path, surroundings: dict[str, str]) -> None:
    out = file.with_name("out.jsonl")
    assert b"\r\x1b[2Kpack: 1 in, 1 out" in on_terminal("stderr", surroundings, "pack", file, "-o", out)[1]
    for args, more in (
        ([], {}),  # the next stage of a pipe may be drawing
        (["-o", out, "-q"], {}),
        (["-o", out], {"TERM": "dumb"}),
    ):
        code, seen, rest = on_terminal("stderr", {**surroundings, **more}, "pack", file, *args)
        assert code == 0
        assert b"pack: 1 in" not in seen
        assert ANSI not in seen
        assert rest.count(b"\n") == (0 if args else 12)


def test_progress_does_not_tear_records_on_a_terminal(file: Path, surroundings: dict[str, str]) -> None:
    code, seen, _ = on_terminal("stderr", surroundings, "pack", file, both=True)
    assert code == 0
    assert seen.count(b'{"schema"') == 12
    assert ANSI not in seen


def test_a_table_on_a_terminal_and_records_in_a_pipe(ragpack, rows: Path, surroundings: dict[str, str]) -> None:
    code, seen, _ = on_terminal("stdout", surroundings, "stats", rows)
    assert code == 0
    assert b"chunk_packed" in seen
    assert b'"schema"' not in seen
    plain = on_terminal("stdout", {**surroundings, "NO_COLOR": "1"}, "stats", rows)[1]
    assert not re.search(rb"\x1b\[[\d;]*(3[0-7]|38;)", plain)
    piped = ragpack("stats", rows).stdout
    assert all(line.startswith(b'{"schema":"ragpack.stat/1"') for line in piped.splitlines())
