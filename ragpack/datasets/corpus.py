"""Passages of a corpus, as the common toolkits pass them around; each entry says which layout it is.

- `title, text`, with `id` or `_id` (BEIR) or without (HippoRAG: the title names the document)
- FlashRAG: `id, contents`: the title in double quotes, a line end, the text
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragpack.datasets.fields import each, id_of, string
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Doc

LAYOUTS = "title and text, FlashRAG"


def read(path: str, fail: Fail) -> Iterator[Doc]:
    """The documents of a file."""
    return each(path, fail, _doc, LAYOUTS)


def _doc(entry: dict[str, Any]) -> Doc:
    if "contents" in entry:
        head, _, text = string(entry["contents"], "contents").partition("\n")
        title: str | None = head.strip().removeprefix('"').removesuffix('"')
    elif "text" in entry:
        title = string(entry["title"], "title") if entry.get("title") is not None else None
        text = string(entry["text"], "text")
    else:
        raise DataError("this is none of the layouts of a corpus", f"Layouts: {LAYOUTS}; see docs/formats.md.")
    name = entry.get("_id", entry.get("id"))
    if name is None and not title:
        raise DataError("neither 'id' nor 'title' names this document")
    return Doc(id=id_of(name if name is not None else title), title=title or None, text=text)
