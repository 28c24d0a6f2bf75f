"""What a server's answers mean: texts, log-probabilities and refusals, from the JSON of either endpoint.

Log-probabilities are kept by token id where the server names ids (`token_id:NN`, vLLM): two tokens may have one text,
and /v1/completions gives the most likely tokens as an object with a key each, where the second overwrites the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragpack.errors import DataError
from ragpack.metrics.uncertainty import step_uncertainty
from ragpack.readers.base import Likely, Step
from ragpack.readers.server.replicas import Json, Refused

NEVER = -9999.0
"""How servers write minus infinity, which JSON has not."""
ID = "token_id:"

Entry = tuple[str, float | None]
"""A token as the server names it, and its log-probability; None for minus infinity."""


class Taken(NamedTuple):
    """One step: the token that was given and the most likely ones, in the server's order."""

    given: Entry
    top: list[Entry]


class Said(NamedTuple):
    """One completion."""

    text: str
    finish: str
    ids: list[int] | None
    """Of the tokens generated, where the server lists them."""
    steps: list[Taken] | None
    """None where the server gave no log-probabilities."""


def choices_of(answer: Json) -> list[Said]:
    """The completions of an answer of either endpoint. Raises `Refused` where there are none."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Refused("the server's answer holds no choice")
    try:
        return [_said(choice) for choice in choices]
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise Refused(f"the server's answer is no completion: {type(error).__name__}: {error}") from error


def _said(choice: Json) -> Said:
    text = choice["message"].get("content") if "message" in choice else choice["text"]
    ids = choice.get("token_ids")
    return Said(text or "", choice.get("finish_reason") or "stop", ids or None, _steps(choice.get("logprobs")))


def _steps(told: Json | None) -> list[Taken] | None:
    if not told:
        return None
    if isinstance(told.get("content"), list):
        return [
            Taken(
                (step["token"], number_of(step["logprob"], at)),
                [(one["token"], number_of(one["logprob"], at)) for one in step.get("top_logprobs") or ()],
            )
            for at, step in enumerate(told["content"])
        ]
    tokens, given = told.get("tokens"), told.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(given, list):
        return None
    tops = told.get("top_logprobs") or [None] * len(tokens)
    return [
        Taken((token, number_of(logprob, at)), [(name, number_of(value, at)) for name, value in (top or {}).items()])
        for at, (token, logprob, top) in enumerate(zip(tokens, given, tops, strict=True))
    ]


def number_of(value: float | str | None, at: int) -> float | None:
    """A log-probability as the server writes it, of step `at`; None for minus infinity."""
    if value is None:
        return None
    number = float(value)
    if math.isnan(number):
        raise Refused(f"step {at + 1} has a log-probability that is not a number")
    return number if number > NEVER else None


def token_id(name: str) -> int | None:
    """The id in `token_id:NN`.

    >>> token_id("token_id:42"), token_id("Paris")
    (42, None)
    """
    number = name.removeprefix(ID)
    return int(number) if number != name and number.isdecimal() else None


def entries(said: Sequence[Said], asked: int) -> int | None:
    """Log-probabilities a step: `asked`, or as many fewer as all steps have. None where there is no step to tell.

    Raises `Refused` where only some steps have fewer: their tokens' texts collide, or something is lost.
    """
    counts = {len(step.top) for one in said for step in one.steps or ()}
    if not counts:
        return None
    if min(counts) >= asked:
        return asked
    if len(counts) > 1:
        raise Refused(f"steps have from {min(counts)} to {max(counts)} log-probabilities, not {asked}")
    return min(counts)


def uncertainty(steps: Sequence[Taken], k: int) -> tuple[float, ...]:
    """u_t of each step over exactly its K most likely tokens. Raises `Refused` where a step has fewer."""
    if not steps:
        return ()
    rows = []
    for at, step in enumerate(steps):
        finite = sorted((value for _, value in step.top if value is not None), reverse=True)
        if len(finite) < k:
            raise Refused(f"step {at + 1} has {len(finite)} finite log-probabilities, not K={k}")
        rows.append(finite[:k])
    try:
        return tuple(step_uncertainty(rows).tolist())
    except DataError as error:
        raise Refused(str(error)) from error


def total(steps: Sequence[Taken]) -> float | None:
    """Log-probability of the tokens given; undefined where there is none, or where one is minus infinity."""
    given = [step.given[1] for step in steps]
    known = [value for value in given if value is not None]
    return math.fsum(known) if given and len(known) == len(given) else None


def shown(said: Said, most: int, text: Callable[[int], str]) -> tuple[Step, ...]:
    """Steps as they are written down: at most `most` tokens, most likely first; `text` of a token id."""
    steps = said.steps or []
    ids: Sequence[int | None] = said.ids if said.ids and len(said.ids) == len(steps) else [None] * len(steps)

    def likely(entry: Entry, listed: int | None = None) -> Likely:
        name, value = entry
        number = token_id(name)
        return Likely(name, listed, value) if number is None else Likely(text(number), number, value)

    def order(entry: Entry) -> float:
        return math.inf if entry[1] is None else -entry[1]

    return tuple(
        Step(likely(step.given, listed), tuple(map(likely, sorted(step.top, key=order)[:most])))
        for step, listed in zip(steps, ids, strict=True)
    )


def chosen(step: Taken | None, groups: Sequence[frozenset[str] | frozenset[int]]) -> tuple[float | None, ...]:
    """Log-probability of each group of tokens at a step: of any of its members, by text or by id. None where the server
    names no member, or all are impossible.

    >>> step = Taken(("Yes", -1.0), [("Yes", -1.0), ("yes", -1.0), ("No", -2.0)])
    >>> chosen(step, [frozenset({"Yes", "yes"}), frozenset({"Nay"})])
    (-0.3068528194400547, None)
    """
    found: list[float | None] = []
    named = [(token_id(name), name, value) for name, value in step.top if value is not None] if step else []
    for group in groups:
        of = [value for number, name, value in named if name in group or (number is not None and number in group)]
        most = max(of, default=0.0)
        found.append(most + math.log(math.fsum(math.exp(value - most) for value in of)) if of else None)
    return tuple(found)


def shares(said: Sequence[Said], total: int) -> list[int]:
    """Tokens of each completion: as the server lists them, or as it has log-probabilities of, else its total in equal
    parts."""
    known = [len(one.ids) if one.ids is not None else len(one.steps) if one.steps else None for one in said]
    if len(said) == 1:
        return [total or known[0] or 0]
    rest, over = divmod(total, len(said))
    return [rest + (at < over) if number is None else number for at, number in enumerate(known)]


# what a server's no says

_LIMIT = re.compile(
    r"(?:max(?:imum)? (?:allowed|value)|less than or equal to|<=|≤|at most|up to|no more than|between \d+ and"
    r"|max_logprobs\D{1,12}|maximum (?:of|is))\W*(\d+)",
    re.IGNORECASE,
)
_FALLS = (20, 5)
"""The limits of OpenAI's two endpoints, for servers that don't say theirs."""


def about_logprobs(words: str) -> bool:
    """Whether a refusal concerns the number of log-probabilities."""
    return "logprob" in words.lower()


def limit(words: str, asked: int) -> int | None:
    """Most log-probabilities a step that the server gives, from its refusal of `asked`; None where nothing smaller is
    left to try.

    >>> limit("Requested sample logprobs of 128, which is greater than max allowed: 50", 128)
    50
    >>> limit("Invalid 'top_logprobs': expected a value <= 20, but got 128", 128), limit("logprobs too large", 20)
    (20, 5)
    """
    named = [int(number) for number in _LIMIT.findall(words) if 0 < int(number) < asked]
    return max(named, default=None) or next((fall for fall in _FALLS if fall < asked), None)
