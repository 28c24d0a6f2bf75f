"""LongLLMLingua: the same with the question in view."""

from __future__ import annotations

from typing import Literal

from ragpack.compressors.base import Compressor
from ragpack.compressors.model import open_folder
from ragpack.compressors.perplexity import Perplexity
from ragpack.errors import UsageError
from ragpack.registry import Value
from ragpack.tokens import Counter


def open_compressor(
    counter: Counter,
    *,
    model: str = "",
    header: bool = True,
    filter: bool = False,
    compare: bool = True,
    reorder: Literal["sort", "original", "two_stage"] = "sort",
    dynamic: float = 0.3,
    align: Literal["package", "token"] = "package",
) -> Compressor:
    """Tokens that the question makes less surprising, more of documents that make the question likely (LongLLMLingua).

    Jiang et al., "LongLLMLingua" (ACL 2024). Documents are ranked by the perplexity of the question behind each and
    stand in that order (`reorder=sort`), in rank order (`original`), or best at both ends (`two_stage`). `dynamic`
    is how much more of the first is kept than of the last, as a difference of rates. `compare` scores a token by what
    the question changes (contrastive perplexity); without it tokens are scored as LLMLingua does. `filter` drops
    documents beyond 100 tokens over the target. `align` is llmlingua's. `model` is a causal language model; there is no
    default.
    """
    if not 0 <= dynamic <= 1:
        raise UsageError(f"policy 'longllmlingua': dynamic={dynamic} is not between 0 and 1")
    folder = open_folder("longllmlingua", model, "ForCausalLM")
    settings: dict[str, Value] = {
        "header": header, "filter": filter, "compare": compare, "reorder": reorder, "dynamic": dynamic, "align": align,
    }  # fmt: skip
    return Perplexity("longllmlingua", counter, folder, settings)
