"""Candidates: from the hits of a question to the snippets a packer chooses from. Pure; knows no files.

A space is a plain function `(documents, question, *, options) -> Space`. Every policy of a run that names the same
space gets the same candidates, scores and costs. To add one: one file, one line here.
"""

CANDIDATES: dict[str, str] = {
    "document": "ragpack.candidates.document:document",
    "chunk": "ragpack.candidates.chunk:chunk",
    "ace": "ragpack.candidates.ace:ace",
}
