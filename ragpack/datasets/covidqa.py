"""COVID-QA (Möller et al. 2020) in SQuAD's layout: the release, whose paragraphs are whole articles with a
`document_id`, and the open-domain version (Levy et al. 2021), `{data: [{id, title, context, question, answers}]}`, with
one paragraph for each question."""

from __future__ import annotations

from collections.abc import Iterator

from ragpack.datasets.squad import read_as
from ragpack.flow.run import Fail
from ragpack.records import Question


def read(path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file."""
    return read_as("covidqa", path, fail)
