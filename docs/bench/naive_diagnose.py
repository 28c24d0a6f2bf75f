"""The diagnostic as a script for one paper would have it: pure Python, one row after another, nothing kept.

    python docs/bench/naive_diagnose.py packs-or-answers.jsonl rows.jsonl

Written in the manner of the public HotpotQA evaluation: each comparison normalises both of its sides, F1 counts words
with a Counter, the answer is looked for token by token. `bench.py diagnose` times `ragpack diagnose` against it and
checks that the numbers are the same. Prints the seconds that it took.
"""

from __future__ import annotations

import json
import math
import re
import string
import sys
import time
from collections import Counter
from typing import Any

KS = (1, 2, 5, 10)
PUNCTUATION = set(string.punctuation)


def normalize(text: str) -> str:
    text = text.lower()
    text = "".join(char for char in text if char not in PUNCTUATION)
    text = re.sub(r"\b(a|an|the)\b", " ", text)
    return " ".join(text.split())


def exact(prediction: str, gold: str) -> float:
    return float(normalize(prediction) == normalize(gold))


def token_f1(prediction: str, gold: str) -> float:
    ours, theirs = normalize(prediction).split(), normalize(gold).split()
    same = sum((Counter(ours) & Counter(theirs)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(ours), same / len(theirs)
    return 2 * precision * recall / (precision + recall)


def answer_in(context: str, golds: list[str]) -> float:
    for gold in golds:
        words, wanted = normalize(context).split(), normalize(gold).split()
        if not wanted:
            continue
        for start in range(len(words) - len(wanted) + 1):
            if words[start : start + len(wanted)] == wanted:
                return 1.0
    return 0.0


def graded(context: str, golds: list[str]) -> float:
    best = 0.0
    for gold in golds:
        words, wanted = normalize(context).split(), normalize(gold).split()
        size = len(wanted)
        if not size:
            continue
        for start in range(max(1, len(words) - 2 * size + 1)):
            window = words[start : start + 2 * size]
            best = max(best, sum((Counter(window) & Counter(wanted)).values()) / size)
    return best


def dcg(gains: list[int]) -> float:
    return sum((2**gain - 1) / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def diagnose(row: dict[str, Any]) -> dict[str, float | None]:
    context, golds, gold = row["pack"]["context"], row["answers"], row["gold"]
    hits = sorted(row["hits"], key=lambda hit: hit["rank"])
    ranked = [hit["id"] for hit in hits]
    docs = [snippet["id"] for snippet in row["pack"]["snippets"]]
    known = any(normalize(one) for one in golds)
    found = {"answer_in_context": answer_in(context, golds) if known else None}
    found["graded"] = graded(context, golds) if known else None
    found["gold_doc_coverage"] = len(set(gold) & set(docs)) / len(set(gold)) if gold else None
    found["all_gold_in_context"] = float(set(gold) <= set(docs)) if gold else None
    inside = sum(one["tokens"] for one in row["pack"]["snippets"] if one["id"] in gold)
    found["gold_token_density"] = inside / row["pack"]["tokens"] if gold and row["pack"]["tokens"] else None
    found["answer_in_hits"] = float(any(hit["has_answer"] for hit in hits)) if known else None
    found["all_gold_in_hits"] = float(set(gold) <= set(ranked)) if gold else None
    for k in KS:
        top = ranked[:k]
        deep = gold and k <= max(row["retrieve"]["k"], len(hits))
        found[f"recall@{k}"] = len(set(gold) & set(top)) / len(set(gold)) if deep else None
        found[f"hit@{k}"] = float(bool(set(gold) & set(top))) if deep else None
        found[f"all_gold@{k}"] = float(set(gold) <= set(top)) if deep else None
        ideal = dcg([1] * min(len(gold), k)) if deep else 0
        found[f"ndcg@{k}"] = dcg([int(one in gold) for one in top]) / ideal if deep else None
        found[f"answer_in_hits@{k}"] = float(any(hit["has_answer"] for hit in hits[:k])) if deep and known else None
    if "generate" in row:
        answer = row["generate"]["answer"]
        found["em"] = max((exact(answer, one) for one in golds), default=None)
        found["f1"] = max((token_f1(answer, one) for one in golds), default=None)
    return found


def main() -> None:
    started = time.perf_counter()
    with open(sys.argv[1], encoding="utf-8") as source, open(sys.argv[2], "w", encoding="utf-8") as target:
        for line in source:
            row = json.loads(line)
            row["diagnose"] = diagnose(row)
            target.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(time.perf_counter() - started)


if __name__ == "__main__":
    main()
