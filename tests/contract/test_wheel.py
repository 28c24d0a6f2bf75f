"""The wheel holds the package and starts without the repository around it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command import ROOT

pytest.importorskip("build", reason="build is not installed")
pytest.importorskip("hatchling", reason="hatchling is not installed")


@pytest.mark.slow
def test_the_wheel_stands_alone(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert {name.split("/")[0].partition("-")[0] for name in names} == {"ragpack"}
        assert "ragpack/py.typed" in names
        assert {f"ragpack/report/html/{name}" for name in ("template.html", "page.css", "page.js")} <= set(names)
        archive.extractall(tmp_path / "site")
    for words in (["--version"], ["pack", "--help"], ["list", "policies"]):
        done = subprocess.run(
            [sys.executable, "-c", "from ragpack.__main__ import main; main()", *words],
            capture_output=True,
            check=True,
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"},
        )
        assert done.stdout
    where = [sys.executable, "-c", "import ragpack; print(ragpack.__file__)"]
    found = subprocess.run(
        where, capture_output=True, check=True, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")}
    )
    assert str(tmp_path) in found.stdout.decode()
