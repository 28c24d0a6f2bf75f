"""What the servers say of themselves, and what vLLM's has beside OpenAI's protocol: counting and naming tokens."""

from __future__ import annotations

from typing import Any

from ragpack.errors import BackendError, did_you_mean
from ragpack.readers.server.asking import Abilities
from ragpack.readers.server.replicas import Json, Replica, Replicas
from ragpack.readers.server.replies import ID

SHOWN_IDS = 20
PROMPT = {"messages", "prompt", "chat_template_kwargs"}


class Served:
    """One model as its servers hold it."""

    def __init__(self, servers: Replicas, model: str, about: dict[str, Any]) -> None:
        self.can = Abilities()
        self._servers = servers
        self._model = model
        self._about = about
        self._checked = False
        self._texts: dict[int, str] = {}
        self._ids: dict[str, int | None] = {}

    def check(self) -> None:
        """Once, before the first request: is there a server, and does it serve the model? Not all servers tell."""
        if self._checked:
            return
        import openai

        makers: list[str | None] = []
        for replica in self._servers.live:
            try:
                served = self._list(replica)
            except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
                raise self._servers.no_access(replica, error) from error
            except openai.APIConnectionError as error:
                self._servers.set_aside(replica, error)
                continue
            except Exception:  # a server without /v1/models, or with one of its own: the requests will tell
                served = []
            makers.append(self._facts(replica, served))
        if not self._servers.live:
            raise self._servers.unreachable()
        if None not in makers:
            self.can.vllm = self.can.ids = self.can.exact_choices = set(makers) == {"vllm"}
        self._about["servers"] = len(self._servers.all)
        self._checked = True

    def _list(self, replica: Replica) -> list[Json]:
        import openai

        try:
            found = self._servers.ask_once("/models", None, replica)
        except openai.APIConnectionError:
            found = self._servers.ask_once("/models", None, replica)  # once more: it may just have been busy
        return [item for item in found["data"] if isinstance(item.get("id"), str)]

    def _facts(self, replica: Replica, served: list[Json]) -> str | None:
        """Who made the server, where it says so; what it says of the model is noted."""
        known = sorted(item["id"] for item in served)
        ours = [item for item in served if _names(item["id"], self._model)]
        if served and not ours:
            near = did_you_mean(self._model, known)
            listed = f"Served: {', '.join(known[:SHOWN_IDS])}{' …' if len(known) > SHOWN_IDS else ''}."
            raise BackendError(
                f"the server at {replica.shown} does not serve '{self._model}'",
                f"{near} {listed}" if near.startswith("Did") else listed,
            )
        if not ours:
            return None
        maker, longest = ours[0].get("owned_by"), ours[0].get("max_model_len")
        if maker == "vllm" and isinstance(longest, int):
            self.can.max_model_len = min(longest, self.can.max_model_len or longest)
            self._about["max_model_len"] = self.can.max_model_len
        for field in ("owned_by", "root"):
            if isinstance(ours[0].get(field), str):
                self._about.setdefault(field, ours[0][field])
        return maker if isinstance(maker, str) else None

    # vLLM's own routes

    def route(self, path: str, body: Json) -> Json | None:
        """An answer of one of vLLM's own routes; None where there is none."""
        if not self.can.vllm:
            return None
        for replica in self._servers.live:
            try:
                found = self._servers.ask_once(replica.root + path, {"model": self._model, **body}, replica)
            except Exception:  # another replica may have it; without it there is a way round
                continue
            if isinstance(found, dict):
                return found
        return None

    def count(self, body: Json) -> int | None:
        """Tokens of the prompt of a request's body."""
        asked: Json = {key: body[key] for key in PROMPT & body.keys()}
        count = (self.route("/tokenize", asked) or {}).get("count")
        return count if isinstance(count, int) else None

    def id(self, text: str) -> int | None:
        """The token that is this text; None where that takes several."""
        if text not in self._ids:
            found = self.route("/tokenize", {"prompt": text, "add_special_tokens": False}) or {}
            ids = found.get("tokens") or []
            self._ids[text] = ids[0] if len(ids) == 1 else None
        return self._ids[text]

    def text(self, number: int) -> str:
        """A token's text; its number where the server doesn't say."""
        if number not in self._texts:
            found = (self.route("/detokenize", {"tokens": [number]}) or {}).get("prompt")
            self._texts[number] = found if isinstance(found, str) else f"{ID}{number}"
        return self._texts[number]


def _names(served: str, model: str) -> bool:
    """Whether a served id is the model that was asked for; some servers add a tag or a folder to what they list."""
    return served in (model, f"{model}:latest") or served.endswith(f"/{model}")
