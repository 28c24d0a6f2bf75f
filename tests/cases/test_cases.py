"""Golden command cases: a folder is a case, `cmd` one shell line, `out`, `err` and `rc` what it must give.

`pytest tests/cases --golden` writes the expected files anew; the reviewer reads the diff. Lines of JSON are compared as
JSON, floats to 1e-9 and the order of keys exactly; other text exactly, seconds apart.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from command import ROOT

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/cmd"))


def test_there_are_cases() -> None:
    assert {case.parent.name for case in CASES} >= {
        "import",
        "retrieve",
        "pack",
        "generate",
        "diagnose",
        "stats",
        "show",
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_case(case: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    done = run(case, tmp_path)
    found = {"out": done.stdout.decode(), "err": timeless(done.stderr.decode()), "rc": f"{done.returncode}\n"}
    if request.config.getoption("--golden"):
        for name, text in found.items():
            (case / name).write_text(text, encoding="utf-8")
        return
    expected = {name: (case / name).read_text(encoding="utf-8") for name in found}
    assert found["rc"] == expected["rc"], found["err"]
    assert found["err"] == expected["err"]
    assert same(found["out"], expected["out"]), found["out"]


def run(case: Path, tmp_path: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a case in a copy of its folder, with `ragpack` on PATH; $FIXTURES and $STAGE are the folders of the project's
    own test data, and of what the cases of a stage share."""
    folder = tmp_path / "case"
    shutil.copytree(case, folder)
    tools = tmp_path / "bin"
    tools.mkdir()
    command = tools / "ragpack"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ragpack "$@"\n')
    command.chmod(0o755)
    known = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "FIXTURES": str(ROOT / "fixtures"),
             "STAGE": str(case.parent)}  # fmt: skip
    line = (case / "cmd").read_text(encoding="utf-8")
    outside = {name: value for name, value in os.environ.items() if not name.startswith("RAGPACK_")}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env={**outside, **known}, capture_output=True, timeout=120, check=False
    )


def timeless(text: str) -> str:
    """Seconds differ from run to run."""
    return re.sub(r"\d+\.\d s\b", "N s", text)


def same(found: str, expected: str) -> bool:
    """Equal lines; where both are JSON, equal values."""
    ours, theirs = found.split("\n"), expected.split("\n")  # other line ends are text
    return len(ours) == len(theirs) and all(map(same_line, ours, theirs))


def same_line(found: str, expected: str) -> bool:
    try:
        return close(orjson.loads(found), orjson.loads(expected))
    except orjson.JSONDecodeError:
        return found == expected


def close(found: Any, expected: Any) -> bool:
    """Equal but for the last bits of floats; keys in the same order."""
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(found, dict) and isinstance(expected, dict):
        return list(found) == list(expected) and all(close(found[key], expected[key]) for key in found)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return type(found) is type(expected) and found == expected


def test_comparison_sees_what_matters() -> None:
    line = '{"a": [0.1, null], "b": 1, "c": "x"}\n'
    assert same(line, line.replace("0.1", "0.10000000000000001"))
    for word, other in [("0.1", "0.1000001"), ('"b": 1', '"b": 1.0'), ('"b": 1', '"b": true'), ("null", "0")]:
        assert not same(line, line.replace(word, other)), other
    assert not same(line, '{"b": 1, "a": [0.1, null], "c": "x"}\n'), "the order of keys is part of the contract"
    assert not same(line, line.rstrip("\n")), "so is the last line end"
    assert not same("plain text\n", "plain  text\n")
