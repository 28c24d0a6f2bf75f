"""A run that is told to stop: the exit code, whole lines, and nothing that looks like a crash."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path
from threading import Thread
from typing import IO

import pytest
from command import Run

STOPS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


def lines_of(run: subprocess.Popen[bytes], count: int) -> list[bytes]:
    """So many lines of what a running command writes."""
    assert run.stdout is not None
    return [run.stdout.readline() for _ in range(count)]


def feed(run: subprocess.Popen[bytes], *parts: list[bytes]) -> None:
    """Give lines, and leave the pipe open: the command waits for more.

    In a thread: a command whose output nobody reads yet takes no more input.
    """

    def give() -> None:
        assert run.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            run.stdin.write(b"".join(line for part in parts for line in part))
            run.stdin.flush()

    Thread(target=give, daemon=True).start()


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("number", "code", "word"), STOPS)
def test_standard_output_ends_with_a_whole_line(
    ragpack: Run, started, stream: list[bytes], number: int, code: int, word: str, jobs: str
) -> None:
    run = started("pack", "-j", jobs)
    feed(run, stream[:200])
    taken = lines_of(run, 1)
    run.send_signal(number)
    rest, said = run.stdout.read(), run.stderr.read()
    assert run.wait() == code
    assert said.decode() == f"pack: {word}\n"
    out = taken[0] + rest
    assert out.endswith(b"\n")
    assert ragpack("pack", stdin=b"".join(stream[:200])).stdout.startswith(out)


@pytest.mark.parametrize("command", ["retrieve", "pack", "diagnose"])
def test_a_command_that_waits_can_be_stopped(started, command: str) -> None:
    """Nothing has come in yet: there is no line at which to stop."""
    run = started(command)
    feed(run, [b"{}\n"])  # it says what is wrong with it: from there on it listens
    assert run.stderr is not None
    assert run.stderr.readline().startswith(b"<stdin>:1: ")
    run.wait()
    assert run.returncode == 1
    run = started(command, "--on-error", "skip")
    feed(run, [b"{}\n"])
    assert run.stderr is not None
    run.stderr.readline()
    run.send_signal(signal.SIGINT)
    assert run.wait() == 130


@pytest.mark.parametrize(("jobs", "module", "times"), [("1", b"typer.core", 1), ("2", b"site", 3)])
def test_a_signal_while_it_starts_is_no_crash(
    started, tmp_path: Path, hits: list[bytes], jobs: str, module: bytes, times: int
) -> None:
    """A terminal's ^C goes to all processes while they import; the third `site` is the second worker's."""
    (tmp_path / "hits.jsonl").write_bytes(b"".join(hits))
    run = started("pack", "hits.jsonl", "-j", jobs, env={"PYTHONPROFILEIMPORTTIME": "1"}, start_new_session=True)
    while times:
        times -= run.stderr.readline().endswith(b" " + module + b"\n")
    os.killpg(run.pid, signal.SIGINT)
    said = run.stderr.read()
    assert b"Traceback" not in said
    assert b"KeyboardInterrupt" not in said
    assert run.wait() == 130


def test_a_second_signal_leaves_at_once(started, stream: list[bytes]) -> None:
    """The first one waits for a reader that takes nothing, so that the line is whole; a second one doesn't."""
    run = started("pack", "--budget", "96,160,224")
    feed(run, stream)
    lines_of(run, 1)
    while waiting(run.stdout) < 60_000:  # the pipe holds no more
        time.sleep(0.01)
    # More than two: signals that come before the first one is handled are one.
    while run.poll() is None:
        run.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert run.returncode == 130


def waiting(pipe: IO[bytes]) -> int:
    """Bytes in a pipe that nobody has read."""
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_reader_that_goes_away_ends_the_run_silently(started, stream: list[bytes], jobs: str, tmp_path: Path) -> None:
    (tmp_path / "hits.jsonl").write_bytes(b"".join(stream))
    run = started("pack", "hits.jsonl", "-j", jobs, stdin=subprocess.DEVNULL)
    assert lines_of(run, 1)[0].startswith(b'{"schema":"ragpack.pack/1"')
    run.stdout.close()
    assert run.stderr.read() == b""
    assert run.wait() == 141


@pytest.mark.parametrize("words", [["--help"], ["pack", "--help"], ["list"], ["doctor"], ["--version"]], ids=" ".join)
def test_a_reader_of_help_that_goes_away(started, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    run = started(*words, stdin=subprocess.DEVNULL, stdout=writing)
    os.close(writing)
    assert run.stderr.read() == b""
    assert run.wait() == 141


def test_failures_are_kept_when_a_run_is_stopped(started, hits: list[bytes], tmp_path: Path) -> None:
    run = started("pack", "--on-error", "skip", "--failures", "bad.jsonl")
    feed(run, [b"not json\n"], hits)
    assert run.stderr is not None
    assert run.stderr.readline().startswith(b"<stdin>:1: not JSON")
    run.send_signal(signal.SIGTERM)
    assert run.wait() == 143
    assert (tmp_path / "bad.jsonl").read_bytes().count(b"\n") == 1


def test_a_signal_before_the_first_row_leaves_nothing(started, tmp_path: Path) -> None:
    run = started("pack", "-o", "out.jsonl", "--on-error", "skip")
    feed(run, [b"{}\n"])
    assert run.stderr is not None
    run.stderr.readline()
    run.send_signal(signal.SIGINT)
    assert run.wait() == 130
    assert b"rows are in" not in run.stderr.read()
    assert list(tmp_path.iterdir()) == []
