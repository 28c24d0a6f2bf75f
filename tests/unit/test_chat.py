"""From messages and texts to token ids, with tokenizers that put a BOS before a text and ones that don't."""

from types import SimpleNamespace

import pytest

from ragpack.errors import UsageError
from ragpack.readers.prompts import chat
from ragpack.readers.prompts.chat import Chat


class Words:
    """A tokenizer of words: `<s>` is 1, the others have numbers by their length."""

    def __init__(self, *, adds_bos: bool, chat_template: str | None = None, bos: int | None = 1) -> None:
        self.bos_token_id, self.chat_template, self._adds = bos, chat_template, adds_bos

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids = [1 if word == "<s>" else 10 + len(word) for word in text.split()]
        return {"input_ids": [1, *ids] if add_special_tokens and self._adds else ids}

    def apply_chat_template(self, messages, *, tokenize, **_):
        assert self.chat_template, "transformers refuses this"
        text = " ".join(["<s>", *(f"{one['role']} {one['content']}" for one in messages)])
        return self(text)["input_ids"] if tokenize else text


@pytest.mark.parametrize(
    ("adds", "bos", "text", "expected"),
    [
        (True, 1, "ab c", [1, 12, 11]),
        (True, 1, "<s> ab", [1, 12]),
        (True, 1, "<s> <s> ab", [1, 12]),
        (True, 1, "", [1]),
        (False, 1, "ab c", [12, 11]),
        (False, None, "ab", [12]),
    ],
)
def test_a_plain_text_has_one_bos_where_the_tokenizer_puts_one(adds, bos, text, expected):
    assert Chat(Words(adds_bos=adds, bos=bos), {}).plain_ids(text) == expected
    assert Chat(Words(adds_bos=adds, bos=bos, chat_template="x"), {}).plain_ids(text) == expected


def test_a_base_model_has_a_chat_without_a_template():
    assert not Chat(Words(adds_bos=True), {}).has_template
    with_one = Chat(Words(adds_bos=True, chat_template="x"), {})
    assert with_one.has_template
    assert with_one.ids([{"role": "user", "content": "ab"}]) == [1, 14, 12], "the template's BOS and the tokenizer's"


def test_a_folder_without_a_template_names_the_way_out(monkeypatch):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: just reader")
    found = SimpleNamespace(from_pretrained=lambda *_, **__: Words(adds_bos=True))
    monkeypatch.setattr(transformers, "AutoTokenizer", found)
    with pytest.raises(UsageError, match="it has no chat template") as caught:
        chat.open_chat("base")
    assert "--no-chat-template" in caught.value.hint
    assert chat.open_chat("base", plain=True).plain_ids("ab") == [1, 12]
