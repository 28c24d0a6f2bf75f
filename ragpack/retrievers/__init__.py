"""Retrievers: from a question to ranked documents.

`open_retriever(corpus, *, options) -> Retriever`; its keyword-only parameters are its options. `corpus` is None
where each question brings its own pool. To add one: one file, one line here.
"""

RETRIEVERS: dict[str, str] = {
    "bm25": "ragpack.retrievers.bm25:open_retriever",
    "dense": "ragpack.retrievers.dense:open_retriever",
    "hybrid": "ragpack.retrievers.hybrid:open_retriever",
    "hops": "ragpack.retrievers.hops:open_retriever",
    "ircot": "ragpack.retrievers.ircot:open_retriever",
}

ASKING = ("ircot",)
"""Those that ask a reader between their searches (`base.Asking`): no `search`, so no base of another one."""
