"""The promise of `pack`: never a token over, whatever the text and whatever the tokenizer.

The count that a record states is checked against the tokenizer itself, on the context as it stands.
"""

import functools
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped import rows
from trained import NAMES, counter

from ragpack.stages import pack
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import POLICIES

WORDS = st.sampled_from(
    ["Ostra", "Bridge", "Lisk", "the", "tern", "built", "1901", "3.5", "it's", "—", "空鈴琴", "Лиск", "e\u0301", "😀",
     "👩‍🚀", "...", "!!", "(a)", "\u2028", "\n", "\n\n", "\r\n", "\t", "  ", "▁", "\x00", "ﷺ", "Ostra-Bridge"]
)  # fmt: skip
STOPS = st.sampled_from([". ", ".\n", "! ", "。", "? ", "", " ", "\n\n"])


@st.composite
def texts(draw, sentences=5):
    parts = [" ".join(draw(st.lists(WORDS, max_size=6))) + draw(STOPS) for _ in range(draw(st.integers(0, sentences)))]
    return "".join(parts)


long_text = st.integers(40, 90).map(lambda n: "Ostra Bridge crosses the Lisk, " * n + "and ends.")
titles = st.none() | st.just("") | st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@st.composite
def hit_lists(draw):
    """Hits with every trouble at once: no text, no title, twins, one id with two texts, given sentence spans."""
    found = []
    for rank in range(1, draw(st.integers(0, 5)) + 1):
        if found and draw(st.booleans()) and draw(st.booleans()):
            hit = {**draw(st.sampled_from(found)), "rank": rank}
        else:
            text = draw(texts() | texts() | texts() | st.text(max_size=30) | long_text)
            hit = {"rank": rank, "id": draw(st.sampled_from("abcd")), "title": draw(titles), "text": text,
                   "score": draw(st.floats(-2, 9)), "scores": {"ig": draw(st.floats(-0.5, 0.5))}}  # fmt: skip
            if draw(st.booleans()) and text:
                cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)) | {0, len(text)})
                hit["sentences"] = [list(pair) for pair in itertools.pairwise(cuts)]
        found.append(hit)
    return found


questions = st.lists(WORDS, max_size=6).map(" ".join) | st.just("Who built the bridge that crosses the Lisk?")
budgets = st.integers(0, 24) | st.integers(25, 400)
policies = st.sampled_from(
    [*POLICIES, "chunk_packed:overflow=truncate", "chunk_mmr:overflow=skip", "chunk_packed:window=3,header=false",
     "chunk_focused:overflow=skip,window=2", "chunk_submod:cap=2", "chunk_mmr:lambda=0,overflow=truncate",
     "chunk_packed:order=edges,overflow=truncate", "chunk_focused:order=document", "topk:order=edges",
     "chunk_packed:max_tokens=5", "chunk_mmr:relevance=ig", "chunk_submod:relevance=rank", "ragpack:layout=flat",
     "chunk_packed:layout=grouped,overflow=truncate", "chunk_submod:layout=grouped,order=document",
     "chunk_mmr:layout=grouped,order=edges,overflow=skip", "igp:threshold=-1,order=edges", "random:overflow=truncate"]
)  # fmt: skip
GROUPED = ("ragpack",)
"""Policies whose snippets share lines unless they are told otherwise; `test_layout.py` has what they print."""


@functools.cache
def stage(policy, budget, tokenizer):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack, "open_counter", counter)
        return open_pack(PackParams((policy,), (budget,), tokenizer))


def packed(question, hits, policy, budget, tokenizer):
    record = {"schema": "ragpack.hits/1", "id": "a", "question": question, "answers": ["Ostra"], "gold": ["a", "b"],
              "hits": hits}  # fmt: skip
    return rows(stage(policy, budget, tokenizer), [record])[0]["pack"]


@settings(max_examples=600)
@given(questions, hit_lists(), policies, budgets, st.sampled_from(NAMES))
def test_never_a_token_over(question, hits, policy, budget, tokenizer):
    made = packed(question, hits, policy, budget, tokenizer)
    context, snippets = made["context"], made["snippets"]
    assert counter(tokenizer).count(context) == made["tokens"] <= budget
    assert sum(snippet["tokens"] for snippet in snippets) == made["tokens"]
    if budget == 0:
        assert (context, snippets) == ("", [])
    assert (context == "") is (snippets == [])


@settings(max_examples=300)
@given(
    questions,
    hit_lists(),
    policies.filter(lambda policy: policy not in GROUPED and "grouped" not in policy),
    budgets,
    st.sampled_from(NAMES),
)
def test_snippets_are_what_the_context_shows(question, hits, policy, budget, tokenizer):
    """Spans lie inside their document, none comes twice, and each line is its title and its piece."""
    made = packed(question, hits, policy, budget, tokenizer)
    by_rank = {hit["rank"]: hit for hit in hits}
    lines = made["context"].split("\n") if made["context"] else []
    assert len(lines) == len(made["snippets"])
    for line, snippet in zip(lines, made["snippets"], strict=True):
        hit = by_rank[snippet["rank"]]
        assert (hit["id"], hit["title"] or "") == (snippet["id"], snippet["title"])
        start, end = snippet["span"]
        assert 0 <= start < end <= len(hit["text"])
        body = " ".join(hit["text"][start:end].split())
        assert body
        assert line.endswith(body)
        header = line.removesuffix(body)
        assert header in ("", " ".join((hit["title"] or "").split()) + ": ")
        assert 0 <= snippet["relevance"] <= 1
    places = [(snippet["id"], snippet["rank"], *snippet["span"]) for snippet in made["snippets"]]
    assert len(set(places)) == len(places)
    pieces = {(hit["id"], hit["text"][start:end]) for hit in hits for start, end in [(0, len(hit["text"]))]}
    assert made["dropped"] >= 0
    if policy == "topk":
        assert made["dropped"] + len(lines) == len({piece for piece in pieces if piece[1].strip()})


@settings(max_examples=200)
@given(questions, hit_lists(), policies, budgets, st.sampled_from(NAMES), st.randoms())
def test_the_order_in_which_hits_stand_changes_nothing(question, hits, policy, budget, tokenizer, random):
    tied = [{**hit, "rank": random.choice([hit["rank"], 1])} for hit in hits]
    hits = random.choice([hits, tied])
    mixed = random.sample(hits, len(hits))
    assert packed(question, hits, policy, budget, tokenizer) == packed(question, mixed, policy, budget, tokenizer)


@settings(max_examples=100)
@given(questions, hit_lists(), st.sampled_from(NAMES))
def test_a_budget_for_everything_shows_everything(question, hits, tokenizer):
    """With room enough no snippet is dropped, except where the rule itself stops."""
    for policy in ("topk", "chunk_packed", "chunk_focused", "chunk_mmr"):
        made = packed(question, hits, policy, 100_000, tokenizer)
        assert made["dropped"] == 0 or len(made["snippets"]) == 48
