"""What vLLM's engine tells of a completion, in our words.

Log-probabilities come flat: lists over all steps, in which each step has the token that was given first and then the K
most likely, with the given one a second time where it is among them. A list of dicts, one a step, is the engine's other
form: more objects, and read just the same here, for engines that know no flat one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ragpack.errors import BackendError, DataError
from ragpack.metrics.uncertainty import step_uncertainty
from ragpack.readers.base import Decoding, Likely, Sample, Step


def sample_of(output: Any, decoding: Decoding, text: str, groups: tuple[tuple[int, ...], ...]) -> Sample:  # noqa: ANN401 # the library has no types here
    """One completion. Raises `DataError` for log-probabilities that are no numbers, or too few."""
    steps = uncertainty = choices = None
    logprob = None
    if decoding.choices:
        choices = tuple(_together(given_of(output.logprobs, 0), group) for group in groups)
    elif decoding.uncertainty is not None:
        uncertainty = tuple(step_uncertainty(top_values(output.logprobs, decoding.uncertainty)).tolist())
    elif decoding.logprobs is not None:
        logprob = number(output.cumulative_logprob)
        steps = steps_of(output.logprobs, decoding.logprobs)
    return Sample(text, str(output.finish_reason), len(output.token_ids), logprob, steps, uncertainty, choices)


def top_values(logprobs: Any, k: int) -> npt.NDArray[np.float64]:  # noqa: ANN401 # same
    """[T, K] log-probabilities of the K most likely tokens of each step. Raises `DataError` where there are fewer."""
    if hasattr(logprobs, "start_indices"):
        sizes = np.subtract(logprobs.end_indices, logprobs.start_indices)
        if sizes.size and (sizes == k + 1).all():
            return np.asarray(logprobs.logprobs, dtype=np.float64).reshape(-1, k + 1)[:, 1:]
        at = int(np.flatnonzero(sizes != k + 1)[0]) if sizes.size else 0
        raise DataError(f"step {at + 1} has {int(sizes[at]) - 1 if sizes.size else 0} log-probabilities, not K={k}")
    rows = []
    for at, entry in enumerate(logprobs, 1):
        # By token id: the given token stands there once, with its rank, which is beyond K where it was not likely.
        values = sorted((one.logprob for one in entry.values()), reverse=True)[:k]
        if len(values) < k:
            raise DataError(f"step {at} has {len(values)} log-probabilities, not K={k}")
        rows.append(values)
    return np.asarray(rows, dtype=np.float64)


def given_of(logprobs: Any, position: int) -> dict[int, float]:  # noqa: ANN401 # same
    """Log-probability by token id at one step, or one place of the prompt."""
    if logprobs is None or not len(logprobs):
        raise BackendError("vLLM gave no log-probabilities, although it was asked for them")
    return {token: number(one.logprob) for token, one in (logprobs[position] or {}).items()}


def continuation_of(prompt_logprobs: Any, ids: list[int], start: int) -> tuple[float, ...]:  # noqa: ANN401 # same
    """Log-probability of each token of the prompt from `start` on. Raises `DataError` where one is not finite."""
    if prompt_logprobs is None:
        raise BackendError("vLLM gave no log-probabilities of the prompt, although it was asked for them")
    found = tuple(given_of(prompt_logprobs, at)[ids[at]] for at in range(start, len(ids)))
    if not all(map(math.isfinite, found)):
        raise DataError("the model gave minus infinity for a token of the prompt")
    return found


def steps_of(logprobs: Any, n: int) -> tuple[Step, ...]:  # noqa: ANN401 # same
    """The steps, each with its given token and the `n` most likely ones."""
    found = []
    for entry in logprobs:
        likely = [(Likely(one.decoded_token or "", token, _finite(one.logprob)), one.rank or 0)
                  for token, one in entry.items()]  # fmt: skip
        top = sorted((pair for pair in likely if 1 <= pair[1] <= n), key=lambda pair: pair[1])
        found.append(Step(likely[0][0], tuple(one for one, _ in top)))
    return tuple(found)


def number(value: float) -> float:
    """A log-probability. Raises `DataError` for NaN."""
    if math.isnan(value):
        raise DataError("the model gave a log-probability that is not a number")
    return float(value)


def _finite(value: float) -> float | None:
    return found if math.isfinite(found := number(value)) else None


def _together(known: dict[int, float], group: tuple[int, ...]) -> float | None:
    """log Σ exp over the members that are known; None without one."""
    values = [known[token] for token in group if known.get(token, -math.inf) > -math.inf]
    return float(np.logaddexp.reduce(values)) if values else None
