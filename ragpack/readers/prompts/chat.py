"""From chat messages to the token ids that a model reads: its own chat template, and exactly one BOS.

`generate` and `pack --prompt-budget` count the same prompts because both come here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragpack.errors import BackendError, Missing, UsageError, in_a_line

TEMPLATE = {"date_string": "26 Jul 2024", "enable_thinking": False}
"""Said to every chat template; those that know the words print no clock into the prompt and do not think aloud."""

Messages = list[dict[str, str]]


class Chat:
    """A tokenizer, as a rule with a chat template (transformers' interface)."""

    def __init__(self, tokenizer: Any, template: Mapping[str, Any]) -> None:  # noqa: ANN401 # the library has no types here
        self.tokenizer = tokenizer
        self.has_template = bool(getattr(tokenizer, "chat_template", None))
        """Without one there are no messages, only plain texts: base models."""
        self._template = dict(template)
        # Prompts are measured here, and refused with numbers: a warning about the longest of them helps nobody.
        getattr(tokenizer, "deprecation_warnings", {})["sequence-length-is-longer-than-the-specified-maximum"] = True
        self._merge_system = self.has_template and not _takes_system(tokenizer, template)
        self.bos = _added_bos(tokenizer)

    def plain_ids(self, text: str) -> list[int]:
        """A prompt that no chat template is put around, as token ids, with one BOS where the tokenizer puts one."""
        return one_bos(list(self.tokenizer(text)["input_ids"]), self.bos)

    def ids(self, messages: Messages) -> list[int]:
        """The prompt as token ids, up to where the answer begins. Raises `jinja2.TemplateError` where the template
        won't have the messages."""
        if self._merge_system:
            messages = merge_system(messages)
        ids = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=False, **self._template
        )
        return one_bos(list(ids), self.bos)


def open_chat(model: str, *, plain: bool = False) -> Chat:
    """The chat of a model folder or id, its weights left alone. Raises `UsageError` where there is no template, unless
    all prompts are to be plain texts."""
    try:
        import transformers
    except ImportError:
        raise Missing("Counting whole prompts", "vllm") from None
    path = Path(model)
    where = str(path.parent) if path.name == "tokenizer.json" and path.is_file() else model
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, trust_remote_code=False)
    except Exception as error:
        raise BackendError(f"--tokenizer {model}: no chat model's folder or id: {in_a_line(error)}") from None
    chat = Chat(tokenizer, TEMPLATE)
    if not chat.has_template and not plain:
        raise UsageError(
            f"--tokenizer {model}: it has no chat template",
            "Name an instruction-tuned model, or leave the chat out for a base model: --no-chat-template.",
        )
    return chat


def merge_system(messages: Messages) -> Messages:
    """The system message put before the first user message, for templates that know no system role.

    >>> merge_system([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}])
    [{'role': 'user', 'content': 'Be brief.\\n\\nWho?'}]
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if system and rest:
        rest[0]["content"] = "\n\n".join([*system, rest[0]["content"]])
    return rest


def one_bos(ids: list[int], bos: int | None) -> list[int]:
    """Exactly one BOS in front, for a tokenizer that puts one there; templates write none, one or two.

    >>> one_bos([1, 1, 7], bos=1), one_bos([7], bos=1), one_bos([1, 1, 7], bos=None)
    ([1, 7], [1, 7], [1, 1, 7])
    """
    if bos is None:
        return ids
    start = 0
    while start < len(ids) and ids[start] == bos:
        start += 1
    return [bos, *ids[start:]]


def _added_bos(tokenizer: Any) -> int | None:  # noqa: ANN401 # the library has no types here
    """The BOS that this tokenizer puts before a text by itself; having one in the vocabulary is not the same."""
    bos = tokenizer.bos_token_id
    return bos if bos is not None and list(tokenizer("a")["input_ids"])[:1] == [bos] else None


def _takes_system(tokenizer: Any, template: Mapping[str, Any]) -> bool:  # noqa: ANN401 # the library has no types here
    """Whether the chat template prints a system message: some refuse it, some drop it without a word."""
    import jinja2

    probe = [{"role": "system", "content": "zqsystem"}, {"role": "user", "content": "zquser"}]
    try:
        return "zqsystem" in tokenizer.apply_chat_template(probe, tokenize=False, **template)
    except jinja2.TemplateError:
        return False
