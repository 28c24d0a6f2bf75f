"""Questions that a retriever and a reader work on in turn: many at once, so that the reader's batch stays full."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragpack.candidates.snippet import one_line
from ragpack.errors import BackendError, DataError, RagpackError, UsageError
from ragpack.readers import READERS
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request
from ragpack.readers.kept.once import once
from ragpack.readers.prompts.named import THOUGHT, Thinking
from ragpack.records import Doc, Raw
from ragpack.registry import load
from ragpack.retrievers.base import Thought, Walked, Wanted
from ragpack.stage import Outcome, Payload, Tally, Task
from ragpack.text import sentences, words
from ragpack.tokens import Counter, cut, open_counter

PATIENCE = 10_000  # tasks held while one question is worked on

Walk = Generator[Wanted, Thought, Walked]


@dataclass(frozen=True)
class ReaderParams:
    """Whom a retriever asks; `engine` says how it is computed."""

    reader: str
    """`vllm`, `openai`, `extractive`."""
    model: str = ""
    """Model id or folder; nothing for the extractive reader."""
    tokenizer: str | None = None
    """Counts the passages of a prompt; None: the model's own under vLLM, else nothing is counted or cut."""
    engine: dict[str, Any] = field(default_factory=dict, hash=False)
    """More keyword arguments for `open_reader`."""
    cache: str | None = None
    """Folder of replies that were given before."""


class Thinker:
    """A reader that is asked for thoughts."""

    def __init__(
        self, reader: Reader, template: Thinking, counter: Counter | None, budget: int, decoding: Decoding
    ) -> None:
        self._reader, self._template, self._counter, self._budget = reader, template, counter, budget
        self._decoding = decoding
        self.close = reader.close
        self.tally: Callable[[], Tally | None] = getattr(reader, "tally", lambda: None)

    @property
    def notes(self) -> list[str]:
        """What the user should be told once, at the end."""
        return list(getattr(self._reader, "notes", ()))

    @property
    def fingerprints(self) -> dict[str, str]:
        """Of all that decides a thought."""
        counted = {"tokenizer": self._counter.fingerprint} if self._counter else {}
        return {"reader": self._reader.fingerprint, "prompt": self._template.hash, **counted}

    def request(self, number: int, wanted: Wanted) -> Request:
        """The prompt for the next thought. A reader without prompts takes the thoughts for a part of the question."""
        context = passages(wanted.docs, self._counter, self._budget)
        return Request(
            number,
            self._template.messages(wanted.question, context, wanted.thoughts),
            question=" ".join((wanted.question, *wanted.thoughts)),
            context=context,
            decoding=self._decoding,
        )

    def thought(self, reply: Completion) -> Thought:
        """The first sentence that was said."""
        text = first_sentence(reply.text)
        return Thought(text, self._template.ends(text))

    def run(
        self, begin: Callable[[Any], Walk], payload: Callable[[Any, Walked], Payload], tasks: Iterator[Task]
    ) -> Iterator[Outcome]:
        """Outcomes in the order of the tasks. `begin` gives a record's walk, `payload` what the record gets at its
        end; what the reader was asked is added."""
        line = _Line(self, begin, payload, tasks)
        while line.take():
            while line.walks:
                for reply in self._reader.answer(line.requests()):
                    line.hear(reply)
                    yield from line.done()
                if line.asked:
                    raise BackendError(f"the reader {self._reader.name} gave no answer to {len(line.asked)} prompts")
                yield from line.done()
            yield from line.done()

    def about(self, thoughts: Sequence[str], calls: int, prompt: int, completion: int) -> Raw:
        """What a record says of the reader's part."""
        return {
            "reader": self._reader.name,
            "model": self._reader.model,
            "prompt": {"name": self._template.name, "hash": self._template.hash},
            "thoughts": list(thoughts),
            "calls": calls,
            "tokens": {"prompt": prompt, "completion": completion},
        }


@dataclass
class _Walk:
    """A question that is worked on."""

    record: Any
    steps: Walk
    calls: int = 0
    prompt: int = 0
    completion: int = 0


class _Line:
    """The tasks that were taken and have no outcome yet, in order.

    Questions that were begun are asked about before new ones are taken: so about as many are worked on as the reader
    has room for. Where nothing is left to ask and answers are awaited, the reader's session ends, and another follows.
    """

    def __init__(
        self, thinker: Thinker, begin: Callable[[Any], Walk], payload: Callable[[Any, Walked], Payload],
        tasks: Iterator[Task],
    ) -> None:  # fmt: skip
        self._thinker, self._begin, self._payload, self._tasks = thinker, begin, payload, tasks
        self._taken = 0
        self._order: deque[int] = deque()
        self._ready: dict[int, Outcome] = {}
        self._waiting: deque[tuple[int, Wanted]] = deque()
        self.walks: dict[int, _Walk] = {}
        self.asked: set[int] = set()
        """Questions about which the reader is thinking."""

    def take(self) -> bool:
        """Begin the next task; False where there is none."""
        task = next(self._tasks, None)
        if task is None:
            return False
        self._taken += 1
        self._order.append(self._taken)
        if not task.cells:
            self._ready[self._taken] = []
            return True
        try:
            self.walks[self._taken] = _Walk(task.record, self._begin(task.record))
        except DataError as error:
            self._ready[self._taken] = error
        else:
            self._go_on(self._taken, None)
        return True

    def requests(self) -> Iterator[Request]:
        """What to ask, as long as somebody waits for an answer."""
        while self.walks:
            if self._waiting:
                number, wanted = self._waiting.popleft()
                self.asked.add(number)
                yield self._thinker.request(number, wanted)
            elif len(self._order) >= PATIENCE or not self.take():
                return

    def hear(self, reply: Completion | Refusal) -> None:
        """Go on with the question that was answered; a refusal is its end."""
        self.asked.discard(reply.id)
        walk = self.walks[reply.id]
        walk.calls += 1
        if isinstance(reply, Refusal):
            walk.steps.close()
            self._end(reply.id, BackendError(f"thought {walk.calls}: {reply.message}"))
            return
        walk.prompt += reply.prompt_tokens
        walk.completion += reply.completion_tokens
        self._go_on(reply.id, self._thinker.thought(reply))

    def done(self) -> Iterator[Outcome]:
        """Outcomes that nothing before them holds back."""
        while self._order and self._order[0] in self._ready:
            yield self._ready.pop(self._order.popleft())

    def _go_on(self, number: int, thought: Thought | None) -> None:
        walk = self.walks[number]
        try:
            wanted = next(walk.steps) if thought is None else walk.steps.send(thought)
        except StopIteration as stop:
            walked: Walked = stop.value
            payload = self._payload(walk.record, walked)
            payload["retrieve"] |= self._thinker.about(walked.thoughts, walk.calls, walk.prompt, walk.completion)
            self._end(number, [payload])
        except DataError as error:
            self._end(number, error)
        else:
            self._waiting.append((number, wanted))

    def _end(self, number: int, outcome: list[Payload] | RagpackError) -> None:
        del self.walks[number]
        self._ready[number] = outcome


def open_thinker(params: ReaderParams, max_tokens: int, budget: int) -> Thinker:
    """Prepare the reader and the tokenizer that counts what it is shown."""
    counter = None
    if params.tokenizer:
        counter = open_counter(params.tokenizer)
    elif params.reader == "vllm":
        counter = _own_counter(params.model)
    reader = once(load(READERS, params.reader)(params.model, **params.engine), params.cache)
    return Thinker(reader, THOUGHT, counter, budget, Decoding(max_tokens=max_tokens))


def _own_counter(model: str) -> Counter:
    try:
        return open_counter(model)
    except (UsageError, BackendError) as error:
        raise type(error)(
            f"the passages of a prompt can't be counted: {error.message}", "Name a tokenizer: --tokenizer."
        ) from None


def passages(docs: Sequence[Doc], counter: Counter | None, budget: int) -> str:
    """Passages as lines of a prompt, in order. With a counter, they have at most `budget` tokens together: the longest
    ones are cut to one length, so that each keeps its beginning."""
    lines = [one_line(f"{doc.title}: {doc.text}" if doc.title else doc.text) for doc in docs]
    if counter is None or not lines or counter.count("\n".join(lines)) <= budget:
        return "\n".join(lines)
    counts = [counter.count(line) for line in lines]
    limit = level(counts, budget)
    while True:
        context = "\n".join(line for line in (cut(counter, line, limit).text for line in lines) if line)
        excess = counter.count(context) - budget if context else 0
        if excess <= 0:
            return context
        limit -= -(-excess // len(lines))  # line ends are tokens too, and a join is not the sum of its lines


def level(counts: Sequence[int], total: int) -> int:
    """The largest L for which the sum of min(count, L) is at most `total`.

    >>> level([10, 2, 7], 14), level([10, 2, 7], 30), level([5, 5], 1)
    (6, 10, 0)
    """
    left = total
    ordered = sorted(counts)
    for at, count in enumerate(ordered):
        share = left // (len(ordered) - at)
        if count > share:
            return share
        left -= count
    return ordered[-1]


def first_sentence(text: str) -> str:
    """The first sentence with a word in it; nothing where there is none.

    >>> first_sentence("\\n- \\nIda Vale made it. She was born in Ostra.\\nSo")
    'Ida Vale made it.'
    """
    for line in map(one_line, text.splitlines()):
        for start, end in sentences(line):
            if words(line[start:end]):
                return line[start:end]
    return ""
