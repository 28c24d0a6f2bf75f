"""Rows of the diagnostic for the tests of the page, and a text that tries to break out of it."""

from __future__ import annotations

from typing import Any

HOSTILE = "</script><script>alert(1)</script>\"'&\u2028<b>x 🦊 שלום"


def row(
    id: str, policy: str = "p", budget: int = 9, verdict: str = "correct", model: str | None = "m", **changes: Any
) -> dict[str, Any]:
    """A row of the diagnostic whose context is `In Paris`, with the answer marked."""
    snippet = {"id": "d", "title": "D", "rank": 1, "span": [0, 8], "tokens": 2, "relevance": 1.0}
    pack = {"policy": policy, "budget": budget, "unit": "regex", "tokens": 2, "context": "In Paris", "dropped": 1,
            "snippets": [snippet]}  # fmt: skip
    generate = {"reader": "x", "model": model, "prompt": {"name": "a/1", "hash": "h"}, "answer": "Paris",
                "finish": "stop", "tokens": {"prompt": 5, "completion": 1}}  # fmt: skip
    return {
        "schema": "ragpack.diagnosis/1", "id": id, "question": f"Where is {id}?", "answers": ["Paris"],
        "gold": ["d", "e"],
        "hits": [{"rank": 1, "id": "d", "title": "D", "score": 2.5, "has_answer": True}],
        "pack": pack,
        **({"generate": generate} if model else {}),
        "diagnose": {"profile": "squad", "answer_kind": "span", "answer_in_context": 1.0, "em": 1.0, "f1": 1.0,
                     "verdict": verdict, "spans": [[3, 8]]},
        **changes,
    }  # fmt: skip
