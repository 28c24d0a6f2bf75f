"""The whole main job with the real reader: retrieve | pack | generate | diagnose | stats, in shell pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
MODEL = Path(os.environ.get("RAGPACK_CACHE") or CACHE / "ragpack") / "smollm2-135m-instruct"

pytestmark = [
    pytest.mark.reader,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed: just reader"),
    pytest.mark.skipif(not MODEL.is_dir(), reason="the SmolLM2 folder is not there: just reader"),
]

QUESTIONS = 5
POLICIES = ("chunk_packed", "chunk_submod")


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line in which `ragpack` is this interpreter's, as a user would type it."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    command = tools / "ragpack"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ragpack "$@"\n')
    command.chmod(0o755)
    found = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "MODEL": str(MODEL)}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line], cwd=folder, env=found, capture_output=True, timeout=600, check=False
    )


def rows(path: Path) -> list[dict]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five questions through all stages in one pipe, kept as the answers file and the tables."""
    folder = tmp_path_factory.mktemp("pipe")
    (folder / "q.jsonl").write_bytes(
        b"".join((ROOT / "fixtures/questions.jsonl").read_bytes().splitlines(keepends=True)[:QUESTIONS])
    )
    done = shell(
        f"ragpack retrieve q.jsonl -k 5 | ragpack pack --policy {','.join(POLICIES)} --budget 160 --tokenizer $MODEL"
        " | ragpack generate --model $MODEL --prompt answer-examples/1 --max-tokens 8 --logprob --keep-prompt"
        " | tee answers.jsonl | ragpack diagnose | tee rows.jsonl"
        " | ragpack stats --baseline chunk_packed > stats.jsonl",
        folder,
    )
    assert done.returncode == 0, done.stderr.decode()
    return folder


def test_every_context_has_an_answer_in_order(piped: Path) -> None:
    answers = rows(piped / "answers.jsonl")
    assert [(row["id"], row["pack"]["policy"]) for row in answers] == [
        (f"q{number:03}", policy) for number in range(1, QUESTIONS + 1) for policy in POLICIES
    ]
    for row in answers:
        assert row["schema"] == "ragpack.answer/1"
        made = row["generate"]
        assert made["reader"] == "vllm"
        assert made["model"] == "smollm2-135m-instruct"  # a name, not a path of this machine
        assert made["answer"]
        assert 1 <= made["tokens"]["completion"] <= 8
        assert made["logprob"] < 0


def test_the_prompt_is_the_template_around_the_exact_context(piped: Path) -> None:
    """The budget is counted by the reader's own tokenizer, and what was counted is what the model saw."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    for row in rows(piped / "answers.jsonl"):
        context, prompt = row["pack"]["context"], row["generate"]["prompt_text"]
        assert prompt.count(context) == 1
        assert len(tokenizer(context, add_special_tokens=False)["input_ids"]) == row["pack"]["tokens"] <= 160
        assert row["generate"]["tokens"]["prompt"] == len(tokenizer(prompt, add_special_tokens=False)["input_ids"])


def test_rows_and_tables_follow(piped: Path) -> None:
    verdicts = {row["diagnose"]["verdict"] for row in rows(piped / "rows.jsonl")}
    assert verdicts <= {"correct", "unsupported_correct", "in_context_missed", "dropped_by_packing", "not_retrieved"}
    table = [row for row in rows(piped / "stats.jsonl") if row["table"] == "policies"]
    assert [(row["policy"], row["n"]) for row in table] == [(policy, QUESTIONS) for policy in POLICIES]
    assert all(row["model"] == "smollm2-135m-instruct" for row in table)


def test_resume_asks_the_model_nothing_twice(piped: Path) -> None:
    """The output is the cache: a finished file is taken as it is, byte for byte."""
    before = (piped / "answers.jsonl").read_bytes()
    done = shell(
        f"ragpack retrieve q.jsonl -k 5 -q | ragpack pack --policy {','.join(POLICIES)} --budget 160 -q"
        ' --tokenizer "$MODEL" | ragpack generate --model "$MODEL" --prompt answer-examples/1 --max-tokens 8'
        " --logprob --keep-prompt -o answers.jsonl --resume",
        piped,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"generate: 10 in, 10 out, 10 cached, 0 failed" in done.stderr
    assert (piped / "answers.jsonl").read_bytes() == before
    run = orjson.loads((piped / "answers.jsonl.run.json").read_bytes())
    assert run["counts"]["cached"] == 10


@pytest.fixture(scope="module")
def probed(piped: Path) -> Path:
    """Two questions probed, in a pipe, and packed by what the reader said; one passage is 500 pages long."""
    done = shell(
        "head -2 q.jsonl | ragpack retrieve -k 2 > hits.jsonl\n"
        """python3 -c 'import json
with open("hits.jsonl") as file: rows = [json.loads(line) for line in file]
rows[0]["hits"][1]["text"] = "The tern is a bird of the coast. " * 45_000
rows[0]["hits"][1].pop("sentences", None)
print(*map(json.dumps, rows), sep="\\n")' > long.jsonl
"""
        "ragpack generate long.jsonl --probe ig,qlm,yesno --probe-tokens 6 --model $MODEL --max-model-len 512"
        " -o probed.jsonl\n"
        "ragpack pack probed.jsonl --policy topk:m=1,igp:threshold=-1,topk:by=qlm,igp:threshold=0.9 --budget 160"
        " --tokenizer $MODEL | ragpack diagnose | ragpack stats --format jsonl > probed.stats.jsonl",
        piped,
    )
    assert done.returncode == 0, done.stderr.decode()
    return piped


def test_hits_are_probed_and_packed_by_it(probed: Path) -> None:
    long, short = rows(probed / "probed.jsonl")
    for row in (long, short):
        about = row["probe"]
        assert (about["kind"], about["k"], about["max_tokens"], about["calls"]) == ("ig,qlm,yesno", 128, 6, 7)
        assert 0 < about["nu0"] < 1
        for hit in row["hits"]:
            scores = hit["scores"]
            assert scores["ig"] == pytest.approx(about["nu0"] - scores["nu"], abs=1e-12)
            assert 0 < scores["yesno"] < 1
            assert scores["qlm"] < 0
    assert long["probe"]["cut"] == [2]
    assert "cut" not in short["probe"]
    tables = [row for row in rows(probed / "probed.stats.jsonl") if row["table"] == "policies"]
    costs = {row["policy"]: row["probe_calls"] for row in tables}
    assert costs == {"topk:m=1": None, "igp:threshold=-1.0": 7.0, "topk:by=qlm": 7.0, "igp:threshold=0.9": 7.0}
    assert {row["policy"]: row["tokens"] for row in tables}["igp:threshold=0.9"] == 0, "honestly empty"


def test_resuming_a_probe_asks_nothing(probed: Path) -> None:
    before = (probed / "probed.jsonl").read_bytes()
    done = shell(
        "ragpack generate long.jsonl --probe ig,qlm,yesno --probe-tokens 6 --model $MODEL --max-model-len 512"
        " -o probed.jsonl --resume",
        probed,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"2 cached" in done.stderr
    assert (probed / "probed.jsonl").read_bytes() == before
