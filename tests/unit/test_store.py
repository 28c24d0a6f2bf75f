"""Replies that outlive a run: exact, shared between processes, and never used where they can't be trusted."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st

from ragpack.errors import BackendError, UsageError
from ragpack.readers import base
from ragpack.readers.base import Completion, Likely, Sample, Step
from ragpack.readers.kept import store
from ragpack.readers.kept.store import FILE, FORMAT, Store, packed, unpacked

KEY = bytes(range(16))
floats = st.floats(allow_nan=False, allow_infinity=False)
likely = st.builds(Likely, st.text(max_size=4), st.none() | st.integers(0, 10**6), st.none() | floats)
samples = st.builds(
    Sample, st.text(), st.sampled_from(["stop", "length"]), st.integers(0, 99), st.none() | floats,
    st.none() | st.lists(st.builds(Step, likely, st.lists(likely, max_size=3).map(tuple)), max_size=3).map(tuple),
    st.none() | st.lists(floats, max_size=3).map(tuple),
    st.none() | st.lists(st.none() | floats, max_size=3).map(tuple),
)  # fmt: skip
completions = st.builds(
    Completion, st.integers(0, 9), st.lists(samples, min_size=1, max_size=2).map(tuple), st.integers(0, 9999),
    st.none() | st.text() | st.text(min_size=2000, max_size=2001), st.none() | st.lists(floats, max_size=3).map(tuple),
    st.booleans(), st.none() | st.integers(1, 128),
)  # fmt: skip


def plain(text: str = "x", **more) -> Completion:
    return Completion(7, (Sample(text, "stop", 1),), 5, **more)


@given(completions)
def test_what_is_kept_comes_back_to_the_last_bit(reply: Completion) -> None:
    data = packed(reply)
    assert data is not None
    assert unpacked(data, reply.id) == reply
    assert unpacked(data, 99) == dataclasses.replace(reply, id=99)


def test_long_values_are_compressed() -> None:
    data = packed(plain(prompt="word " * 1000))
    assert data is not None
    assert len(data) < 500
    assert packed(plain()) == (
        b'{"samples":[{"text":"x","finish":"stop","tokens":1,"logprob":null,"steps":null,"uncertainty":null,'
        b'"choices":null}],"prompt_tokens":5}'
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_json_can_not_hold_is_not_kept(number: float) -> None:
    assert packed(plain(continuation=(number,))) is None
    assert packed(Completion(1, (Sample("x", "stop", 1, number),), 5)) is None


def test_half_a_surrogate_pair_is_not_kept_and_numpy_numbers_are() -> None:
    assert packed(plain("\ud800")) is None
    data = packed(plain(continuation=(np.float64(0.1),)))
    assert data is not None
    assert unpacked(data, 7).continuation == (0.1,)


def test_a_changed_completion_needs_a_new_format() -> None:
    """What is kept under one format means one thing. Was a field added whose default is right for all older replies?
    Then name it here. Was anything else changed? Then raise FORMAT as well."""
    fields = {kind.__name__: [field.name for field in dataclasses.fields(kind)] for kind in (Completion, Sample)}
    assert fields == {
        "Completion": ["id", "samples", "prompt_tokens", "prompt", "continuation", "cut", "k"],
        "Sample": ["text", "finish", "tokens", "logprob", "steps", "uncertainty", "choices"],
    }
    assert (Step._fields, Likely._fields) == (("given", "top"), ("token", "id", "logprob"))
    assert FORMAT == 1
    assert base.Decoding() == base.Decoding(32, 0.0, 1.0, None, 1, (), None, None, (), False), "keys have the defaults"


def test_put_and_get(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "cache"
    one, other = Store(str(folder)), Store(str(folder))
    one.put(KEY, b"{1}")
    assert other.get(KEY) == b"{1}", "written through"
    other.put(KEY, b"{2}")
    assert one.get(KEY) == b"{1}", "the first stays"
    assert one.get(bytes(16)) is None
    one.close()
    one.close()
    other.close()
    assert [path.name for path in folder.iterdir()] == [FILE]


WRITER = """
import sys
from ragpack.readers.kept.store import Store
store = Store(sys.argv[1])
who = int(sys.argv[2])
for at in range(300):
    store.put(at.to_bytes(16, "big"), b"{%d}" % who)
    store.put((1000 * who + at).to_bytes(16, "big"), b"{own}")
assert store.notes == [], store.notes
"""


def test_several_processes_share_a_folder_from_its_first_moment(tmp_path: Path) -> None:
    around = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [
        subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "c", str(who)], env=around) for who in range(1, 5)
    ]
    assert [run.wait() for run in runs] == [0] * 4
    store = Store(str(tmp_path / "c"))
    assert {store.get(at.to_bytes(16, "big")) for at in range(300)} <= {b"{1}", b"{2}", b"{3}", b"{4}"}
    assert all(store.get((1000 * who + at).to_bytes(16, "big")) == b"{own}" for who in range(1, 5) for at in range(300))


def filled(folder: Path) -> Path:
    store = Store(str(folder))
    for at in range(200):
        store.put(at.to_bytes(16, "big"), b"{" + b"x" * 500 + b"}")
    store.close()
    return folder / FILE


def everything(folder: Path) -> None:
    store = Store(str(folder))
    try:
        assert all(store.get(at.to_bytes(16, "big")) for at in range(200))
    finally:
        store.close()


@pytest.mark.parametrize("how", ["text", "torn", "garbage", "value", "empty value"])
def test_a_damaged_file_is_said_and_not_used(tmp_path: Path, how: str) -> None:
    path = filled(tmp_path)
    data = path.read_bytes()
    if how == "text":
        path.write_bytes(b"not a database, but a note that somebody left here\n" * 20)
    elif how == "torn":
        path.write_bytes(data[: len(data) // 2])
    elif how == "garbage":
        path.write_bytes(data[:8192] + b"\xff" * (len(data) - 12288) + data[-4096:])
    else:
        with sqlite3.connect(path) as other:
            other.execute("UPDATE reply SET value = ?", (b"" if how == "empty value" else b"{" + b"y" * 500 + b"}",))
        other.close()
    with pytest.raises(
        BackendError, match=r"replies\.sqlite is damaged: .*\nRemove it, and the prompts are asked again"
    ):
        everything(tmp_path)


def test_another_format_is_said_and_left_alone(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA user_version = {FORMAT + 1}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(
        BackendError, match=rf"is of format {FORMAT + 1}, and this ragpack reads {FORMAT}\nName another"
    ):
        Store(str(tmp_path))
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute("CREATE TABLE bookmark (address TEXT)")
    other.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(BackendError, match="is a database of something else\nName another folder"):
        Store(str(tmp_path))
    assert (tmp_path / FILE).read_bytes() == before


def test_a_value_of_another_ragpack_is_said() -> None:
    with pytest.raises(BackendError, match="a kept reply can't be read"):
        unpacked(b'{"samples":[],"prompt_tokens":1,"mood":"good"}', 1)
    with pytest.raises(BackendError, match="a kept reply can't be read"):
        unpacked(b"\x78\x9cnothing", 1)


def test_a_name_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "file/below"):
        with pytest.raises(UsageError, match=rf"--cache .*{name}: .*\nName a folder that can be written"):
            Store(str(tmp_path / name))
    with pytest.raises(UsageError, match="--cache: the name is empty"):
        Store("")


OPEN = """
import os, sys
from ragpack.errors import RagpackError
from ragpack.readers.kept.store import Store
if os.geteuid() == 0:
    os.setuid(65534)
try:
    Store(sys.argv[1]).put(b"k", b"{}")
except RagpackError as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize("there", [True, False], ids=["with a file", "empty"])
def test_a_folder_that_can_not_be_written(there: bool) -> None:
    """As a user without rights: an administrator may write anywhere."""
    folder = Path(tempfile.mkdtemp(prefix="ragpack-test-"))  # pytest's own folders are closed to others
    try:
        if there:
            (filled(folder)).chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", OPEN, folder], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.stdout.startswith(f"BackendError: {folder / FILE} can't be used: ")
        assert "Name a folder that can be written" in done.stdout
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_full_disk_ends_the_keeping_and_not_the_run(tmp_path: Path) -> None:
    kept = Store(str(tmp_path))
    kept.put(KEY, b"{}")
    (pages,) = kept._base.execute("PRAGMA page_count").fetchone()
    kept._base.execute(f"PRAGMA max_page_count = {pages}")  # sqlite's own word for a disk without room
    for at in range(100):
        kept.put(bytes([at]) * 16, b"{" + b"x" * 1000 + b"}")
    assert kept.notes == [
        f"replies were no longer kept in {tmp_path / FILE}: database or disk is full; the output has them all"
    ]
    assert kept.get(KEY) == b"{}"


def test_a_file_that_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.1)
    kept = Store(str(tmp_path))
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BackendError, match=r"has been locked for 0\.1 s\nDoes another program hold it"):
        Store(str(tmp_path))
    kept.put(KEY, b"{}")
    assert "database is locked" in kept.notes[0]
    other.close()
