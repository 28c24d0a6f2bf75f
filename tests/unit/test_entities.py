"""Entities by rule: what is a name, what only begins a sentence, and that mentions of one thing have one key."""

import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.candidates.entities import entities, key_of, without_parenthesis
from ragpack.text import sentences


def found(text, known=()):
    return [(one.name, one.kind) for one in entities(text, sentences(text), known=known)]


def keys(text):
    return [one.key for one in entities(text, sentences(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("no capital, no digit", []),
        # the beginning of a sentence
        ("Bells rang.", []),
        ("Bells rang in Orrel. Orrel slept.", [("Orrel", "name"), ("Orrel", "name")]),
        ("Bells Vale rang. Bells slept.", [("Bells Vale", "name")]),
        ("Orrel slept. Bells rang in Orrel.", [("Orrel", "name"), ("Orrel", "name")]),
        ("Copper is red. They mined copper, with Copper as a sign.", [("Copper", "name")]),  # `copper` is a word here
        ("Ida Vale sang.", [("Ida Vale", "name")]),
        ("Bank of Orrel closed.", [("Bank of Orrel", "name")]),
        ("McVale sang.", [("McVale", "name")]),
        ("In Paris he sang. When Ida came, the Vale froze.", [("Paris", "name"), ("Ida", "name"), ("Vale", "name")]),
        ("The Orrel Bell rang. I'm here and I know It.", [("Orrel Bell", "name")]),
        ("However Ida came. However, nobody left.", [("Ida", "name")]),
        ("He asked: “Go home to Orrel!” (Nobody went.)", [("Orrel", "name")]),
        ("- Bells of iron", []),
        # inside names
        (
            "a poem by J. R. R. Tolkien and J.R.R. Tolkien",
            [("J. R. R. Tolkien", "name"), ("J. R. R. Tolkien".replace(". R", ".R"), "name")],
        ),
        ("with Jean-Paul O'Neill's ship", [("Jean-Paul O'Neill", "name")]),
        ("with Ida’s and the Vales' ship", [("Ida", "name"), ("Vales", "name")]),
        (
            "by Ludwig van der Vale, Ana de la Cruz and Alexander the Great",
            [("Ludwig van der Vale", "name"), ("Ana de la Cruz", "name"), ("Alexander the Great", "name")],
        ),
        ("with Dr. Vale of St. Orrel, and Ida King, Jr.",
         [("Dr. Vale of St. Orrel", "name"), ("Ida King, Jr", "name")]),
        ("the rocket Apollo 11 flew", [("Apollo 11", "name")]),
        ("About 300 ships and Orrel 1950", [("300", "number"), ("Orrel", "name"), ("1950", "year")]),
        ("In 13 Truck Lane", [("13", "number"), ("Truck Lane", "name")]),
        ("so he met Ida Vale. Lucas Orrel left", [("Ida Vale", "name"), ("Lucas Orrel", "name")]),
        # acronyms
        ("NATO and the U.S. met the BBC", [("NATO", "acronym"), ("U.S.", "acronym"), ("BBC", "acronym")]),
        ("THE CAT SAT ON A MAT", []),
        # titles
        ('she wrote "The Bell of Orrel," and left', [("The Bell of Orrel", "title")]),
        ('he said "it rains in Orrel" twice', [("Orrel", "name")]),
        ("『空の鈴』は1959年の本。「行く。」", [("空の鈴", "title"), ("1959", "year")]),
        # numbers
        ("May 1980 in May on Monday", [("May 1980", "date"), ("1980", "year")]),
        ("3.5 km, 12 percent, $4 million, 1,200 tons and 3D or B52",
         [("3.5 km", "number"), ("12 percent", "number"), ("$4 million", "number"), ("1,200 tons", "number"),
          ("B52", "acronym")]),
        ("from 1914–1918 in the 1990s to 0950 and 2100",
         [("1914", "year"), ("1918", "year"), ("1990s", "year"), ("0950", "number"), ("2100", "number")]),
        # other scripts: capitals where there are some
        ("Он видел Льва Толстого", [("Льва Толстого", "name")]),
        ("στην Αθήνα και τον Ήλιο", [("Αθήνα", "name"), ("Ήλιο", "name")]),
        ("élan, ère: à Écully", [("Écully", "name")]),
        ("東京はNHKの町", [("NHK", "acronym")]),
        ("ليلة في القاهرة وกาแฟ", []),
    ],
)  # fmt: skip
def test_entities(text, expected):
    assert found(text) == expected


def test_initials_of_other_scripts():
    text = "вместе с А. С. Пушкиным"  # given as one sentence: the splitter knows English initials only
    assert [(one.name, one.key) for one in entities(text, [(0, len(text))])] == [("А. С. Пушкиным", "ас пушкиным")]


def test_a_run_goes_over_a_line_end_but_no_blank_line():
    text = "by Ida\nVale\n\nOrrel"
    assert [one.name for one in entities(text, [(0, len(text))])] == ["Ida\nVale", "Orrel"]


def test_a_run_ends_with_its_sentence():
    text = "with vitamin C. Orrel Bay slept"
    assert [one.name for one in entities(text, [(0, 15), (16, 31)])] == ["Orrel Bay"]


def test_a_known_key_is_a_name_where_it_begins_a_sentence():
    assert found("Orrel slept.") == []
    assert found("Orrel slept.", known={"orrel"}) == [("Orrel", "name")]


@pytest.mark.parametrize(
    "forms",
    [
        ["J. R. R. Tolkien", "J.R.R. Tolkien", "JRR Tolkien", "J. R. R. Tolkien's"],
        ["U.S.", "US", "the U.S.", "U. S."],
        ["The Beatles", "Beatles", "the  Beatles’s"],
        ["Dr. Vale", "Vale", "Sir Vale"],
        ["Jean-Paul Vale", "JEAN PAUL VALE"],
    ],
)
def test_one_key_for_all_forms(forms):
    assert len({key_of(form) for form in forms}) == 1


def test_keys_that_differ():
    assert len({key_of(name) for name in ("The Who", "Malcolm X", "Malcolm", "Who", "東京", "Vale Jr", "Vale")}) == 7
    assert key_of("…") == key_of("") == ""


def test_dates_have_one_key():
    for text in ("on 3 May 1980", "on May 3, 1980", "on the 3rd of May, 1980", "on 1980-05-03"):
        assert keys(text) == ["1980-05-03", "1980"], text
    assert keys("on 12 March, in Sept. 2001, 5 kilometres, 5 km") == ["--03-12", "2001-09", "2001", "5 km", "5 km"]


def test_a_parenthesis_at_the_end_is_dropped():
    assert [without_parenthesis(title) for title in ("Orrel (town) (Vale)", "(Orrel)", "Or (r) el", "")] == [
        "Orrel (town)", "(Orrel)", "Or (r) el", ""]  # fmt: skip


PIECES = ["Ida", "vale", "The", "J.", "of", "U.S.", "1980", "3 May", '"', "“", "”", "東京", "『", "』", "Лев", "é",
          "'s", "5 km", ".", "\n\n", "-", "(", "😀", "１９８０", "ǅ", "\u0301"]  # fmt: skip


@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join)))
def test_spans_are_ordered_inside_and_apart(text):
    all_found = entities(text, sentences(text))
    for one in all_found:
        assert text[slice(*one.span)] == one.name
        assert one.name.strip() == one.name != ""
        assert one.key
    for before, after in pairwise(all_found):
        within = before.kind == "date" and after.kind == "year" and after.span[1] <= before.span[1]
        assert before.span[1] <= after.span[0] or within
    inside = [one for one in all_found if one.kind in ("name", "acronym")]
    assert all(any(a <= one.span[0] < b for a, b in sentences(text)) for one in inside)


@pytest.mark.parametrize("piece", ["Ida ", '"Ida" ', "3 May 1980, ", "9", "A. ", "of ", '"', "Ida's-", "(", "1,", "東"])
def test_a_long_text_without_end_is_read(piece):
    """Long enough for a quadratic walk to be noticed, and for int() to refuse the digits."""
    text = piece * (3 * sys.get_int_max_str_digits())
    entities(text, [(0, len(text))])


def test_spans_that_overlap_and_texts_without_any():
    assert entities("Ida Vale", []) == entities("Ida Vale", [(0, 8)])
    assert [one.name for one in entities("a Ida, b Vale", [(0, 8), (4, 13)])] == ["Ida", "Vale"]
