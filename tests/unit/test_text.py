"""Words, content terms, sentences and spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.errors import DataError
from ragpack.text import STOP_WORDS, checked, content_terms, count_words, sentences, trim, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Ida Vale's X-15, 3.5 km", ["ida", "vale", "s", "x", "15", "3", "5", "km"]),
        ("snake_case", ["snake_case"]),
        ("STRASSE Straße", ["strasse", "straße"]),
        ("Ζηφάλη; Лиск", ["ζηφάλη", "лиск"]),
        ("空鈴琴は", ["空", "鈴", "琴", "は"]),
        ("Orrel市2", ["orrel", "市", "2"]),
        ("กาแฟ", ["ก", "า", "แ", "ฟ"]),
        ("ليلة القناديل", ["ليلة", "القناديل"]),
        ("한국 사람", ["한국", "사람"]),
        ("😀 — …", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@given(st.text(max_size=30))
def test_an_ascii_text_has_the_same_words_in_company(text):
    """The fast way for ASCII and the other one agree."""
    ascii_text = text.encode("ascii", "replace").decode()
    assert words(ascii_text) == words(f"{ascii_text} é")[:-1]
    assert all(word == word.lower() for word in words(ascii_text))


def test_content_terms():
    assert content_terms("Who was the founder of the town that the founder of Orrel left?") == [
        "founder", "town", "orrel", "left"]  # fmt: skip
    assert content_terms("Who is it?") == []
    assert all(words(word) == [word] for word in STOP_WORDS), "a stop word is one word"


def pieces(text):
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("no stop at all", ["no stop at all"]),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("  One.   Two.  ", ["One.", "Two."]),
        ("Dr. Vale built it. It is 3.5 km long.", ["Dr. Vale built it.", "It is 3.5 km long."]),
        ("A tern 😀😀. It flies 👩‍🚀.", ["A tern 😀😀.", "It flies 👩‍🚀."]),
        ("空鈴琴は楽器である。弦は七本。", ["空鈴琴は楽器である。", "弦は七本。"]),
        ("One.\n\nTwo.", ["One.", "Two."]),
    ],
)
def test_sentences(text, expected):
    assert pieces(text) == expected


TEXTS = st.lists(
    st.sampled_from(["One", "two", "Dr.", "3.5", ".", "!", "?", "。", "空", "😀", "e\u0301", "“It”", "…", "\n", "\n\n",
                     "\r\n", " ", "  ", "\u2028", "\u00a0", "(", ")", '"']) | st.text(max_size=3),
    max_size=14,
).map("".join)  # fmt: skip


@given(TEXTS)
def test_sentences_are_spans_of_the_text(text):
    """Inside, in order, without overlap, not empty, trimmed; and between them stand blanks alone."""
    before = 0
    for start, end in sentences(text):
        assert before <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert not text[before:start].strip(), "nothing is lost between sentences"
        before = end
    assert not text[before:].strip()


@given(st.text(max_size=20), st.integers(0, 20), st.integers(0, 20))
def test_trim(text, start, end):
    start, end = sorted((min(start, len(text)), min(end, len(text))))
    low, high = trim(text, (start, end))
    assert text[max(low, start) : max(high, low)] == text[start:end].strip()


@pytest.mark.parametrize("span", [(0, 5), (-1, 2), (3, 2), (5, 5)])
def test_spans_outside(span):
    with pytest.raises(DataError, match=r"hits\[0\].sentences: .* is not inside the text of 4 characters"):
        checked("😀 b.", [(0, 1), span], "hits[0].sentences")


def test_spans_are_trimmed_and_empty_ones_left_out():
    assert checked(" a. ", [(0, 4), (2, 2), (3, 4)], "x") == [(1, 3)]


@given(
    st.text(
        st.sampled_from("aAbZ_09 -'.,\n\téÉßİıΣς東京กÀ½²١\u00a0\u2028\u0301") | st.characters(codec="utf-8"),
        max_size=40,
    ),
    st.lists(st.sampled_from(["a", "b", "ab", "é", "東", "0", "i̇", "_", "none"]), max_size=4, unique=True),
)
def test_counting_words_is_counting_in_words(text, more):
    """All of its own words, and some others."""
    found = words(text)
    wanted = tuple(dict.fromkeys([*found, *more]))
    assert count_words(text, wanted) == (len(found), [found.count(word) for word in wanted])
