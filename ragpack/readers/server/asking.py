"""What is sent to a server: one request as the JSON of its endpoint, as far as the server is known to understand it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ragpack.errors import BackendError
from ragpack.readers.base import Decoding, Request
from ragpack.readers.prompts.chat import TEMPLATE, merge_system
from ragpack.readers.server.replicas import Json, Rejected
from ragpack.readers.server.replies import Said, about_logprobs, entries, limit, token_id

CHAT = "/chat/completions"
COMPLETIONS = "/completions"
MOST_CHOICES = 20
"""Most likely tokens among which choices are looked for by their texts."""

_SYSTEM = re.compile(r"system role|system message|roles? must alternate|conversation roles", re.IGNORECASE)


def path_of(request: Request) -> str:
    """Messages are a chat; a text has no chat template around it."""
    return COMPLETIONS if request.text is not None else CHAT


def entries_of(decoding: Decoding) -> int | None:
    """Most likely tokens that are wanted of each step; 0: log-probabilities of the given tokens alone; None: none."""
    if decoding.logprobs is None and decoding.uncertainty is None and not decoding.choices:
        return None
    return max(decoding.logprobs or 0, decoding.uncertainty or 0)


@dataclass
class Abilities:
    """What is known of the servers of one run: what all of them can do."""

    vllm: bool | None = None
    """None where they don't say who made them."""
    ids: bool | None = None
    """Whether tokens are named by id; None: to be tried."""
    exact_choices: bool | None = None
    """Whether the log-probabilities of chosen token ids can be asked for."""
    max_model_len: int | None = None
    merge_system: bool = False
    limits: dict[str, int] = field(default_factory=dict)
    """Most log-probabilities a step, by endpoint, where they ran into it."""
    proven: dict[str, int] = field(default_factory=dict)
    """Log-probabilities a step that came when asked for, by endpoint."""
    chosen: set[str] = field(default_factory=set)
    """Endpoints that have told choices."""

    def exact(self, decoding: Decoding) -> bool:
        """Whether choices are asked for by id: not together with most likely tokens, which vLLM doesn't give then."""
        return bool(self.exact_choices and decoding.choices and not entries_of(decoding))

    def wanted(self, decoding: Decoding) -> int | None:
        """As `entries_of`, with those among which choices are looked for."""
        number = entries_of(decoding)
        if number is None or not decoding.choices or self.exact(decoding):
            return number
        return max(number, MOST_CHOICES)

    def spare(self, path: str, decoding: Decoding) -> int:
        """One entry more for vLLM's chats where tokens are drawn: it counts the given token among the K."""
        return int(bool(self.vllm) and path == CHAT and decoding.temperature > 0 and bool(entries_of(decoding)))

    def top(self, path: str, decoding: Decoding) -> int | None:
        """Log-probabilities a step to ask for."""
        number = self.wanted(decoding)
        if number is None:
            return None
        return min(number + self.spare(path, decoding), self.limits.get(path, number + 1))

    def k(self, path: str, decoding: Decoding) -> int:
        """K of the uncertainty: as asked for, or as many as the servers give."""
        most = decoding.uncertainty or 0
        return min(most, self.limits.get(path, most + 1) - self.spare(path, decoding))

    def known(self, path: str, decoding: Decoding) -> bool:
        """Whether the servers are known to answer this; their limits are found out by asking."""
        if decoding.choices and path not in self.chosen:
            return False
        return (self.top(path, decoding) or 0) <= self.proven.get(path, 0)

    def learn(self, path: str, decoding: Decoding, said: Sequence[Said]) -> None:
        """Take in what came of the first request. Raises `Refused` where its steps differ."""
        names = [name for one in said for step in one.steps or () for name, _ in [step.given, *step.top]]
        if names:
            if self.ids is None and not decoding.choices:  # choices are looked for by text
                self.ids = all(token_id(name) is not None for name in names)
            if decoding.choices:
                self.chosen.add(path)
        asked = self.top(path, decoding) or 0
        if asked:
            found = entries(said, asked)
            if found is None:
                return
            if found < asked:
                self.limits[path] = min(found, self.limits.get(path, found))
            self.proven[path] = max(found, self.proven.get(path, 0))

    def give_up(self, error: Rejected, path: str, body: Json, *, first: bool) -> bool:
        """Ask for less after the server's no; False where it is not about what can be left out."""
        if body.get("return_tokens_as_token_ids") and "return_tokens_as_token_ids" in error.about:
            self.ids = False
            return True
        if (
            not self.merge_system
            and path == CHAT
            and _SYSTEM.search(error.words)
            and body["messages"][0]["role"] == "system"
        ):
            self.merge_system = True
            return True
        asked = body.get("top_logprobs" if path == CHAT else "logprobs")
        if not asked or not about_logprobs(error.about) or body.get("echo"):
            return False
        found = limit(error.words, asked)
        if found is None:
            raise BackendError(f"the server gives no log-probabilities: {error.words}")
        if not first:
            # Rollouts of this run were measured with the larger K; mixing them would compare what can't be compared.
            raise BackendError(
                f"the server gave {asked} log-probabilities a step and now gives {found}",
                "Was it started anew with other settings? Start the run again without --resume.",
            )
        self.limits[path] = min(found, self.limits.get(path, found))
        return True


def body_of(model: str, request: Request, can: Abilities, ids: Sequence[int] = ()) -> Json:
    """The JSON of one request; `ids`: token ids whose log-probabilities are asked for by name."""
    decoding, path = request.decoding, path_of(request)
    body: Json = {"model": model, "max_tokens": decoding.max_tokens, "temperature": decoding.temperature}
    if path == CHAT:
        messages = request.messages or []
        body["messages"] = merge_system(messages) if can.merge_system else messages
    else:
        body["prompt"] = (request.text or "") + request.continuation
    if can.vllm:
        # Else the model's generation_config.json decides, which no other back end reads.
        body |= {"top_p": decoding.top_p, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
        if path == CHAT:
            body["chat_template_kwargs"] = TEMPLATE
    if request.continuation:
        return body | {"max_tokens": 1, "temperature": 0.0} | _of_prompt(can)
    if decoding.top_p != 1:
        body["top_p"] = decoding.top_p
    if decoding.seed is not None:
        body["seed"] = decoding.seed
    if decoding.stop:
        body["stop"] = list(decoding.stop)
    if decoding.n != 1:
        body["n"] = decoding.n
    top = can.top(path, decoding)
    if can.vllm and (decoding.n != 1 or top == 0):
        body["return_token_ids"] = True  # how many tokens each completion has, and which: texts stay as they are
    if top is not None:
        body |= _logprobs(path, top)
        if ids:
            body["logprob_token_ids"] = list(ids)
        if ids or (top and can.ids is not False and (can.vllm or not decoding.choices)):
            body["return_tokens_as_token_ids"] = True
    return body


def _logprobs(path: str, top: int) -> dict[str, Any]:
    if path == COMPLETIONS:
        return {"logprobs": max(top, 1)}  # 0 is no for some
    return {"logprobs": True, "top_logprobs": top} if top else {"logprobs": True}


def _of_prompt(can: Abilities) -> dict[str, Any]:
    return {"prompt_logprobs": 0} if can.vllm else {"echo": True, "logprobs": 1}
