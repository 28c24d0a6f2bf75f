"""LLMLingua: tokens that a small language model could have guessed go."""

from __future__ import annotations

from typing import Literal

from ragpack.compressors.base import Compressor
from ragpack.compressors.model import open_folder
from ragpack.compressors.perplexity import Perplexity
from ragpack.tokens import Counter


def open_compressor(
    counter: Counter,
    *,
    model: str = "",
    header: bool = True,
    filter: bool = False,
    align: Literal["package", "token"] = "package",
) -> Compressor:
    """Tokens that surprise a small language model, without regard to the question (LLMLingua).

    Jiang et al., "LLMLingua" (EMNLP 2023), token level; `filter` adds its coarse level, which drops whole documents.
    `align=token` judges a token by its own surprise; the package, by that of the token behind it.
    `model` is a causal language model: there is no default, since the package's has 7 billion parameters.
    """
    folder = open_folder("llmlingua", model, "ForCausalLM")
    return Perplexity("llmlingua", counter, folder, {"header": header, "filter": filter, "align": align})
