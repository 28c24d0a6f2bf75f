"""How candidates become a context: headers once or on every line, the order of lines, long snippets in pieces."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped import rows
from trained import NAMES, counter

from ragpack.candidates.problem import Problem
from ragpack.candidates.snippet import one_line
from ragpack.packers.packed import packed
from ragpack.records import Hit, Hits
from ragpack.stages import pack as stage
from ragpack.stages.candidates import candidates_of, documents_of
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import parse_policies
from ragpack.tokens import Counter, End
from ragpack.tokens.regex import RegexCounter
from ragpack.tokens.remembered import Remembered
from tests.properties.strategies import budgets, problems

# Tokens of `regex`: the title with its colon 3, the sentences 6, 7 and 7.
BRIDGE = "Ostra Bridge crosses the Lisk. It was built by Ida Vale. Ida Vale also built a mill."
LINE = f"Ostra Bridge: {BRIDGE}"


def hit(rank, title, text, **fields):
    return {"rank": rank, "id": f"d{rank}", "title": title, "text": text, **fields}


def hits(*found, question="Who built the mill?"):
    return {"schema": "ragpack.hits/1", "id": "a", "question": question, "hits": list(found)}


def pack(record, policy, budget, counting=None):
    with pytest.MonkeyPatch.context() as patch:
        if counting:
            patch.setattr(stage, "open_counter", lambda _: counting)
        opened = open_pack(PackParams((policy,), (budget,)))
    return rows(opened, [record])[0]["pack"]


def candidates(record, policy, counting=None):
    (parsed,) = parse_policies([policy])
    typed = Hits(id="a", question=record["question"], hits=[Hit(**one) for one in record["hits"]])
    return candidates_of(typed, documents_of(typed), parsed, Remembered(counting or RegexCounter()))


def test_grouped_prints_a_title_once_and_sentences_in_their_order():
    """Taken: the third (it has `built` and `mill`), the second (`built`), the first; printed: first to third.
    Tokens: 3 of the title and 6, then 7, then 7; the flat layout pays the title three times: 29."""
    record = hits(hit(1, "Ostra Bridge", BRIDGE))
    found = pack(record, "chunk_packed:layout=grouped", 23)
    assert found["context"] == LINE
    assert [(one["span"], one["tokens"]) for one in found["snippets"]] == [([0, 30], 9), ([31, 56], 7), ([57, 84], 7)]
    gains = [one["gain"] for one in found["snippets"]]
    assert gains[2] == 1.0 > gains[1] > gains[0]
    assert (found["tokens"], found["dropped"]) == (23, 0)
    assert pack(record, "chunk_packed", 29)["dropped"] == 0
    assert pack(record, "chunk_packed", 28)["dropped"] == 1


def test_grouped_lines_stand_in_the_order_of_their_first_snippet():
    """`mill` is in the second sentence of 2 and in 1 twice as long: 2 opens the context, and what is taken of 2 later
    goes into its line."""
    record = hits(hit(1, "Tern", "It has a mill beside the long road."), hit(2, "Lisk", "Water. A mill."))
    found = pack(record, "chunk_packed:layout=grouped", 99)
    assert found["context"] == "Lisk: Water. A mill.\nTern: It has a mill beside the long road."
    assert [one["rank"] for one in found["snippets"]] == [2, 2, 1]


def test_the_cost_model_of_a_group():
    """Own tokens of each sentence, and the title's that only the first one taken pays."""
    record = hits(hit(1, "Ostra Bridge", BRIDGE), hit(2, "", "Alone."))
    grouped, flat = (candidates(record, f"chunk_packed:layout={name}").problem for name in ("grouped", "flat"))
    assert grouped.cost.tolist() == [6, 7, 7, 2]
    assert grouped.header.tolist() == [3, 3, 3, 0]
    assert flat.cost.tolist() == [9, 10, 10, 2]
    assert flat.header is None
    bare = candidates(record, "chunk_packed:layout=grouped,header=false").problem
    assert bare.cost.tolist() == [6, 7, 7, 2]
    assert bare.header.tolist() == [0, 0, 0, 0]


def test_grouped_without_a_header():
    """Sentences of a document share a line even then."""
    record = hits(hit(1, "Ostra Bridge", BRIDGE), hit(2, "Tern", "A tern."))
    found = pack(record, "chunk_packed:layout=grouped,header=false", 99)
    assert sorted(found["context"].split("\n")) == sorted([BRIDGE, "A tern."])
    assert found["tokens"] == 20 + 3


@pytest.mark.parametrize("rule", ["chunk_packed:overflow=skip", "chunk_focused:overflow=skip",
                                  "chunk_mmr:lambda=1,overflow=skip"])  # fmt: skip
def test_the_greedy_rule_knows_that_a_second_snippet_is_cheaper(rule):
    """Tern: title 2; `mill tern lisk.` 4, `mill.` 2. The other title is 5, `mill lisk.` 3. Budget 8: the first takes 6,
    leaves 2; the other document would pay 8; `mill.` pays 2 now that its title stands. Flat it would pay 4."""
    record = hits(hit(1, "Tern", "mill tern lisk. mill.", sentences=[[0, 15], [16, 21]]),
                  hit(2, "One two three four", "mill lisk."), question="mill tern lisk")  # fmt: skip
    assert pack(record, f"{rule},layout=grouped", 8)["context"] == "Tern: mill tern lisk. mill."
    assert pack(record, rule, 8)["context"] == "Tern: mill tern lisk."


@given(problem=problems(), budget=budgets, header=st.lists(st.integers(0, 4), min_size=4, max_size=4),
       overflow=st.sampled_from(["stop", "skip"]))  # fmt: skip
def test_headers_are_paid_once(problem: Problem, budget, header, overflow):
    """`packed` by a plain loop: the cost of a set is its own tokens and one header for each of its documents."""
    problem = dataclasses.replace(problem, header=np.array([header[d] for d in problem.document], dtype=np.int64))
    taken: list[int] = []
    for i in sorted(range(problem.n), key=lambda i: (-problem.relevance[i], i)):
        trial = [*taken, i]
        cost = problem.cost[trial].sum() + sum(header[d] for d in set(problem.document[trial].tolist()))
        if budget > 0 and cost <= budget + problem.slack:
            taken = trial
        elif overflow == "stop":
            break
    assert packed(problem, budget, overflow=overflow).chosen == tuple(taken)


FIVE = [hit(n, None, f"{word}.") for n, word in enumerate(["one", "two", "three", "four", "five"], 1)]


@pytest.mark.parametrize(
    ("policy", "n", "expected"),
    [
        ("topk", 5, "1 2 3 4 5"),
        ("topk:order=edges", 5, "1 3 5 4 2"),
        ("topk:order=edges", 4, "1 3 4 2"),
        ("topk:order=edges", 1, "1"),
        ("topk:order=edges", 0, ""),
        ("topk:order=document", 5, "1 2 3 4 5"),
        # `two` and `five` are asked for and tie, as the others do: by rank.
        ("chunk_packed", 5, "2 5 1 3 4"),
        ("chunk_packed:order=edges", 5, "2 1 4 3 5"),
        ("chunk_packed:order=document", 5, "1 2 3 4 5"),
    ],
)
def test_order_of_lines(policy, n, expected):
    found = pack(hits(*FIVE[:n], question="five two"), policy, 99)
    assert " ".join(str(one["rank"]) for one in found["snippets"]) == expected
    assert found["context"].split() == [f"{['one', 'two', 'three', 'four', 'five'][int(n) - 1]}."
                                        for n in expected.split()]  # fmt: skip


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("score", "The mill stands.\nA mill by the road.\nWater runs"),
        ("document", "Water runs\nA mill by the road.\nThe mill stands."),
        ("edges", "The mill stands.\nWater runs\nA mill by the road."),
    ],
)
def test_what_was_taken_last_is_cut_wherever_it_stands(order, expected):
    """Lines of 4, 6 and 5 tokens; 12 leave 2 for the last one."""
    record = hits(hit(1, None, "Water runs  under it."), hit(2, None, "A mill by the road."),
                  hit(3, None, "The mill stands."))  # fmt: skip
    found = pack(record, f"chunk_packed:overflow=truncate,order={order}", 12)
    assert (found["context"], found["tokens"]) == (expected, 12)
    (cut,) = [one for one in found["snippets"] if one["rank"] == 1]
    assert (cut["span"], cut["tokens"]) == ([0, 10], 2)


def test_a_cut_in_the_middle_of_a_group():
    """Taken: third, second, first; 3 + 7 + 7 leave 2 of the first sentence, which stands first."""
    found = pack(hits(hit(1, "Ostra Bridge", BRIDGE)), "chunk_packed:layout=grouped,overflow=truncate", 19)
    assert found["context"] == "Ostra Bridge: Ostra Bridge It was built by Ida Vale. Ida Vale also built a mill."
    assert [(one["span"], one["tokens"]) for one in found["snippets"]] == [([0, 12], 5), ([31, 56], 7), ([57, 84], 7)]
    assert found["tokens"] == 19


# ---- the budget and the shares, for every family of tokenizers


WORDS = st.sampled_from(["Ostra", "Bridge", "mill", "1901", "3.5", "it's", "—", "空鈴琴", "e\u0301", "😀", "...", "!!",
                         "(a)", "\u2028", "the"])  # fmt: skip
sentence_lists = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(lambda w: " ".join(w) + "."), max_size=4)
LAYOUTS = [f"chunk_packed:layout={layout},order={order},overflow={overflow}{more}"
           for layout in ("flat", "grouped") for order in ("score", "document", "edges")
           for overflow in ("skip", "truncate") for more in ("", ",header=false", ",max_tokens=4")]  # fmt: skip


@settings(max_examples=400)
@given(st.lists(st.tuples(st.sampled_from([None, "Mill", "Ostra Bridge.", "😀"]), sentence_lists), max_size=4),
       st.sampled_from(LAYOUTS), st.integers(0, 60), st.sampled_from(NAMES))  # fmt: skip
def test_every_layout_and_order_keeps_the_budget(found, policy, budget, tokenizer):
    """Never a token over by a count of the context itself, repaired where joins cost more than their lines; shares add
    up, none is negative; each line is its header and its sentences in the document's order."""
    documents = {rank: (title, " ".join(parts)) for rank, (title, parts) in enumerate(found, 1)}
    record = hits(*(hit(rank, title, text) for rank, (title, text) in documents.items()))
    made = pack(record, policy, budget, counter(tokenizer))
    assert made["tokens"] == counter(tokenizer).count(made["context"]) <= budget
    assert sum(one["tokens"] for one in made["snippets"]) == made["tokens"]
    assert all(one["tokens"] >= 0 for one in made["snippets"])
    bodies = [(one["rank"], one_line(documents[one["rank"]][1][slice(*one["span"])])) for one in made["snippets"]]
    assert all(body for _, body in bodies)
    lines = []
    for rank, group in itertools.groupby(bodies, key=lambda pair: pair[0]):
        title, texts = documents[rank][0], [body for _, body in group]
        header = f"{title}: " if title and "header=false" not in policy else ""
        lines += [header + " ".join(texts)] if "grouped" in policy else [header + text for text in texts]
    assert made["context"] == "\n".join(lines)
    if "grouped" in policy or "order=document" in policy:
        for _, group in itertools.groupby(made["snippets"], key=lambda one: one["rank"]):
            starts = [one["span"][0] for one in group]
            assert starts == sorted(starts)


# ---- max_tokens


def test_long_sentences_are_cut_between_words():
    """At most 4 tokens: a comma belongs to the word before it, where it fits."""
    record = hits(hit(1, "T", "one two, three  four five six. Short one."))
    found = candidates(record, "chunk_packed:max_tokens=4")
    pieces = [(one.position, one.span, one.body) for one in found.found]
    assert pieces == [(0, (0, 14), "one two, three"), (1, (16, 30), "four five six."), (2, (31, 41), "Short one.")]
    assert found.problem.position.tolist() == [0, 1, 2]
    assert found.problem.cost.tolist() == [6, 6, 5], "the title is no part of the limit"


def test_what_has_no_token_is_not_lost():
    """A zero-width space is none for BERT; it goes with the piece before it."""
    found = candidates(hits(hit(1, None, "a b c \u200b")), "chunk_packed:max_tokens=1", counter("wordpiece")).found
    assert [one.body for one in found] == ["a", "b", "c \u200b"]


def test_a_word_of_more_tokens_than_the_limit_is_cut_where_a_token_ends():
    (first, *_) = candidates(hits(hit(1, None, "a-b-c-d-e f")), "chunk_packed:max_tokens=3").found
    assert first.body == "a-b"


def test_a_word_that_has_more_tokens_alone_is_cut_inside():
    """` Bridge` is one token, `Bridge` two: the longest beginning that is one."""
    counting = counter("byte-level")
    assert (counting.count("Ostra Bridge"), counting.count("Bridge")) == (2, 2)
    found = candidates(hits(hit(1, None, "Ostra Bridge")), "chunk_packed:max_tokens=1", counting).found
    assert [one.body for one in found] == ["Ostra", "Br", "idge"]


@settings(max_examples=300)
@given(st.lists(WORDS | st.just("\n"), min_size=1, max_size=25).map(" ".join), st.integers(1, 6),
       st.sampled_from(NAMES))  # fmt: skip
def test_pieces_of_a_long_sentence(text, limit, tokenizer):
    """They follow one another, leave no character out but blanks, and none has too many tokens, except a single
    character that has them all."""
    counting = counter(tokenizer)
    record = hits(hit(1, None, text, sentences=[(0, len(text))]))
    found = candidates(record, f"chunk_packed:max_tokens={limit},nodes=999", counting).found
    assert "".join("".join(one.body.split()) for one in found) == "".join(text.split())
    assert [one.position for one in found] == list(range(len(found)))
    assert all(one_line(text[slice(*one.span)]) == one.body for one in found)
    assert all(a.span[1] <= b.span[0] for a, b in itertools.pairwise(found))
    for one in found:
        assert counting.count(one.body) <= limit or len(one.body) == 1, one


class Counting:
    """A counter that remembers how much it was given."""

    unit, fingerprint, lines_add_up, words_add_up, slack = "counting", "counting/1", True, False, 0

    def __init__(self, counting: Counter) -> None:
        self._counting, self.characters = counting, 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return self._counting.count(text)

    def lines(self, texts: list[str]) -> list[int]:
        self.characters += sum(map(len, texts))
        return self._counting.lines(texts)

    def ends(self, text: str) -> list[End]:
        self.characters += len(text)
        return self._counting.ends(text)


@pytest.mark.parametrize(
    "text", ["ostra bridge lisk " * 2800, "ostra" * 10_000, "空鈴琴" * 3000], ids=["words", "one", "cjk"]
)
def test_50_kilobytes_without_a_stop(text):
    """One sentence in pieces; the work, counted in characters tokenized, is linear in the text."""
    counting = Counting(counter("byte-level"))
    found = candidates(hits(hit(1, None, text)), "chunk_packed:max_tokens=32,nodes=9999", counting).found
    assert "".join("".join(one.body.split()) for one in found) == "".join(text.split())
    assert counting.characters <= 8 * len(text)
    for policy in ("topk", "chunk_focused", "chunk_packed:max_tokens=32", "ragpack"):
        made = pack(hits(hit(1, None, text)), policy, 50, counter("byte-level"))
        assert 0 < made["tokens"] <= 50


@pytest.mark.parametrize(("more", "expected"), [("", 48), (",nodes=3", 3), (",nodes=500", 300)])
def test_pieces_count_as_candidates(more, expected):
    """`nodes` limits what packers see: a text of 300 pieces must not come in beside it."""
    assert candidates(hits(hit(1, None, "mill " * 600)), f"chunk_packed:max_tokens=2{more}").problem.n == expected


def test_max_tokens_must_be_a_number_of_tokens():
    with pytest.raises(Exception, match="max_tokens must be at least 0, got -1"):
        parse_policies(["chunk_packed:max_tokens=-1"])
