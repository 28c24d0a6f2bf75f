"""One runner for all commands: from lines to rows, with what every stage promises.

Three bodies share it. `run_stage` maps records (retrieve, pack, generate, diagnose). `run_fold` reads all records
and gives rows at the end (stats). `run_source` gives rows from files of other formats (import).
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import orjson

from ragpack.checked import view
from ragpack.errors import DataError, Exit, RagpackError, UsageError
from ragpack.flow.engines import ENGINES, Plan
from ragpack.flow.mapper import Failed, parse
from ragpack.flow.progress import Progress
from ragpack.flow.resume import Shelf, drop_earlier, shelf_of
from ragpack.flow.runfile import now, write_runfile
from ragpack.flow.signals import Interrupted, Signals
from ragpack.flow.sink import FileSink, Sink, open_sink
from ragpack.flow.streams import STDOUT, Line, check_inputs, lines
from ragpack.records import Failure, Raw, Record, ordered
from ragpack.stage import Stage, Tally


@dataclass(frozen=True, kw_only=True)
class Flow:
    """The options that every command has."""

    files: Sequence[str] = ()
    output: str | None = None
    on_error: str = "fail"
    failures: str | None = None
    resume: bool = False
    jobs: int = 1
    engine: str | None = None
    quiet: bool = False


Fail = Callable[[str, int, DataError, object], None]
"""(source, number, error, id or None): a bad entry of a file that is not read by `run_stage`."""


class _Stop(Exception):
    """`--on-error fail`: a record was bad, and it has been said."""


class _Lines:
    """The input. An unreadable file ends it; the error is raised after what came before is written."""

    def __init__(self, source: Iterator[Line]) -> None:
        self._source = source
        self.error: DataError | None = None
        self.count = 0

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        try:
            line = next(self._source)
        except DataError as error:
            self.error = error
            raise StopIteration from None
        self.count += 1
        return line


class Run:
    """One run: sinks, counts, messages, signals, exit code."""

    def __init__(self, name: str, flow: Flow) -> None:
        self.name = name
        self.flow = flow
        self.signals = Signals()
        self.counts = {"in": 0, "out": 0, "cached": 0, "failed": 0}
        self.about: dict[str, Any] = {}
        self.resumable = False
        self._said: set[str] = set()
        self._tallies: dict[str, Tally] = {}
        self._failures: Sink | None = None
        self._progress: Progress | None = None

    def say(self, text: str) -> None:
        """A sentence on standard error, once."""
        if text not in self._said:
            self._said.add(text)
            if self._progress:
                self._progress.clear()
            print(f"{self.name}: {text}", file=sys.stderr)

    def tally(self, worker: str, tally: Tally) -> None:
        """What a worker counted besides rows; a later tally stands for its earlier ones."""
        self._tallies[worker] = tally

    def write(self, sink: Sink, rows: Sequence[bytes], cached: int = 0) -> None:
        """Whole lines, not torn by a signal."""
        with self.signals.writing():
            for row in rows:
                sink.write(row)
            self.counts["out"] += len(rows)
            self.counts["cached"] += cached
        if self._progress:
            self._progress.show(self.counts["in"], self.counts["out"], self.counts["failed"])

    def fail(self, source: str, number: int, failed: Failed) -> None:
        """A bad record: counted, told, written to `--failures`; the end of the run unless `--on-error skip`."""
        self.counts["failed"] += 1
        where = f"{source}:{number}: " + (f"id={failed.id}: " if failed.id else "")
        skip = self.flow.on_error == "skip"
        if self._failures:
            row = {"stage": self.name, "source": source, "line": number, "id": failed.id,
                   "error": {"type": failed.kind, "message": failed.message}}  # fmt: skip
            self.write_failure(orjson.dumps(ordered(Failure, row), option=orjson.OPT_APPEND_NEWLINE))
        if not skip or self.counts["failed"] <= 5:
            if self._progress:
                self._progress.clear()
            print(f"{where}{failed.message}" + (f"\n{failed.hint}" if failed.hint else ""), file=sys.stderr)
        elif self.counts["failed"] == 6:
            self.say(
                "further failures are counted"
                + (", see --failures" if self._failures else "; --failures FILE lists them")
            )
        if not skip:
            raise _Stop

    def write_failure(self, row: bytes) -> None:
        """Failures are few and precious: each is written through at once."""
        assert self._failures is not None
        self._failures.write(row)
        if hasattr(self._failures, "flush"):
            self._failures.flush()

    def __call__(self, body: Callable[[Sink], None]) -> Exit:
        """Run the body with everything set up; never lets a signal, a closed pipe or a bad record through."""
        flow = self.flow
        started, clock = now(), time.monotonic()
        STDOUT.seal()
        if flow.resume and (flow.output is None or flow.output == "-"):
            raise UsageError("--resume needs -o FILE: the output is the cache")
        if flow.on_error not in ("fail", "skip"):
            raise UsageError(f"--on-error is fail or skip, got '{flow.on_error}'")
        if flow.failures and flow.output and os.path.realpath(flow.failures) == os.path.realpath(flow.output):
            raise UsageError(f"-o and --failures both name {flow.output}")
        if flow.failures and os.path.realpath(flow.failures) in map(os.path.realpath, flow.files):
            raise UsageError(f"--failures {flow.failures} is an input", "It would be written over: name another file.")
        with ExitStack() as stack:
            stack.enter_context(self.signals.watched())
            sink = open_sink(flow.output)
            if flow.resume and not isinstance(sink, FileSink):
                raise UsageError(f"--resume needs -o FILE: {flow.output} is no file that can be read again")
            code = Exit.OK
            try:
                if flow.failures:
                    self._failures = open_sink(flow.failures, "--failures")
                self._progress = Progress(self.name, flow.quiet, isinstance(sink, FileSink))
                body(sink)
                with self.signals.writing():
                    sink.finish()
                    if self._failures:
                        self._failures.finish()
            except (_Stop, Interrupted, BrokenPipeError, Exception) as error:
                code = self._ended(error)
                with contextlib.suppress(BrokenPipeError):
                    sink.abandon()
                    if self._failures:
                        # What failed is worth keeping when the run itself ends early.
                        self._failures.finish()
                if code is Exit.READER_WENT_AWAY:
                    STDOUT.silence()
                elif isinstance(sink, FileSink) and self.counts["out"] and os.path.exists(sink.part):
                    then = "; --resume goes on" if self.resumable else ""
                    print(f"{self.name}: {self.counts['out']} rows are in {flow.output}.part{then}", file=sys.stderr)
                if not isinstance(error, (_Stop, Interrupted, BrokenPipeError)):
                    raise
                return code
            self._progress.clear()
        seconds = time.monotonic() - clock
        tally = added_up(self._tallies.values())
        if isinstance(sink, FileSink):
            drop_earlier(sink.part)
            told = {tally.name: {**tally.facts, **tally.counts}} if tally else {}
            write_runfile(sink.target, started, seconds, self.counts, {"stage": self.name, **self.about, **told})
        if not flow.quiet:
            said = [f"{number} {name}" for name, number in self.counts.items()]
            said += [f"{tally.counts[name]} {words}" for name, words in tally.said.items()] if tally else []
            print(f"{self.name}: {', '.join(said)}, {seconds:.1f} s", file=sys.stderr)
        return Exit.SOME_FAILED if self.counts["failed"] else Exit.OK

    def _ended(self, error: BaseException) -> Exit:
        if self._progress:
            self._progress.clear()
        if isinstance(error, Interrupted):
            print(f"{self.name}: {'interrupted' if error.code is Exit.INTERRUPTED else 'terminated'}", file=sys.stderr)
            return error.code
        if isinstance(error, BrokenPipeError):
            return Exit.FAILED if self.counts["failed"] and self.flow.on_error == "fail" else Exit.READER_WENT_AWAY
        return Exit.FAILED


def run_stage(
    name: str, open_stage: Callable[[Any], Stage], params: object, flow: Flow, about: Mapping[str, Any],
    fields: tuple[str, ...] = (), made: str | None = None,
    prepare: Callable[[Any, Fail, Callable[[str], None]], Any] | None = None,
) -> Exit:  # fmt: skip
    """Map every record through a stage. `params` is picklable, and so is `open_stage`: workers open their own.
    `fields` are those that the stage adds, where that is more than its own object; `made` is that object's name, where
    it is not the command's. `prepare(params, fail, say)` does in this process what workers share, and gives the
    parameters that they get."""
    check_inputs(flow.files)
    run = Run(name, flow)
    run.about = dict(about)
    run.resumable = True
    engine = ENGINES[flow.engine or ("processes" if flow.jobs > 1 else "serial")]

    def fail(source: str, number: int, error: DataError, identity: object) -> None:
        run.fail(source, number, failed_of(error, {"id": identity}))

    def body(sink: Sink) -> None:
        prepared = prepare(params, fail, run.say) if prepare else params
        with ExitStack() as stack:
            shelf: Shelf | None = None
            if flow.resume:
                assert isinstance(sink, FileSink)
                shelf = stack.enter_context(shelf_of(sink.target, sink.part, made or name, fields or (made or name,)))
                sink.restart()
            source = _Lines(lines(flow.files))
            results = engine(Plan(open_stage, prepared, shelf), flow.jobs, source, run)
            with contextlib.closing(results):  # type: ignore[type-var] # engines are generators
                for done in results:
                    run.counts["in"] += 1
                    if done.failed:
                        run.fail(done.source, done.number, done.failed)
                    run.write(sink, done.rows, done.cached)
            if source.error:
                raise source.error

    return run(body)


def run_fold(
    name: str,
    accepted: tuple[type[Record], ...],
    take: Callable[[Any, Raw], None],
    give: Callable[[Callable[[str], None], Callable[[], None]], Iterator[bytes]],
    flow: Flow,
    about: Mapping[str, Any],
) -> Exit:
    """Take all records, each beside its line, then give rows. `take` raises `DataError` for a bad one;
    `give(say, count)` may add sentences, and counts its rows: a table is written as a whole."""
    check_inputs(flow.files)
    run = Run(name, flow)
    run.about = dict(about)

    def body(sink: Sink) -> None:
        for line in lines(flow.files):
            run.counts["in"] += 1
            raw = {}
            try:
                raw = parse(line)
                take(view(raw, accepted), raw)
            except DataError as error:
                run.fail(line.source, line.number, failed_of(error, raw))

        def count() -> None:
            run.counts["out"] += 1

        for block in give(run.say, count):
            with run.signals.writing():
                sink.write(block)

    return run(body)


def run_source(
    name: str, produce: Callable[[Fail, Callable[[], None]], Iterator[bytes]], flow: Flow, about: Mapping[str, Any]
) -> Exit:  # fmt: skip
    """Give rows from files that are not ours. `produce(fail, count)` calls one of them for each entry, bad or good."""
    run = Run(name, flow)
    run.about = dict(about)

    def fail(source: str, number: int, error: DataError, identity: object) -> None:
        run.counts["in"] += 1
        run.fail(source, number, failed_of(error, {"id": identity}))

    def count() -> None:
        run.counts["in"] += 1

    def body(sink: Sink) -> None:
        for row in produce(fail, count):
            run.write(sink, [row])

    return run(body)


def added_up(tallies: Iterable[Tally]) -> Tally | None:
    """One tally of those of all workers: counts are sums, facts and words are what any of them tells."""
    whole: Tally | None = None
    for one in tallies:
        if whole is None:
            whole = one
            continue
        counts = {name: number + one.counts.get(name, 0) for name, number in whole.counts.items()}
        words = {**whole.said, **one.said}
        said = {name: words[name] for name in counts if name in words}
        whole = Tally(whole.name, {**whole.facts, **one.facts}, counts, said)
    return whole


def failed_of(error: RagpackError, raw: Mapping[str, object]) -> Failed:
    """An error with the id of its record, where that can be read."""
    identity = raw.get("id")
    return Failed(type(error).__name__, error.message, error.hint, identity if isinstance(identity, str) else None)
