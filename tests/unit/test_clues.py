"""What the wording says: titles that a text names, roots of the question, relations, dates."""

import numpy as np
import pytest

from ragpack.candidates.clues import clues_of
from ragpack.candidates.relations import relations, stated
from ragpack.candidates.snippet import Candidate, Document, header_of

QUESTION = "Who directed the film?"


def clues(question, *documents, header=True):
    """One candidate for each document (title, text)."""
    made = [Document(str(at), title, text, at + 1, [(0, len(text))]) for at, (title, text) in enumerate(documents)]
    found = [Candidate(at, 0, (0, len(one.text)), header_of(one.title) if header else "", one.text)
             for at, one in enumerate(made)]  # fmt: skip
    return clues_of(question, found, made)


def named(text, title, question="?"):
    """Does this text name a document of this title?"""
    return bool(clues(question, ("Other page", text), (title, "x")).mentions[0, 1])


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("It was built by Ida Vale.", "Ida Vale", True),
        ("built by ida vale", "Ida Vale", True),  # several words: however they are written
        ("built by Ida  Vale's sons", "Ida Vale", True),
        ("It was built by Ida.", "Ida Vale", False),
        ("Ida, Vale", "Ida Vale", True),
        ("Mida Vale", "Ida Vale", False),
        ("Ida Valehurst", "Ida Vale", False),
        # What stands in brackets tells titles apart; no text writes it.
        ("The Mill was released in 1950.", "The Mill (1950 film)", True),
        ("The film Lisk came out.", "Lisk (film)", True),
        ("It is a film.", "Lisk (film)", False),
        ("(film)", "(film)", False),
        # One word: a capital, and more than three letters.
        ("He drank Water.", "Water", True),
        ("He drank water.", "Water", False),
        ("He drank WATER.", "Water", True),
        ("Nothing but Waters.", "Water", False),
        ("She acted in Her.", "Her", False),
        ("Sung by Ada and Otto.", "Ada", False),
        ("Sung by Ada and Otto.", "Otto", True),
        ("Лиск впадает в Остру.", "Лиск", True),
        ("", "Water", False),
        ("Anything.", "", False),
        ("Anything.", "…", False),
    ],
)  # fmt: skip
def test_which_titles_a_text_names(text, title, expected):
    assert named(text, title) is expected


def test_a_text_does_not_name_its_own_page():
    """Nor another page of the same title."""
    found = clues("?", ("Ida Vale", "Ida Vale met Otto Brant."), ("Otto Brant", "He knew Ida Vale."),
                  ("Ida Vale (painter)", "x"))  # fmt: skip
    assert found.mentions.tolist() == [[False, True, False], [True, False, True], [False, False, False]]


def test_titles_that_are_asked_for():
    found = clues("Did Ida Vale see the film Water, or drink otto?", ("Ida Vale", "a"), ("Water (film)", "b"),
                  ("Otto", "c"), ("The film", "d"), ("Vale Ida", "e"), ("See", "f"))  # fmt: skip
    assert found.asked.tolist() == [True, True, False, True, False, False]


def test_roots_by_hand():
    """`directed` and `director` share their first five letters; titles count where they are printed.
    Roots: direc (2 of 3 candidates), mill (1). idf = ln(1 + (3 - df + .5) / (df + .5)): ln 1.6 and ln(8 / 3)."""
    documents = [("Mill", "Its director was Ida Vale."), ("", "Directors of films."), ("", "A tern.")]
    found = clues("Who directed Mill?", *documents)
    assert found.roots.tolist() == [[True, True], [True, False], [False, False]]
    idf = np.log([1.6, 8 / 3])
    assert found.weight == pytest.approx(idf / idf.sum())
    assert clues("Who directed Mill?", *documents, header=False).roots[0].tolist() == [True, False]


def test_a_question_of_function_words_has_roots_too():
    found = clues("Who is it?", ("", "It is."), ("", "A tern."))
    assert found.roots.shape == (2, 3)
    assert found.roots.tolist() == [[False, True, True], [False, False, False]]
    assert found.weight.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("question", ["", "?!"])
def test_a_question_without_words(question):
    found = clues(question, ("Lisk", "A river."))
    assert found.roots.shape == (1, 0)
    assert found.weight.shape == (0,)
    assert (found.relation.tolist(), found.date.tolist(), found.asked.tolist()) == ([0.0], [False], [False])


def test_no_candidates():
    found = clues_of("Who directed Mill?", [], [Document("a", "Mill", " ", 1, [])])
    assert (found.mentions.shape, found.asked.tolist(), found.relation.shape) == ((0, 1), [True], (0,))


def test_relations_by_hand():
    """Asked for: death and kin. A text states one, both or none, by a word or by the years of a life."""
    found = clues("When did the father of Ida Vale die?", ("", "Her father built it."), ("", "He died. A son."),
                  ("", "Otto Vale (1843 – 1916)."), ("", "A mill."))  # fmt: skip
    assert found.relation.tolist() == [0.5, 1.0, 0.5, 0.0]
    assert clues("Is it?", ("", "He died.")).relation.tolist() == [0.0], "nothing is asked for"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("When was it built?", "Built in 1901.", True),
        ("when was it built?", "Built in 1901.", True),
        ("In what year was it built?", "Built in 2019.", True),
        ("Which year?", "From 1066 on.", True),
        ("What is the date of birth of Ida?", "Born 3 May 1843.", True),
        ("When was it built?", "Built long ago.", False),
        ("When was it built?", "It is 12345 m long.", False),
        ("When was it built?", "Room 2345.", False),
        ("Who built it?", "Built in 1901.", False),
        ("Whenever it was?", "Built in 1901.", False),
    ],
)
def test_dates(question, text, expected):
    assert clues(question, ("", text)).date.tolist() == [expected]


def test_words_of_relations():
    assert relations(["company"]) == {"ownership"}
    assert relations(["parent"]) == {"kin", "ownership"}, "a word may stand for several"
    assert relations([]) == relations(["xyz"]) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ida (1843–1916)", {"birth", "death"}),
        ("Ida (3 May 1843 – 9 June 1916)", {"birth", "death"}),
        ("Ida, 1843", set()),
        ("a Norwegian mill", {"nation"}),
        ("a norwegian mill", set()),
        ("Danish, Dutch", {"nation"}),
        ("", set()),
    ],
)
def test_relations_of_the_wording(text, expected):
    assert stated(text, []) == expected
