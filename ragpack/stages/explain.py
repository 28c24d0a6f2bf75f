"""`pack --explain`: every candidate, and what became of it."""

from __future__ import annotations

from ragpack.packers.selection import Selection
from ragpack.records import Raw
from ragpack.stages.candidates import Candidates


def explain(candidates: Candidates, selection: Selection | None, shown: list[Raw]) -> list[Raw]:
    """One row for each candidate, in canonical order. `shown` are the snippets that the context has; a compressor
    selects nothing: it leaves out words."""
    problem = candidates.problem
    chosen = selection.chosen if selection else ()
    step = {at: place for place, at in enumerate(chosen)}
    kept = {(one["id"], one["rank"], one["span"][0]) for one in shown}
    rows = []
    for at, candidate in enumerate(candidates.found):
        document = candidates.documents[candidate.document]
        # Two hits may share rank and id: what was never chosen is not in the context, whatever its place is called.
        taken = (at in step or selection is None) and (document.id, document.rank, candidate.span[0]) in kept
        cost = int(problem.cost[at]) + (int(problem.header[at]) if problem.header is not None else 0)
        row: Raw = {
            "id": document.id,
            "rank": document.rank,
            "span": candidate.span,
            "relevance": float(problem.relevance[at]),
            "cost": cost,
            "terms": [term for term, covered in zip(candidates.terms, problem.terms[at], strict=True) if covered],
        }
        if taken and selection:
            row["step"] = step[at] + 1
            if selection.gains is not None:
                row["gain"] = selection.gains[step[at]]
        row["reason"] = "taken" if taken else _why_not(at, selection)
        rows.append(row)
        rows += [
            {**row, "id": candidates.documents[other].id, "rank": candidates.documents[other].rank, "span": span,
             "step": None, "gain": None, "reason": f"duplicate of {document.id}"}
            for other, span in candidate.also
        ]  # fmt: skip
    return rows


def _why_not(at: int, selection: Selection | None) -> str:
    if selection is None:
        return "no word of it was kept"
    if at in selection.chosen:
        return "budget: it was taken, and the whole was too long"
    return selection.reasons.get(at, "budget: the room was used up before")
