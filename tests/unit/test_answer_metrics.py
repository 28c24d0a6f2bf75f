"""Normalisation, EM and F1 on worked cases; the hand computation stands beside each."""

import re
import sys
import unicodedata

import pytest

from ragpack.metrics.answer import PROFILES, AnswerScore, AnswerScorer, acc, answer_kind, exact_match, f1
from ragpack.metrics.normalise import located_tokens, normalise, tokens

NFC, NFD = "Café", unicodedata.normalize("NFD", "Café")

NORMALISED = {
    "lower_case": ("PARIS", "paris"),
    "lower_not_casefold": ("Straße", "straße"),  # casefold would give "strasse"
    "all_32_punctuation": ("x!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~y", "xy"),
    "abbreviation": ("U.S.", "us"),
    "decimal": ("3.14", "314"),
    "hyphen_deleted_not_spaced": ("a-b", "ab"),
    "article_after_punctuation": ("the-end", "theend"),
    "articles": ("The cat, an owl and a dog", "cat owl and dog"),
    "article_inside_word": ("theatre banana Ana", "theatre banana ana"),
    "article_bared_by_punctuation": ("(the) 'an' A.", ""),
    "underscore_joins": ("the_end", "theend"),
    "gold_A": ("A", ""),
    "gold_The": ("The", ""),
    "empty": ("", ""),
    "white_space": (" x\t\n y\u00a0z\u3000w ", "x y z w"),
    "curly_quotes_kept": ("“Paris”", "“paris”"),
    "curly_quote_is_a_boundary": ("“The” end", "“ ” end"),  # the article goes, the quotes part
    "en_dash_kept": ("1990–1995", "1990–1995"),
    "en_dash_is_a_boundary": ("a–b", "–b"),
    "em_dash_kept": ("x—y", "x—y"),
    "minus_sign_kept": ("\u22125", "\u22125"),
    "middle_dot_kept": ("x·y", "x·y"),
    "cjk_punctuation_kept": ("東京、日本。", "東京、日本。"),
    "nfc_kept": (NFC, "caf\u00e9"),
    "nfd_kept": (NFD, "cafe\u0301"),
    "nfd_article": ("a\u0301 x", "\u0301 x"),  # a decomposed á: the accent is a boundary, so the "a" goes
    "lower_lengthens": ("İA", "i\u0307"),  # two characters, the second a boundary before the article
    "control_is_a_boundary": ("the\x00end", "\x00end"),
    "lone_surrogate": ("x\ud800-y", "x\ud800y"),
}


@pytest.mark.parametrize(("text", "expected"), NORMALISED.values(), ids=NORMALISED)
def test_normalise(text, expected):
    assert normalise(text) == expected
    assert tokens(text) == expected.split()
    assert [token.text for token in located_tokens(text)] == expected.split()


def test_a_mixed_text_normalises_as_its_parts():
    parts = [part for part in NORMALISED.values() if "\ud800" not in part[0]]
    together = " ".join(text for text, _ in parts)
    assert normalise(together) == " ".join(expected for _, expected in parts if expected)


def test_word_characters_are_the_alphanumerics():
    # The fast path of `tokens` asks isalnum() in place of the regular expression's \b.
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    assert [c for c in characters if c.isalnum()] == [c for c in re.findall(r"\w", characters) if c != "_"]


# prediction, golds, EM, F1 by profile
EVERY = list(PROFILES)
SCORED = {
    "equal": ("Paris", ["paris."], EVERY, 1.0, 1.0),
    "disjoint": ("London", ["Paris"], EVERY, 0.0, 0.0),
    "order_is_for_em_only": ("Obama Barack", ["Barack Obama"], EVERY, 0.0, 1.0),
    "half_precision": ("in Paris", ["Paris"], EVERY, 0.0, 2 / 3),  # P 1/2, R 1
    "both_partial": ("x y z", ["x y w v"], EVERY, 0.0, 4 / 7),  # P 2/3, R 2/4
    "repeated_in_gold": ("new", ["New York New York"], EVERY, 0.0, 0.4),  # P 1/1, R 1/4
    "repeated_in_both": ("new new new", ["New York New York"], EVERY, 0.0, 4 / 7),  # same 2, P 2/3, R 2/4
    "repeated_in_prediction": ("york york", ["York"], EVERY, 0.0, 2 / 3),  # same 1, P 1/2, R 1
    "max_over_golds": ("Barack Obama", ["Obama", "Barack Hussein Obama"], EVERY, 0.0, 0.8),  # P 1, R 2/3
    "em_and_f1_maxed_apart": ("The", ["The", "the cat"], ["squad", "hotpot"], 1.0, 0.0),
    "abbreviation": ("US", ["U.S."], EVERY, 1.0, 1.0),
    "decimal": ("314", ["3.14"], EVERY, 1.0, 1.0),
    "curly_quotes_differ": ("“Paris”", ["Paris"], EVERY, 0.0, 0.0),
    "minus_sign_differs": ("\u22125", ["-5"], EVERY, 0.0, 0.0),  # "−5" against "5"
    "nfc_nfd_differ": (NFC, [NFD], EVERY, 0.0, 0.0),
    "both_empty": ("The", ["A"], ["squad", "hotpot", "2wiki", "flashrag"], 1.0, 0.0),
    "both_empty_musique": ("The", ["A"], ["musique"], 1.0, 1.0),
    "prediction_empty": ("", ["Paris"], EVERY, 0.0, 0.0),
    "gold_empty": ("Paris", ["The"], EVERY, 0.0, 0.0),
    "yes_with_words": ("yes it is", ["yes"], ["squad", "musique"], 0.0, 0.5),  # P 1/3, R 1
    "yes_with_words_closed": ("yes it is", ["yes"], ["hotpot", "2wiki", "flashrag"], 0.0, 0.0),
    "yes_predicted_closed": ("Yes!", ["yes it is"], ["hotpot", "2wiki", "flashrag"], 0.0, 0.0),
    "no_inside_gold": ("no", ["no man"], ["squad", "musique"], 0.0, 2 / 3),
    "no_inside_gold_closed": ("no", ["no man"], ["hotpot", "2wiki", "flashrag"], 0.0, 0.0),
    "noanswer_closed": ("noanswer x", ["noanswer"], ["hotpot", "2wiki", "flashrag"], 0.0, 0.0),
    "no_answer_is_not_noanswer": ("no answer x", ["no answer"], ["hotpot"], 0.0, 0.8),
    "yes_equal": ("Yes.", ["yes"], EVERY, 1.0, 1.0),
    "closed_is_per_gold": (
        "yes it is",
        ["yes", "it is"],
        ["hotpot", "flashrag"],
        0.0,
        0.8,
    ),  # second: P 2/3, R 1
}


@pytest.mark.parametrize(("prediction", "golds", "profiles", "em", "score"), SCORED.values(), ids=SCORED)
def test_scores(prediction, golds, profiles, em, score):
    for profile in profiles:
        assert exact_match(prediction, golds, profile) == em, profile
        assert f1(prediction, golds, profile) == pytest.approx(score, abs=1e-15), profile


def test_squad_is_the_default():
    assert f1("yes it is", ["yes"]) == 0.5


def test_no_golds_is_undefined_not_zero():
    for profile in PROFILES:
        assert AnswerScorer([], profile).score("Paris") == AnswerScore(None, None, None)


def test_acc_is_a_substring_and_flashrag_only():
    assert acc("at the party", ["art"]) == 1.0
    assert acc("art", ["party"]) == 0.0
    assert acc("anything", ["The"]) == 1.0  # a gold that normalises to nothing
    assert acc("art", ["art"], "squad") is None
    assert acc("art", []) is None


def test_an_unknown_profile_names_the_known_ones():
    with pytest.raises(ValueError, match="no answer profile 'sqaud'; there are squad, hotpot"):
        exact_match("x", ["x"], "sqaud")


KINDS = {
    "none": ([], None),
    "span": (["Paris"], "span"),
    "yes": (["Yes"], "yes_no"),
    "yes_and_no": (["yes", "No."], "yes_no"),
    "yes_and_nothing": (["yes", "The"], "yes_no"),
    "yes_and_span": (["yes", "Paris"], "span"),
    "noanswer_is_a_span": (["noanswer"], "span"),
    "empty": (["A", "...", ""], "empty"),
}


@pytest.mark.parametrize(("golds", "kind"), KINDS.values(), ids=KINDS)
def test_answer_kind(golds, kind):
    assert answer_kind(golds) == kind
