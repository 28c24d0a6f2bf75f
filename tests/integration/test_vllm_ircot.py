"""retrieve --retriever ircot with SmolLM2 in vLLM, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from command import ROOT
from smollm2 import MODEL, needs_reader

from ragpack.checked import view
from ragpack.readers.prompts.named import THOUGHT
from ragpack.records import Hits

pytestmark = needs_reader


def run(folder: Path, *words: object) -> str:
    """What the command says. A model takes its time to load on a busy machine."""
    done = subprocess.run(
        [sys.executable, "-m", "ragpack", *map(str, words)], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_thoughts_are_queries(tmp_path: Path) -> None:
    """Three questions, over a corpus: bm25s and the engine share a process. Then the same from what is there, without
    a model."""
    asked = (ROOT / "fixtures/questions.jsonl").read_text(encoding="utf-8").split("\n")[:3]
    (tmp_path / "q.jsonl").write_text("\n".join(asked) + "\n", encoding="utf-8")
    words = ("retrieve", "q.jsonl", "--corpus", ROOT / "fixtures/corpus.jsonl", "--retriever",
             "ircot:k=2,steps=2,count=new", "--model", MODEL, "-o", "hits.jsonl")  # fmt: skip
    assert "3 in, 3 out, 0 cached, 0 failed" in run(tmp_path, *words)
    found = (tmp_path / "hits.jsonl").read_bytes()
    rows = [json.loads(line) for line in found.splitlines()]
    assert [row["id"] for row in rows] == [json.loads(line)["id"] for line in asked]
    for row in rows:
        assert view(row, (Hits,))
        about = row["retrieve"]
        assert (about["reader"], about["model"]) == ("vllm", MODEL.name)
        assert about["prompt"] == {"name": "thought/1", "hash": THOUGHT.hash}
        assert 1 <= about["calls"] <= 2
        assert about["tokens"]["prompt"] > 100 * about["calls"]
        assert 0 < about["tokens"]["completion"] <= 64 * about["calls"]
        searches = {hit["scores"]["hop"] for hit in row["hits"]}
        assert searches <= {0, *range(1, len(about["thoughts"]) + 1)}
        assert [hit["scores"]["hop"] for hit in row["hits"]] == sorted(hit["scores"]["hop"] for hit in row["hits"])
    assert any(hit["scores"]["hop"] > 0 for row in rows for hit in row["hits"])
    assert "3 cached" in run(tmp_path, *words, "--resume")
    assert (tmp_path / "hits.jsonl").read_bytes() == found
