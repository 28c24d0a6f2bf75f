"""Rows of the diagnostic of any number, for benchmarks of `stats`: made up, but correlated as real ones are.

    python docs/bench/rows.py --questions 14286 --policies 7 > rows.jsonl                    # 100,002 rows
    python docs/bench/rows.py --questions 1000 --policies 25 --budgets 96,128,160,224        # 100 cells
    python docs/bench/rows.py --questions 1000 --models 2 --seeds 3 --failed 0.01            # failures among the rows

A question has a difficulty and a number of gold documents; retrieval finds them or not; a policy keeps some; the
reader does better with the answer in its context. A line has the size of a real one, some 3 kB. Numbers come from the
seed alone: equal options, equal bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from typing import Any

import orjson

KS = (1, 2, 5, 10)
WORDS = [f"w{number:03d}" for number in range(1000)]
FAILURE = {"schema": "ragpack.failure/1", "stage": "generate", "source": "packs.jsonl", "line": 1, "id": "",
           "error": {"type": "BackendError", "message": "timed out"}}  # fmt: skip
TITLES = [f"Title of document {number}" for number in range(5)]


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Question by question, then model, seed, budget, policy: the order of a real run."""
    draw = random.Random(options.seed)
    budgets = [int(text) for text in options.budgets.split(",")]
    liking = {at: draw.gauss(0, 0.05) for at in range(options.policies)}
    for number in range(options.questions):
        question = Question(draw, number, options)
        for model in range(options.models):
            for sample in range(options.seeds):
                for budget in budgets:
                    for policy in range(options.policies):
                        if draw.random() >= options.failed:
                            yield row(draw, question, liking[policy], policy, budget, model, sample, options)
                        else:
                            yield FAILURE | {"id": question.id}


class Question:
    """What the rows of a question share."""

    def __init__(self, draw: random.Random, number: int, options: argparse.Namespace) -> None:
        self.id = f"q{number:06d}"
        self.dataset = f"set{number % options.datasets}" if options.datasets > 1 else "made"
        self.kind = "span" if draw.random() < 0.9 else "yes_no"
        self.hard = draw.random()
        self.gold = [f"d{number}-{at}" for at in range(2 if draw.random() < 0.8 else 1)]
        self.found = [draw.random() < 0.9 - 0.4 * self.hard for _ in self.gold]
        self.context = " ".join(draw.choices(WORDS, k=110))
        self.at_k = {}
        reached = sorted(draw.randint(1, 5) for found in self.found if found)
        for k in KS:
            within = sum(place <= k for place in reached)
            known = k <= 5
            self.at_k |= {
                f"recall@{k}": within / len(self.gold) if known else None,
                f"hit@{k}": float(within > 0) if known else None,
                f"all_gold@{k}": float(within == len(self.gold)) if known else None,
                f"ndcg@{k}": within / len(self.gold) * (0.6 + 0.4 * self.hard) if known else None,
                f"answer_in_hits@{k}": float(within > 0) if known else None,
            }
        self.hits = [{"rank": at + 1, "id": f"d{number}-{at}", "title": title, "score": 9.0 / (at + 1),
                      "has_answer": False} for at, title in enumerate(TITLES)]  # fmt: skip


def row(
    draw: random.Random, question: Question, liking: float, policy: int, budget: int, model: int, sample: int,
    options: argparse.Namespace,
) -> dict[str, Any]:  # fmt: skip
    """One row; numbers between 0 and 1 are where the diagnostic has them there."""
    kept = [found and draw.random() < 0.55 + liking + budget / 800 for found in question.found]
    inside = float(any(kept) and draw.random() < 0.85)
    f1 = max(0.0, min(1.0, 0.1 + 0.5 * inside + 0.3 * (0.5 - question.hard) + draw.gauss(0, 0.25)))
    tokens = draw.randint(budget - 30, budget)
    perfect = float(all(question.found))
    snippets = [{"id": question.gold[0], "title": TITLES[0], "rank": 1 + at, "span": [0, 90], "tokens": tokens // 5,
                 "relevance": 1 / (at + 1)} for at in range(5)]  # fmt: skip
    found: dict[str, Any] = {"schema": "ragpack.diagnosis/1", "id": question.id, "question": question.context[:80],
             "answers": [question.context[90:110]], "gold": question.gold, "group": question.dataset}  # fmt: skip
    if options.seeds > 1:
        found["sample"] = {"seed": sample, "n": options.questions}
    found |= {
        "hits": question.hits,
        "retrieve": {"retriever": "bm25", "k": 5, "index": "pool", "key": "0" * 32},
        "pack": {"policy": f"policy_{policy:02d}", "budget": budget, "unit": "made@0", "tokens": tokens,
                 "context": question.context, "snippets": snippets, "dropped": draw.randint(0, 20), "key": "0" * 32},
        "generate": {"reader": "made", "model": f"model-{model}", "prompt": {"name": "answer/1", "hash": "0" * 16},
                     "answer": question.context[90:110], "finish": "stop",
                     "tokens": {"prompt": tokens + 60, "completion": 5}, "key": "0" * 32},
        "diagnose": {"profile": "squad", "answer_kind": question.kind, "answer_in_context": inside,
                     "graded": max(inside, draw.random()), "gold_doc_coverage": sum(kept) / len(kept),
                     "all_gold_in_context": float(all(kept)), "gold_token_density": draw.random(),
                     "answer_in_hits": float(any(question.found)), "all_gold_in_hits": perfect, **question.at_k,
                     "em": float(f1 > 0.9), "f1": round(f1, 3), "verdict": "correct" if f1 > 0.9 else "not_retrieved",
                     "spans": [], "key": "0" * 32},
    }  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    for name, default in (("questions", 14_286), ("policies", 7), ("models", 1), ("seeds", 1), ("datasets", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--budgets", default="160")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failed", type=float, default=0.0, help="share of rows that are failures instead")
    options = parser.parse_args()
    for one in rows(options):
        sys.stdout.buffer.write(orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
