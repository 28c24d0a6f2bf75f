"""Formats of other toolkits: `name -> open_(**options) -> Export`. To add one: one file, one line here.

An export takes records one by one and gives lines as they come. Keyword-only parameters of its opener are options of
the command: `tag`, `corpus`, `split`, `qualify`; `folder` says that it writes a folder.
"""

EXPORTS: dict[str, str] = {
    "trec": "ragpack.exports.trec:Run",
    "qrels": "ragpack.exports.trec:Qrels",
    "flashrag": "ragpack.exports.flashrag:Items",
    "flashrag-cache": "ragpack.exports.flashrag:Cache",
    "ragchecker": "ragpack.exports.ragchecker:Results",
    "beir": "ragpack.exports.beir:Folder",
    "huggingface": "ragpack.exports.huggingface:Rows",
}
