"""stats: rows of the diagnostic in, tables out."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ragpack.errors import DataError, RagpackError, UsageError, did_you_mean
from ragpack.records import Diagnosed, Failure, Raw, Stat, ordered
from ragpack.registry import load
from ragpack.stages.policies import probed
from ragpack.statistics import TABLES
from ragpack.statistics.needs import lacking, needs_contrast
from ragpack.statistics.rows import FACTORS, METRICS, Level, Options, Row, Rows, collect
from ragpack.statistics.where import holds, read

FEW = 30  # clusters below which a cluster bootstrap is not to be trusted
FAMILIES = ("all", "metric", "none")
CORRECTIONS = {"holm": "holm", "bh": "fdr_bh", "by": "fdr_by", "bonferroni": "bonferroni"}
"""Names on the command line: those of statsmodels' `multipletests`."""
BY = {"reader": "model", "budget": "budget", "dataset": "dataset", "policy": "policy", "seed": "seed",
      "answer_kind": "answer_kind"}  # fmt: skip
"""What tables may be cut by, and the factor that each names."""
RUN = ("model", "policy", "budget", "profile", "tokenizer")
"""Factors of the run. The others, and the numbers, are of the question: a filter on them says which questions."""
AT_K = re.compile(r"(recall|hit|all_gold|ndcg|answer_in_hits)@(\d+)")
MEASURED = frozenset(name for name in METRICS if name != "tokens")
NAN = float("nan")


@dataclass(frozen=True)
class StatsParams:
    """What decides the tables."""

    tables: tuple[str, ...] = ()
    """Names; empty: those that the rows allow."""
    baseline: str | None = None
    """Policy that the others are compared with."""
    contrasts: tuple[str, ...] = ()
    """`policy,baseline` pairs to compare."""
    by: tuple[str, ...] = ()
    """What every table is cut by, beside its own parts."""
    where: tuple[str, ...] = ()
    """Conditions on rows, all of which hold: `name=value`, `name!=value`, `name<value`, …"""
    family: str = "all"
    """Which contrasts are corrected together."""
    correct: str = "holm"
    """How."""
    resamples: int = 10_000
    seed: int = 0
    margin: float = 0.01
    """How much less of the score is still the same quality (`sweep`)."""


class Stats:
    """Takes rows one by one, then gives the tables."""

    def __init__(self, params: StatsParams) -> None:
        for name in params.tables:
            if name not in TABLES:
                raise UsageError(f"unknown table '{name}'. {did_you_mean(name, TABLES)}")
            if needs_contrast(name) and params.baseline is None and not params.contrasts:
                raise UsageError(f"--table {name} needs --baseline POLICY or --contrast A,B")
        if params.resamples < 100:
            raise UsageError(f"--resamples: {params.resamples} is less than 100")
        if not 0 <= params.margin < 1:
            raise UsageError(f"--margin: {params.margin} is not between 0 and 1", "It is a difference in F1: 0.01.")
        for option, value, known in (("by", params.by, BY), ("family", (params.family,), FAMILIES),
                                     ("correct", (params.correct,), CORRECTIONS)):  # fmt: skip
            for name in value:
                if name not in known:
                    raise UsageError(f"--{option}: unknown name '{name}'. {did_you_mean(name, known)}")
        self._params = params
        self._where = [read(text) for text in params.where]
        self._questions: list[str] = []
        self._factors: dict[str, list[Level]] = {name: [] for name in FACTORS}
        self._columns: dict[str, array[float]] = {name: array("d") for name in METRICS}
        self._seen: set[tuple[Level, ...]] = set()
        self._names: dict[str, str] = {}
        self._wanted: dict[str, bool] = dict.fromkeys(MEASURED, True)
        self._failed: set[str] = set()
        self._nameless = 0
        self.kept: Rows | None = None
        """The rows that the tables are about, once `give` has begun."""

    def take(self, record: Diagnosed | Failure, raw: Raw) -> None:
        """Add a row, or a failure. Raises `DataError` for a row that is there already: it would count twice."""
        if isinstance(record, Failure):
            if record.id is None:
                self._nameless += 1
            else:
                self._failed.add(self._one(record.id))
            return
        seed = record.sample.get("seed") if record.sample else None
        if seed is not None and type(seed) is not int:
            raise DataError("sample.seed: expected a whole number", "`ragpack import --sample N --seed S` writes it.")
        pack, generate, found = record.pack, record.generate, record.diagnose
        model = generate.model if generate else None
        numbers = self._numbers(record, raw)
        key = (self._one(record.id), model and self._one(model), self._one(pack.policy), pack.budget, seed)
        if key in self._seen:
            raise DataError(f"a row of policy {pack.policy}, budget {pack.budget}"
                            + (f", model {model}" if model else "") + " is there twice for this question",
                            "Each question counts once: were files concatenated twice?")  # fmt: skip
        self._seen.add(key)
        levels = (key[1], key[2], pack.budget, record.group, seed, found.answer_kind, found.verdict, found.profile,
                  pack.unit)  # fmt: skip
        one = self._names.setdefault
        for factor, level in zip(self._factors.values(), levels, strict=True):
            factor.append(one(level, level) if isinstance(level, str) else level)
        at = len(self._questions)
        self._questions.append(key[0])
        columns = self._columns
        for name, value in numbers.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = array("d")
            if len(column) != at:
                _pad(column, at)
            column.append(value)

    def _numbers(self, record: Diagnosed, raw: Raw) -> dict[str, float]:
        """The numbers of a row that are defined."""
        pack, generate, wanted = record.pack, record.generate, self._wanted
        numbers: dict[str, float] = {"tokens": pack.tokens, "dropped": pack.dropped}
        for name, value in raw["diagnose"].items():
            known = wanted.get(name)
            if known is None:
                known = wanted[name] = AT_K.fullmatch(name) is not None
            if known and value is not None:
                if type(value) is not float and type(value) is not int:
                    raise DataError(f"diagnose.{name}: expected a number, got {value!r}")
                numbers[name] = value
        if generate:
            numbers["prompt_tokens"] = generate.tokens.prompt
        if record.gold:
            numbers["gold_documents"] = len(set(record.gold))
        if pack.objective is not None:
            numbers["objective"] = pack.objective
        if pack.bound is not None:
            numbers["bound"] = pack.bound
        probe = raw.get("probe")
        if isinstance(probe, dict) and probed(pack.policy):
            for name in ("calls", "tokens"):
                if type(probe.get(name)) is int:
                    numbers[f"probe_{name}"] = probe[name]
        return numbers

    def rows(self) -> Rows:
        """What came in, less what `where` leaves out. Raises `RagpackError` where there is nothing."""
        if not self._questions:
            raise RagpackError("no rows came in", "`ragpack diagnose` writes them.")
        for column in self._columns.values():
            _pad(column, len(self._questions))
        rows = collect(self._questions, self._factors, self._columns, self._failed)
        self._questions, self._factors, self._columns, self._seen = [], {}, {}, set()
        for condition in self._where:
            name = BY.get(condition.name, condition.name)
            left = rows.where(holds(rows, condition, BY))
            if not left.n:
                raise RagpackError(f"--where '{condition.text}': no row is left",
                                   _levels(rows, name) or "Look at the values with `ragpack show`.")  # fmt: skip
            rows = left if name in RUN else _without(left, np.setdiff1d(rows.question, left.question))
        return rows

    def give(self, say: Callable[[str], None]) -> Iterator[Raw]:
        """The tables' rows. Raises `RagpackError` where there is nothing to make a table of."""
        params, rows = self._params, self.rows()
        self.kept = rows
        names = {str(name) for name in rows.levels("policy")}
        pairs = [_pair(contrast, names) for contrast in params.contrasts]
        if params.baseline is not None:
            pairs.append(("*", _known("--baseline", params.baseline, names)))
        _warn(rows, say)
        if self._nameless:
            say(f"{self._nameless} failed {'lines' if self._nameless > 1 else 'line'} without an id: counted nowhere")
        by = tuple(BY[name] for name in params.by)
        options = Options(pairs=tuple(pairs), by=by, family=params.family, correction=CORRECTIONS[params.correct],
                          resamples=params.resamples, seed=params.seed, margin=params.margin)  # fmt: skip
        missing, given = [], 0
        for table in params.tables or TABLES:
            reason = lacking(table, rows, options)
            if reason is None:
                found = load(TABLES, table)(rows, options)
                _few(table, found, rows, say)
                for row in found:
                    given += 1
                    if row.get("note"):
                        say(f"table {table}: {row['note']}")
                    yield ordered(Stat, {"table": table, **row})
                reason = None if found else "no part of the rows has all that it needs"
            if reason and table in params.tables:
                missing.append(f"no table {table}: {reason}")
        if missing and not given:
            raise RagpackError("\n".join(missing))
        for sentence in missing:
            say(sentence)

    def _one(self, text: str) -> str:
        """One copy of each name: a hundred thousand rows share a few."""
        return self._names.setdefault(text, text)


def _pad(column: array[float], length: int) -> None:
    """What was not said is undefined."""
    column.extend([NAN] * (length - len(column)))


def _without(rows: Rows, questions: np.ndarray) -> Rows:
    """The rows, and of the failed questions those that are not among the ones left out."""
    return Rows(rows.question, rows.factors, rows.columns, rows.names, np.setdiff1d(rows.failed, questions))


def _levels(rows: Rows, name: str) -> str | None:
    """The values that a factor has, to choose from."""
    if name not in rows.factors:
        return None
    levels = ["null" if level is None else str(level) for level in rows.levels(name)]
    return f"The rows have {', '.join(levels[:12])}{', …' if len(levels) > 12 else ''}."


def _known(option: str, name: str, names: set[str]) -> str:
    if name not in names:
        raise UsageError(f"{option}: no row has the policy '{name}'. {did_you_mean(name, names)}")
    return name


def _pair(text: str, names: set[str]) -> tuple[str, str]:
    """`policy,baseline`; a policy's own parameters hold commas, so every comma is tried."""
    pieces = text.split(",")
    for at in range(1, len(pieces)):
        policy, baseline = ",".join(pieces[:at]), ",".join(pieces[at:])
        if policy in names and baseline in names:
            return policy, baseline
    if len(pieces) != 2:
        raise UsageError(f"--contrast: '{text}' is not two policies of the rows", "Write --contrast POLICY,BASELINE.")
    return _known("--contrast", pieces[0], names), _known("--contrast", pieces[1], names)


def _warn(rows: Rows, say: Callable[[str], None]) -> None:
    """What would mislead a reader of the tables."""
    for factor, what, why in (("profile", "profiles", "their F1 and EM are different numbers"),
                              ("tokenizer", "tokenizers", "their budgets are different lengths")):  # fmt: skip
        levels = rows.levels(factor)
        if len(levels) > 1:
            say(f"the rows mix {what} ({', '.join(map(str, levels))}): {why}")
    if rows.questions < FEW:
        say(f"the rows have {_counted(rows.questions)}: bootstrap intervals over fewer than {FEW} are too narrow")
    cells = [part for _, part in rows.split(("model", "budget"))]
    if any(mine.questions < part.questions for part in cells for _, mine in part.split(("policy",))):
        say("the policies are not on the same questions: compare them by contrasts, not by their means")
    if any(part.questions < rows.questions for _, part in rows.split(("model",))):
        say("the readers are not on the same questions: their means are not comparable")


def _few(table: str, found: list[Row], rows: Rows, say: Callable[[str], None]) -> None:
    """Parts of a table that stand on few questions, where the rows as a whole do not."""
    least = [row["questions"] for row in found if row.get("questions") and row["questions"] < FEW and "method" in row]
    if least and rows.questions >= FEW:
        say(f"table {table}: {len(least)} of {len(found)} rows have fewer than {FEW} questions, the least "
            f"{min(least)}: their intervals are too narrow")  # fmt: skip


def _counted(questions: int) -> str:
    return f"only {questions} question{'s' if questions > 1 else ''}"
