"""Names, titles in texts, and links between documents. Facts are invented."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.records import Doc
from ragpack.retrievers.links import Links
from ragpack.retrievers.names import forms_of, names, surface


def joined(found):
    return [" ".join(name) for name in found]


def found_names(text):
    return joined(names(surface(text)))


def links_of(*docs):
    return Links([Doc(id=str(at), title=title, text=text) for at, (title, text) in enumerate(docs)])


def targets(*docs, of=0):
    return [mention.doc for mention in links_of(*docs).out[of]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Bank of Ostra hired Ida Vale.", ["bank of ostra", "ida vale"]),
        ("born in Ostra, Lower Lisk, in 1950", ["ostra", "lower lisk"]),
        ("Ostra (Lisk) and Tern; Gull: Rail", ["ostra", "lisk", "tern", "gull", "rail"]),
        ("St. Ives met J. K. Vale. Ostra cheered", ["st ives", "j k vale", "ostra"]),  # stops after abbreviations
        ("The End. When They left", []),  # "End" is short, the others are stop words
        ("Ida Vale's son", ["ida vale"]),
        ("Jean-Luc Tern and Spanish- British", ["jean luc tern", "spanish", "british"]),
        ("Zoë Müller", ["zoe muller"]),
        ("1950 and 41 km", []),
        ("the bank of ostra", []),
        ("", []),
        ("... !", []),
    ],
)
def test_names(text, expected):
    assert found_names(text) == expected


def test_accents_are_one_letter_however_they_are_written():
    """ş as one code point, and as s with a cedilla put behind it."""
    assert surface("Ro\u015fu") == surface("Ros\u0327u") == surface("Rosu")


def test_scripts_without_blanks():
    assert surface("東京 Tower").words == ["東", "京", "tower"]
    assert surface("東京").raised == [True, True], "a script without case has no small letters"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Ida Vale", ["ida vale"]),
        ("The Tern (1959 film)", ["the tern 1959 film", "the tern", "tern 1959 film", "tern"]),
        ("West Ostra, Lisk", ["west ostra lisk", "west ostra"]),
        ("Ostra, Lisk", ["ostra lisk"]),  # one word before a comma names too many things
        ("Tunnels &amp; Terns", ["tunnels terns"]),
        ("The", ["the"]),
        ("(1959)", ["1959"]),
        ("!!!", []),
        ("", []),
    ],
)
def test_forms(title, expected):
    assert joined(forms_of(title)) == expected


@pytest.mark.parametrize(
    ("title", "text", "linked"),
    [
        ("Ida Vale", "It was built by Ida Vale in 1950.", True),
        ("Ida Vale", "IDA VALE", True),
        ("Ida Vale", "ida vale", True),
        ("Ida Vale", "Idaho Vale", False),  # words, not letters
        ("Ida Vale", "Ida. Vale", True),
        ("Tern (bird)", "The Tern flies.", True),
        ("Tern (bird)", "the tern flies.", False),  # one word needs its capital
        ("Owl", "The Owl flies.", False),  # three letters
        ("What", "What is it? What?", False),  # a stop word
        ("The Who", "they heard The Who play", True),
        ("The Who", "the one who the who", False),
        ("1984", "In 1984.", False),
        ("", "Anything.", False),
        (None, "Anything.", False),
        ("Zoë Roşu", "by Zoe Roșu", True),
    ],
)
def test_what_is_a_mention(title, text, linked):
    assert targets((None, text), (title, "x")) == ([1] if linked else [])


def test_the_longest_title_counts():
    """None inside another; and a longer one that breaks off leaves the shorter one."""
    docs = [(None, "Duke of West Ostra Bridge came"), ("West Ostra", ""), ("West Ostra Bridge", ""),
            ("West Ostra Bridge Tower", ""), ("Ostra", "")]  # fmt: skip
    assert targets(*docs) == [2]


def test_weights_by_hand():
    """Two documents have the title, one text mentions it, at place 0: 1^-0.1 * 2^-0.5. The other: place 1, two texts
    mention it: 2^-0.1 / 1.05."""
    links = links_of(
        ("A", "The Tern met Ida Vale."), ("Tern (bird)", "Ida Vale"), ("Tern (film)", ""), ("Ida Vale", "")
    )
    assert {one.doc: one.weight for one in links.out[0]} == {
        1: pytest.approx(2**-0.5), 2: pytest.approx(2**-0.5), 3: pytest.approx(2**-0.1 / 1.05)}  # fmt: skip
    assert [(one.doc, one.weight) for one in links.back[3]] == [
        (0, links.out[0][2].weight), (1, pytest.approx(2**-0.1))]  # fmt: skip


def test_a_document_is_not_linked_to_itself():
    assert targets(("Ida Vale", "Ida Vale was born."), ("Ida Vale", "Another Ida Vale.")) == [1]


def test_rarity_by_hand():
    """N = 3: in two of them ln(4/2) / ln 4 = 1/2; in one 1."""
    links = links_of((None, "Ida Vale met Rex Tern"), (None, "Ida Vale"), (None, ""))
    assert links.rarity(("ida", "vale")) == pytest.approx(0.5)
    assert links.rarity(("rex", "tern")) == pytest.approx(1.0)
    assert links.idf("vale") == pytest.approx(math.log(1 + 1.5 / 2.5))
    assert links.idf("none") == pytest.approx(math.log(1 + 3.5 / 0.5))


WORDS = ("Ida", "Vale", "Ostra", "Lower", "of", "the", "The", "built", "Tern", ".")


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=6),
       st.lists(st.lists(st.sampled_from(WORDS[:7]), max_size=3).map(" ".join), min_size=6, max_size=6))  # fmt: skip
def test_against_looking_everywhere(texts, titles):
    """Every place of every text against every form of every title, without a trie: the longest one wins."""
    docs = [Doc(id=str(at), title=titles[at], text=text) for at, text in enumerate(texts)]
    links = Links(docs)
    for at, doc in enumerate(docs):
        text = surface(doc.text)
        expected, place = set(), 0
        while place < len(text.words):
            fitting = [
                (len(form), other) for other, one in enumerate(docs) for form in forms_of(one.title)
                if tuple(text.words[place : place + len(form)]) == form
                and _counts(form, text.raised[place : place + len(form)])
            ]  # fmt: skip
            longest = max((length for length, _ in fitting), default=0)
            expected |= {other for length, other in fitting if length == longest}
            place += max(longest, 1)
        assert {mention.doc for mention in links.out[at]} == expected - {at}


def _counts(form, raised):
    if len(form) == 1:
        return raised[0] and form[0] in ("vale", "ostra", "lower", "tern")
    return all(raised) or any(word not in ("of", "the") for word in form)
