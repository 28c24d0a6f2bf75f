"""Selection alone: our packers beside those of other libraries, on the same matrices, in one run.

    python docs/bench/selection.py --peers PYTHON     # PYTHON: an interpreter that has the other libraries
    python docs/bench/selection.py --growth           # only ours: how time grows with n
    python docs/bench/selection.py --hits HITS        # what each optimiser of submod reaches on records of `retrieve`

    python -m venv peers && peers/bin/pip install submodlib-py apricot-select langchain-core llama-index-core

What is compared, for n candidates and a budget of B tokens (costs of 12 to 45 tokens, 48 nonzero dimensions of 600):

- coverage: `submod` with its coverage term alone (rel = qry = div = 0), ratio and lazy, objective and bound included,
  against facility location of submodlib (NaiveGreedy and LazyGreedy) and apricot (lazy). All start from the same
  similarity matrix. The peers take no budget in tokens: they choose as many as `ratio` did.
- mmr: from the same vectors, lambda 0.7, as many as ours took; our relevance is the peers' cosine with a question
  vector, made beforehand. Ours includes the product that gives the similarities.
- whole: `submod` with all four terms at its default weights, for which there is no peer.

Each figure is the median over 5 problems of the median of runs, in microseconds: ours, then the peers', problem by
problem. apricot compiles in every fit, so it runs once, on the first problem of a cell. Peers that are not
installed are left out. Nothing here is a test: a busy machine moves the figures.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

SIZES = (20, 50, 100, 200)
BUDGETS = (160, 2000)
PROBLEMS = 5
GOALS = {"submodlib naive": 5, "submodlib lazy": 5, "apricot": 100, "langchain": 5, "llamaindex": 5}


def vectors_of(n: int, seed: int) -> np.ndarray:
    """[n + 1, 600] rows of length 1, like tf-idf: few terms in each, some in many rows. The last is the question."""
    rng = np.random.default_rng([n, seed])
    weight = 1.0 / np.sqrt(np.arange(1, 601))
    rows = np.zeros((n + 1, 600))
    for row in rows:
        at = rng.choice(600, size=48, replace=False, p=weight / weight.sum())
        row[at] = rng.random(48) / weight[at]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def median(run: Callable[[], object], runs: int) -> float:
    """Microseconds. The first of several runs is not counted."""
    found = []
    for _ in range(runs + 1 if runs > 1 else 1):
        started = time.perf_counter()
        run()
        found.append(time.perf_counter() - started)
    return statistics.median(found[-runs:]) * 1e6


# The other side: the same file, run by the other interpreter. It reads one job a line and writes one answer a line.


def peers() -> None:
    """Answer jobs {"n", "seed", "facility": k, "mmr": k} with {"name": microseconds}."""
    facility, diverse = _facility_peers(), _mmr_peers()
    for line in sys.stdin:
        job = json.loads(line)
        rows = vectors_of(job["n"], job["seed"])
        vectors, question = rows[:-1], rows[-1]
        similarity = np.clip(vectors @ vectors.T, 0.0, 1.0)
        found = {
            name: median(partial(run, similarity, job["facility"]), runs)
            for name, (run, runs) in facility.items()
            if job["seed"] == 0 or name != "apricot"
        }
        found |= {name: median(partial(run, vectors, question, job["mmr"]), 3) for name, run in diverse.items()}
        print(json.dumps(found), flush=True)


def _facility_peers() -> dict:
    found = {}
    try:
        from submodlib.functions.facilityLocation import FacilityLocationFunction
    except ImportError as error:
        print(f"submodlib: {error}", file=sys.stderr)
    else:

        def submodlib(optimizer: str) -> Callable:
            def run(similarity: np.ndarray, k: int) -> object:
                n = len(similarity)  # it refuses to choose all
                function = FacilityLocationFunction(n=n, mode="dense", sijs=similarity, separate_rep=False)
                return function.maximize(budget=min(k, n - 1), optimizer=optimizer, show_progress=False)

            return run

        found |= {"submodlib naive": (submodlib("NaiveGreedy"), 5), "submodlib lazy": (submodlib("LazyGreedy"), 5)}
    try:
        from apricot import FacilityLocationSelection
    except ImportError as error:
        print(f"apricot: {error}", file=sys.stderr)
    else:
        # It compiles its kernel in every fit, the first and the last: one counted run is enough.
        found["apricot"] = (lambda s, k: FacilityLocationSelection(k, metric="precomputed", optimizer="lazy").fit(s), 1)
    return found


def _mmr_peers() -> dict:
    found: dict = {}
    try:
        from langchain_core.vectorstores.utils import maximal_marginal_relevance
    except ImportError as error:
        print(f"langchain: {error}", file=sys.stderr)
    else:
        found["langchain"] = lambda v, q, k: maximal_marginal_relevance(q, v, lambda_mult=0.7, k=k)
    try:
        from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
    except ImportError as error:
        print(f"llamaindex: {error}", file=sys.stderr)
    else:
        found["llamaindex"] = lambda v, q, k: get_top_k_mmr_embeddings(
            q, list(v), similarity_top_k=k, mmr_threshold=0.7
        )
    return found


# Our side.


def problem_of(n: int, seed: int) -> object:
    """The same vectors as a Problem. Its similarity is not computed yet."""
    from ragpack.candidates.problem import Problem

    rows = vectors_of(n, seed)
    rng = np.random.default_rng([seed, n])
    relevance = rows[:-1] @ rows[-1]
    document = np.arange(n, dtype=np.int64) // 5
    return Problem(
        relevance=relevance / relevance.max(),
        cost=rng.integers(12, 46, n),
        document=document,
        rank=document + 1,
        position=np.arange(n, dtype=np.int64) % 5,
        terms=rng.random((n, 8)) < 0.15,
        vectors=rows[:-1],
    )


def ours(n: int, budget: int, seed: int) -> tuple[dict[str, float], dict[str, int]]:
    """(microseconds by name, number of picks by name)."""
    from ragpack.packers.focused import focused
    from ragpack.packers.mmr import mmr
    from ragpack.packers.packed import packed
    from ragpack.packers.submod import submod

    problem = problem_of(n, seed)
    coverage = {"rel": 0.0, "qry": 0.0, "div": 0.0}

    def selection(packer: Callable, ready: bool, **options: object) -> Callable[[], object]:
        """A fresh Problem each time, since it keeps what was computed; the similarity is there where it is given."""

        def run() -> float:
            fresh = replace(problem)
            if ready:
                fresh.__dict__["similarity"] = problem.similarity
            started = time.perf_counter()
            packer(fresh, budget, **options)
            return time.perf_counter() - started

        run()
        return run

    runs = {
        "coverage ratio": selection(submod, True, **coverage),
        "coverage lazy": selection(submod, True, **coverage, optimiser="lazy"),
        "mmr": selection(mmr, False),
        "whole ratio": selection(submod, True),
        "whole lazy": selection(submod, True, optimiser="lazy"),
        "packed": selection(packed, True),
        "focused": selection(focused, True),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(21 if n <= 500 else 5):
        for name, run in runs.items():
            times[name].append(run() * 1e6)
    picks = {
        "facility": len(submod(problem, budget, **coverage).chosen),
        "mmr": len(mmr(problem, budget).chosen),
    }
    return {name: statistics.median(found) for name, found in times.items()}, picks


def over(found: list[dict[str, float]]) -> dict[str, float]:
    """Medians over problems."""
    return {name: statistics.median(one[name] for one in found if name in one) for name in found[0]}


def beside(python: str) -> None:
    """Every size and budget, our times and the peers', and theirs over ours."""
    command = [python, __file__, "--answer"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    print(f"{'n':>4} {'B':>5} {'picks':>5}  {'ours':<15} {'µs':>9}  {'theirs':<16} {'µs':>10} {'ratio':>9}  goal")
    for n in SIZES:
        for budget in BUDGETS:
            mine, theirs, picks = [], [], []
            for seed in range(PROBLEMS):
                measured, counts = ours(n, budget, seed)
                job = {"n": n, "seed": seed, **counts}
                server.stdin.write(json.dumps(job) + "\n")
                server.stdin.flush()
                mine.append(measured)
                theirs.append(json.loads(server.stdout.readline()))
                picks.append(counts)
            we, they = over(mine), over(theirs)
            count = over(picks)
            for name, took in they.items():
                diverse = name in ("langchain", "llamaindex")
                for own in ["mmr"] if diverse else ["coverage ratio", "coverage lazy"]:
                    k = count["mmr" if diverse else "facility"]
                    print(f"{n:>4} {budget:>5} {k:>5.0f}  {own:<15} {we[own]:>9.0f}  {name:<16} {took:>10.0f} "
                          f"{took / we[own]:>9.1f}  >= {GOALS[name]}", flush=True)  # fmt: skip
    server.stdin.close()
    server.wait()


def growth() -> None:
    """Time from n = 50 to 2,000 at one budget, and the exponent of n between neighbours."""
    sizes = (50, 100, 200, 500, 1000, 2000)
    for budget in BUDGETS:
        rows = {n: over([ours(n, budget, seed)[0] for seed in range(3)]) for n in sizes}
        print(f"\nB={budget}, µs      " + "".join(f"{n:>9}" for n in sizes) + "   exponent, first to last")
        for name in rows[sizes[0]]:
            took = [rows[n][name] for n in sizes]
            exponent = math.log(took[-1] / took[0]) / math.log(sizes[-1] / sizes[0])
            print(f"{name:<18}" + "".join(f"{one:>9.0f}" for one in took) + f"   {exponent:.2f}", flush=True)


def certified(hits: str, tokenizer: str, budgets: tuple[int, ...] = (96, 160, 224)) -> None:
    """Objective, certified ratio and time of each optimiser, over the selections that `pack` makes of these records."""
    from ragpack.flow.mapper import Mapper
    from ragpack.flow.streams import lines
    from ragpack.packers import submod as module
    from ragpack.stages.pack import PackParams, open_pack

    found: dict[tuple[int, str], list[tuple[float, float, float]]] = {}
    search = module.submod

    @wraps(search)
    def watched(problem: object, budget: int, **options: object) -> object:
        module._objective.cache_clear()  # each optimiser builds its own
        _ = problem.similarity
        started = time.perf_counter()
        selection = search(problem, budget, **options)
        took = time.perf_counter() - started
        key = budget, str(options.get("optimiser", "ratio"))
        found.setdefault(key, []).append((selection.objective, selection.bound, took * 1e6))
        return selection

    module.submod = watched
    policies = ["chunk_submod", *(f"chunk_submod:optimiser={name}" for name in module.OPTIMISERS if name != "ratio")]
    stage = open_pack(PackParams(tuple(policies), budgets, tokenizer))
    found.clear()  # it tried them on a tiny problem
    for done in Mapper(stage)(lines([hits])):
        assert not done.failed, done.failed
    print(f"{'B':>4} {'optimiser':<9} {'F':>7} {'F/bound':>8} {'5 %':>6} {'> ratio':>8} {'µs':>8} {'most':>8} {'n':>6}")
    for budget in budgets:
        first = [row[0] for row in found[budget, "ratio"]]
        for name in module.OPTIMISERS:
            rows = found[budget, name]
            ratio = np.array([f / bound if bound else 1.0 for f, bound, _ in rows])
            more = np.mean([row[0] > f + 1e-9 for row, f in zip(rows, first, strict=True)])
            took = [row[2] for row in rows]
            print(f"{budget:>4} {name:<9} {np.mean([row[0] for row in rows]):>7.4f} {ratio.mean():>8.3f} "
                  f"{np.quantile(ratio, 0.05):>6.3f} {more:>8.3f} {statistics.median(took):>8.0f} {max(took):>8.0f} "
                  f"{len(rows):>6}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter with the other libraries")
    parser.add_argument("--growth", action="store_true", help="our times from n = 50 to 2,000")
    parser.add_argument("--hits", metavar="HITS", help="records of `retrieve`: what each optimiser reaches on them")
    parser.add_argument("--tokenizer", default="regex", help="of --hits, as in `pack`")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        peers()
        return
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    if options.peers:
        beside(options.peers)
    if options.growth or not (options.peers or options.hits):
        growth()
    if options.hits:
        certified(options.hits, options.tokenizer)


if __name__ == "__main__":
    main()
