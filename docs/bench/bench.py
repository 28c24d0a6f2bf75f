"""Speed and memory as ratios, both sides measured in one run.

    python docs/bench/bench.py                  # all of it; the reader part needs MODEL
    python docs/bench/bench.py start pack       # some parts

Parts: `start` (help against importing typer), `pack` (four policies × four budgets against parsing and tokenizing),
`memory` (peak of 200,000 questions against 20,000), `diagnose` (whole processes, CPU seconds, against
naive_diagnose.py; --rows FILE: another file of packs or answers), `statistics` (bootstraps against loops, scipy and
refits; all tables of 100,000 rows), `generate` (reading.py: against a bare LLM.generate; rollouts), `server`
(server.py: against a bare asyncio client of the same server). Times are medians of alternating runs. Nothing here is a
test: a busy machine moves the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RAGPACK = [sys.executable, "-m", "ragpack"]
POLICIES = "chunk_packed,chunk_focused,chunk_mmr,chunk_submod"
BUDGETS = "96,128,160,224"
INFERENCE = (ROOT / "docs/bench/inference.py").as_posix()
ALONE = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

FLOOR = """
import sys, time, orjson, tokenizers
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[2]) if sys.argv[2] != "regex" else None
import re
token = re.compile(r"\\w+|[^\\w\\s]")
started = time.perf_counter()
for line in open(sys.argv[1], "rb"):
    texts = [hit["text"] for hit in orjson.loads(line)["hits"]]
    if tokenizer is None:
        for text in texts: token.findall(text)
    else:
        tokenizer.encode_batch(texts, add_special_tokens=False)
print(time.perf_counter() - started)
"""

PACK = """
import os, sys, time
from ragpack.flow.mapper import Mapper
from ragpack.flow.streams import lines
from ragpack.stages.pack import PackParams, open_pack
mapper = Mapper(open_pack(PackParams((sys.argv[3],), tuple(map(int, sys.argv[4].split(","))), sys.argv[2])))
started = time.perf_counter()
for done in mapper(lines([sys.argv[1]])):
    assert not done.failed, done.failed
print(time.perf_counter() - started)
"""


def seconds(command: list[str]) -> float:
    """Wall clock of a whole process."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def told(code: str, *arguments: str) -> float:
    """The seconds that a script prints: its imports are not in them. One core, as `-j 1` has."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True, env=ALONE, cwd=ROOT
    )
    return float(done.stdout)


def paired(runs: int, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float, float]:
    """Medians of both, and of the ratios, pair by pair."""
    pairs = [(ours(), theirs()) for _ in range(runs)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def row(name: str, found: tuple[float, float, float], unit: str, goal: str) -> None:
    ours, theirs, ratio = found
    print(f"{name:<58} {ours:>9.3f} {theirs:>9.3f} {unit:<4} ratio {ratio:>6.2f}   goal {goal}", flush=True)


def start() -> None:
    typer = [sys.executable, "-c", "import typer"]
    for command in ("pack", "generate", "stats"):
        asked = [*RAGPACK, command, "--help"]
        found = paired(9, partial(seconds, asked), partial(seconds, typer))
        row(f"ragpack {command} --help / import typer", found, "s", "<= 2")


def stream(questions: int, out: Path) -> None:
    with out.open("wb") as file:
        make = [sys.executable, "fixtures/make.py", "stream", "--questions", str(questions)]
        subprocess.run(make, check=True, stdout=file, cwd=ROOT)


def pack(model: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hits = Path(folder) / "hits.jsonl"
        stream(400, hits)
        for name, tokenizer in {"regex": "regex", **({"reader": f"{model}/tokenizer.json"} if model else {})}.items():
            ours = partial(told, PACK, str(hits), tokenizer, POLICIES, BUDGETS)
            found = paired(5, ours, partial(told, FLOOR, str(hits), tokenizer))
            row(f"pack 4 policies × 4 budgets / parse and tokenize ({name})", found, "s", "<= 3")


def peak(questions: int) -> float:
    """MiB resident at most while packing a stream of so many questions."""
    make = [sys.executable, "fixtures/make.py", "stream", "--questions", str(questions)]
    source = subprocess.Popen(make, stdout=subprocess.PIPE, cwd=ROOT)
    packing = subprocess.Popen(
        [*RAGPACK, "pack", "--policy", "chunk_submod", "--budget", "160", "-j", "1", "-q"],
        stdin=source.stdout, stdout=subprocess.DEVNULL, cwd=ROOT,
    )  # fmt: skip
    assert source.stdout is not None
    source.stdout.close()
    _, status, usage = os.wait4(packing.pid, 0)
    source.wait()
    assert status == 0, status
    return usage.ru_maxrss / 1024


def memory(many: int) -> None:
    few = peak(many // 10)
    found = peak(many)
    row(f"pack: peak of {many:,} / {many // 10:,} questions", (found, few, found / few), "MiB", "<= 1.1, < 300 MiB")


def cpu(command: list[str]) -> float:
    """CPU seconds of a whole process and its children: a busy machine moves them less than the wall clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def diagnose(given: str | None) -> None:
    naive = (ROOT / "docs/bench/naive_diagnose.py").as_posix()
    with tempfile.TemporaryDirectory() as folder:
        hits, packs, ours, theirs = (str(Path(folder) / name) for name in ("hits", "packs", "ours", "theirs"))
        if given:
            # Real files are small: the same rows again and again, until there are 20,000.
            text = Path(given).read_bytes()
            Path(packs).write_bytes(text * -(-20_000 // text.count(b"\n")))
        else:
            stream(1300, Path(hits))
            asked = [*RAGPACK, "pack", hits, "--policy", POLICIES, "--budget", BUDGETS, "-q", "-o", packs]
            subprocess.run(asked, check=True, cwd=ROOT)
        command = [*RAGPACK, "diagnose", packs, "-q", "-o", ours]
        found = paired(3, partial(cpu, [sys.executable, naive, packs, theirs]), partial(cpu, command))
        row(f"naive script / diagnose, {same(ours, theirs):,} rows", found, "s", ">= 20")
        found = paired(
            3, partial(seconds, [sys.executable, naive, packs, theirs]), partial(seconds, [*command, "-j", "2"])
        )
        row("naive script / diagnose -j 2, wall clock", found, "s", "")


def same(ours: str, theirs: str) -> int:
    """Rows of two files whose numbers are the same; all of them, or the comparison is of two things."""
    count = 0
    with open(ours, "rb") as left, open(theirs, "rb") as right:
        for mine, other in zip(left, right, strict=True):
            found, expected = json.loads(mine)["diagnose"], json.loads(other)["diagnose"]
            for name, value in expected.items():
                close = value == found[name] or (value is not None and abs(value - found[name]) < 1e-9)
                assert close, (name, value, found[name])
            count += 1
    return count


def tables(number: int, each: int) -> None:
    """All default tables of so many rows, `each` of a question; against reading the lines."""
    import orjson

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        with path.open("wb") as file:
            subprocess.run([sys.executable, INFERENCE, "rows", str(number), str(each)], check=True, stdout=file)
        reading = time.process_time()
        with path.open("rb") as file:
            for line in file:
                orjson.loads(line)
        reading = time.process_time() - reading
        run = subprocess.Popen([*RAGPACK, "stats", str(path), "--baseline", "p0", "-q", "--format", "jsonl"],
                               stdout=subprocess.DEVNULL, cwd=ROOT, env=ALONE)  # fmt: skip
        _, status, usage = os.wait4(run.pid, 0)
        assert status == 0, status
    found = usage.ru_utime + usage.ru_stime
    name = f"{number:,} rows, {number // each:,} questions, {usage.ru_maxrss / 1024:,.0f} MiB"
    row(f"stats: {name} / reading", (found, reading, found / reading), "s", "<= 20 s, <= 1,024 MiB")


def inference() -> None:
    for part in ("paired", "regression"):
        done = subprocess.run([sys.executable, INFERENCE, part], check=True, capture_output=True, env=ALONE, cwd=ROOT)
        for found in map(json.loads, done.stdout.splitlines()):
            row(found["name"], (found["ours"], found["theirs"], found["ratio"]), "s", found["goal"])
    tables(100_000, 20)
    tables(100_000, 5)


def generate(model: str) -> None:
    reading = (ROOT / "docs/bench/reading.py").as_posix()
    with tempfile.TemporaryDirectory() as folder:
        hits, packs = Path(folder) / "hits.jsonl", Path(folder) / "packs.jsonl"
        questions = [*RAGPACK, "retrieve", "fixtures/questions.jsonl", "-k", "5", "-q", "-o", str(hits)]
        subprocess.run(questions, check=True, cwd=ROOT)
        # Two policies, and no context twice: a prompt that is asked once would flatter us.
        subprocess.run([*RAGPACK, "pack", str(hits), "--policy", "topk,chunk_focused", "--budget", "160", "-q",
                        "--tokenizer", model, "-o", str(packs)], check=True, cwd=ROOT)  # fmt: skip
        known: dict[str, str] = {}
        for line in packs.read_text().splitlines():
            known.setdefault(json.loads(line)["question"] + json.loads(line)["pack"]["context"], line)
        packs.write_text("".join(f"{line}\n" for line in known.values()))
        done = subprocess.run([sys.executable, reading, model, str(packs)], check=True, stdout=subprocess.PIPE,
                              text=True, cwd=ROOT)  # fmt: skip
        for line in done.stdout.splitlines():
            if line.startswith('{"name"'):
                one = json.loads(line)
                unit = one["unit"]
                print(f"{one['name']:<58} {one['ours']:>9.4g} {one['theirs']:>9.4g} {unit}  {one['ratio']:.4g}  "
                      f"{one['goal']}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument(
        "parts", nargs="*", help="start pack memory diagnose statistics generate server; all by default"
    )
    parser.add_argument("--rows", help="of the diagnose part: a file of packs or answers")
    parser.add_argument("--questions", type=int, default=200_000, help="of the memory part")
    options = parser.parse_args()
    model = os.environ.get("MODEL")
    wanted = options.parts or [
        "start",
        "pack",
        "memory",
        "diagnose",
        "statistics",
        *(["generate", "server"] if model else []),
    ]
    print(f"{'':<58} {'ours':>9} {'theirs':>9}")
    for part in wanted:
        if part == "start":
            start()
        elif part == "pack":
            pack(model)
        elif part == "memory":
            memory(options.questions)
        elif part == "diagnose":
            diagnose(options.rows)
        elif part == "statistics":
            inference()
        elif part in ("generate", "server"):
            if not model:
                raise SystemExit(f"bench: {part} needs MODEL, the reader's folder")
            if part == "generate":
                generate(model)
            else:
                subprocess.run(
                    [sys.executable, (ROOT / "docs/bench/server.py").as_posix(), model], check=True, cwd=ROOT
                )
        else:
            raise SystemExit(f"bench: no part '{part}'")


if __name__ == "__main__":
    main()
