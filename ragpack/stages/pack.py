"""pack: hits in, one context for each policy and budget out, never a token over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import orjson

from ragpack.compressors.base import Compressor
from ragpack.encoders import ENCODERS
from ragpack.encoders.base import Encoder
from ragpack.errors import UsageError
from ragpack.packers.selection import Selection
from ragpack.readers.prompts.named import open_prompt
from ragpack.records import Hit, Hits, Packed, Raw, field_names
from ragpack.registry import load
from ragpack.stage import Payload, Stage, each
from ragpack.stages.candidates import Candidates, candidates_of, documents_of, labelled, matcher_of, ranked
from ragpack.stages.compress import render_compressed
from ragpack.stages.explain import explain
from ragpack.stages.policies import Policy, parse_policies
from ragpack.stages.render import render
from ragpack.stages.whole_prompt import WholePrompt
from ragpack.tokens import Counter, open_counter
from ragpack.tokens.remembered import Remembered


@dataclass(frozen=True)
class PackParams:
    """What decides a pack."""

    policies: tuple[str, ...]
    """Policy specs, in the order of the output."""
    budgets: tuple[int, ...]
    """Budgets in tokens, in the order of the output."""
    tokenizer: str = "regex"
    """`regex`, a tokenizer.json, a model folder or id, or `tiktoken:NAME`."""
    explain: bool = False
    """Every candidate, and what became of it."""
    prompt_budgets: tuple[int, ...] = ()
    """Budgets in tokens of the whole prompt and the answer, in the order of the output."""
    prompt: str = "answer/1"
    """The template whose prompt they are of, or a Jinja file."""
    reserve: int = 32
    """Tokens that they keep for the answer."""
    chat_template: bool = True
    """False: that prompt is a plain text, for base models."""


class Cell(NamedTuple):
    """One output row of a record."""

    policy: Policy
    budget: int
    whole: WholePrompt | None = None
    """What counts the whole prompt, where the budget is of that."""

    @property
    def name(self) -> str:
        """What makes it another cell."""
        return f"{self.policy.name} {self.budget}" + (f" {self.whole.fingerprint}" if self.whole else "")


class Models(NamedTuple):
    """Models of policies, by the policy's name."""

    compressors: Mapping[str, Compressor] = {}
    embedders: Mapping[str, Encoder] = {}


def open_pack(params: PackParams) -> Stage:
    """Open the stage. Raises `UsageError` for policies or budgets that can't be."""
    policies = parse_policies(params.policies)
    if not policies:
        raise UsageError("--policy: name at least one policy", "`ragpack list policies` shows them.")
    for budget in (*params.budgets, *params.prompt_budgets):
        if budget < 0:
            raise UsageError(f"--budget: {budget} is negative")
    for budgets in (params.budgets, params.prompt_budgets):
        if len(set(budgets)) < len(budgets) or not (params.budgets or params.prompt_budgets):
            raise UsageError("--budget: give different whole numbers")
    prompt = open_prompt(params.prompt)
    counter = open_counter(params.tokenizer)
    whole = (
        WholePrompt(params.tokenizer, prompt, params.reserve, counter, plain=not params.chat_template)
        if params.prompt_budgets
        else None
    )
    wanted_budgets = [(budget, None) for budget in params.budgets] + [(limit, whole) for limit in params.prompt_budgets]
    cells = [Cell(policy, budget, whole) for policy in policies for budget, whole in wanted_budgets]

    models = Models(
        {policy.name: policy.compress(counter) for policy in policies if policy.compress},
        {
            policy.name: load(ENCODERS, "semantic")(policy.preparation.embedder, "embedder")
            for policy in policies
            if policy.preparation.embedder
        },
    )

    def pack(record: Hits, wanted: Sequence[int]) -> list[Payload]:
        return [
            {"pack": packed} for packed in _pack(record, [cells[at] for at in wanted], counter, models, params.explain)
        ]

    def more(record: Hits, at: int) -> object:
        return _more(record, cells[at].policy)

    return Stage(
        name="pack",
        version=2,
        reads=(Hits,),
        writes=Packed,
        run=each(pack),
        projection=_projection,
        more=more,
        cells=tuple(_canonical(cell, models, params.explain) for cell in cells),
        fingerprints={"tokenizer": counter.fingerprint},
        base=_base,
    )


def _canonical(cell: Cell, models: Models, explained: bool) -> str:
    """A model counts for its own rows: those of other policies keep their keys."""
    model = models.compressors.get(cell.policy.name) or models.embedders.get(cell.policy.name)
    return cell.name + (f" {model.fingerprint}" if model else "") + " explain" * explained


def _projection(record: Hits) -> object:
    hits = ranked(record.hits)
    return [record.question, [[hit.id, hit.rank, hit.title, hit.text, hit.sentences] for _, hit in hits]]


def _more(record: Hits, policy: Policy) -> object:
    """What few policies read: scores of the hits, what is right."""
    scores = [[hit.score, hit.scores] for _, hit in ranked(record.hits)] if policy.scores else None
    nu0 = record.probe.nu0 if policy.scores and record.probe else None
    right = [record.answers, record.gold] if policy.ceiling else None
    return [scores, nu0, right] if scores is not None or right is not None else None


def _base(raw: Raw, record: Hits) -> Raw:
    """The question's fields and its hits less their texts, with `has_answer` set while the texts are there."""
    matcher = matcher_of(tuple(record.answers))
    hits = []
    for given, hit in zip(raw["hits"], record.hits, strict=True):
        light = {key: value for key, value in given.items() if key not in ("text", "sentences")}
        light["has_answer"] = matcher.occurs(f"{hit.title or ''}\n{hit.text}") if record.answers else None
        hits.append({name: light[name] for name in _HIT if name in light} | light)
    # One question gives many rows: its hits are written to bytes once.
    return {**raw, "hits": orjson.Fragment(orjson.dumps(hits))}


def _pack(record: Hits, cells: Sequence[Cell], counter: Counter, models: Models, explained: bool) -> list[Raw]:
    documents, remembered = documents_of(record), Remembered(counter)
    shared: dict[str, Candidates] = {}
    packs = []
    for policy, budget, whole in cells:
        if policy.space not in shared:
            embedder = models.embedders.get(policy.name)
            shared[policy.space] = candidates_of(record, documents, policy, remembered, embedder)
        candidates = shared[policy.space]
        fill = partial(_filled, record, policy, candidates, models.compressors.get(policy.name))
        filled, prompt = (
            whole.fitted(record.question, budget, fill, _context, _snippets) if whole else (fill(budget), None)
        )
        pack: Raw = {"policy": policy.name, "budget": budget, "unit": counter.unit, **filled.body}
        if prompt:
            pack["prompt"] = prompt
        if explained:
            pack["explain"] = explain(candidates, filled.selection, pack["snippets"])
            if candidates.graph is not None:
                pack["graph"] = candidates.graph()
        packs.append(pack)
    return packs


class Filled(NamedTuple):
    """A context, and what chose it; a compressor chooses nothing."""

    selection: Selection | None
    body: Raw


def _context(filled: Filled) -> str:
    return str(filled.body["context"])


def _snippets(filled: Filled) -> list[Raw]:
    return list(filled.body["snippets"])


def _filled(record: Hits, policy: Policy, candidates: Candidates, compressor: Compressor | None, room: int) -> Filled:
    """What a policy makes of `room` tokens."""
    if compressor:
        return Filled(None, render_compressed(compressor, record.question, candidates, room))
    problem = labelled(candidates, record) if policy.ceiling else candidates.problem
    selection = policy.select(problem, room)
    return Filled(selection, render(candidates, selection, room, policy.order))


_HIT = field_names(Hit)
