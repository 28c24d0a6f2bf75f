"""stats: rows of the diagnostic in, tables out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ragpack.errors import DataError, RagpackError, UsageError, did_you_mean
from ragpack.records import Diagnosed, Raw, Stat, ordered
from ragpack.registry import load
from ragpack.statistics import TABLES
from ragpack.statistics.rows import METRICS, Label, Options, collect

FEW = 30  # clusters below which a cluster bootstrap is not to be trusted


@dataclass(frozen=True)
class StatsParams:
    """What decides the tables."""

    tables: tuple[str, ...] = ()
    """Names; empty: those that the rows allow."""
    baseline: str | None = None
    """Policy that the others are compared with."""
    resamples: int = 10_000
    seed: int = 0


class Stats:
    """Takes rows one by one, then gives the tables."""

    def __init__(self, params: StatsParams) -> None:
        for name in params.tables:
            if name not in TABLES:
                raise UsageError(f"unknown table '{name}'. {did_you_mean(name, TABLES)}")
        if "contrasts" in params.tables and params.baseline is None:
            raise UsageError("--table contrasts needs --baseline POLICY")
        if params.resamples < 100:
            raise UsageError(f"--resamples: {params.resamples} is less than 100")
        self._params = params
        self._questions: list[str] = []
        self._labels: list[Label] = []
        self._kinds: list[str | None] = []
        self._columns: dict[str, list[float]] = {name: [] for name in METRICS}
        self._seen: set[tuple[str, Label]] = set()
        self._profiles: set[str] = set()
        self._units: set[str] = set()
        self._names: dict[str, str] = {}

    def take(self, record: Diagnosed) -> None:
        """Add a row. Raises `DataError` for one that is there already: it would count twice."""
        seed = record.sample.get("seed") if record.sample else None
        if seed is not None and type(seed) is not int:
            raise DataError("sample.seed: expected a whole number", "`ragpack import --sample N --seed S` writes it.")
        model = record.generate.model if record.generate else ""
        label = Label(self._one(model), self._one(record.pack.policy), record.pack.budget, seed)
        key = (record.id, label)
        if key in self._seen:
            raise DataError(f"a row of policy {label.policy}, budget {label.budget}"
                            + (f", model {model}" if model else "") + " is there twice for this question",
                            "Each question counts once: were files concatenated twice?")  # fmt: skip
        self._seen.add(key)
        self._questions.append(self._one(record.id))
        self._labels.append(label)
        self._kinds.append(record.diagnose.answer_kind)
        self._profiles.add(record.diagnose.profile)
        self._units.add(record.pack.unit)
        for name, column in self._columns.items():
            value = record.pack.tokens if name == "tokens" else getattr(record.diagnose, name)
            column.append(float("nan") if value is None else value)

    def give(self, say: Callable[[str], None]) -> Iterator[Raw]:
        """The tables' rows. Raises `RagpackError` where there is nothing to make a table of."""
        if not self._labels:
            raise RagpackError("no rows came in", "`ragpack diagnose` writes them.")
        params = self._params
        names = {label.policy for label in self._labels}
        if params.baseline is not None and params.baseline not in names:
            raise UsageError(
                f"--baseline: no row has the policy '{params.baseline}'. {did_you_mean(params.baseline, names)}"
            )
        rows = collect(self._questions, self._labels, self._kinds, self._columns)
        self._warn(say, names)
        options = Options(params.baseline, params.resamples, params.seed)
        wanted = params.tables or ("policies", "conditional", *(("contrasts",) if params.baseline else ()))
        for table in wanted:
            found = load(TABLES, table)(rows, options)
            if not found and table in params.tables:
                say(f"table {table}: the rows have nothing to show (no answers?)")
            for row in found:
                yield ordered(Stat, {"table": table, **row})

    def _warn(self, say: Callable[[str], None], names: set[str]) -> None:
        if len(self._profiles) > 1:
            say(f"the rows mix profiles ({', '.join(sorted(self._profiles))}): their F1 and EM are different numbers")
        if len(self._units) > 1:
            say(f"the rows mix tokenizers ({', '.join(sorted(self._units))}): their budgets are different lengths")
        questions = set(self._questions)
        if len(questions) < FEW:
            say(f"{len(questions)} questions are few: bootstrap intervals over less than {FEW} clusters are too narrow")
        shared: dict[str, set[str]] = {}
        for question, label in zip(self._questions, self._labels, strict=True):
            shared.setdefault(label.policy, set()).add(question)
        if len(names) > 1 and any(len(mine) < len(questions) for mine in shared.values()):
            say("the policies are not on the same questions: compare them by contrasts, not by their means")

    def _one(self, text: str) -> str:
        """One copy of each name: a hundred thousand rows share a few."""
        return self._names.setdefault(text, text)
