"""How embedding models want to be used: what they were trained to see before a question, and before a passage."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import orjson

_BGE = "Represent this sentence for searching relevant passages:"


class Usage(NamedTuple):
    """How a family of models wants to be used."""

    question: str = ""
    """Put before a question."""
    passage: str = ""
    """Put before a passage."""
    dim: int = 0
    """Dimensions that are kept; 0: all."""

    def of_question(self, text: str) -> str:
        """What the model is given for a question."""
        return f"{self.question} {text}" if self.question else text

    def of_passage(self, text: str) -> str:
        """What the model is given for a passage."""
        return f"{self.passage} {text}" if self.passage else text


MODELS: dict[str, Usage] = {
    "bge-small-en-v1.5": Usage(_BGE, "", 320),
    "bge-base-en": Usage(_BGE),
    "bge-large-en": Usage(_BGE),
    "bge-small-en": Usage(_BGE),
    "bge-m3": Usage(),
    "multilingual-e5-large-instruct": Usage(
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
    ),
    "e5-": Usage("query:", "passage:"),
    "mxbai-embed": Usage(_BGE),
    "snowflake-arctic-embed": Usage(_BGE),
    "nomic-embed-text": Usage("search_query:", "search_document:"),
    "gte-": Usage(),
    "minilm": Usage(),
    "mpnet": Usage(),
    "contriever": Usage(),
}
"""By a part of the model's name, the first that fits; the prefixes are those of the models' own cards."""


def usage_of(folder: Path, model: str, dim: int, instruction: str, prefix: str) -> Usage:
    """What the options say; for `auto` and -1 what the table says of the model, then the prompts `query` and `document`
    that its folder brings."""
    name = model.lower() if "/" in model and not Path(model).exists() else folder.resolve().name.lower()
    known = next((usage for part, usage in MODELS.items() if part in name), None)
    if known is None:
        prompts = _prompts(folder)
        known = Usage(
            prompts.get("query", "").strip(), (prompts.get("document") or prompts.get("passage") or "").strip()
        )
    return Usage(_text(instruction, known.question), _text(prefix, known.passage), known.dim if dim < 0 else dim)


def _text(given: str, known: str) -> str:
    return {"auto": known, "none": ""}.get(given, given)


def _prompts(folder: Path) -> dict[str, str]:
    try:
        found = orjson.loads((folder / "config_sentence_transformers.json").read_bytes()).get("prompts") or {}
    except (OSError, orjson.JSONDecodeError, AttributeError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}
