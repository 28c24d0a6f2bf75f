"""Clues of the wording: which snippets name which documents, and which state what the question asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ragpack.candidates.problem import Clues
from ragpack.candidates.relations import relations, stated
from ragpack.candidates.snippet import Candidate, Document
from ragpack.text import content_terms, words

ROOT = 5
"""Letters of a root: enough to join "directed" and "director", few enough to keep most words apart."""
SHORT = 3
"""A title of one word this short is no name."""

_BRACKETS = re.compile(r"\s*\([^)]*\)")
_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date)\b|\bdate of\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b")
_CAPITAL = re.compile(r"\b[^\W\d_a-z]\w*")


def clues_of(question: str, candidates: Sequence[Candidate], documents: Sequence[Document]) -> Clues:
    """The clues of a question's candidates. Linear in the text, times the number of documents."""
    bodies = [words(one.body) for one in candidates]
    roots = list(dict.fromkeys(word[:ROOT] for word in content_terms(question) or words(question)))
    column = {root: at for at, root in enumerate(roots)}
    incidence = np.zeros((len(candidates), len(roots)), dtype=np.bool_)
    titles = [words(_BRACKETS.sub("", one.title)) for one in documents]
    heads = [{word[:ROOT] for word in words(one.title)} for one in documents]
    for row, (one, body) in enumerate(zip(candidates, bodies, strict=True)):
        covered = {word[:ROOT] for word in body} | (heads[one.document] if one.header else set())
        incidence[row, [column[root] for root in column.keys() & covered]] = True
    wanted = relations(words(question))
    when = bool(_WHEN.search(question))
    return Clues(
        roots=incidence,
        weight=_shares(incidence),
        mentions=_mentions(candidates, bodies, titles),
        asked=np.array([_names(question, f" {' '.join(words(question))} ", title) for title in titles], dtype=np.bool_),
        relation=np.array(
            [len(wanted & stated(one.body, body)) / max(len(wanted), 1)
             for one, body in zip(candidates, bodies, strict=True)], dtype=np.float64),
        date=np.array([when and bool(_YEAR.search(one.body)) for one in candidates], dtype=np.bool_),
    )  # fmt: skip


def _shares(incidence: np.ndarray) -> np.ndarray:
    """[r] idf of each root over the candidates, scaled to a sum of 1."""
    n, found = len(incidence), incidence.sum(axis=0)
    idf = np.log(1.0 + (n - found + 0.5) / (found + 0.5))
    total = idf.sum()
    shares: np.ndarray = idf / total if total > 0 else idf
    return shares


def _mentions(candidates: Sequence[Candidate], bodies: list[list[str]], titles: list[list[str]]) -> np.ndarray:
    found = np.zeros((len(candidates), len(titles)), dtype=np.bool_)
    for row, (one, body) in enumerate(zip(candidates, bodies, strict=True)):
        text = f" {' '.join(body)} "
        for at, title in enumerate(titles):
            found[row, at] = title != titles[one.document] and _names(one.body, text, title)
    return found


def _names(raw: str, joined: str, title: list[str]) -> bool:
    """Does a text name this title? `joined` is its words, blanks around each. A title of one word must be longer than
    `SHORT` and written with a capital, or every text with "water" in it would name a page of that title."""
    if not title or f" {' '.join(title)} " not in joined:
        return False
    if len(title) > 1:
        return True
    return len(title[0]) > SHORT and any(word.lower() == title[0] for word in _CAPITAL.findall(raw))
