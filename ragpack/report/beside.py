"""What `stats` writes beside its tables: plots in a folder, and a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple

from ragpack.errors import Missing, UsageError
from ragpack.flow.run import Flow
from ragpack.flow.sink import open_sink
from ragpack.records import Diagnosed, Raw
from ragpack.report.html.page import Contents, page
from ragpack.report.html.provenance import Origins, runs
from ragpack.report.html.questions import Entry, Shelf
from ragpack.report.plots import files
from ragpack.report.plots.figure import Drawn, require_matplotlib
from ragpack.report.tables import sheets
from ragpack.stages.policies import POLICIES, options_of
from ragpack.stages.stats import Stats, StatsParams
from ragpack.statistics.rows import Rows


class Wanted(NamedTuple):
    """The options."""

    plots: str | None
    """Folder of `--plots`."""
    html: str | None
    """File of `--html`."""
    questions: int
    """Most questions of the page."""


class Beside:
    """Takes the rows that `stats` takes and the rows of tables that it gives; writes at the end. Does nothing where
    neither plots nor a page are asked for.

    Raises `UsageError` for names that can't be written, and `Missing` for plots without matplotlib, before any row is
    read. A page without matplotlib has no plots, and says so.
    """

    def __init__(self, wanted: Wanted, flow: Flow) -> None:
        self._wanted = wanted
        self._files = tuple(flow.files)
        self._rows: list[Raw] = []
        self._shelf = Shelf() if wanted.html is not None else None
        self._origins = Origins()
        self._gains: dict[tuple[str, str, str], Raw] = {}
        self._missing: str | None = None
        if wanted.questions < 0:
            raise UsageError(f"--html-questions: {wanted.questions} is negative")
        if wanted.plots is not None:
            require_matplotlib("--plots")
            files.check_folder(wanted.plots)
        if wanted.html is not None:
            _check_page(wanted.html, flow)
            try:
                require_matplotlib("a page with plots")
            except Missing as missing:
                self._missing = missing.message

    @property
    def idle(self) -> bool:
        """Is neither plots nor a page asked for?"""
        return self._wanted.plots is None and self._wanted.html is None

    def take(self, record: Diagnosed, raw: Raw) -> None:
        """A row that `stats` has taken."""
        if self.idle:
            return
        for hit in record.hits:
            gain = (hit.scores or {}).get("ig")
            if gain is not None:
                probe = raw.get("probe")
                model = str(probe.get("model")) if isinstance(probe, dict) else ""
                self._gains[record.id, model, hit.id] = {"id": record.id, "ig": gain, "has_answer": hit.has_answer}
        if self._shelf is not None:
            self._shelf.take(record, raw)
            self._origins.take(record)

    def passing(self, rows: Iterator[Raw]) -> Iterator[Raw]:
        """The tables' rows, noted on their way to the output."""
        for row in rows:
            if not self.idle:
                self._rows.append(row)
            yield row

    def finish(self, fold: Stats, params: StatsParams, say: Callable[[str], None]) -> None:
        """Write what was asked for."""
        rows = fold.kept
        if self.idle or rows is None:
            return
        kept = _keys(rows) if params.where else None
        policies = [str(policy) for policy in rows.levels("policy")]
        asked = {rows.names[number] for number in rows.question}
        tables: dict[str, list[Raw]] = {}
        for row in self._rows:
            tables.setdefault(row["table"], []).append(row)
        thresholds = _thresholds(policies)
        tables["ig"] = [
            {**gain, "thresholds": thresholds} for key, gain in sorted(self._gains.items()) if key[0] in asked
        ]
        notes = [self._missing] if self._missing else []
        plots: dict[str, Drawn] = {}
        if not self._missing:
            plots = files.draw(tables, say)
        if self._wanted.plots is not None:
            files.write(self._wanted.plots, plots)
        if self._wanted.html is not None:
            for note in notes:
                say(f"{note}; this one has none")
            assert self._shelf is not None
            entries: Sequence[Entry] = self._shelf.entries
            if kept is not None:
                entries = [entry for entry in entries if entry.key in kept]
            contents = Contents(
                sheets=list(sheets(iter(self._rows))),
                plots=plots,
                notes=notes,
                shelf=self._shelf,
                entries=entries,
                most=self._wanted.questions,
                origins=self._origins.told(),
                runs=runs(self._files),
                params=asdict(params),
            )
            sink = open_sink(self._wanted.html, "--html")
            try:
                sink.write(page(contents))
                sink.finish()
            finally:
                sink.abandon()


def _check_page(name: str, flow: Flow) -> None:
    if not name or name == "-":
        raise UsageError("--html: name a file", "Standard output has the tables.")
    if os.path.isdir(name):
        raise UsageError(f"--html {name} is a folder")
    if not os.path.isdir(os.path.dirname(name) or "."):
        raise UsageError(f"--html {name}: no such folder: {os.path.dirname(name)}")
    real = os.path.realpath(name)
    for option, other in (("-o", flow.output), ("--failures", flow.failures)):
        if other and os.path.realpath(other) == real:
            raise UsageError(f"{option} and --html both name {name}")
    if real in map(os.path.realpath, flow.files):
        raise UsageError(f"--html {name} is an input", "It would be written over: name another file.")


def _keys(rows: Rows) -> set[tuple[str, str | None, str, int, int | None]]:
    """What tells the rows apart that `--where` lets through."""
    names = ("model", "policy", "budget", "seed")
    levels = [[rows.factors[name].levels[code] for code in rows.factors[name].codes] for name in names]
    found = zip((rows.names[number] for number in rows.question), *levels, strict=True)
    return set(found)


def _thresholds(policies: Sequence[str]) -> list[float]:
    """The thresholds of the policies that prune by information gain."""
    found: set[float] = set()
    for name in policies:
        rule, _, parameters = name.partition(":")
        if rule != "igp":
            continue
        given = dict(pair.split("=", 1) for pair in parameters.split(",") if "=" in pair)
        if "threshold" in given:
            found.add(float(given["threshold"]))
        elif rule in POLICIES:
            found.add(float(options_of(rule)["threshold"].default))
    return sorted(found)
