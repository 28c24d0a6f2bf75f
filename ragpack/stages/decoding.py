"""How an answer is decoded, checked before anything is loaded: what can't be, or would do nothing, is said."""

from __future__ import annotations

import math
from dataclasses import dataclass

import orjson

from ragpack.errors import UsageError
from ragpack.readers.base import Decoding
from ragpack.records import Raw

COLDEST = 0.01
"""vLLM samples at this temperature where a smaller one above 0 is asked for."""
SEEDS = 2**63


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """What may be asked for; None is not given."""

    max_tokens: int = 32
    """Most tokens of an answer."""
    temperature: float = 0.0
    """0 is greedy."""
    top_p: float | None = None
    """Tokens that are drawn from: the most likely ones whose probabilities add up to this."""
    seed: int | None = None
    """Of the draws."""
    n: int = 1
    """Answers to each prompt."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer."""
    logprob: bool = False
    """Keep the answer's log-probability."""
    logprobs: int | None = None
    """Keep each token's log-probability, and those of the N most likely ones."""
    keep_prompt: bool = False
    """Keep the templated prompt."""


def decoding_of(asked: Decoded) -> Decoding:
    """How a reader is to go about it. Raises `UsageError`."""
    for option, number, least in (("--max-tokens", asked.max_tokens, 1), ("--n", asked.n, 1),
                                  ("--logprobs", asked.logprobs or 0, 0)):  # fmt: skip
        if number < least:
            raise UsageError(f"{option}: {number} is less than {least}")
    if not all(asked.stop):
        raise UsageError("--stop: a text without a character ends nothing")
    greedy = _is_greedy(asked)
    if greedy and asked.n > 1:
        raise UsageError(
            f"--n {asked.n}: at temperature 0 all {asked.n} answers would be the same", "Draw them: --temperature 0.7."
        )
    for option, value in (("--top-p", asked.top_p), ("--seed", asked.seed)):
        if greedy and value is not None:
            raise UsageError(
                f"{option} {value}: at temperature 0 nothing is drawn, so it would do nothing",
                f"Leave {option} out, or give --temperature.",
            )
    if asked.top_p is not None and not 0 < asked.top_p <= 1:
        raise UsageError(f"--top-p: {asked.top_p} is not above 0 and at most 1")
    if asked.seed is not None and not 0 <= asked.seed < SEEDS:
        raise UsageError(f"--seed: {asked.seed} is not from 0 to {SEEDS - 1}")
    return Decoding(
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        top_p=1.0 if asked.top_p is None else asked.top_p,
        seed=None if greedy else asked.seed or 0,
        n=asked.n,
        stop=asked.stop,
        # 0 gives the sum alone; steps come with at least the most likely token.
        logprobs=max(1, asked.logprobs) if asked.logprobs is not None else 0 if asked.logprob else None,
        keep_prompt=asked.keep_prompt,
    )


def sampling_of(decoding: Decoding) -> Raw | None:
    """What the record says of the draws; None for greedy decoding, which makes none."""
    if decoding.temperature == 0:
        return None
    return {
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "seed": decoding.seed,
        "n": decoding.n,
    }


def canonical(asked: Decoded, decoding: Decoding, more: Raw) -> str:
    """All of it as a text, for the key. What is at its default is left out, so that a new option changes no old key;
    `more` are other things that decide a row, likewise empty at their defaults."""
    drawn = sampling_of(decoding) or {}
    extra = {**drawn, "stop": list(asked.stop), "logprobs": asked.logprobs, **more}
    given = {name: value for name, value in extra.items() if value is not None and value is not False and value != []}
    text = f"{asked.max_tokens} {asked.logprob} {asked.keep_prompt}"
    return text + (f" {orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode()}" if given else "")


def _is_greedy(asked: Decoded) -> bool:
    temperature = asked.temperature
    if not math.isfinite(temperature) or temperature < 0:
        raise UsageError(f"--temperature: {temperature} is not a number from 0", "0 is greedy.")
    if 0 < temperature < COLDEST:
        raise UsageError(
            f"--temperature: {temperature} is between 0 and {COLDEST}: vLLM would draw at {COLDEST} instead",
            "0 takes the most likely token each time.",
        )
    return temperature == 0
