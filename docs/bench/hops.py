"""Multi-hop retrieval on HotpotQA, 2WikiMultihopQA and MuSiQue: recall@k and all_gold@k, and the search for settings.

    python docs/bench/hops.py DATA                        # bm25 and hops on the half that settings were not chosen on
    python docs/bench/hops.py DATA --retriever hops:n=1   # other specs; the option may be repeated
    python docs/bench/hops.py DATA --ablation             # hops without one ingredient at a time
    python docs/bench/hops.py DATA --choose               # the search that chose the defaults, on its half; minutes

DATA holds `hotpotqa/`, `2wikimultihopqa/` and `musique/`. A hash of a question's id decides its half. Settings are
chosen on half 0 and reported on half 1; `--half all` takes both.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ragpack.datasets import corpus, hotpotqa, musique, twowiki  # noqa: E402 # the tree before an installed ragpack
from ragpack.metrics.retrieval import all_gold_at, recall_at  # noqa: E402 # as above
from ragpack.records import Question  # noqa: E402 # as above
from ragpack.registry import arguments_of, load, parse_spec  # noqa: E402 # as above
from ragpack.retrievers import RETRIEVERS  # noqa: E402 # as above
from ragpack.retrievers.base import Retriever  # noqa: E402 # as above
from ragpack.retrievers.corpus import Corpus  # noqa: E402 # as above
from ragpack.stages.retrieve import options_of  # noqa: E402 # as above

CUTS = (2, 5, 10)
HOTPOTQA = ("hotpot_dev_distractor_sample.json", "hotpot_train_sample.json", "hotpotqa_ircot_dev_subsampled.jsonl")
MUSIQUE = ("musique_ans_train_sample.jsonl", "musique_ans_dev_sample.jsonl")
TWOWIKI = "2wikimultihopqa_questions.json", "2wikimultihopqa_gold_titles.derived.tsv", "2wikimultihopqa_corpus.json"
ABLATION = (
    "bm25", "hops", "hops:n=0", "hops:n=1", "hops:n=3", "hops:lift=0", "hops:same=0", "hops:title=0,back=0",
    "hops:back=0", "hops:names=0", "hops:own=0", "hops:rest=0",
)  # fmt: skip
GRID: dict[str, tuple[float, ...]] = {
    "n": (1, 2, 3, 4), "beam": (4, 5, 6, 8, 10),
    "keep": (0.75, 0.8, 0.85, 0.9, 0.95), "lift": (0.8, 1.0, 1.15, 1.3, 1.5),
    "same": (0.0, 0.1, 0.2, 0.3), "back": (0.0, 0.4, 0.5, 0.6, 0.7, 0.8),
    "names": (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0),
    "own": (0.2, 0.3, 0.35, 0.4, 0.45, 0.5), "rest": (0.3, 0.4, 0.5, 0.6, 0.7),
}  # fmt: skip


class Set(NamedTuple):
    """Questions with gold documents, and the corpus that they are searched in, if it is not their own pools."""

    name: str
    questions: list[Question]
    corpus: Corpus | None


class Scored(NamedTuple):
    """Means over the questions of a set."""

    recall: dict[int, float]
    all_gold: dict[int, float]
    milliseconds: float
    """Of processor time, for one question."""


def sets(data: Path, half: int | None) -> Iterator[Set]:
    """The three sets. A question that is in several files of HotpotQA counts once."""
    hotpot: dict[str, Question] = {}
    for name in HOTPOTQA:
        for question in hotpotqa.read(str(data / "hotpotqa" / name), refuse):
            hotpot.setdefault(question.id, question)
    questions, gold, documents = (str(data / "2wikimultihopqa" / name) for name in TWOWIKI)
    passages = Corpus(list(corpus.read(documents, refuse)), "")
    for title, found, searched in (
        ("HotpotQA", list(hotpot.values()), None),
        ("2Wiki", list(twowiki.read(questions, refuse, gold=gold)), passages),
        ("MuSiQue", [one for name in MUSIQUE for one in musique.read(str(data / "musique" / name), refuse)], None),
    ):
        yield Set(title, [one for one in found if one.gold and half in (None, half_of(one.id))], searched)


def half_of(identity: str) -> int:
    """0: settings are chosen on it; 1: they are reported on it."""
    return blake2b(identity.encode(), digest_size=8).digest()[0] & 1


def refuse(source: str, number: int, error: Exception, identity: object) -> None:
    """A bad entry of the data."""
    raise SystemExit(f"{source}:{number}: {identity}: {error}")


def opened(text: str, searched: Corpus | None) -> Retriever:
    """The retriever of a spec."""
    spec = parse_spec(text, "retriever", RETRIEVERS, options_of)
    opener = load(RETRIEVERS, spec.name)
    retriever: Retriever = opener(searched, **arguments_of(opener, dict(spec.given)))
    return retriever


def scored(retriever: Retriever, one: Set) -> Scored:
    """Search all questions of a set."""
    started = time.process_time()
    ranked = [[found.doc.id for found in retriever.search(question.question, question.docs, max(CUTS))]
              for question in one.questions]  # fmt: skip
    spent = time.process_time() - started
    pairs = [(ids, question.gold) for ids, question in zip(ranked, one.questions, strict=True)]
    n = len(pairs)
    return Scored(
        {k: math.fsum(recall_at(ids, gold, k) or 0.0 for ids, gold in pairs) / n for k in CUTS},
        {k: math.fsum(all_gold_at(ids, gold, k) or 0.0 for ids, gold in pairs) / n for k in CUTS},
        1000 * spent / n,
    )


def table(found: list[Set], specs: list[str]) -> None:
    """Print the rows of a Markdown table."""
    print("| set | n | retriever | " + " | ".join(f"recall@{k}" for k in CUTS) + " | "
          + " | ".join(f"all_gold@{k}" for k in CUTS) + " | CPU ms a question |")  # fmt: skip
    print("|---" * (4 + 2 * len(CUTS)) + "|")
    for one in found:
        for spec in specs:
            result = scored(opened(spec, one.corpus), one)
            numbers = [f"{value:.3f}" for value in (*result.recall.values(), *result.all_gold.values())]
            cells = [one.name, str(len(one.questions)), f"`{spec}`", *numbers, f"{result.milliseconds:.1f}"]
            print(f"| {' | '.join(cells)} |", flush=True)


def choose(found: list[Set], minutes: float) -> None:
    """Walk along one parameter after another from the defaults, as long as the objective grows.

    The objective: all_gold@5 + recall@5 / 2 + all_gold@2 / 5 + all_gold@10 / 10, the sets weighted by the root of their
    number of questions.
    """
    until = time.monotonic() + 60 * minutes
    given: dict[str, float] = {}
    best = objective(found, given)
    print(f"{best:.4f} {spec_of({})}", flush=True)
    better = True
    while better and time.monotonic() < until:
        better = False
        for key, values in GRID.items():
            for value in values:
                if time.monotonic() >= until:
                    break
                tried = {**given, key: value}
                reached = objective(found, tried)
                if reached > best + 1e-9:
                    best, given, better = reached, tried, True
                    print(f"{best:.4f} {spec_of(given)}", flush=True)


def objective(found: list[Set], given: dict[str, float]) -> float:
    """See `choose`."""
    total = weights = 0.0
    for one in found:
        result = scored(opened(spec_of(given), one.corpus), one)
        value = result.all_gold[5] + result.recall[5] / 2 + result.all_gold[2] / 5 + result.all_gold[10] / 10
        weight = math.sqrt(len(one.questions))
        total, weights = total + weight * value, weights + weight
    return total / weights


def spec_of(given: dict[str, float]) -> str:
    """The canonical spec."""
    text = "hops:" + ",".join(f"{key}={value}" for key, value in given.items())
    return str(parse_spec(text, "retriever", RETRIEVERS, options_of))


def main() -> None:
    """Read the options, and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--retriever", action="append", metavar="SPEC")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--minutes", type=float, default=30.0, help="The longest search of --choose.")
    parser.add_argument("--half", choices=["0", "1", "all"])
    options = parser.parse_args()
    half = options.half or ("0" if options.choose else "1")
    found = list(sets(options.data, None if half == "all" else int(half)))
    if options.choose:
        choose(found, options.minutes)
    else:
        table(found, options.retriever or list(ABLATION if options.ablation else ("bm25", "hops")))


if __name__ == "__main__":
    main()
