"""Where a stage runs: in this process, in `-j` processes, or in Ray. Same bytes, same order, everywhere."""

from __future__ import annotations

import os
import platform
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from queue import Empty, Queue
from threading import Thread
from typing import Any, NamedTuple, Protocol

from ragpack.errors import BackendError, Missing
from ragpack.flow.mapper import Done, Mapper
from ragpack.flow.resume import Earlier, Shelf
from ragpack.flow.streams import Line
from ragpack.stage import Stage, Tally

BATCH = 32  # lines sent to a worker at once
AHEAD = 3  # batches in flight for each worker
PATIENCE = 0.02  # seconds to wait for a result before looking for new input


class Plan(NamedTuple):
    """What a worker needs to open a stage: picklable."""

    open: Callable[[Any], Stage]
    params: Any
    shelf: Shelf | None


class Batch(NamedTuple):
    """What a worker sends back."""

    done: list[Done]
    notes: list[str]
    worker: str
    tally: Tally | None
    """Of all that this worker has done so far."""


class Hearer(Protocol):
    """Who is told what is in no row."""

    def say(self, text: str) -> None:
        """A sentence, once."""

    def tally(self, worker: str, tally: Tally) -> None:
        """A worker's tally; a later one stands for the earlier."""


Engine = Callable[[Plan, int, Iterator[Line], Hearer], Iterator[Done]]
"""(plan, jobs, lines, who hears what is in no row) -> one `Done` a line, in order."""


class Opened(NamedTuple):
    """A stage with its mapper."""

    stage: Stage
    map: Mapper


class Worker:
    """An opened stage in a process of its own.

    A stage that can't be opened says so when there is work: while a process starts nobody would hear it.
    """

    def __init__(self, plan: Plan) -> None:
        self._opened: Opened | Exception
        try:
            self._opened = _open(plan)
        except Exception as error:
            self._opened = error

    def work(self, lines: list[Line]) -> Batch:
        """A batch of lines, all of it."""
        if isinstance(self._opened, Exception):
            raise self._opened
        done = list(self._opened.map(iter(lines)))
        stage = self._opened.stage
        return Batch(done, stage.notes(), f"{platform.node()} {os.getpid()}", stage.tally())


def serial(plan: Plan, jobs: int, lines: Iterator[Line], hearer: Hearer) -> Iterator[Done]:
    """In this process, streaming line by line."""
    del jobs
    stage, map_ = _open(plan)
    try:
        yield from map_(lines)
        _tell(hearer, stage.notes(), "", stage.tally())
    finally:
        stage.close()


def processes(plan: Plan, jobs: int, lines: Iterator[Line], hearer: Hearer) -> Iterator[Done]:
    """In `jobs` processes of this machine."""
    # Each worker counts tokens on one core; threads of the tokenizer would fight for it.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_start, initargs=(plan,))

    def receive(future: Future[Batch], patience: float) -> Batch | None:
        return future.result() if wait([future], patience).done else None

    finished = False
    try:
        # A terminal sends SIGINT to every process: the first one hears it and ends the others, deaf from their start.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for _ in range(jobs):
            pool.submit(int)  # starts one
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield from _in_order(lines, jobs, lambda batch: pool.submit(_work, batch), receive, hearer)
        finished = True
    except BrokenProcessPool:
        raise _died() from None
    finally:
        workers = list((pool._processes or {}).values())
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:  # they may be in the middle of a batch that nobody waits for
            for worker in workers:
                worker.terminate()


def ray(plan: Plan, jobs: int, lines: Iterator[Line], hearer: Hearer) -> Iterator[Done]:
    """In Ray actors: on the cluster that RAY_ADDRESS names, else on this machine."""
    try:
        import ray as library
    except ImportError:
        raise Missing("--engine ray", "ray") from None
    if plan.shelf and os.environ.get("RAY_ADDRESS"):
        raise BackendError(
            "--resume reads files of this machine", "Resume with --engine processes, or unset RAY_ADDRESS."
        )
    local = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs, "include_dashboard": False}
    library.init(log_to_driver=False, configure_logging=False, **local)
    try:
        remote = library.remote(num_cpus=1)(Worker)
        actors = [remote.remote(plan) for _ in range(jobs)]
        turn = iter(range(2**62))

        def send(batch: list[Line]) -> Any:  # noqa: ANN401 # an object reference
            return actors[next(turn) % jobs].work.remote(batch)

        def receive(reference: Any, patience: float) -> Batch | None:  # noqa: ANN401 # same
            ready, _ = library.wait([reference], timeout=patience)
            found: Batch | None = library.get(reference) if ready else None
            return found

        yield from _in_order(lines, jobs, send, receive, hearer)
    except library.exceptions.RayTaskError as error:
        raise error.cause from None
    except library.exceptions.RayActorError:
        raise _died() from None
    finally:
        library.shutdown()


ENGINES: dict[str, Engine] = {"serial": serial, "processes": processes, "ray": ray}


def _died() -> BackendError:
    return BackendError("a worker died", "It may have run out of memory: try a smaller -j.")


def _open(plan: Plan) -> Opened:
    stage = plan.open(plan.params)
    return Opened(stage, Mapper(stage, Earlier(plan.shelf, stage.name, stage.fields) if plan.shelf else None))


def _in_order(
    lines: Iterator[Line],
    jobs: int,
    send: Callable[[list[Line]], Any],
    receive: Callable[[Any, float], Batch | None],
    hearer: Hearer,
) -> Iterator[Done]:
    """Send batches ahead, a bounded number of them, and take the results back in the order of the input.

    The input is read in a thread of its own: a slow pipe must not hold back results that are there.
    """
    waiting: Queue[list[Line] | BaseException] = Queue(maxsize=AHEAD * jobs)
    Thread(target=_read, args=(lines, waiting), daemon=True).start()
    flying: deque[Any] = deque([send([])])  # opens a stage even where no line comes: its parameters may be wrong
    more = True
    while more or flying:
        while more and len(flying) < AHEAD * jobs:
            try:
                batch = waiting.get(block=not flying)
            except Empty:
                break
            if isinstance(batch, BaseException):
                raise batch
            more = bool(batch)
            if batch:
                flying.append(send(batch))
        if flying:
            result = receive(flying[0], PATIENCE)
            if result is not None:
                flying.popleft()
                _tell(hearer, result.notes, result.worker, result.tally)
                yield from result.done


def _tell(hearer: Hearer, notes: list[str], worker: str, tally: Tally | None) -> None:
    for note in notes:
        hearer.say(note)
    if tally is not None:
        hearer.tally(worker, tally)


def _read(lines: Iterator[Line], waiting: Queue[list[Line] | BaseException]) -> None:
    """Batches of lines, then an empty one; or what went wrong."""
    try:
        while batch := list(islice(lines, BATCH)):
            waiting.put(batch)
        waiting.put([])
    except BaseException as error:
        waiting.put(error)


_WORKER: list[Worker] = []


def _start(plan: Plan) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    _WORKER.append(Worker(plan))


def _end_with_parent() -> None:
    """A first process that is killed can't end the others: they would wait for work for ever."""
    first = parent_process()
    if first is not None:
        first.join()
        os._exit(1)


def _work(lines: list[Line]) -> Batch:
    return _WORKER[0].work(lines)
