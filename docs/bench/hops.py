"""Multi-hop retrieval on HotpotQA, 2WikiMultihopQA and MuSiQue: recall@k and all_gold@k, and the search for settings.

    python docs/bench/hops.py DATA                        # bm25 and hops on the half that settings were not chosen on
    python docs/bench/hops.py DATA --retriever hops:n=1   # other specs; the option may be repeated
    python docs/bench/hops.py DATA --ablation             # hops without one ingredient at a time
    python docs/bench/hops.py DATA --choose               # the search that chose the defaults, on its half; minutes
    python docs/bench/hops.py DATA --model FOLDER         # bm25, dense, hybrid, hops and rerank with an embedding model
    python docs/bench/hops.py DATA --set 2Wiki            # some of the sets; NQ and PopQA only if they are named

A spec may end in `| bi:FOLDER`: its hits, 50 or less, reranked. `--vectors DIR` keeps what the model made of each text.

DATA holds `hotpotqa/`, `2wikimultihopqa/` and `musique/`, and `nq/` and `popqa/` for those two. A hash of a question's
id decides its half. Settings are chosen on half 0 and reported on half 1; `--half all` takes both.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ragpack.datasets import corpus, hotpotqa, musique, nq, popqa, twowiki  # noqa: E402 # the tree before an installed ragpack
from ragpack.metrics.retrieval import all_gold_at, recall_at  # noqa: E402 # as above
from ragpack.models.embedder import Embedder  # noqa: E402 # as above
from ragpack.records import Doc, Question  # noqa: E402 # as above
from ragpack.registry import arguments_of, load, parse_spec  # noqa: E402 # as above
from ragpack.rerankers.base import Passage  # noqa: E402 # as above
from ragpack.retrievers import RETRIEVERS  # noqa: E402 # as above
from ragpack.retrievers.base import Found, Retriever  # noqa: E402 # as above
from ragpack.retrievers.corpus import Corpus  # noqa: E402 # as above
from ragpack.retrievers.parts import named, parsed  # noqa: E402 # as above
from ragpack.stages.rerank import Rerank, open_rerank  # noqa: E402 # as above
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


def single_hop(data: Path, name: str, half: int | None) -> Set:
    """NQ or PopQA, searched in the corpus of its folder. PopQA's gold paragraphs stand in its own pools; the corpus has
    them under other ids, and the text tells which. A question whose gold is not all there is left out."""
    files = data / name.lower()
    passages = list(corpus.read(str(files / f"{name.lower()}_corpus.derived.jsonl.gz"), refuse))
    if name == "NQ":
        gold = str(files / "nq_gold.derived.tsv")
        questions = list(nq.read(str(files / "nq-open-oracle.jsonl.gz"), refuse, gold=gold))
    else:
        ids = {doc.text.strip(): doc.id for doc in passages}
        questions = []
        for one in popqa.read(str(files / "popqa_hipporag.json"), refuse):
            texts = [doc.text.strip() for doc in one.docs or [] if doc.id in one.gold]
            questions += [replace(one, gold=[ids[text] for text in texts])] if ids.keys() >= set(texts) else []
    kept = [replace(one, docs=None) for one in questions if half is None or half_of(one.id) == half]
    return Set(name, kept, Corpus(passages, ""))


def half_of(identity: str) -> int:
    """0: settings are chosen on it; 1: they are reported on it."""
    return blake2b(identity.encode(), digest_size=8).digest()[0] & 1


def refuse(source: str, number: int, error: Exception, identity: object) -> None:
    """A bad entry of the data."""
    raise SystemExit(f"{source}:{number}: {identity}: {error}")


class Reranked:
    """A retriever whose hits a reranker puts into another order."""

    def __init__(self, base: Retriever, rerank: Rerank) -> None:
        self._base, self._rerank = base, rerank

    def search(self, question: str, docs: Sequence[Doc] | None, k: int) -> list[Found]:
        """As `retrieve --rerank` does."""
        found = self._base.search(question, docs, self._rerank.depth)
        passages = [Passage(one.doc.title, one.doc.text) for one in found]
        values = self._rerank.reranker.scores(question, passages)
        order = sorted(range(len(found)), key=lambda at: (-values[at], at))
        return [found[at]._replace(score=values[at]) for at in order[:k]]


def remember(folder: Path) -> None:
    """Take vectors from the files of a folder, and write new ones there: a text is embedded once, in whatever run. Last
    bits then hang on the run that embedded it."""
    known: dict[str, Any] = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as found:
            known.update(zip(found["keys"].tolist(), found["vectors"], strict=True))
    plain = Embedder.encode

    def encode(self: Embedder, texts: Sequence[str]) -> Any:  # noqa: ANN401 # float32 vectors
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            made = plain(self, list(new.values()))
            known.update(zip(new, made, strict=True))
            folder.mkdir(parents=True, exist_ok=True)
            np.savez(folder / f"{len(known):09d}.npz", keys=np.array(list(new)), vectors=made)
        return np.stack([known[key] for key in keys])

    Embedder.encode = encode  # type: ignore[method-assign] # for this process


def with_model(folder: str) -> list[str]:
    """The rows of the table with an embedding model."""
    dense = f"dense({folder})"
    return ["bm25", f"dense:{folder}", f"hybrid:bm25+{dense}", f"bm25 | bi:{folder}", "hops", f"hops:base={dense}",
            f"hops:base=hybrid(bm25+{dense})", f"hybrid:hops+{dense}", f"hops | bi:{folder}"]  # fmt: skip


def shown(text: str) -> str:
    """A spec without the folder of its model."""
    base, _, rerank = text.partition(" | ")
    return str(named(parsed(base))) + (f"` then `{rerank.partition(':')[0]}" if rerank else "")


def opened(text: str, searched: Corpus | None) -> Retriever:
    """The retriever of a spec."""
    text, _, rerank = text.partition(" | ")
    if rerank:
        return Reranked(opened(text, searched), open_rerank(rerank, None, max(CUTS)))
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
            cells = [
                one.name,
                str(len(one.questions)),
                f"`{shown(spec)}`",
                *numbers,
                f"{result.milliseconds:.1f}",
            ]
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
    parser.add_argument("--model", help="Folder of a sentence-transformers model: the table with dense rows.")
    parser.add_argument("--vectors", type=Path, metavar="DIR", help="Keep vectors here from run to run.")
    parser.add_argument("--set", action="append", choices=["HotpotQA", "2Wiki", "MuSiQue", "NQ", "PopQA"])
    options = parser.parse_args()
    half = options.half or ("0" if options.choose else "1")
    which = None if half == "all" else int(half)
    found = [one for one in sets(options.data, which) if not options.set or one.name in options.set]
    found += [single_hop(options.data, name, which) for name in ("NQ", "PopQA") if name in (options.set or ())]
    if options.vectors:
        remember(options.vectors)
    specs = list(ABLATION if options.ablation else ("bm25", "hops"))
    if options.model:
        specs = with_model(options.model)
    if options.choose:
        choose(found, options.minutes)
    else:
        table(found, options.retriever or specs)


if __name__ == "__main__":
    main()
