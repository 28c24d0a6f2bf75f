"""Speed of the intervals: prints a JSON line for each comparison, with the seconds of both sides.

    python docs/bench/inference.py paired        # contrast of 1,500 questions, 10,000 resamples: a loop, and scipy
    python docs/bench/inference.py regression    # ΔR² and coefficients, 10,500 rows: refits with statsmodels
    python docs/bench/inference.py rows N M      # N rows of the diagnostic, M for each question, on standard output

One core: set OPENBLAS_NUM_THREADS=1. `bench.py statistics` does, and prints the ratios. Seconds are those of the
processor: other work on the machine is not in them.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import orjson

from ragpack.statistics import bootstrap
from ragpack.statistics.incremental import incremental
from ragpack.statistics.rows import FACTORS, METRICS, Options, Rows, collect

QUESTIONS, RESAMPLES, RUNS, REFITS = 1_500, 10_000, 5, 50


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def fresh(work: Callable[[], object]) -> float:
    """The counts drawn too: nothing is kept of an earlier table."""
    bootstrap._kept.cache_clear()
    return seconds(work)


def tell(name: str, ours: list[float], theirs: list[float], goal: str) -> None:
    """Medians, and the median of the ratios of neighbours."""
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    found = {"name": name, "ours": statistics.median(ours), "theirs": statistics.median(theirs), "ratio": ratio}
    print(orjson.dumps(found | {"goal": goal}).decode(), flush=True)


def rows_of(policies: int, seed: int = 0) -> Rows:
    """A row for each question and policy; only what these tables read."""
    draw = np.random.default_rng(seed)
    n = QUESTIONS * policies
    question = np.repeat(np.arange(QUESTIONS), policies)
    easy = draw.random(QUESTIONS)[question]
    inside = (draw.random(n) < easy).astype(float)
    columns = {name: np.full(n, np.nan) for name in METRICS}
    columns |= {"f1": 0.5 * easy + 0.4 * inside + 0.1 * draw.random(n), "answer_in_context": inside,
                "recall@5": draw.integers(0, 3, QUESTIONS)[question] / 2}  # fmt: skip
    factors: dict = {name: [None] * n for name in FACTORS}
    factors["policy"] = [f"p{at % policies}" for at in range(n)]
    return collect([f"q{at:05}" for at in question], factors, {name: list(column) for name, column in columns.items()})


def paired() -> None:
    """Mean difference in F1 of two policies, and its interval, from the scores."""
    import scipy.stats

    rows = rows_of(2)
    ours, theirs = (rows.columns["f1"][rows.is_level("policy", name)] for name in ("p1", "p0"))
    question = np.arange(QUESTIONS)
    differences = list((ours - theirs).tolist())

    def vectorised() -> None:
        sums = bootstrap.cluster_sums(np.column_stack([ours - theirs, np.ones(QUESTIONS)]), question, QUESTIONS)
        drawn = bootstrap.resampled(sums, RESAMPLES, 0)
        bootstrap.interval(drawn[:, 0] / drawn[:, 1], 0.95)

    def loop() -> None:
        """A resample at a time, a question at a time."""
        draw = random.Random(0)
        means = []
        for _ in range(RESAMPLES // 10):
            total = 0.0
            for _ in range(QUESTIONS):
                total += differences[draw.randrange(QUESTIONS)]
            means.append(total / QUESTIONS)
        means.sort()

    def choices() -> None:
        """The same, with all that the standard library has to make it fast."""
        draw = random.Random(0)
        sorted(sum(draw.choices(differences, k=QUESTIONS)) / QUESTIONS for _ in range(RESAMPLES // 10))

    def scipys() -> None:
        scipy.stats.bootstrap(
            (ours, theirs), lambda a, b, axis: (a - b).mean(axis=axis), paired=True, vectorized=True,
            n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0),
        )  # fmt: skip

    vectorised()
    name = f"paired bootstrap, {QUESTIONS:,} × {RESAMPLES:,}"
    times = [(fresh(vectorised), seconds(vectorised), 10 * seconds(loop), 10 * seconds(choices), seconds(scipys))
             for _ in range(RUNS)]  # fmt: skip
    mine, kept, looped, chosen, scipyd = map(list, zip(*times, strict=True))
    tell(f"{name} / a Python loop (tenth, scaled)", mine, looped, ">= 50")
    tell(f"{name} / random.choices (tenth, scaled)", mine, chosen, "")
    tell(f"{name} / scipy, vectorized", mine, scipyd, ">= 2")
    tell("  its second interval: the counts are drawn / scipy", kept, scipyd, ">= 2")


def regression() -> None:
    """ΔR², standardised coefficients and partial correlation with their intervals."""
    import statsmodels.api as sm

    rows = rows_of(7)
    options = Options(resamples=RESAMPLES)
    x1, x2, y = (rows.columns[name] for name in ("recall@5", "answer_in_context", "f1"))
    members = [np.flatnonzero(rows.question == at) for at in range(QUESTIONS)]

    def table() -> None:
        (row,) = incremental(rows, options)
        assert row["delta_r2_ci"][0] < row["delta_r2"] < row["delta_r2_ci"][1]

    def refits() -> None:
        draw = np.random.default_rng(0)
        for _ in range(REFITS):
            drawn = np.concatenate([members[at] for at in draw.integers(0, QUESTIONS, QUESTIONS)])
            z = [(column[drawn] - column[drawn].mean()) / column[drawn].std() for column in (x1, x2, y)]
            base = sm.OLS(z[2], sm.add_constant(z[0])).fit()
            full = sm.OLS(z[2], sm.add_constant(np.column_stack(z[:2]))).fit()
            assert full.rsquared - base.rsquared > 0
            assert len(full.params) == 3

    table()
    times = [(fresh(table), RESAMPLES / REFITS * seconds(refits)) for _ in range(RUNS)]
    mine, refitted = map(list, zip(*times, strict=True))
    tell(f"ΔR² and β, {rows.n:,} × {RESAMPLES:,} / {REFITS} refits, scaled", mine, refitted, ">= 200, < 5 s")


def stream(number: int, each: int) -> None:
    """Rows as `diagnose` writes them, with hits and a context of the usual length."""
    draw = random.Random(0)
    words = [f"w{at}" for at in range(2_000)]
    for at in range(number):
        question, policy = divmod(at, each)
        local = random.Random(question)
        easy, hits = local.random(), local.choice([0.0, 0.5, 1.0])
        inside = float(draw.random() < easy)
        f1 = round(min(1.0, 0.5 * inside + 0.5 * draw.random()), 3)
        at_k = {f"{name}@{k}": hits for name in ("recall", "hit", "all_gold", "ndcg") for k in (1, 2, 5)}
        row = {
            "schema": "ragpack.diagnosis/1", "id": f"q{question}", "question": "?",
            "hits": [{"id": f"d{k}", "rank": k, "text": " ".join(draw.choices(words, k=80))} for k in range(1, 6)],
            "pack": {"policy": f"p{policy}", "budget": 160, "unit": "regex", "tokens": draw.randint(120, 160),
                     "context": " ".join(draw.choices(words, k=120)), "snippets": [], "dropped": 0},
            "generate": {"reader": "x", "model": "m", "prompt": {"name": "", "hash": ""}, "answer": "a",
                         "finish": "stop", "tokens": {"prompt": 200, "completion": 3}},
            "diagnose": {"profile": "squad", "answer_kind": "span", "f1": f1, "em": float(f1 > 0.9),
                         "answer_in_context": inside, "graded": max(inside, round(draw.random(), 3)),
                         "gold_doc_coverage": draw.choice([0.0, 0.5, 1.0]),
                         "all_gold_in_context": draw.choice([0.0, 1.0]), "gold_token_density": draw.random(),
                         "all_gold_in_hits": float(hits == 1.0), "answer_in_hits": max(inside, hits), **at_k},
        }  # fmt: skip
        sys.stdout.buffer.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["paired"]:
            paired()
        case ["regression"]:
            regression()
        case ["rows", number, each]:
            stream(int(number), int(each))
        case _:
            raise SystemExit(__doc__)
