"""Where a question was lost, in one word. Source: P1 §3.

| reader | in context | in hits | verdict |
|---|---|---|---|
| right | yes | | `correct` |
| right | no | | `unsupported_correct` |
| wrong | yes | | `in_context_missed` |
| none | yes | | `in_context` |
| wrong or none | no | yes | `dropped_by_packing` |
| wrong or none | no | no | `not_retrieved` |

"In" speaks of the answer, except for a yes/no question: there the word is no evidence, and it speaks of all
gold documents. What the row needs and is not known makes the verdict `None`.
"""

from __future__ import annotations

from typing import Literal, get_args

Verdict = Literal[
    "correct", "unsupported_correct", "in_context_missed", "in_context", "dropped_by_packing", "not_retrieved"
]
VERDICTS: tuple[str, ...] = get_args(Verdict)


def verdict(
    *,
    kind: str | None,
    em: float | None,
    in_context: bool | float | None,
    in_hits: bool | float | None,
    all_gold_in_context: bool | float | None,
    all_gold_in_hits: bool | float | None,
) -> Verdict | None:
    """The verdict of one row; `kind` is its `answer_kind`, and without a reader `em` is `None`.

    >>> gold = {"all_gold_in_context": 1.0, "all_gold_in_hits": 1.0}
    >>> verdict(kind="span", em=0.0, in_context=False, in_hits=True, **gold)
    'dropped_by_packing'
    >>> verdict(kind="yes_no", em=1.0, in_context=False, in_hits=True, **gold)
    'correct'
    """
    by_documents = kind == "yes_no"
    supported = all_gold_in_context if by_documents else in_context
    retrieved = all_gold_in_hits if by_documents else in_hits
    if supported is None:
        return None
    if em == 1:
        return "correct" if supported else "unsupported_correct"
    if supported:
        return "in_context" if em is None else "in_context_missed"
    if retrieved is None:
        return None
    return "dropped_by_packing" if retrieved else "not_retrieved"
