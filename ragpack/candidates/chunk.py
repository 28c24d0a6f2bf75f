"""Snippets of one or more sentences, each under its document's title."""

from __future__ import annotations

from collections.abc import Sequence

from ragpack.candidates.snippet import Candidate, Document, Space, header_of, one_line


def chunk(
    documents: Sequence[Document],
    question: str,
    *,
    window: int = 1,
    stride: int = 0,
    nodes: int = 48,
    header: bool = True,
) -> Space:
    """Windows of `window` sentences, a new one every `stride` sentences (0: every `window`), printed as
    `Title: sentence`.

    Source: the `chunk` space of "Recall Is Not Enough"; the header is our choice (`header=false` drops it).
    At most `nodes` candidates: the first ones in rank order, so that a long tail of hits can't crowd out the head.
    The last window of a document may be shorter; with stride < window none begins after the last sentence is covered.
    """
    if window < 1 or stride < 0 or nodes < 1:
        raise ValueError(
            f"window={window}, stride={stride}, nodes={nodes}: window and nodes are at least 1, stride at least 0"
        )
    del question  # the rule chooses; the space shows everything
    step = stride or window
    found: list[Candidate] = []
    for at, document in enumerate(documents):
        head = header_of(document.title) if header else ""
        spans = document.sentences
        for position, first in enumerate(range(0, len(spans), step)):
            if len(found) == nodes:
                return Space(found)
            last = min(first + window, len(spans))
            span = (spans[first][0], spans[last - 1][1])
            found.append(Candidate(at, position, span, head, one_line(document.text[span[0] : span[1]])))
            if last == len(spans):
                break
    return Space(found)
