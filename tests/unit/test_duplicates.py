"""Near-duplicates by prefix filtering against all pairs."""

from hypothesis import given
from hypothesis import strategies as st

from ragpack.candidates.duplicates import near_duplicates


def all_pairs(texts, merge):
    """The definition: each text against the first text of every group, in order."""
    groups = []
    for at, text in enumerate(texts):
        one = set(text)
        for group in groups:
            other = set(texts[group[0]])
            if one and other and len(one & other) / len(one | other) >= merge:
                group.append(at)
                break
        else:
            groups.append([at])
    return groups


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9), max_size=14),
    st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.875, 0.9, 1.0]),
)
def test_all_pairs_agree(texts, merge):
    assert near_duplicates(texts, merge) == all_pairs(texts, merge)


def test_no_chain():
    # a-b and b-c have 4 of 6 words in common, a-c 3 of 7: c is near b, but not near a, which stands for b.
    a, b, c = list("12345"), list("23456"), list("34567")
    assert near_duplicates([a, b, c], 0.6) == [[0, 1], [2]]
    assert near_duplicates([b, a, c], 0.6) == [[0, 1, 2]]


def test_the_threshold_itself_counts():
    assert near_duplicates([list("abcde"), list("abcd")], 0.8) == [[0, 1]]
    assert near_duplicates([list("abcde"), list("abcd")], 0.81) == [[0], [1]]
    # 14 of 25 words. In binary 0.56 · 25 is above 14: rounded up, the prefix would end before a common word.
    long = list("abcdefghijklmnopqrstuvwxy")
    assert 0.56 * 25 > 14
    assert near_duplicates([long, long[:14]], 0.56) == [[0, 1]]


def test_texts_without_words_stay():
    assert near_duplicates([[], [], ["a"]], 0.1) == [[0], [1], [2]]
    assert near_duplicates([], 0.8) == []
