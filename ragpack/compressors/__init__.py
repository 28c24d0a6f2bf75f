"""Compressors: words are left out of every document until the budget holds, where a packer leaves out snippets.

`open_compressor(counter, *, options) -> Compressor`; its keyword-only parameters are its options. To add one: one
file, one line here.
"""

COMPRESSORS: dict[str, str] = {
    "llmlingua2": "ragpack.compressors.llmlingua2:open_compressor",
    "llmlingua": "ragpack.compressors.llmlingua:open_compressor",
    "longllmlingua": "ragpack.compressors.longllmlingua:open_compressor",
}
