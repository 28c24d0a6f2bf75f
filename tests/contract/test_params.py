"""Flags win over the environment, that over --params, and that over what is built in."""

from __future__ import annotations

from pathlib import Path

import orjson
from command import ROOT, Run

QUESTIONS = ROOT / "fixtures/questions.jsonl"


def depth(out: bytes) -> int:
    return orjson.loads(out.splitlines()[0])["retrieve"]["k"]


def test_a_file_of_defaults(ragpack: Run, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[retrieve]\nk = 3\n\n[pack]\npolicy = "topk"\nbudget = [96, 160]\n')
    assert depth(ragpack("retrieve", QUESTIONS).stdout) == 5
    assert depth(ragpack("retrieve", QUESTIONS, "--params", "run.toml").stdout) == 3
    assert depth(ragpack("retrieve", QUESTIONS, "--params", "run.toml", "-k", "2").stdout) == 2
    hits = ragpack("retrieve", QUESTIONS, "--params", "run.toml").stdout.splitlines(keepends=True)[0]
    packs = [
        orjson.loads(line)["pack"] for line in ragpack("pack", "--params", "run.toml", stdin=hits).stdout.splitlines()
    ]
    assert [(pack["policy"], pack["budget"]) for pack in packs] == [("topk", 96), ("topk", 160)]


def test_the_environment_is_between(ragpack: Run, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("[retrieve]\nquiet = false\njobs = 1\n")
    words = ("retrieve", QUESTIONS, "--params", "run.toml")
    assert ragpack(*words).stderr
    assert not ragpack(*words, env={"RAGPACK_QUIET": "1"}).stderr
    assert "'two' is not a valid" in ragpack(*words, env={"RAGPACK_JOBS": "two"}, check=2).stderr.decode()
    ragpack(*words, "-j", "1", env={"RAGPACK_JOBS": "two"})  # the flag is looked at first


def test_a_wrong_key_gets_the_right_one(ragpack: Run, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[pack]\npolcy = "topk"\n')
    said = ragpack("pack", "--params", "run.toml", check=2).stderr.decode()
    assert "[pack] has no option 'polcy'. Did you mean 'policy'?" in said
    assert "no such file" in ragpack("pack", "--params", "none.toml", check=2).stderr.decode()
    for text, expected in (
        ("[pakc]\nbudget = 3", "no command 'pakc'. Did you mean 'pack'?"),
        ("budget = 3", "no command 'budget'"),  # a key without a table would be without effect
        ("pack = 3", "[pack] must be a table"),
        ("[retrieve]\nk = [3]", "[retrieve] k: expected one value, got [3]"),
        ("[retrieve]\nk = {n = 3}", "[retrieve] k: expected one value, got {'n': 3}"),
        ("[retrieve]\nk = 3.7", "'3.7' is not a valid int"),
        ("[retrieve]\nk = true", "'true' is not a valid int"),
        ("[retrieve]\nk = 0", "0 is not in the range"),
    ):
        (tmp_path / "odd.toml").write_text(text)
        assert expected in ragpack("retrieve", "--params", "odd.toml", check=2).stderr.decode()
    (tmp_path / "torn.toml").write_text("[pack")
    assert "torn.toml" in ragpack("pack", "--params", "torn.toml", check=2).stderr.decode()
