"""Dense retrieval beside the libraries it stands on, both sides measured in one run.

    python docs/bench/dense.py MODEL                    # MODEL: a sentence-transformers folder
    python docs/bench/dense.py MODEL --texts 256 --vectors 100000 --runs 5

- search: `Dense.search` over a corpus of random vectors, k = 10, one question at a time, against `index.search` of the
  same exact FAISS index, k = 10, one vector at a time. Both get the question's vector for nothing; ours maps the file,
  looks behind the k-th for ties, sorts by id and reads the documents.
- embedding: writing the shards of a corpus of texts of 5 to 200 words against one bare `SentenceTransformer.encode`
  of all of them, the same batch size. Both sort by length.

Times are processor seconds of this process, medians of alternating runs; ratios are theirs / ours, run by run, so that
1 is as fast. Nothing here is a test: a busy machine moves the figures.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ragpack.models.embedder import BATCH, Embedder  # noqa: E402 # the tree before an installed ragpack
from ragpack.models.folder import device  # noqa: E402 # as above
from ragpack.models.usage import Usage  # noqa: E402 # as above
from ragpack.records import Doc  # noqa: E402 # as above
from ragpack.retrievers.dense import Dense  # noqa: E402 # as above
from ragpack.retrievers.vectors import SHARD, Layout, Mapped, build, embed_shards  # noqa: E402 # as above

DIM = 320
QUESTIONS = 50


class Given(Embedder):
    """An embedder whose vectors are there already."""

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__("", "", Path())
        self._rows = rows

    def encode(self, texts: object) -> np.ndarray:
        """[1, dim] the vector of the question that names its place."""
        return self._rows[[int(text) for text in texts]]  # type: ignore[attr-defined] # a list of numbers as text


def silent(text: str) -> None:
    """Nobody listens."""


def seconds(run: Callable[[], object]) -> float:
    """Processor time of all threads."""
    started = time.process_time()
    run()
    return time.process_time() - started


def compare(name: str, ours: Callable[[], object], theirs: Callable[[], object], runs: int, of: int) -> None:
    """Print medians and the range of the ratio."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(runs)]
    ratios = sorted(other / own for own, other in pairs)
    own, other = (statistics.median(side) * 1000 / of for side in zip(*pairs, strict=True))
    print(f"{name}: {own:.3f} ms against {other:.3f} ms, ratio {statistics.median(ratios):.3f} "
          f"({ratios[0]:.3f} to {ratios[-1]:.3f}, {runs} runs)", flush=True)  # fmt: skip


def search(n: int, runs: int) -> None:
    """Exact search."""
    import faiss

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n + QUESTIONS, DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    docs = [Doc(id=str(at), text="") for at in range(n)]
    layout = Layout("flat", DIM, 0, 0, 0, 32, 128)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        embed_shards(place, n, lambda start, end: list(range(start, end)), lambda at: rows[at], silent)
        build(place, place, n, layout)
        bare = faiss.read_index(str(place / "index.faiss"))
        queries = rows[n:]

        def ours() -> None:
            # Anew each time: a question's vector is remembered.
            dense = Dense(Given(queries), "random", Usage("", "", DIM), "", docs, Mapped(place, layout))
            for at in range(QUESTIONS):
                dense.search(str(at), None, 10)

        def theirs() -> None:
            for at in range(QUESTIONS):
                bare.search(queries[at : at + 1], 10)

        compare(f"exact search of {n:,} vectors, a question", ours, theirs, runs, QUESTIONS)


def embedding(model: str, n: int, runs: int) -> None:
    """Embedding."""
    from sentence_transformers import SentenceTransformer

    rng = np.random.default_rng(0)
    words = np.array(["river", "bridge", "tern", "gull", "coast", "painter", "mayor", "film", "ship", "north"])
    texts = [" ".join(rng.choice(words, rng.integers(5, 200))) for _ in range(n)]
    embedder, bare = Embedder("", model, Path(model)), SentenceTransformer(model, device=device())

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder:
            embed_shards(Path(folder), n, lambda start, end: texts[start:end], embedder.encode, silent)

    def theirs() -> None:
        bare.encode(texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)

    compare(f"embedding of {n:,} texts in shards of {SHARD:,}, a text", ours, theirs, runs, n)


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    search(options.vectors, options.runs)
    embedding(options.model, options.texts, options.runs)


if __name__ == "__main__":
    main()
