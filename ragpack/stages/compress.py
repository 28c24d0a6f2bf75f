"""From a compressed context to the pack's fields."""

from __future__ import annotations

from ragpack.compressors.base import Compressor
from ragpack.records import Raw
from ragpack.stages.candidates import Candidates


def render_compressed(compressor: Compressor, question: str, candidates: Candidates, budget: int) -> Raw:
    """One snippet for each document that has a word left; its span is the whole text, of which the words are no
    substring. Candidates are whole documents: they give relevance, and the number of those dropped."""
    done = compressor.compress(question, candidates.documents, budget)
    row = {one.document: at for at, one in enumerate(candidates.found)}
    snippets = []
    for one in done.kept:
        document = candidates.documents[one.document]
        snippets.append(
            {
                "id": document.id,
                "title": document.title,
                "rank": document.rank,
                "span": (0, len(document.text)),
                "tokens": one.tokens,
                "relevance": float(candidates.problem.relevance[row[one.document]]),
            }
        )
    return {
        "tokens": done.tokens,
        "context": done.text,
        "snippets": snippets,
        "dropped": len(candidates.found) - len(done.kept),
        "compression": {
            "method": compressor.name,
            "model": compressor.model,
            "fingerprint": compressor.fingerprint,
            "asked": done.asked,
            "achieved": done.achieved,
            "original": done.original,
            "steps": done.steps,
            "truncated": done.truncated,
            "unaligned": done.unaligned,
            "settings": dict(compressor.settings),
        },
    }
