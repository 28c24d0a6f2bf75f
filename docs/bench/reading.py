"""The vLLM reader beside a bare `LLM.generate` that is given all prompts at once: one engine, one process, in turn.

    python docs/bench/reading.py MODEL PACKS [PAIRS]

PACKS are contexts, one of each question; PAIRS (3) is how often each side runs. Prints a JSON line for each comparison.
The engine is loaded and warm before anything is timed, and forgets its prefixes before each run: no side profits from
what the other has read.

- Answers: tokens per second of the generate stage, from lines to rows, and of the bare call, on streams of several
  lengths.
- Rollouts: the same with the log-probabilities of the 128 most likely tokens at each step, and the share of a rollout's
  time that goes into its uncertainty.
- Forms: rollouts by the bare call with log-probabilities in the flat form, as dicts, and as dicts with the text of each
  token.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from ragpack.flow.mapper import Mapper  # noqa: E402 # the tree before an installed ragpack
from ragpack.flow.streams import lines  # noqa: E402 # as above
from ragpack.readers import READERS, vllm  # noqa: E402 # as above
from ragpack.readers.base import Decoding, Reader, Request  # noqa: E402 # as above
from ragpack.readers.engine.told import sample_of  # noqa: E402 # as above
from ragpack.readers.prompts.named import ANSWER  # noqa: E402 # as above
from ragpack.readers.prompts.probes import TEXT  # noqa: E402 # as above
from ragpack.stages.generate import GenerateParams, open_generate  # noqa: E402 # as above

STREAMS = (16, 64)
K = 128
ROLLOUT = Decoding(uncertainty=K)
Opened = Any
"""A reader with its engine: the library has no types here."""
_SHARED: list[Any] = []


def shared(model: str, **options: object) -> Reader:
    """The reader that is there already: what the stage opens."""
    del model, options
    return _SHARED[0]


def main(model: str, packs: str, pairs: int) -> None:
    """Everything, with one engine."""
    reader = vllm.open_reader(model, most_logprobs=K)
    _SHARED.append(reader)
    READERS["shared"] = "reading:shared"
    sys.modules["reading"] = sys.modules["__main__"]
    with open(packs, "rb") as file:
        rows = [orjson.loads(line) for line in file]
    warm = [Request(at, ANSWER.messages(row["question"], row["pack"]["context"])) for at, row in enumerate(rows[:4])]
    list(reader.answer(iter(warm)))
    for length in STREAMS:
        if length <= len(rows):
            answers(reader, packs, rows[:length], pairs)
    few = rows[: STREAMS[0]]
    rollouts(reader, few, pairs)
    forms(reader, few, pairs)


def answers(reader: Opened, packs: str, rows: list[dict[str, Any]], pairs: int) -> None:
    """The stage, and the bare call with the same token ids."""
    number = len(rows)
    chats = [ANSWER.messages(row["question"], row["pack"]["context"]) for row in rows]

    def ours() -> float:
        mapper = Mapper(open_generate(GenerateParams("shared", "m")))
        stream = (line for line, _ in zip(lines([packs]), range(number), strict=False))
        done = [orjson.loads(one.rows[0])["generate"]["tokens"]["completion"] for one in mapper(stream)]
        assert len(done) == number
        return float(sum(done))

    def bare() -> float:
        prompts = [{"prompt_token_ids": reader._chat.ids(chat)} for chat in chats]
        return called(reader, prompts, reader._sampling(vllm._Prompt([]), Decoding()))

    tell(f"generate / bare LLM.generate, {number} prompts", reader, pairs, ours, bare, ">= 0.95")


def rollouts(reader: Opened, rows: list[dict[str, Any]], pairs: int) -> None:
    """Rollouts by the reader, and the same prompts without log-probabilities; then uncertainty alone."""
    requests = [TEXT.rollout(row["question"], row["pack"]["context"], ROLLOUT) for row in rows]
    prompts = [{"prompt_token_ids": reader._chat.tokenizer(one.text)["input_ids"]} for one in requests]
    plain = reader._sampling(vllm._Prompt([]), Decoding())
    spent: list[float] = []
    told = vllm.sample_of

    def timed(*arguments: Any) -> Any:  # noqa: ANN401 # what it wraps
        started = time.perf_counter()
        found = told(*arguments)
        spent.append(time.perf_counter() - started)
        return found

    def ours() -> float:
        return float(sum(one.completion_tokens for one in reader.answer(iter(requests))))

    tell(
        f"rollouts, K={K} / without log-probabilities", reader, pairs, ours, lambda: called(reader, prompts, plain), ""
    )
    vllm.sample_of = timed
    reader._llm.reset_prefix_cache()
    started = time.perf_counter()
    ours()
    whole = (time.perf_counter() - started) / len(requests)
    vllm.sample_of = sample_of
    print(orjson.dumps({"name": f"uncertainty / rollout, {len(requests)} rollouts", "ours": statistics.mean(spent),
                        "theirs": whole, "ratio": statistics.mean(spent) / whole, "unit": "s",
                        "goal": "<= 0.01"}).decode(), flush=True)  # fmt: skip


def forms(reader: Opened, rows: list[dict[str, Any]], pairs: int) -> None:
    """What the forms of log-probabilities cost."""
    requests = [TEXT.rollout(row["question"], row["pack"]["context"], ROLLOUT) for row in rows]
    prompts = [{"prompt_token_ids": reader._chat.tokenizer(one.text)["input_ids"]} for one in requests]

    def form(flat: bool, texts: bool) -> Callable[[], float]:
        sampling = reader._sampling(vllm._Prompt([]), ROLLOUT)
        sampling.flat_logprobs, sampling.detokenize = flat, texts
        return lambda: called(reader, prompts, sampling)

    tell("rollouts: flat / dicts, both without texts", reader, pairs, form(True, False), form(False, False), "")
    tell("rollouts: flat without texts / dicts with texts", reader, pairs, form(True, False), form(False, True), "")


def called(reader: Opened, prompts: list[dict[str, Any]], sampling: Opened) -> float:
    """Tokens that the bare call gives."""
    found = reader._llm.generate(prompts, sampling, use_tqdm=False)
    return float(sum(len(one.outputs[0].token_ids) for one in found))


def tell(
    name: str, reader: Opened, pairs: int, ours: Callable[[], float], theirs: Callable[[], float], goal: str
) -> None:
    """Both in turn; medians of tokens per second, and the median of the ratios of neighbours."""
    rates: list[tuple[float, float]] = []
    for number in range(pairs):
        order = (ours, theirs) if number % 2 else (theirs, ours)
        found = dict(rate(reader, *order))
        rates.append((found[ours], found[theirs]))
    mine, bare = (statistics.median(column) for column in zip(*rates, strict=True))
    print(orjson.dumps({"name": name, "ours": mine, "theirs": bare, "ratio": statistics.median(a / b for a, b in rates),
                        "ratios": [round(a / b, 3) for a, b in rates], "unit": "t/s", "goal": goal}).decode(),
          flush=True)  # fmt: skip


def rate(reader: Opened, *sides: Callable[[], float]) -> Iterator[tuple[Callable[[], float], float]]:
    """Tokens per second of each side, from a cold prefix cache."""
    for side in sides:
        reader._llm.reset_prefix_cache()
        started = time.perf_counter()
        tokens = side()
        yield side, tokens / (time.perf_counter() - started)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
