"""Tables of docs/packing.md: what each policy keeps, over cached hits.

    python docs/bench/packing.py policies --tokenizer MODEL hotpotqa=a.jsonl,b.jsonl 2wiki=c.jsonl
    python docs/bench/packing.py sensitivity --tokenizer MODEL hotpotqa=a.jsonl,b.jsonl
    python docs/bench/packing.py tune --tokenizer MODEL --policy ragpack hotpotqa=a.jsonl 2wiki=c.jsonl

`policies`: every policy at every budget. `sensitivity`: one parameter at a time. `tune`: coordinate search over the
weights of a policy for the mean answer-in-context of the sets, on one half of the questions; then both halves, and the
same with the halves exchanged. A hash of the question's id decides its half. Questions count once, by their text; only
answers that are spans count for AiC.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ragpack.checked import view
from ragpack.metrics.answer import answer_kind
from ragpack.metrics.context import AnswerMatcher, all_gold_in_context, gold_doc_coverage
from ragpack.records import Hits
from ragpack.stages.candidates import Candidates, candidates_of, documents_of, labelled
from ragpack.stages.pack import Cell
from ragpack.stages.policies import CEILINGS, FACTORS, options_of, parse_policies
from ragpack.stages.render import render
from ragpack.tokens import Counter, open_counter
from ragpack.tokens.remembered import Remembered

BUDGETS = (96, 128, 160, 224)
FACTORIAL = [f"{space}_{rule}" for space in FACTORS[0] for rule in FACTORS[1]]
POLICIES = ["topk", "random", *FACTORIAL, "ragpack", *CEILINGS]
VARIANTS = (
    *(f"chunk_{rule}:{key}" for rule in ("packed", "focused", "mmr", "submod")
      for key in ("window=2", "window=3", "window=2,stride=1", "layout=grouped", "relevance=rank", "relevance=score",
                  "header=false", "max_tokens=32", "order=edges")),
    *(f"chunk_{rule}:overflow={how}" for rule in ("packed", "focused", "mmr") for how in ("stop", "skip", "truncate")),
    *(f"chunk_submod:{key}" for key in ("rel=0", "qry=0", "cov=0", "div=0", "qry=2", "qry=4", "alpha=0.1",
                                        "optimiser=best", "qry=2,layout=grouped")),
    *(f"chunk_mmr:lambda={value}" for value in (0.5, 0.9, 1.0)),
    *(f"ragpack:{key}" for key in ("rel=0", "prior=0", "qry=0", "div=0", "link=0", "lead=0", "ask=0", "date=0", "red=0",
                                   "layout=flat", "overflow=stop", "overflow=skip")),
)  # fmt: skip
GRID: dict[str, tuple[float, ...]] = {
    "prior": (0, 0.4, 0.8, 1.2, 2), "qry": (1, 2, 3, 4, 6), "div": (0, 0.3, 0.6, 1, 2), "link": (0, 0.4, 0.8, 1.5, 2.5),
    "lead": (0, 0.2, 0.4, 0.6, 1), "ask": (0, 0.15, 0.3, 0.6, 1), "date": (0, 0.4, 0.8, 1.2), "red": (0, 0.3, 0.6),
    "rel": (0, 0.5, 1, 2), "cov": (0, 0.2, 0.4, 0.8),
}  # fmt: skip


class Measured(NamedTuple):
    """One context."""

    half: int
    aic: float | None
    graded: float | None
    coverage: float | None
    all_gold: float | None
    tokens: int


def half_of(identity: str) -> int:
    """0 or 1, by a hash."""
    return blake2b(identity.encode(), digest_size=2).digest()[1] % 2


def questions(files: Sequence[str]) -> list[Hits]:
    """The records of some files, each question once."""
    found: dict[str, Hits] = {}
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            record = view(json.loads(line), (Hits,))
            found.setdefault(record.question, record)
    return list(found.values())


_shared: dict[tuple[int, str], Candidates] = {}


def packed(record: Hits, cell: Cell, counter: Counter) -> dict[str, Any]:
    """A pack, as the stage makes it; candidates are kept, since all weights choose among the same ones."""
    key = id(record), cell.policy.space
    if key not in _shared:
        _shared[key] = candidates_of(record, documents_of(record), cell.policy, Remembered(counter))
    candidates = _shared[key]
    problem = labelled(candidates, record) if cell.policy.ceiling else candidates.problem
    return render(candidates, cell.policy.select(problem, cell.budget), cell.budget, cell.policy.order)


def measured(records: Iterable[Hits], specs: Sequence[str], budgets: Sequence[int], counter: Counter) -> Any:  # noqa: ANN401 # nested
    """{(policy, budget): [a `Measured` a question]}"""
    policies = parse_policies(specs)
    cells = [Cell(policy, budget) for policy in policies for budget in budgets]
    found: dict[tuple[str, int], list[Measured]] = {(cell.policy.name, cell.budget): [] for cell in cells}
    for record in records:
        span = answer_kind(record.answers) == "span"
        matcher = AnswerMatcher(record.answers)
        for cell in cells:
            pack = packed(record, cell, counter)
            assert pack["tokens"] <= cell.budget
            hit = matcher.measure(pack["context"])
            docs = [one["id"] for one in pack["snippets"]]
            found[cell.policy.name, cell.budget].append(
                Measured(
                    half_of(record.id),
                    float(hit.occurs) if span and hit.occurs is not None else None,
                    hit.graded if span else None,
                    gold_doc_coverage(docs, record.gold),
                    all_gold_in_context(docs, record.gold),
                    pack["tokens"],
                )
            )
    return found


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of the defined ones."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def shown(value: float | None, digits: int = 3) -> str:
    """A number for a table."""
    return "–" if value is None else f"{value:.{digits}f}".removeprefix("0")


def everything(records: Iterable[Hits]) -> float | None:
    """Share of span questions whose answer is in the hits: no packer has more."""
    values = []
    for record in records:
        if answer_kind(record.answers) == "span":
            text = "\n".join(f"{hit.title or ''}: {hit.text}" for hit in record.hits)
            values.append(float(bool(AnswerMatcher(record.answers).occurs(text))))
    return mean(values)


def table_of_policies(sets: dict[str, list[Hits]], counter: Counter, budgets: Sequence[int]) -> Iterator[str]:
    """A row a policy; in the column of each budget AiC, graded, coverage, all-gold and tokens."""
    for name, records in sets.items():
        spans = sum(answer_kind(record.answers) == "span" for record in records)
        yield f"\n**{name}**: {len(records)} questions, {spans} with a span for an answer;"
        yield f" everything retrieved shown: AiC {shown(everything(records))}\n\n"
        yield (
            "| policy | "
            + " | ".join(f"B = {budget}" for budget in budgets)
            + " |\n|---|"
            + "---|" * len(budgets)
            + "\n"
        )
        found = measured(records, POLICIES, budgets, counter)
        for policy in dict.fromkeys(policy for policy, _ in found):
            cells = []
            for budget in budgets:
                rows = found[policy, budget]
                numbers = [shown(mean(getattr(one, what) for one in rows)) for what in Measured._fields[1:-1]]
                cells.append(" ".join([*numbers, shown(mean(one.tokens for one in rows), 0)]))
            yield f"| `{policy}` | " + " | ".join(cells) + " |\n"


def table_of_variants(sets: dict[str, list[Hits]], counter: Counter, budget: int) -> Iterator[str]:
    """A row a variant: AiC and all-gold in each set."""
    yield "\n| policy | " + " | ".join(f"{name} AiC | {name} all-gold" for name in sets) + " |\n"
    yield "|---|" + "---:|---:|" * len(sets) + "\n"
    names = ["chunk_packed", "chunk_focused", "chunk_mmr", "chunk_submod", "ragpack"]
    specs = list(dict.fromkeys(policy.name for one in (*names, *VARIANTS) for policy in parse_policies([one])))
    found = {name: measured(records, specs, (budget,), counter) for name, records in sets.items()}
    for spec in sorted(specs, key=lambda spec: (names.index(spec.partition(":")[0]), specs.index(spec))):
        cells = []
        for name in sets:
            rows = found[name][spec, budget]
            cells += [shown(mean(one.aic for one in rows)), shown(mean(one.all_gold for one in rows))]
        yield f"| `{spec}` | " + " | ".join(cells) + " |\n"


def tuned(value: Callable[[str], float], policy: str, rounds: int) -> str:
    """Coordinate search from the policy's defaults: each weight in turn takes the value that is best."""
    options = options_of(policy)
    weights = {key: float(options[key].default) for key in GRID if key in options}
    spec = policy
    best = value(spec)
    for _ in range(rounds):
        before = spec
        for key in weights:
            for trial in GRID[key]:
                other = {**weights, key: float(trial)}
                name = parse_policies([f"{policy}:" + ",".join(f"{k}={v}" for k, v in other.items())])[0].name
                if name != spec and (found := value(name)) > best + 1e-9:
                    best, spec, weights = found, name, other
        if spec == before:
            break
    return spec


def search(sets: dict[str, list[Hits]], counter: Counter, budget: int, policy: str, rounds: int) -> Iterator[str]:
    """What is found on one half, and what it gives on the other."""
    seen: dict[str, dict[str, list[Measured]]] = {}

    def of(spec: str) -> dict[str, list[Measured]]:
        if spec not in seen:
            seen[spec] = {name: next(iter(measured(records, [spec], (budget,), counter).values()))
                          for name, records in sets.items()}  # fmt: skip
        return seen[spec]

    def on(spec: str, name: str, half: int) -> float:
        return mean(one.aic for one in of(spec)[name] if one.half == half) or 0.0

    yield "\n| chosen on half | policy | " + " | ".join(f"{name}: there, on the other half" for name in sets) + " |\n"
    yield "|---|---|" + "---|" * len(sets) + "\n"
    for half in (0, 1):
        spec = tuned(lambda spec, half=half: statistics.fmean(on(spec, name, half) for name in sets), policy, rounds)
        cells = [f"{shown(on(spec, name, half))}, {shown(on(spec, name, 1 - half))}" for name in sets]
        yield f"| {half} | `{spec}` | " + " | ".join(cells) + " |\n"
    for spec in (policy, "chunk_focused", "chunk_packed"):
        cells = [f"{shown(on(spec, name, 0))}, {shown(on(spec, name, 1))}" for name in sets]
        yield f"| (halves 0, 1) | `{spec}` | " + " | ".join(cells) + " |\n"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["policies", "sensitivity", "tune"])
    parser.add_argument("sets", nargs="+", metavar="NAME=FILE,…", help="hits that `ragpack retrieve` wrote")
    parser.add_argument("--tokenizer", default="regex")
    parser.add_argument("--budget", type=int, default=160, help="of sensitivity and tune")
    parser.add_argument("--policy", default="ragpack", help="of tune")
    parser.add_argument("--rounds", type=int, default=2, help="of tune")
    given = parser.parse_args()
    sets = {name: questions(files.split(",")) for name, _, files in (one.partition("=") for one in given.sets)}
    counter = open_counter(given.tokenizer)
    lines = {
        "policies": lambda: table_of_policies(sets, counter, BUDGETS),
        "sensitivity": lambda: table_of_variants(sets, counter, given.budget),
        "tune": lambda: search(sets, counter, given.budget, given.policy, given.rounds),
    }[given.table]()
    for line in lines:
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
