"""Rerankers: models that score a question's hits anew.

`open_reranker(*, model, …) -> Reranker`; its keyword-only parameters are its options. To add one: one file, one line
here.
"""

RERANKERS: dict[str, str] = {
    "ce": "ragpack.rerankers.ce:open_reranker",
    "bi": "ragpack.rerankers.bi:open_reranker",
}
