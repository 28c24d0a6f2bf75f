"""A baseline without a model, for dry runs and documentation: it copies a name or a number out of the context.

Deterministic, and labelled `extractive/1` in every record, so that nobody takes its answers for a language model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ragpack.errors import UsageError
from ragpack.readers.base import Completion, Reader, Refusal, Request, Sample
from ragpack.text import STOP_WORDS, content_terms, words

MODEL = "extractive/1"

_YES_NO = re.compile(
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)\b", re.I
)
_OR = re.compile(r"\bor\b", re.I)
_NUMERIC = re.compile(r"\b(?:when|how (?:many|much|old|long|far|tall)|(?:what|which) (?:year|date|number))\b", re.I)
_WORD = re.compile(r"\w+(?:['’.-]\w+)*")


def open_reader(
    model: str = MODEL,  # noqa: ARG001 # there is but one
    *,
    most_logprobs: int = 0,
) -> Reader:
    """Nothing to load. An answer has at most `max_tokens` words."""
    if most_logprobs:
        raise UsageError("the extractive reader has no log-probabilities", "Name a model: --model MODEL.")
    return _Extractive()


class _Extractive:
    name = "extractive"
    model = MODEL
    fingerprint = MODEL
    about: dict[str, Any] = {}  # noqa: RUF012 # a protocol's word
    prompts = False
    """Question and context decide the answer; the prompt plays no part."""

    def answer(self, requests: Iterator[Request]) -> Iterator[Completion | Refusal]:
        """One request in, one answer out, in order. Every sample of a prompt is the same."""
        for request in requests:
            decoding = request.decoding
            said = extract(request.question, request.context).split()
            text = " ".join(said[: decoding.max_tokens])
            prompt = f"{request.context}\n\n{request.question}"
            finish = "length" if len(said) > decoding.max_tokens else "stop"
            samples = (Sample(text, finish, len(text.split())),) * decoding.n
            yield Completion(request.id, samples, len(prompt.split()), prompt if decoding.keep_prompt else None)

    def close(self) -> None:
        """Nothing to free."""


def extract(question: str, context: str) -> str:
    """The first new name or number in the line that shares most content words with the question.

    >>> extract("Who built the Ostra Bridge?", "Tern: a bird.\\nOstra Bridge: It was built by Ida Vale in 1901.")
    'Ida Vale'
    >>> extract("When was the Ostra Bridge built?", "Ostra Bridge: It was built by Ida Vale in 1901.")
    '1901'
    """
    lines = [line for line in context.splitlines() if line.strip()]
    if not lines:
        return ""
    if _YES_NO.match(question.strip()) and not _OR.search(question):
        return "yes"
    asked = set(content_terms(question))
    line = max(lines, key=lambda line: len(asked.intersection(words(line))))  # the first of equals
    found = [run for run in _runs(line) if not set(words(run)) <= asked]
    if _NUMERIC.search(question):
        found.sort(key=lambda run: not any(character.isdigit() for character in run))
    if found:
        return found[0]
    fresh = [word for word in _WORD.findall(line) if word.lower() not in question.lower()]
    return max(fresh, key=len, default="")  # a script without capitals


def _runs(line: str) -> list[str]:
    """Neighbouring capitalised words, and numbers, in order; function words that begin a run are left out."""
    runs: list[list[re.Match[str]]] = []
    for match in _WORD.finditer(line):
        if match[0][0].isdigit():
            runs.append([match])
        elif match[0][0].isupper() and (match[0].lower() not in STOP_WORDS):
            near = runs and runs[-1][-1].end() == match.start() - 1 and line[match.start() - 1] == " "
            if near and not runs[-1][0][0][0].isdigit():
                runs[-1].append(match)
            else:
                runs.append([match])
    return [line[run[0].start() : run[-1].end()] for run in runs]
