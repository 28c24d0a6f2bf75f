"""The claim/entity graph: one by hand, the edges one by one, and what holds of every graph."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.candidates.ace import Bridge, Node, Origin, Source
from ragpack.candidates.ace import graph_of as ace
from ragpack.candidates.chunk import chunk
from ragpack.candidates.entities import entities
from ragpack.candidates.snippet import Document
from ragpack.text import content_terms, words


def document(title, *claims, rank=1):
    """Claims joined by a blank."""
    spans, at = [], 0
    for claim in claims:
        spans.append((at, at + len(claim)))
        at += len(claim) + 1
    return Document(title, title, " ".join(claims), rank, spans)


#   question: Where was the builder of the Tern born?       terms: builder, tern, born; entities: Tern
#
#   [Tern]  0.0 The Tern was built by Ida Vale in 1901. ──┬── Tern (asked), Ida Vale, 1901
#           0.1 It carried 40 people.                     │── Tern: a pronoun in Tern's page; 40 is no bridge
#           0.2 Storms were frequent.                     │── nothing
#   [Ida Vale (engineer)]                                 │
#           1.0 Ida Vale grew up in Orrel.       ─────────┴── Ida Vale, Orrel
#           1.1 Her mother sold 40 bells.                  ── Ida Vale: a pronoun in her page; 40
#           1.2 Bells are cast in bronze.                  ── nothing
#   [Orrel] 2.0 Orrel is a town.                           ── Orrel: two hops away
#           2.1 In 1901 a fair was held.                   ── 1901
#   [Vale]  3.0 The Tern was built by Ida Vale in 1901!    ── as 0.0
#
#   question: 0.0 (tern; Tern), 0.1 (Tern), 3.0 (tern; Tern).
#   Entities with a claim on both sides: Ida Vale {0.0, 1.0, 1.1, 3.0} of documents {0, 1, 3},
#   1901 {0.0, 2.1, 3.0} of {0, 2, 3}, 40 {0.1, 1.1} is a number. Vale {3.0} as its own lead: all in the question's.
HITS = [
    document("Tern", "The Tern was built by Ida Vale in 1901.", "It carried 40 people.", "Storms were frequent."),
    document("Ida Vale (engineer)", "Ida Vale grew up in Orrel.", "Her mother sold 40 bells.",
             "Bells are cast in bronze.", rank=2),
    document("Orrel", "Orrel is a town.", "In 1901 a fair was held.", rank=3),
    document("Vale", "The Tern was built by Ida Vale in 1901!", rank=4),
]  # fmt: skip
QUESTION = "Where was the builder of the Tern born?"


def places(graph):
    return [(one.document, one.position) for one in graph.candidates]


def test_a_graph_by_hand():
    graph = ace(HITS, QUESTION)
    assert graph.entities == [
        Node("Tern", "tern", "title"), Node("Ida Vale", "ida vale", "title"), Node("Orrel", "orrel", "title"),
        Node("Vale", "vale", "title"), Node("1901", "1901", "year"), Node("40", "40", "number")]  # fmt: skip
    assert places(graph) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]
    assert [one.line for one in graph.candidates][2:4] == [
        "Ida Vale (engineer): Ida Vale grew up in Orrel.", "Ida Vale (engineer): Her mother sold 40 bells."
    ]  # fmt: skip
    assert graph.mentions == [[0, 1, 4], [0, 5], [1, 2], [1, 5], [4]]
    assert graph.bridges == [Bridge(1, 3, 4), Bridge(4, 3, 3)]  # as many documents; Ida Vale has one more claim
    assert graph.origin == [Origin("question"), Origin("question"), Origin("bridge", 1), Origin("bridge", 1),
                            Origin("bridge", 4)]  # fmt: skip
    assert graph.merged == [[Source(3, (0, 39))], [], [], [], []]
    assert (graph.cut, graph.unconnected) == (0, 3)


def test_expand():
    assert places(ace(HITS, QUESTION, expand=0)) == [(0, 0), (0, 1)]
    graph = ace(HITS, QUESTION, expand=1)
    assert places(graph) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [graph.entities[one.entity].name for one in graph.bridges] == ["Ida Vale"]


def test_documents_count_more_than_claims():
    hits = [
        document("", "tern, by Ida with NATO", "a NATO fleet", "a NATO ship", "a NATO port"),
        document("", "an Ida boat"),
    ]
    graph = ace(hits, "tern")
    assert [(graph.entities[one.entity].name, one.documents, one.claims) for one in graph.bridges] == [
        ("Ida", 2, 2), ("NATO", 1, 4)]  # fmt: skip


def test_of_titles_with_one_key_the_first_names_the_node():
    graph = ace([document("The Bell", "a bell"), document("Bell (town)", "a bell there")], "bell")
    assert graph.entities == [Node("The Bell", "bell", "title")]


def test_the_first_nodes_stay():
    graph = ace(HITS, QUESTION, nodes=3)
    assert places(graph) == [(0, 0), (0, 1), (1, 0)]
    assert graph.cut == 2
    assert len(graph.merged[0]) == 1, "a near-duplicate is remembered where it lies behind the cut"


def test_header():
    assert [one.line for one in ace(HITS, QUESTION, expand=0, header=False).candidates] == [
        "The Tern was built by Ida Vale in 1901.", "It carried 40 people."]  # fmt: skip


def test_a_near_duplicate_has_the_strongest_reason():
    hits = [
        document("A", "Nothing but a lake, a lake by Ida Vale there."),
        document("B", "Nothing but a lake, a lake by Ida Vale, there: tern."),
    ]
    graph = ace(hits, "tern", merge=0.8)  # 8 of 9 words; the first mentions Ida Vale only
    assert places(graph) == [(0, 0)]
    assert graph.origin == [Origin("question")]
    assert graph.merged == [[Source(1, hits[1].sentences[0])]]
    assert places(ace(hits, "tern", merge=1)) == [(0, 0), (1, 0)]


@pytest.mark.parametrize(
    ("title", "claim", "mentioned"),
    [
        ("Bell of Orrel", "x the bell of orrel rang", True),  # a title of several words, capitals or not
        ("The Bell", "x a bell rang", False),  # one word needs its capital
        ("The Bell", "x a Bell rang", True),
        ("Bell (1980 film)", "x a Bell rang", True),
        ("空の鈴", "これは空の鈴である。", True),
        ("空の鈴", "これは空と鈴である。", False),
        ("", "x a Bell rang", False),
        ("()", "x ()", False),
    ],
)
def test_mention_of_a_title(title, claim, mentioned):
    """Seen from a question that touches the first claim only: a title that it mentions brings the title's page."""
    hits = [document("", f"question {claim}"), document(title, "lead y y", "a z z")]
    assert places(ace(hits, "question")) == [(0, 0)] + [(1, 0)] * mentioned


@pytest.mark.parametrize("pronoun", ["She", "their", "IT"])
def test_a_pronoun_speaks_of_the_page(pronoun):
    hits = [document("Ida Vale", "lead", f"{pronoun} swam far", "others swam near")]
    assert places(ace(hits, "When did Ida Vale swim?")) == [(0, 0), (0, 1)]


def test_where_nothing_touches_the_question_all_stay_as_ranked():
    for question in ("Unrelated words?", "", "空鈴"):
        graph = ace(HITS, question)
        assert places(graph) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
        assert set(graph.origin) == {Origin("rank")}
        assert not graph.bridges


def test_a_question_of_stop_words_is_read_by_all_its_words():
    assert places(ace([document("", "as it was", "none")], "What was it?")) == [(0, 0)]


def test_nothing_in_nothing_out():
    for hits in ([], [Document("a", "", "", 1, [])], [Document("a", "Title", " ", 1, [])]):
        graph = ace(hits, QUESTION)
        assert graph.candidates == graph.merged == graph.mentions == graph.bridges == graph.origin == []
        assert graph.cut == graph.unconnected == 0


def test_cyrillic_and_no_capitals():
    hits = [
        document("Птица", "Птица была построена мастером Лев Орлов.", "Шли дожди."),
        document("Лев Орлов", "Лев Орлов родился в Казани.", "Дождь."),
    ]
    assert places(ace(hits, "Кто построил судно птица?")) == [(0, 0), (1, 0)]
    assert places(ace([document("a", "no name here", "none there")], "here")) == [(0, 0)]


@pytest.mark.parametrize("wrong", [{"expand": -1}, {"nodes": 0}, {"merge": 0}, {"merge": 1.1}, {"merge": float("nan")}])
def test_values_out_of_range(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
        ace(HITS, QUESTION, **wrong)


# Few words on purpose: names recur, and near-duplicates are common.
WORDS = ["Ida", "Vale", "Orrel", "tern", "bell", "he", "1901", "40", "the", "東", "Лев", "NATO"]
CLAIM = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(lambda some: "x " + " ".join(some) + ".")
PAGE = st.tuples(st.sampled_from(["", "Ida Vale", "Orrel (town)", "Tern", "東東"]), st.lists(CLAIM, max_size=4))


@given(
    st.lists(PAGE, max_size=5),
    st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join),
    st.integers(0, 4),
    st.integers(1, 12),
    st.sampled_from([0.3, 0.5, 0.8, 1.0]),
)
def test_what_holds_of_every_graph(pages, question, expand, nodes, merge):
    hits = [document(title, *claims, rank=at) for at, (title, claims) in enumerate(pages, start=1)]
    graph = ace(hits, question, expand=expand, nodes=nodes, merge=merge)
    n = len(graph.candidates)
    assert n <= nodes
    assert n == len(graph.merged) == len(graph.mentions) == len(graph.origin)
    assert places(graph) == sorted(set(places(graph)))
    assert len(graph.bridges) <= expand
    # candidates are those of `chunk`, less some
    assert set(graph.candidates) <= set(chunk(hits, question, nodes=1000).candidates)

    def tokens(place):
        at, (start, end) = place
        return set(words(hits[at].text[start:end]))

    for candidate, others in zip(graph.candidates, graph.merged, strict=True):
        here = (candidate.document, candidate.span)
        assert others == sorted(others)
        for other in others:
            assert here < tuple(other), "the better-ranked claim stays"
            assert len(tokens(here) & tokens(other)) >= merge * len(tokens(here) | tokens(other))

    # every claim is a candidate, merged into one, cut, or unconnected
    kept = {(one.document, one.span) for one in graph.candidates}
    merged = {tuple(other) for others in graph.merged for other in others}
    assert not kept & merged
    claims = [(at, span) for at, hit in enumerate(hits) for span in hit.sentences]
    left = len(claims) - len(kept) - len(merged)
    assert left >= graph.cut + graph.unconnected
    if not graph.cut:
        assert left == graph.unconnected
        terms = set(content_terms(question) or words(question))
        start = {claim for claim in claims if terms & tokens(claim)}
        assert start <= kept | merged
    # edges and reasons are real
    bridges = [bridge.entity for bridge in graph.bridges]
    for candidate, edges, why in zip(graph.candidates, graph.mentions, graph.origin, strict=True):
        found = {one.key for one in entities(candidate.body, [(0, len(candidate.body))])}
        assert found <= {graph.entities[at].key for at in edges}
        assert (why.entity in bridges) == (why.kind == "bridge")


@given(st.lists(PAGE, min_size=1, max_size=4), st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join))
def test_more_entities_only_add(pages, question):
    hits = [document(title, *claims, rank=at) for at, (title, claims) in enumerate(pages, start=1)]
    graphs = [ace(hits, question, expand=expand, nodes=1000, merge=1) for expand in range(4)]
    sources = [
        {(one.document, one.span) for one in graph.candidates} | {tuple(a) for b in graph.merged for a in b}
        for graph in graphs
    ]
    for fewer, more in pairwise(sources):
        assert fewer <= more
