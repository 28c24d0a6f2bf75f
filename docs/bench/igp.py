"""Tables of a run of `igp.sh`: what pruning keeps, what it costs, and what the answers are worth.

    python docs/bench/igp.py WORK

The threshold is scanned on one half of the questions, and what the best one gives is reported on the other; the half of
a question is a hash of its id.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import orjson

SETS = {"nq": "NQ", "triviaqa": "TriviaQA", "popqa": "PopQA"}
THRESHOLDS = (-1.0, -0.3, -0.2, -0.1, 0.0, 0.05, 0.1)


def place(policy: str) -> tuple[bool, float]:
    """Where a policy stands in a table: the retriever first, then by threshold."""
    return policy.startswith("igp"), threshold_of(policy)


def threshold_of(policy: str) -> float:
    """Of `igp`, where it is pruned."""
    return float(options(policy).get("threshold", 0.05))


def options(policy: str) -> dict[str, str]:
    """What is given in a canonical string."""
    return dict(pair.split("=") for pair in policy.partition(":")[2].split(",") if pair)


def named(policy: str) -> str:
    """What the page calls a policy."""
    name, given, threshold = policy.partition(":")[0], options(policy), threshold_of(policy)
    what = "retriever" if name == "topk" else "IG order" if threshold == -1 else f"IGP({threshold:g})".replace("-", "−")
    return f"{what}, {'M = 1' if 'm' in given else 'all'}"


def main(work: Path) -> None:
    """Print all tables as Markdown."""
    probed = {
        name: list(read(work / f"{name}.probed.jsonl")) for name in SETS if (work / f"{name}.rows.jsonl").exists()
    }
    rows = {name: list(read(work / f"{name}.rows.jsonl")) for name in probed}
    separation(probed)
    for name in probed:
        table(name, work, rows[name], shares(rows[name]))
    scan(rows)


def separation(probed: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Does IG tell passages with an answer from others?"""
    print("| set | questions | passages | with an answer | NU(q) | mean IG, with | without | IG > 0 | IG ≥ 0.05 "
          "| AUC of IG | AUC of rank | calls | tokens |")  # fmt: skip
    print("|---" * 13 + "|")
    for name, records in probed.items():
        hits = [hit for record in records for hit in record["hits"]]
        gains = np.array([hit["scores"]["ig"] for hit in hits])
        right = np.array([bool(hit["has_answer"]) for hit in hits])
        within = [
            (auc([hit["scores"]["ig"] for hit in hits], marks), auc([-hit["rank"] for hit in hits], marks))
            for hits in (record["hits"] for record in records)
            if 0 < sum(marks := [bool(hit["has_answer"]) for hit in hits]) < len(marks)
        ]  # fmt: skip
        by_gain, by_rank = (statistics.mean(pair[at] for pair in within) for at in (0, 1))
        cells = [
            f"{statistics.mean(record['probe']['nu0'] for record in records):.3f}", f"{gains[right].mean():.3f}",
            f"{gains[~right].mean():.3f}", f"{(gains > 0).mean():.2f}", f"{(gains >= 0.05).mean():.2f}",
            f"{by_gain:.3f}", f"{by_rank:.3f}",
            f"{statistics.mean(record['probe']['calls'] for record in records):.2f}",
            f"{statistics.mean(record['probe']['tokens'] for record in records):.0f}",
        ]  # fmt: skip
        print(f"| {SETS[name]} | {len(records)} | {len(hits)} | {right.mean():.2f} | " + " | ".join(cells) + " |")
    print()


def auc(values: Sequence[float], marks: Sequence[bool]) -> float:
    """Share of pairs (marked, not marked) of a question in which the marked one has the larger value; ties are half."""
    pairs = [(a > b) + (a == b) / 2 for a, one in zip(values, marks, strict=True) if one
             for b, other in zip(values, marks, strict=True) if not other]  # fmt: skip
    return statistics.mean(pairs)


def shares(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[float, ...]]:
    """By policy: share of hits that are in the context, of contexts that are empty, of answers that hold a gold one."""
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for row in rows:
        kept = len({snippet["rank"] for snippet in row["pack"]["snippets"]})
        found[row["pack"]["policy"]].append((kept / max(len(row["hits"]), 1), float(kept == 0), row["diagnose"]["acc"]))
    return {name: tuple(map(statistics.mean, zip(*each, strict=True))) for name, each in found.items()}


def table(name: str, work: Path, rows: Sequence[dict[str, Any]], kept: Mapping[str, tuple[float, ...]]) -> None:
    """One set: means, costs, and differences from the retriever's order with the same M."""
    print(f"**{SETS[name]}**, {len({row['id'] for row in rows})} questions\n")
    print("| contexts | passages kept | empty | AiC | F1 | EM | acc | TK | NTE | ΔF1 from the retriever |")
    print("|---" * 10 + "|")
    for base in ("topk", "topk:m=1"):
        stats = list(read(work / f"{name}.{base}.stats.jsonl"))
        contrasts = {row["policy"]: row for row in stats
                     if row["table"] == "contrasts" and row["metric"] == "f1" and row["baseline"] == base}  # fmt: skip
        for row in sorted(stats, key=lambda row: place(row["policy"])):
            if row["table"] != "policies" or ("m=1" in row["policy"]) != ("m=1" in base):
                continue
            policy = row["policy"]
            one = contrasts.get(policy)
            change = f"{one['difference']:+.3f} {interval(one['ci'])}" if one else ""
            share, none, acc = kept[policy]
            nte = "" if row.get("nte") is None else f"{row['nte']:.2f} {interval(row['nte_ci'])}"
            print(f"| {named(policy)} | {share:.2f} | {none:.2f} | {row['answer_in_context']:.3f} "
                  f"| {row['f1']:.3f} {interval(row['f1_ci'])} | {row['em']:.3f} | {acc:.3f} "
                  f"| {row['prompt_tokens']:.0f} | {nte} "
                  f"| {change} |")  # fmt: skip
    bare = [row["generate"]["tokens"]["prompt"] for row in rows if not row["pack"]["context"]]
    print(f"\nA prompt without evidence has {statistics.mean(bare):.0f} tokens.\n")


def interval(pair: Sequence[float | None] | None) -> str:
    """An interval as it is printed."""
    if not pair:
        return ""
    return "[" + ", ".join("–" if value is None else f"{value:.3f}" for value in pair) + "]"


def scan(rows: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """F1 and prompt tokens by threshold on one half, and the best threshold of that half on the other."""
    print(
        "| set | half | retriever | "
        + " | ".join(f"T = {t:g}" for t in THRESHOLDS)
        + " | best T of the other half here |"
    )
    print("|---" * (4 + len(THRESHOLDS)) + "|")
    for name, each in rows.items():
        means = {
            half: {policy: statistics.mean(values) for policy, values in f1s(each, half).items()} for half in (0, 1)
        }
        specs = [spec_of(t) for t in THRESHOLDS]
        for half in (0, 1):
            best = max(specs, key=lambda spec, half=half: means[1 - half][spec])
            cells = [f"{means[half][spec]:.3f}" for spec in specs]
            print(f"| {SETS[name]} | {half} | {means[half]['topk']:.3f} | " + " | ".join(cells)
                  + f" | {named(best)}: {means[half][best]:.3f} |")  # fmt: skip


def spec_of(threshold: float) -> str:
    """The policy of a threshold, as its canonical string."""
    return "igp" if threshold == 0.05 else f"igp:threshold={threshold}"


def f1s(rows: Sequence[dict[str, Any]], half: int) -> dict[str, list[float]]:
    """F1 of one half of the questions, by policy."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if blake2b(row["id"].encode(), digest_size=1).digest()[0] % 2 == half:
            found[row["pack"]["policy"]].append(row["diagnose"]["f1"])
    return found


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file."""
    with path.open("rb") as lines:
        for line in lines:
            yield orjson.loads(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
