"""What of the answer and of the gold documents is in the packed context. Source: P1 §3.

Recall is measured on the hits, but the reader sees the context; these are the same questions asked of the
context. By default matching is by whole normalised tokens: "art" is not in "party". Everything is undefined
(`None`) without golds, and the answer metrics also where every gold gives no token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragpack.metrics.matcher import AnswerMatcher, Occurrence

__all__ = ["AnswerMatcher", "Occurrence", "all_gold_in_context", "answer_in_context", "answer_position", "answer_spans",
           "gold_doc_coverage", "gold_token_density", "graded_answer_in_context", "lines_of_snippets"]  # fmt: skip


def answer_in_context(context: str, golds: Sequence[str], match: str = "token") -> bool | None:
    """Do the normalised tokens of a gold occur, contiguous, among those of the context? Source: P1 §3.

    Other ways to match: `substring` (the normalised gold in the normalised context) and `dpr` (`dpr_tokens`).

    >>> answer_in_context("at the party", ["art"]), answer_in_context("Art, at last", ["art"])
    (False, True)
    >>> answer_in_context("at the party", ["art"], "substring"), answer_in_context("the U.S. army", ["US"], "dpr")
    (True, False)
    """
    return AnswerMatcher(golds, match).occurs(context)


def graded_answer_in_context(context: str, golds: Sequence[str]) -> float | None:
    """max over golds (m tokens) and windows W of 2m tokens of |gold ∩ W| / m, multisets. Source: P1 §3.

    In [0, 1]. A context of fewer than 2m tokens is one window. 1.0 wherever `answer_in_context` holds.
    Linear in the context.

    >>> graded_answer_in_context("born in Honolulu", ["Honolulu Hawaii"])
    0.5
    """
    return AnswerMatcher(golds).graded(context)


def answer_spans(context: str, golds: Sequence[str], match: str = "token") -> list[tuple[int, int]]:
    """Characters [start, end) of the context where a gold occurs, in order; not empty just when one does.

    Where occurrences overlap, the leftmost and then the longest is kept.

    >>> answer_spans("In Paris, the city", ["Paris City", "paris"])
    [(3, 18)]
    """
    return AnswerMatcher(golds, match).spans(context)


def answer_position(context: str, spans: Sequence[tuple[int, int]]) -> float | None:
    """Where the first occurrence begins, as a share of the context's characters: 0.0 is its beginning.

    `None` without one. For cuts by depth: readers use the middle of a long context worst (Liu et al. 2024).

    >>> answer_position("In Rome it", [(3, 7)])
    0.3
    """
    return spans[0][0] / len(context) if spans else None


def lines_of_snippets(lines: Sequence[str], titles: Sequence[tuple[str, str]]) -> list[int] | None:
    """The snippet that each line of a context belongs to; (document id, title) of each snippet, in the order of the
    text.

    A snippet is one line. In a layout with a header line for each document that line belongs to the snippet that
    follows it: it repeats the title, and stands where the document changes. `None` where the lines can't be told
    apart in this way.

    >>> titles = [("a", "Ida Vale"), ("a", "Ida Vale"), ("b", "Tern")]
    >>> lines_of_snippets(["Ida Vale", "She built.", "She rests.", "Tern: A bird."], titles)
    [0, 0, 1, 2]
    """
    headers = len(lines) - len(titles)
    if headers == 0:
        return list(range(len(lines)))
    owners: list[int] = []
    for at, (doc, title) in enumerate(titles):
        opens = at == 0 or titles[at - 1][0] != doc
        if headers > 0 and opens and len(owners) < len(lines) and _bare(lines[len(owners)]) == _bare(title or doc):
            owners.append(at)
            headers -= 1
        owners.append(at)
    return owners if headers == 0 and len(owners) == len(lines) else None


def _bare(header: str) -> str:
    """A header without blanks and signs at its ends."""
    return " ".join(header.split()).strip(" :#*[]=")


def gold_doc_coverage(snippet_doc_ids: Iterable[str], gold: Iterable[str]) -> float | None:
    """|gold documents with a snippet in the context| / |gold documents|; 0.0 in an empty one. Source: P1 §3.

    >>> gold_doc_coverage(["a", "x", "a"], ["a", "b"])
    0.5
    """
    wanted = frozenset(gold)
    return len(wanted.intersection(snippet_doc_ids)) / len(wanted) if wanted else None


def all_gold_in_context(snippet_doc_ids: Iterable[str], gold: Iterable[str]) -> float | None:
    """1.0 if every gold document has a snippet in the context, else 0.0. Source: P1 §3.

    >>> all_gold_in_context(["b", "a"], ["a", "b"])
    1.0
    """
    wanted = frozenset(gold)
    return float(wanted <= frozenset(snippet_doc_ids)) if wanted else None


def gold_token_density(
    snippets: Iterable[tuple[str, int]],
    total_tokens: int,
    gold: Iterable[str],
) -> float | None:
    """Σ tokens of snippets (document id, tokens) of gold documents / tokens of the context. Source: P1 §3.

    Budget tokens, headers and separators included. `None` for an empty context too: it has no tokens to
    share.

    >>> gold_token_density([("a", 30), ("x", 50), ("a", 20)], 100, ["a"])
    0.5
    """
    wanted = frozenset(gold)
    if not wanted or total_tokens <= 0:
        return None
    # Counted apart, snippets can come to a token or two more than joined; a share stays one.
    return min(1.0, sum(size for doc, size in snippets if doc in wanted) / total_tokens)
