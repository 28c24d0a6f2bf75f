"""Each answer profile against its rules, written a second time from the facts and without regard to speed.

| profile | yes/no/noanswer | both sides empty | golds |
|---|---|---|---|
| squad | no rule | F1 0 | best F1 and best EM, apart |
| hotpot, 2wiki | F1 0 where one side is one of them and the other differs | F1 0 | the same |
| musique | no rule | F1 1, and 0 where one side alone is | the same |
| flashrag | as hotpot, gold by gold | F1 0 | the same; acc: some gold is a substring |
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.metrics.answer import PROFILES, AnswerScorer, acc, exact_match, f1

PUNCTUATION = [chr(code) for code in range(128) if chr(code).isprintable() and not chr(code).isalnum()]
PUNCTUATION.remove(" ")


def plain(text):
    text = text.lower()
    for sign in PUNCTUATION:
        text = text.replace(sign, "")
    text = re.sub(r"\b(a|an|the)\b", lambda match: " ", text)
    return " ".join(text.split())


def overlap(left, right):
    right = list(right)
    count = 0
    for word in left:
        if word in right:
            right.remove(word)
            count += 1
    return count


def token_f1(prediction, gold):
    ours, theirs = plain(prediction).split(), plain(gold).split()
    same = overlap(ours, theirs)
    if same == 0:
        return 0.0
    precision = same / len(ours)
    recall = same / len(theirs)
    return (2 * precision * recall) / (precision + recall)


def f1_closed(prediction, gold):
    for one, other in ((prediction, gold), (gold, prediction)):
        if plain(one) in ("yes", "no", "noanswer") and plain(other) != plain(one):
            return 0.0
    return token_f1(prediction, gold)


def f1_empty_is_right(prediction, gold):
    if plain(prediction) == "" or plain(gold) == "":
        return 1.0 if plain(prediction) == plain(gold) else 0.0
    return token_f1(prediction, gold)


F1 = {
    "squad": token_f1,
    "hotpot": f1_closed,
    "2wiki": f1_closed,
    "musique": f1_empty_is_right,
    "flashrag": f1_closed,
}

WORDS = st.sampled_from(
    ["a", "An", "the", "THE", "yes", "Yes.", "no", "NO!", "noanswer", "no-answer", "no answer", "it", "is",
     "U.S.", "us", "3.14", "314", "the-end", "theend", "“the”", "’", "a–b", "–", "\u22125", "-5", "5",
     "İ", "İa", "caf\u00e9", "cafe\u0301", "a\u0301", "ΟΔΟΣ", "Σ", "東京、", "ß", "_", "...", "😀", "\x00the"]
)  # fmt: skip
GAPS = st.sampled_from([" ", " ", " ", "\n", "\u00a0", "\x85", "", "-", "’"])


@st.composite
def sentences(draw):
    return "".join(word + draw(GAPS) for word in draw(st.lists(WORDS, max_size=6)))


answers = sentences() | WORDS | st.text(max_size=12)


def test_there_are_32_punctuation_characters():
    assert len(PUNCTUATION) == 32


def test_every_profile_is_transcribed():
    assert set(F1) == set(PROFILES)


@pytest.mark.parametrize("profile", F1)
@given(prediction=answers, golds=st.lists(answers, min_size=1, max_size=3))
def test_profile(profile, prediction, golds):
    assert f1(prediction, golds, profile) == max(F1[profile](prediction, gold) for gold in golds)
    equal = any(plain(prediction) == plain(gold) for gold in golds)
    assert exact_match(prediction, golds, profile) == float(equal)


@given(prediction=answers, golds=st.lists(answers, min_size=1, max_size=3))
def test_flashrag_acc(prediction, golds):
    assert acc(prediction, golds) == float(any(plain(gold) in plain(prediction) for gold in golds))


@pytest.mark.parametrize("profile", F1)
@given(predictions=st.lists(answers, max_size=4), golds=st.lists(answers, max_size=3))
def test_a_scorer_serves_many_predictions(profile, predictions, golds):
    scorer = AnswerScorer(golds, profile)
    for prediction in predictions:
        assert scorer.score(prediction) == AnswerScorer(golds, profile).score(prediction)
