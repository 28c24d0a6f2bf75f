"""tiktoken encodings, for readers behind OpenAI's interface.

tiktoken fetches an encoding over the network the first time and keeps it where `TIKTOKEN_CACHE_DIR` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from ragpack.errors import BackendError, Missing, UsageError, did_you_mean
from ragpack.tokens.framed import FramedCounter, Token


def open_tiktoken(name: str) -> FramedCounter:
    """The counter of an encoding, as `cl100k_base`, or of a model that tiktoken knows. Raises `UsageError` for an
    unknown name, `BackendError` where the encoding can't be fetched."""
    try:
        import tiktoken
    except ImportError:
        raise Missing("--tokenizer tiktoken:…", "tiktoken") from None
    known = tiktoken.list_encoding_names()
    if name not in known:
        try:
            name = tiktoken.encoding_name_for_model(name)
        except KeyError:
            raise UsageError(f"--tokenizer tiktoken:{name}: no such encoding. {did_you_mean(name, known)}") from None
    try:
        encoding = tiktoken.get_encoding(name)
    except Exception as error:
        raise BackendError(f"--tokenizer tiktoken:{name}: not loaded: {type(error).__name__}",
                           "tiktoken fetches it once; TIKTOKEN_CACHE_DIR says where it is kept.") from None  # fmt: skip
    return counter_of(encoding)


def counter_of(encoding: Any) -> FramedCounter:  # noqa: ANN401 # tiktoken is an extra
    """The counter of a `tiktoken.Encoding`."""
    state = blake2b(f"{encoding.name}\0{encoding._pat_str}\0{encoding.max_token_value}".encode(), digest_size=16)
    return FramedCounter(f"tiktoken:{encoding.name}", state.hexdigest(), _Encoder(encoding))


class _Encoder:
    def __init__(self, encoding: Any) -> None:  # noqa: ANN401 # tiktoken is an extra
        import regex

        self._encoding = encoding
        self._pattern = regex.compile(encoding._pat_str)

    def sizes(self, texts: Sequence[str]) -> list[int]:
        return [len(self._encoding.encode_ordinary(text)) for text in texts]

    def tokens(self, text: str) -> list[Token]:
        ids = self._encoding.encode_ordinary(text)
        data = text.encode("utf-8", "surrogatepass")
        # Code points by bytes: the place of each character's last byte.
        at = [0]
        for byte in data:
            at.append(at[-1] + ((byte & 0xC0) != 0x80))
        found, place = [], 0
        for token in ids:
            size = len(self._encoding.decode_single_token_bytes(token))
            # at[b] counts the characters that begin before byte b: a character of several tokens is in all of them.
            start = at[place + 1] - 1
            place += size
            found.append(Token(start, at[place], None))
        return found

    def pieces(self, text: str) -> list[str]:
        return [match.group() for match in self._pattern.finditer(text)]
