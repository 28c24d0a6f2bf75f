"""Passages of a corpus, as the common toolkits pass them around; each entry says which layout it is.

- `title, text`, with `id` or `_id` (BEIR) or without (HippoRAG: the title names the document)
- FlashRAG: `id, contents`: the title in double quotes, a line end, the text
- SQuAD and its kin: the paragraphs, each once, under the ids that `import squad` and `import covidqa` use
- BEIR's folder: its `corpus.jsonl`
- any other folder, or a file: each `.txt`, `.md` or `.markdown` in it is a document, named by its path in the folder
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from ragpack.checked import view
from ragpack.datasets import squad
from ragpack.datasets.fields import each, id_of, string
from ragpack.datasets.flashrag import title_and_text
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.flow.streams import lines
from ragpack.records import Doc

LAYOUTS = "title and text, FlashRAG, SQuAD, a folder of text files"
TEXTS = (".txt", ".md", ".markdown")
_HEADING = re.compile(r"^#\s+(.+?)\s*#*$", re.MULTILINE)


def read(path: str, fail: Fail) -> Iterator[Doc]:
    """The documents of a file, or of a folder."""
    if os.path.isdir(path):
        beir = next(
            (found for suffix in ("", ".gz", ".zst") if os.path.isfile(found := f"{path}/corpus.jsonl{suffix}")), ""
        )
        return _entries(beir, fail) if beir else _folder(path, fail)
    if path.lower().endswith(TEXTS):
        return _texts([(path, path)], fail)
    return _entries(path, fail)


def _entries(path: str, fail: Fail) -> Iterator[Doc]:
    paragraphs = squad.Paragraphs()

    def doc(entry: dict[str, Any]) -> Doc | None:
        if "context" in entry and "text" not in entry and "contents" not in entry:
            found, new = paragraphs.doc(entry)
            return found if new else None
        return doc_of(entry)

    return (one for one in each(path, fail, doc, LAYOUTS, squad.passages) if one is not None)


def doc_of(entry: dict[str, Any]) -> Doc:
    """The document of an entry."""
    if entry.get("schema") == Doc.SCHEMA:
        return view(entry, (Doc,))  # type: ignore[no-any-return] # it is a Doc
    if "contents" in entry:
        title, text = title_and_text(entry["contents"])
    elif "text" in entry:
        title = string(entry["title"], "title") if entry.get("title") is not None else None
        text = string(entry["text"], "text")
    else:
        raise DataError("this is none of the layouts of a corpus", f"Layouts: {LAYOUTS}; see docs/formats.md.")
    name = entry.get("_id", entry.get("id"))
    if name is None and not title:
        raise DataError("neither 'id' nor 'title' names this document")
    return Doc(id=id_of(name if name is not None else title), title=title or None, text=text)


def text_files(folder: str) -> list[str]:
    """Paths in the folder, sorted, of its text files and those of its folders; hidden ones are none."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.relpath(os.path.join(place, name), folder) for name in files
                  if name.lower().endswith(TEXTS) and not name.startswith(".")]  # fmt: skip
    return sorted(name.replace(os.sep, "/") for name in found)


def _folder(folder: str, fail: Fail) -> Iterator[Doc]:
    names = text_files(folder)
    if not names:
        raise DataError(f"{folder}: no text file in this folder", f"A corpus is made of {', '.join(TEXTS)}.")
    yield from _texts([(name, os.path.join(folder, name)) for name in names], fail)


def _texts(files: list[tuple[str, str]], fail: Fail) -> Iterator[Doc]:
    """A document a file. The title is the first heading of Markdown, or else the name."""
    for name, path in files:
        try:
            text = "\n".join(line.data.decode("utf-8") for line in lines([path]))
        except UnicodeDecodeError as error:
            fail(path, 1, DataError(f"not UTF-8: {error}", "Convert it: iconv -f latin1 -t utf-8."), name)
            continue
        stem, suffix = os.path.splitext(os.path.basename(name))
        heading = _HEADING.search(text) if suffix.lower() != ".txt" else None
        yield Doc(id=name, title=heading[1] if heading else stem, text=text)
