"""The model-free baseline: what it copies, and when it copies nothing."""

import pytest

from ragpack.readers.base import Decoding, Request
from ragpack.readers.extractive import MODEL, extract, open_reader

CONTEXT = """Tern Island: Tern Island lies in Lake Ostra.
Ostra Bridge: The Ostra Bridge was designed by Ida Vale and opened in 1901 with 12 arches.
Ida Vale: Ida Vale was born in Kesh."""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who designed the Ostra Bridge?", "Ida Vale"),
        ("When was the Ostra Bridge opened?", "1901"),
        ("Where was Ida Vale born?", "Kesh"),
        ("Was the Ostra Bridge designed by Ida Vale?", "yes"),
        ("did Ida Vale design it?", "yes"),
    ],
)
def test_it_copies_a_new_name_or_number_from_the_best_line(question: str, answer: str) -> None:
    assert extract(question, CONTEXT) == answer


def test_a_choice_is_not_answered_yes() -> None:
    assert extract("Are there more arches in Ostra or in Kesh?", CONTEXT) != "yes"


@pytest.mark.parametrize("context", ["", "  \n\n"])
def test_no_context_no_answer(context: str) -> None:
    assert extract("Who designed it?", context) == ""
    assert extract("Is it old?", context) == ""


def test_a_script_without_capitals_gives_the_longest_new_word() -> None:
    assert extract("桥 是 谁 设计 的", "桥 在 湖 上\n桥 是 伊达维尔 设计 的") == "伊达维尔"


def test_the_first_of_equal_lines_wins() -> None:
    assert extract("Who won?", "It was Ann who won.\nIt was Bob who won.") == "Ann"


def test_answers_come_in_order_and_are_labelled() -> None:
    reader = open_reader("")
    how = Decoding(max_tokens=1, keep_prompt=True)
    requests = [
        Request(7, [], "Who designed the Ostra Bridge?", CONTEXT, decoding=how),
        Request(8, [], "Who?", "", decoding=how),
    ]
    first, second = reader.answer(iter(requests))
    assert reader.model == MODEL == reader.fingerprint
    assert (first.id, first.text, first.samples[0].finish, first.completion_tokens) == (7, "Ida", "length", 1)
    assert (second.id, second.text, second.samples[0].finish) == (8, "", "stop")
    assert first.prompt is not None
    assert first.prompt.endswith("Who designed the Ostra Bridge?")


def test_it_takes_one_request_at_a_time() -> None:
    pulled = 0

    def requests():
        nonlocal pulled
        for number in range(3):
            pulled += 1
            yield Request(number, [], "Who?", CONTEXT)

    for given, _ in enumerate(open_reader().answer(requests()), 1):
        assert pulled == given
