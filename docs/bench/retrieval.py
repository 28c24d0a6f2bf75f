"""Lexical retrieval: speed as ratios measured in one run, and what a large corpus costs.

    python docs/bench/retrieval.py                               # search warm pools; minutes
    python docs/bench/retrieval.py scale --passages 1000000      # build and search a corpus of that size; more minutes
    python docs/bench/retrieval.py search --peers PYTHON         # a Python that has rank_bm25

Parts: `search` (an index of 100,000 passages against bm25s on the same files, and rank_bm25), `warm` (from an index
that is there to the first row, imports apart), `pools` (a question's own 10 or 20 documents against a bm25s index for
each question), `scale`. Times of the ratios are CPU seconds, medians of alternating runs. Passages are made: 100 words
each, drawn from a million by Zipf's law, from a seed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ragpack.checked import view  # noqa: E402 # the tree before an installed ragpack
from ragpack.records import Doc, Question  # noqa: E402 # the tree before an installed ragpack
from ragpack.retrievers import bm25  # noqa: E402 # as above
from ragpack.retrievers.corpus import read_corpus  # noqa: E402 # as above
from ragpack.text import STOP_WORDS, words  # noqa: E402 # as above

WORDS = 1_000_000
RANK_BM25 = """
import json, sys, time
import numpy as np
from rank_bm25 import BM25Okapi
found = json.load(sys.stdin)
index = BM25Okapi(found["texts"])
started = time.process_time()
for query in found["queries"]:
    np.argsort(index.get_scores(query))[::-1][:10]
print((time.process_time() - started) / len(found["queries"]))
"""
FIRST_ROW = """
import sys, time
import bm25s, numpy, orjson, msgspec, typer, rich
import ragpack.cli.retrieve, ragpack.flow.run, ragpack.stages.retrieve, ragpack.retrievers.bm25
started = time.perf_counter()
from ragpack.stages.retrieve import RetrieveParams, open_retrieve, prepare
from ragpack.flow.mapper import Mapper
from ragpack.flow.streams import lines
params = prepare(RetrieveParams(k=10, corpus=sys.argv[1], index=sys.argv[2]), print, print)
next(Mapper(open_retrieve(params))(lines([sys.argv[3]])))
print(time.perf_counter() - started)
"""


def drawn(count: int, size: int, seed: int) -> Iterator[list[str]]:
    """Texts of made words."""
    draw = np.random.default_rng(seed)
    chances = 1 / (np.arange(1, WORDS + 1) + 2.7) ** 1.05
    below = np.cumsum(chances / chances.sum())
    for first in range(0, count, 2000):
        block = np.searchsorted(below, draw.random((min(2000, count - first), size)))
        yield from ([f"w{number}" for number in row] for row in block.tolist())


def make(folder: Path, passages: int, questions: int) -> tuple[Path, Path]:
    """Files of a corpus and of questions."""
    corpus, asked = folder / f"corpus-{passages}.jsonl", folder / "questions.jsonl"
    with corpus.open("wb") as file:
        for number, text in enumerate(drawn(passages, 100, 1)):
            row = {"id": f"p{number}", "title": f"Title {text[0]}", "text": " ".join(text)}
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    with asked.open("wb") as file:
        for number, text in enumerate(drawn(questions, 10, 2)):
            file.write(orjson.dumps({"id": f"q{number}", "question": " ".join(text)}, option=orjson.OPT_APPEND_NEWLINE))
    return corpus, asked


def cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def paired(runs: int, ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float, float]:
    """Medians of both, and of theirs / ours, pair by pair."""
    ours(), theirs()
    pairs = [(cpu(ours), cpu(theirs)) for _ in range(runs)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(b / a for a, b in pairs),
    )


def row(name: str, ours: float, theirs: float, ratio: float, goal: str) -> None:
    print(f"{name:<62} {1000 * ours:>9.3f} {1000 * theirs:>9.3f} ms  ratio {ratio:>7.2f}   goal {goal}", flush=True)


def questions_of(path: Path) -> list[Question]:
    return [view(orjson.loads(line), (Question,)) for line in path.read_bytes().splitlines()]


def search(folder: Path, passages: int, peers: str | None) -> None:
    import bm25s
    from bm25s import selection

    corpus_file, asked = make(folder, passages, 200)
    corpus = read_corpus(str(corpus_file), folder / "index")
    retriever = bm25.open_retriever(corpus, folder / "index", print)
    bare = bm25s.BM25.load(folder / "index/bm25/shard-0", mmap=True)
    texts = [one.question for one in questions_of(asked)]

    def alone() -> None:
        for text in texts:
            known = [word for word in words(text) if word not in STOP_WORDS and word in bare.vocab_dict]
            selection.topk(bare.get_scores(known), 10, backend="numpy", sorted=True)

    def ours() -> None:
        for text in texts:
            retriever.search(text, None, 10)

    a, b, ratio = paired(7, ours, alone)
    each = 1 / len(texts)
    row(f"search {passages:,} passages, with documents / bare bm25s", a * each, b * each, ratio, ">= 0.95")
    if peers is None:
        print("rank_bm25: name a Python that has it, --peers PYTHON")
        return
    few = texts[:20]
    given = {"texts": [words(f"{doc.title} {doc.text}") for doc in corpus.docs], "queries": list(map(words, few))}
    done = subprocess.run([peers, "-c", RANK_BM25], input=json.dumps(given), text=True, capture_output=True, check=True)
    theirs = float(done.stdout)
    row(f"search {passages:,} passages / rank_bm25", a * each, theirs, theirs / (a * each), ">= 100")


def warm(folder: Path, passages: int) -> None:
    corpus, asked = make(folder, passages, 200)
    words_ = [sys.executable, "-c", FIRST_ROW, str(corpus), str(folder / "index"), str(asked)]
    seconds = []
    for _ in range(6):
        done = subprocess.run(words_, check=True, capture_output=True, text=True, cwd=ROOT)
        seconds.append(float(done.stdout.splitlines()[-1]))
    found = statistics.median(seconds[1:])
    print(f"{f'first row from an index of {passages:,} passages, imports apart':<62} {found:>9.3f} s    goal < 1.5")


def pools(count: int) -> None:
    import bm25s

    for size in (10, 20):
        texts = list(drawn(size * count, 100, 3))
        docs = [Doc(id=f"d{at}", text=" ".join(text)) for at, text in enumerate(texts)]
        owned = [docs[at : at + size] for at in range(0, len(docs), size)]
        asked = [" ".join(text) for text in drawn(count, 10, 4)]
        retriever = bm25.open_retriever(None)

        def ours(asked: list[str] = asked, owned: list[list[Doc]] = owned, retriever: bm25.Bm25 = retriever) -> None:
            for text, pool in zip(asked, owned, strict=True):
                retriever.search(text, pool, 5)

        def theirs(asked: list[str] = asked, owned: list[list[Doc]] = owned) -> None:
            for text, pool in zip(asked, owned, strict=True):
                index = bm25s.BM25(method="lucene")
                index.index(bm25s.tokenize([doc.text for doc in pool], show_progress=False), show_progress=False)
                index.retrieve(bm25s.tokenize(text, show_progress=False), k=5, show_progress=False)

        a, b, ratio = paired(5, ours, theirs)
        row(f"a question's own {size} documents / a bm25s index for each", a / count, b / count, ratio, ">= 20")


def scale(folder: Path, passages: int, shard_size: int) -> None:
    """Whole commands: the first one builds, the second one opens."""
    corpus, asked = make(folder, passages, 1000)
    one = folder / "one.jsonl"
    one.write_bytes(asked.read_bytes().split(b"\n")[0] + b"\n")
    index = folder / "scale"
    text = corpus.stat().st_size

    def run(questions: Path) -> tuple[float, float, float]:
        """Wall clock and CPU seconds, peak MiB."""
        started = time.perf_counter()
        command = ["retrieve", str(questions), "--corpus", str(corpus), "--index", str(index), "-k", "10"]
        process = subprocess.Popen(
            [sys.executable, "-m", "ragpack", *command, "--shard-size", str(shard_size)],
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, status
        return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    wall, seconds, peak = run(one)
    kept = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    few, many = run(one), run(asked)
    print(f"{passages:,} passages of {text / passages:.0f} bytes, shards of {shard_size:,}")
    print(
        f"  build   {wall:.0f} s, {seconds:.0f} s CPU, {1e6 * seconds / passages:.0f} µs a passage, peak {peak:.0f} MiB"
    )
    print(f"  disk    {kept / passages:.0f} bytes a passage beside the corpus")
    print(f"  warm    {few[0]:.2f} s a whole command with one question, {few[1]:.2f} s CPU, peak {few[2]:.0f} MiB")
    print(f"  search  {1000 * (many[1] - few[1]) / 999:.1f} ms CPU a question, peak {many[2]:.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="search warm pools scale")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--shard-size", type=int, default=1_000_000)
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--folder", metavar="DIR", help="for the made files; else a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for part in given.parts or ["search", "warm", "pools"]:
            if part == "search":
                search(folder, given.passages, given.peers)
            elif part == "warm":
                warm(folder, given.passages)
            elif part == "pools":
                pools(200)
            elif part == "scale":
                scale(folder, given.passages, given.shard_size)
            else:
                parser.error(f"no part '{part}': search warm pools scale")


if __name__ == "__main__":
    main()
