"""Lexical scores against the bm25s library, and against formulas written out in loops."""

import math
import random

import numpy as np
import pytest

from ragpack.candidates.lexical import bm25, bm25_counts, tfidf


def random_texts(seed: int, n: int) -> list[list[str]]:
    """Skewed word frequencies, some empty texts, some duplicates."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(40)]
    skew = [1 / (i + 1) for i in range(40)]
    texts = [rng.choices(words, skew, k=rng.choice([0, 1, 5, 25])) for _ in range(n)]
    return [*texts, texts[0], ["w0"]]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0), (1.2, 1.0)])
def test_bm25_equals_bm25s(seed: int, k1: float, b: float) -> None:
    """Repeated tokens, tokens that no text has, and texts without tokens included."""
    import bm25s

    texts = random_texts(seed, n=3 + 2 * seed)
    index = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
    index.index(texts, show_progress=False)
    query = [*random.Random(-seed).choices([f"w{i}" for i in range(40)], k=5), "w0", "w0", "unknown"]
    assert np.allclose(bm25(query, texts, k1=k1, b=b), index.get_scores(query), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.0, 0.4), (1.2, 1.0)])
def test_bm25_from_counts_has_the_same_bits(seed: int, k1: float, b: float) -> None:
    texts = random_texts(seed, n=1 + seed)
    query = random.Random(seed).choices(["w0", "w1", "w4", "w9", "none"], k=6)
    repeats = {term: query.count(term) for term in query}
    times = [[text.count(term) for term in repeats] for text in texts]
    found = bm25_counts(list(repeats.values()), times, [len(text) for text in texts], k1=k1, b=b)
    assert found == bm25(query, texts, k1=k1, b=b).tolist()
    assert bm25_counts([], [[] for _ in texts], [len(text) for text in texts]) == [0.0] * len(texts)


def test_bm25_without_words_is_zero() -> None:
    assert bm25([], [["a"]]).tolist() == [0.0]
    assert bm25(["a"], []).tolist() == []
    assert bm25(["a"], [[], []]).tolist() == [0.0, 0.0]
    assert bm25(["a"], [[], ["a"]], b=1.0)[0] == 0.0  # length 0 at b=1: 0 / 0 in the formula


def test_equal_texts_have_equal_bits() -> None:
    """A tie between duplicates must be a tie, wherever they stand."""
    texts = random_texts(0, 60)
    texts += texts[1:5] * 3
    scores, rows = bm25(["w0", "w1", "w2", "w3", "w5", "w8"], texts), tfidf(texts)
    for i, text in enumerate(texts):
        twin = texts.index(text)
        assert scores[i] == scores[twin]
        assert (rows[i] == rows[twin]).all()


@pytest.mark.parametrize("seed", range(10))
def test_tfidf_is_its_formula(seed: int) -> None:
    texts = random_texts(seed, n=2 * seed + 1)
    vocabulary = list(dict.fromkeys(token for text in texts for token in text))
    expected = []
    for text in texts:
        row = []
        for token in vocabulary:
            df = sum(token in other for other in texts)
            row.append(text.count(token) * (math.log((1 + len(texts)) / (1 + df)) + 1))
        length = math.sqrt(sum(x * x for x in row))
        expected.append([x / length if length else 0.0 for x in row])
    assert np.allclose(tfidf(texts), expected, rtol=1e-12, atol=0)


def test_tfidf_of_nothing() -> None:
    assert tfidf([]).shape == (0, 0)
    assert tfidf([[], []]).shape == (2, 0)
