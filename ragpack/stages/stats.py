"""stats: rows of the diagnostic in, tables out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragpack.errors import DataError, RagpackError, UsageError, did_you_mean
from ragpack.records import Diagnosed, Raw, Stat, ordered
from ragpack.registry import load
from ragpack.statistics import PAIRED, TABLES
from ragpack.statistics.rows import FACTORS, METRICS, Bools, Level, Options, Rows, collect

FEW = 30  # clusters below which a cluster bootstrap is not to be trusted
FAMILIES = ("all", "metric", "none")
CORRECTIONS = {"holm": "holm", "bh": "fdr_bh", "by": "fdr_by", "bonferroni": "bonferroni"}
"""Names on the command line: those of statsmodels' `multipletests`."""
BY = {"reader": "model", "budget": "budget", "dataset": "dataset", "policy": "policy", "seed": "seed",
      "answer_kind": "answer_kind"}  # fmt: skip
"""What tables may be cut by, and the factor that each names."""
AT_K = re.compile(r"(recall|hit|all_gold|ndcg|answer_in_hits)@(\d+)")


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


class Stats:
    """Takes rows one by one, then gives the tables."""

    def __init__(self, params: StatsParams) -> None:
        for name in params.tables:
            if name not in TABLES:
                raise UsageError(f"unknown table '{name}'. {did_you_mean(name, TABLES)}")
        for name in PAIRED:
            if name in params.tables and params.baseline is None and not params.contrasts:
                raise UsageError(f"--table {name} needs --baseline POLICY or --contrast A,B")
        if params.resamples < 100:
            raise UsageError(f"--resamples: {params.resamples} is less than 100")
        for option, value, known in (("by", params.by, BY), ("family", (params.family,), FAMILIES),
                                     ("correct", (params.correct,), CORRECTIONS)):  # fmt: skip
            for name in value:
                if name not in known:
                    raise UsageError(f"--{option}: unknown name '{name}'. {did_you_mean(name, known)}")
        self._params = params
        self._questions: list[str] = []
        self._factors: dict[str, list[Level]] = {name: [] for name in FACTORS}
        self._columns: dict[str, list[float]] = {name: [] for name in METRICS}
        self._seen: set[tuple[Level, ...]] = set()
        self._names: dict[str, str] = {}

    def take(self, record: Diagnosed, raw: Raw) -> None:
        """Add a row. Raises `DataError` for one that is there already: it would count twice."""
        seed = record.sample.get("seed") if record.sample else None
        if seed is not None and type(seed) is not int:
            raise DataError("sample.seed: expected a whole number", "`ragpack import --sample N --seed S` writes it.")
        pack, generate, found = record.pack, record.generate, record.diagnose
        factors = {"model": generate.model if generate else None, "policy": pack.policy, "budget": pack.budget,
                   "dataset": record.group, "seed": seed, "answer_kind": found.answer_kind, "verdict": found.verdict,
                   "profile": found.profile, "tokenizer": pack.unit}  # fmt: skip
        key = (record.id, factors["model"], pack.policy, pack.budget, seed)
        if key in self._seen:
            raise DataError(f"a row of policy {pack.policy}, budget {pack.budget}"
                            + (f", model {generate.model}" if generate else "") + " is there twice for this question",
                            "Each question counts once: were files concatenated twice?")  # fmt: skip
        self._seen.add(key)
        at = len(self._questions)
        self._questions.append(self._one(record.id))
        for name, level in factors.items():
            self._factors[name].append(self._one(level) if isinstance(level, str) else level)
        numbers: Raw = {name: raw["diagnose"].get(name) for name in METRICS if name != "tokens"}
        numbers |= {name: value for name, value in raw["diagnose"].items() if AT_K.fullmatch(name)}
        numbers |= {"tokens": pack.tokens, "objective": pack.objective, "bound": pack.bound}
        numbers["prompt_tokens"] = generate.tokens.prompt if generate else None
        for name, value in numbers.items():
            if value is None:
                value = float("nan")
            elif isinstance(value, bool) or not isinstance(value, int | float):
                raise DataError(f"diagnose.{name}: expected a number, got {value!r}")
            column = self._columns.setdefault(name, [])
            column.extend([float("nan")] * (at - len(column)))
            column.append(value)

    def rows(self) -> Rows:
        """What came in, less what `where` leaves out. Raises `RagpackError` where there is nothing."""
        if not self._questions:
            raise RagpackError("no rows came in", "`ragpack diagnose` writes them.")
        for column in self._columns.values():
            column.extend([float("nan")] * (len(self._questions) - len(column)))
        rows = collect(self._questions, self._factors, self._columns)
        for condition in self._params.where:
            rows = rows.where(_holds(rows, condition))
            if not rows.n:
                raise RagpackError(f"--where '{condition}': no row is left", "Look at the values with `ragpack show`.")
        return rows

    def give(self, say: Callable[[str], None]) -> Iterator[Raw]:
        """The tables' rows. Raises `RagpackError` where there is nothing to make a table of."""
        params, rows = self._params, self.rows()
        names = {str(name) for name in rows.levels("policy")}
        pairs = []
        for contrast in params.contrasts:
            pairs.append(_pair(contrast, names))
        if params.baseline is not None:
            pairs.append(("*", _known("--baseline", params.baseline, names)))
        _warn(rows, say)
        by = tuple(BY[name] for name in params.by)
        options = Options(tuple(pairs), by, params.family, CORRECTIONS[params.correct], params.resamples, params.seed)
        wanted = params.tables or tuple(name for name in TABLES if pairs or name not in PAIRED)
        for table in wanted:
            found = load(TABLES, table)(rows, options)
            if not found and table in params.tables:
                say(f"table {table}: the rows have nothing to show (no answers?)")
            for row in found:
                yield ordered(Stat, {"table": table, **row})

    def _one(self, text: str) -> str:
        """One copy of each name: a hundred thousand rows share a few."""
        return self._names.setdefault(text, text)


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


_CONDITION = re.compile(r"\s*(?P<name>[\w@]+)\s*(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>.+?)\s*")
_SIGNS: dict[str, Any] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


def _holds(rows: Rows, condition: str) -> Bools:
    """[n] rows for which a condition holds; an undefined number fulfils none. `|` parts values of `=` and `!=`."""
    read = _CONDITION.fullmatch(condition)
    if not read:
        raise UsageError(f"--where: '{condition}' is no condition", "Write --where 'answer_kind=span' or 'f1>=0.5'.")
    name, sign = BY.get(read["name"], read["name"]), read["sign"]
    if name not in rows.factors and name not in rows.columns:
        raise UsageError(f"--where: unknown name '{read['name']}'. "
                         f"{did_you_mean(read['name'], {*BY, *rows.factors, *rows.columns})}")  # fmt: skip
    values = read["value"].split("|")
    if name in rows.factors and sign in ("=", "!="):
        levels = [level for level in rows.factors[name].levels if str(level) in values]
        found: Bools = np.logical_or.reduce([np.zeros(rows.n, np.bool_), *(rows.is_level(name, one) for one in levels)])
        return ~found if sign == "!=" else found
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        raise UsageError(f"--where: {name} is a number, got '{read['value']}'") from None
    if name in rows.factors:
        factor = rows.factors[name]
        if not all(isinstance(level, int | None) for level in factor.levels):
            raise UsageError(f"--where: {read['name']} is a name: it can be = or !=, not {sign}")
        column = np.array([np.nan if level is None else level for level in factor.levels])[factor.codes]
    else:
        column = rows.columns[name]
    if len(numbers) > 1 and sign not in ("=", "!="):
        raise UsageError(f"--where: '{condition}' compares with several numbers")
    each = [_SIGNS[sign](column, number) for number in numbers]
    holds: Bools = (np.logical_and if sign == "!=" else np.logical_or).reduce(each) & ~np.isnan(column)
    return holds


def _warn(rows: Rows, say: Callable[[str], None]) -> None:
    """What would mislead a reader of the tables."""
    for factor, what, why in (("profile", "profiles", "their F1 and EM are different numbers"),
                              ("tokenizer", "tokenizers", "their budgets are different lengths")):  # fmt: skip
        levels = rows.levels(factor)
        if len(levels) > 1:
            say(f"the rows mix {what} ({', '.join(map(str, levels))}): {why}")
    if rows.questions < FEW:
        say(f"{rows.questions} questions are few: bootstrap intervals over less than {FEW} clusters are too narrow")
    shared = [part.questions for _, part in rows.split(("policy",))]
    if min(shared) < rows.questions:
        say("the policies are not on the same questions: compare them by contrasts, not by their means")
