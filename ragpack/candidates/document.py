"""Whole documents: what is packed where nobody thinks about packing."""

from __future__ import annotations

from collections.abc import Sequence

from ragpack.candidates.snippet import Candidate, Document, Space, header_of, one_line


def document(documents: Sequence[Document], question: str, *, header: bool = True) -> Space:
    """Each document is one candidate, printed as `Title: text`; `header=false` drops the title."""
    del question
    return Space(
        [
            Candidate(at, 0, (0, len(one.text)), header_of(one.title) if header else "", one_line(one.text))
            for at, one in enumerate(documents)
            if one.text.strip()
        ]
    )
