"""Hugging Face `tokenizers`: what most readers have."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragpack.errors import BackendError, UsageError, in_a_line
from ragpack.tokens.framed import FramedCounter, Token


class _Encoder:
    def __init__(self, tokenizer: Any) -> None:  # noqa: ANN401 # tokenizers has no types here
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder().values()
        # Added tokens that swallow blanks are found before any piece is cut.
        self._plain = tokenizer.pre_tokenizer is not None and not any(
            token.lstrip or token.rstrip or "\n" in token.content or " " in token.content for token in added
        )

    def sizes(self, texts: Sequence[str]) -> list[int]:
        if len(texts) == 1:
            return [len(self._tokenizer.encode(texts[0], add_special_tokens=False))]
        return [len(one) for one in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def tokens(self, text: str) -> list[Token]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [Token(start, end, piece) for (start, end), piece in zip(found.offsets, found.word_ids, strict=True)]

    def pieces(self, text: str) -> list[str] | None:
        if not self._plain:
            return None
        normalizer = self._tokenizer.normalizer
        text = text if normalizer is None else normalizer.normalize_str(text)
        return [piece for piece, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(text)]


class ModelCounter(FramedCounter):
    """Counts with a `tokenizers` tokenizer."""

    def __init__(self, name: str, tokenizer: Any) -> None:  # noqa: ANN401 # tokenizers has no types here
        encoder = _Encoder(tokenizer)
        super().__init__(name, blake2b(tokenizer.to_str().encode(), digest_size=16).hexdigest(), encoder)


def from_text(name: str, text: str) -> ModelCounter:
    """The counter of a tokenizer.json's text. Raises `UsageError` where it is none."""
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:
        raise UsageError(f"--tokenizer {name}: not a tokenizer.json: {error}") from None
    # A path belongs to one machine; its last part is a name.
    path = Path(name).resolve()
    return ModelCounter(
        path.parent.name if path.name == "tokenizer.json" else path.name.removesuffix(".json"), tokenizer
    )


def from_hub(name: str) -> ModelCounter:
    """The counter of a model id. Raises `BackendError` where the hub has no such model, or can't be reached."""
    import tokenizers

    try:
        return ModelCounter(name, tokenizers.Tokenizer.from_pretrained(name))
    except Exception as error:
        raise BackendError(
            f"--tokenizer {name}: no such file or folder, and not loaded as a model id: {in_a_line(error)}",
            "Give a tokenizer.json, a model folder, a model id, tiktoken:NAME or `regex`.",
        ) from None
