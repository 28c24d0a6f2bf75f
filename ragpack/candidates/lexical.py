"""Lexical scores over the candidates of one question: BM25 against the question, tf-idf among themselves.

For at most a few hundred short texts, given as tokens, scored once: there is no index. Both functions walk
tokens in the order of first appearance, never in the order of a set: that order changes from process to
process, and with it the last bit of a sum.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
"""Variants of BM25, under the names of bm25s."""
DELTA = 0.5
"""What a present term has more than an absent one in bm25l and bm25+, at least."""


def idf(df: Floats, n: int, method: str = "lucene") -> Floats:
    """Weight of terms that df of n texts hold, df above 0 (Kamphuis et al., ECIR 2020, table 1).

    In `robertson` a term that more than half of the texts hold has no weight: it would be negative.
    """
    ratio: Floats
    if method == "lucene":
        ratio = 1.0 + (n - df + 0.5) / (df + 0.5)
    elif method == "robertson":
        ratio = np.maximum((n - df + 0.5) / (df + 0.5), 1.0)
    elif method == "atire":
        ratio = n / df
    else:
        ratio = (n + 1) / (df + 0.5 if method == "bm25l" else df)
    weight: Floats = np.log(ratio)
    return weight


def saturation(tf: Floats, norm: Floats, k1: float, method: str = "lucene") -> Floats:
    """What tf occurrences of a term count in a text whose norm is 1 - b + b * length / average length (same table).

    Above 0 at tf = 0 in `bm25l` and `bm25+`.
    """
    # Subtle: max guards 0 / 0 for an empty text with b=1; with tf = 0 the score is 0 whatever stands below.
    tiny = np.finfo(np.float64).tiny
    counted: Floats
    if method == "bm25l":
        shifted = tf / np.maximum(norm, tiny) + DELTA
        counted = (k1 + 1.0) * shifted / (k1 + shifted)
    else:
        most = k1 + 1.0 if method in ("atire", "bm25+") else 1.0
        counted = tf * most / (tf + np.maximum(k1 * norm, tiny))
        if method == "bm25+":
            counted = counted + DELTA
    return counted


def bm25(
    query_terms: Sequence[str], texts: Sequence[Sequence[str]], *, k1: float = 1.5, b: float = 0.75,
    method: str = "lucene",
) -> Floats:  # fmt: skip
    """[n] BM25 score of each text, by default in the Lucene variant (Kamphuis et al., ECIR 2020), as in bm25s.

    Sum over the tokens of the query, a repeated token as often as it is repeated, of
        ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / average length)).
    There is no factor (k1 + 1): it would scale every score alike. A text without any of the tokens has 0, in every
    variant.

    >>> bm25(["a"], [["a", "b"], ["c", "b"]]).round(4).tolist()  # ln(1 + 1.5 / 1.5) * 1 / (1 + 1.5)
    [0.2773, 0.0]
    """
    repeats = Counter(query_terms)
    row = {term: i for i, term in enumerate(repeats)}
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    if not row or not lengths.any():
        return np.zeros(len(texts))
    tf = np.zeros((len(row), len(texts)))
    for j, text in enumerate(texts):
        for token in text:
            if token in row:
                tf[row[token], j] += 1.0
    df = (tf > 0).sum(axis=1)
    known = df > 0
    weight = np.zeros(len(row))
    weight[known] = idf(df[known].astype(np.float64), len(texts), method)
    weight *= np.fromiter(repeats.values(), dtype=np.float64)
    norm = 1.0 - b + b * lengths / lengths.mean()
    # A sum down the rows, not a matrix product: equal texts then get equal bits, wherever they stand.
    scores: Floats = (weight[:, None] * saturation(tf, norm, k1, method)).sum(axis=0)
    if method in ("bm25l", "bm25+"):
        scores[~(tf > 0).any(axis=0)] = 0.0
    return scores


def bm25_counts(
    repeats: Sequence[int], times: Sequence[Sequence[int]], lengths: Sequence[int], *, k1: float = 1.5, b: float = 0.75
) -> list[float]:
    """The same score in the Lucene variant, to the last bit, from counts: of a few texts, and sooner than by arrays.

    `repeats`: how often the query has each of its terms; `times`: [n][terms], in each text; `lengths`: [n].

    >>> [round(score, 4) for score in bm25_counts([1], [[1], [0]], [2, 2])]  # as above
    [0.2773, 0.0]
    """
    n = len(lengths)
    total = sum(lengths)
    df = [sum(map(bool, column)) for column in zip(*times, strict=True)]
    if not total or not any(df):
        return [0.0] * n
    # numpy's logarithm: Python's differs in the last bit.
    weights = (idf(np.array(df, dtype=np.float64), n) * np.array(repeats, dtype=np.float64)).tolist()
    mean, tiny = total / n, float(np.finfo(np.float64).tiny)
    scores = []
    for row, length in zip(times, lengths, strict=True):
        score, norm = 0.0, max(k1 * (1.0 - b + b * length / mean), tiny)
        for weight, tf in zip(weights, row, strict=True):
            if tf:
                score += weight * (tf / (tf + norm))
        scores.append(score)
    return scores


def tfidf(texts: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """[n, v] tf-idf of each text, scaled to length 1, so that a product of two rows is their cosine.

    tf * (ln((1 + N) / (1 + df)) + 1): raw counts and the smooth idf that scikit-learn has by default.
    Columns are the vocabulary in order of first appearance. A text without tokens is a row of zeros.

    >>> tfidf([["a", "a"], [], ["a", "b"]]).round(2).tolist()
    [[1.0, 0.0], [0.0, 0.0], [0.61, 0.8]]
    """
    column: dict[str, int] = {}
    columns = [column.setdefault(token, len(column)) for text in texts for token in text]
    n, v = len(texts), len(column)
    rows = np.repeat(np.arange(n), [len(text) for text in texts])
    tf = np.bincount(rows * v + np.array(columns, dtype=np.int64), minlength=n * v).reshape(n, v)
    idf = np.log((1.0 + n) / (1.0 + (tf > 0).sum(axis=0))) + 1.0
    weights: NDArray[np.float64] = tf * idf
    norms = np.sqrt((weights * weights).sum(axis=1, keepdims=True))
    rows_of_length_1: NDArray[np.float64] = weights / np.where(norms > 0, norms, 1.0)
    return rows_of_length_1
