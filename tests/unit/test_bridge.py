"""The rule of the preset `ragpack`: what the question names, then what that names."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped import rows

from ragpack.candidates.problem import Clues, Problem
from ragpack.errors import UsageError
from ragpack.packers.bridge import bridge
from ragpack.registry import parameters_of
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import parse_policies
from tests.properties.strategies import budgets, problems

WEIGHTS = [name for name in parameters_of(bridge) if name != "overflow"]
DEFAULTS = {name: parameters_of(bridge)[name].default for name in WEIGHTS}
OFF = dict.fromkeys(WEIGHTS, 0.0)

# Tin Harbour is asked for and names Ida Vale, whose page has the answer. What else is there repeats the question.
QUESTION = "Where was the director of Tin Harbour born?"
HITS = [
    {"rank": 1, "id": "a", "title": "Tin Harbour", "score": 9.0,
     "text": "Tin Harbour is a film directed by Ida Vale. It was shown in Orrel."},
    {"rank": 2, "id": "b", "title": "Copper Harbour", "score": 8.0,
     "text": "Copper Harbour is a film. Its director was born near the harbour."},
    {"rank": 3, "id": "c", "title": "Tin", "score": 7.0,
     "text": "Tin is shipped from the harbour. No director was born there."},
    {"rank": 4, "id": "d", "title": "Ida Vale", "score": 6.0,
     "text": "She had three dogs. Ida Vale was born in Varno. She lived in Orrel."},
]  # fmt: skip
ANSWER = "Varno"


def pack(policy, budget, hits=HITS):
    record = {"schema": "ragpack.hits/1", "id": "q", "question": QUESTION, "hits": hits}
    return rows(open_pack(PackParams((policy,), (budget,))), [record])[0]["pack"]


def test_a_bridge_by_hand():
    """36 tokens: the rules that look at words show what repeats them; this one follows the name. Without links it
    does not."""
    assert pack("ragpack", 36)["context"].split("\n") == [
        "Tin: No director was born there.",
        "Tin Harbour: Tin Harbour is a film directed by Ida Vale.",
        "Ida Vale: She had three dogs. Ida Vale was born in Varno.",
    ]
    for other in ("chunk_packed", "chunk_focused", "chunk_mmr", "topk", "ragpack:link=0,ask=0"):
        assert ANSWER not in pack(other, 36)["context"], other


def test_links_lead_from_what_was_chosen_only():
    """If the page that is asked for does not name her, nothing leads to her."""
    text = "Tin Harbour is a film directed by somebody. It was shown in Orrel."
    assert ANSWER not in pack("ragpack", 36, [{**HITS[0], "text": text}, *HITS[1:]])["context"]


def test_the_preset_groups_by_default():
    (default,), (flat,) = parse_policies(["ragpack:layout=grouped"]), parse_policies(["ragpack:layout=flat"])
    assert (default.name, default.preparation.layout) == ("ragpack", "grouped")
    assert (flat.name, flat.preparation.layout) == ("ragpack:layout=flat", "flat")
    assert pack("ragpack", 99)["context"].count("Ida Vale: ") == 1
    assert pack("ragpack:layout=flat", 99)["context"].count("Ida Vale: ") == 3


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_are_finite_and_not_negative(name):
    with pytest.raises(UsageError, match=f"{name} must be a finite number of at least 0, got -1"):
        open_pack(PackParams((f"ragpack:{name}=-1",), (9,)))
    with pytest.raises(UsageError, match=f"{name} must be finite"):
        open_pack(PackParams((f"ragpack:{name}=inf",), (9,)))


# ---- one part at a time, by hand: n snippets, each a document of its own unless said


def made(n, *, document=None, position=None, prior=None, relevance=None, vectors=None, **clues):
    """A problem of snippets of one token, in which nothing speaks for any of them unless it is said."""
    document = np.arange(n) if document is None else np.array(document)
    d = int(document.max()) + 1
    bare = {"roots": np.zeros((n, 0)), "weight": np.zeros(0), "mentions": np.zeros((n, d)), "asked": np.zeros(d),
            "relation": np.zeros(n), "date": np.zeros(n)}  # fmt: skip
    given = bare | {name: np.array(value) for name, value in clues.items()}
    kinds = {"weight": np.float64, "relation": np.float64}
    found = Clues(**{name: value.astype(kinds.get(name, np.bool_)) for name, value in given.items()})
    return Problem(
        relevance=np.zeros(n) if relevance is None else np.array(relevance),
        cost=np.ones(n, dtype=np.int64),
        document=document,
        rank=document + 1,
        position=np.zeros(n, dtype=np.int64) if position is None else np.array(position),
        terms=np.zeros((n, 0), dtype=np.bool_),
        vectors=np.zeros((n, 0)) if vectors is None else np.array(vectors),
        prior=np.zeros(n) if prior is None else np.array(prior),
        find_clues=lambda: found,
    )


def taken(problem, **weights):
    found = bridge(problem, problem.n, **{**OFF, **weights})
    return list(found.chosen), [round(gain, 9) for gain in found.gains]


def test_nothing_speaks_for_any():
    assert taken(made(3)) == ([0, 1, 2], [0, 0, 0])


def test_relevance_and_prior():
    assert taken(made(3, relevance=[0.5, 1, 0]), rel=2.0) == ([1, 0, 2], [2, 1, 0])
    assert taken(made(3, prior=[0.5, 0, 1]), prior=0.4) == ([2, 0, 1], [0.4, 0.2, 0])


def test_without_scores_the_rank_is_the_prior():
    problem = dataclasses.replace(made(3), prior=None)
    assert taken(problem, prior=1.0) == ([0, 1, 2], [1, 0.5, round(1 / 3, 9)])


def test_leading_sentences():
    """1, 1/4, 1/9."""
    assert taken(made(3, position=[2, 0, 1]), lead=0.9) == ([1, 2, 0], [0.9, 0.225, 0.1])


def test_roots_count_once():
    """Shares .5, .3, .2. The second has .5; then the first has .3 left, and the third the rest."""
    roots = [[1, 1, 0], [1, 0, 1], [0, 0, 1]]
    assert taken(made(3, roots=roots, weight=[0.5, 0.3, 0.2]), qry=1.0) == ([0, 1, 2], [0.8, 0.2, 0])


def test_links():
    """The first names document 2; that names document 1; a link to what is chosen already adds nothing."""
    mentions = [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert taken(made(4, mentions=mentions), link=1.5) == ([0, 2, 1, 3], [0, 1.5, 1.5, 0])


def test_relations_count_twice_behind_a_link():
    """The best document (0) and the one asked for (2) are known; 1 is named by 0, 3 by 2, and 4 by 3 alone: two steps
    away. 2 is named by 0 as well, but known it was."""
    mentions = np.zeros((5, 5))
    mentions[0, [1, 2]] = mentions[2, 3] = mentions[3, 4] = 1
    problem = made(5, mentions=mentions, asked=[0, 0, 1, 0, 0], relation=[0.5] * 5)
    assert taken(problem, ask=1.0) == ([1, 3, 0, 2, 4], [1, 1, 0.5, 0.5, 0.5])


def test_dates():
    assert taken(made(3, date=[0, 1, 0]), date=0.8) == ([1, 0, 2], [0.8, 0, 0])


def test_diversity_is_the_growth_of_a_root():
    """Values 1 each; documents 0, 0, 1: 1 + sqrt 1, then the other document, then 1 + sqrt 2 - sqrt 1."""
    problem = made(3, document=[0, 0, 1], position=[0, 1, 0], relevance=[1, 1, 1])
    assert taken(problem, rel=1.0, div=1.0) == ([0, 2, 1], [2, 2, round(math.sqrt(2), 9)])


def test_redundancy_is_the_largest_similarity_to_a_chosen_one():
    """0 and 1 are the same; 2 has cosine .6 to both."""
    problem = made(3, relevance=[1, 0.9, 0.5], vectors=[[1, 0], [1, 0], [0.6, 0.8]])
    assert taken(problem, rel=1.0, red=1.0) == ([0, 1, 2], [1, -0.1, -0.1])
    assert taken(problem, rel=1.0, red=1.02) == ([0, 2, 1], [1, round(0.5 - 0.612, 9), round(0.9 - 1.02, 9)])


# ---- the whole, against a plain loop


BOOLEANS = st.booleans()
grid = st.sampled_from([0.0, 0.3, 1.0, 2.0])


@st.composite
def linked(draw):
    """Problems with clues: roots, mentions of other documents, titles asked for, relations, dates, priors."""
    problem = draw(problems(max_size=7))
    n, d, r = problem.n, int(problem.document.max()) + 1 if problem.n else 0, draw(st.integers(0, 3))

    def table(*shape, of=BOOLEANS, kind=np.bool_):
        size = math.prod(shape)
        return np.array(draw(st.lists(of, min_size=size, max_size=size)), dtype=kind).reshape(shape)

    shares = table(r, of=st.integers(0, 3), kind=np.float64)
    found = Clues(table(n, r), shares / max(shares.sum(), 1), table(n, d), table(d),
                  table(n, of=st.sampled_from([0.0, 0.5, 1.0]), kind=np.float64), table(n))  # fmt: skip
    found.mentions[np.arange(n), problem.document] = False
    prior = table(d, of=st.sampled_from([0.0, 0.5, 1.0]), kind=np.float64)[problem.document] if n else None
    return dataclasses.replace(problem, find_clues=lambda: found, prior=draw(st.sampled_from([None, prior])))


def slow(problem: Problem, budget: int, w: dict[str, float]) -> tuple[list[int], list[float]]:
    """The formula, written down once more, with nothing kept from step to step."""
    clues, n, document = problem.clues, problem.n, problem.document.tolist()
    known = {document[0]} | {d for d in set(document) if clues.asked[d]} if n else set()
    named = {d for i in range(n) if document[i] in known for d in set(document) if clues.mentions[i, d]}

    def value(i):
        prior = 1 / problem.rank[i] if problem.prior is None else problem.prior[i]
        twice = 2 if document[i] in named - known else 1
        return (w["rel"] * problem.relevance[i] + w["prior"] * prior + w["lead"] / (1 + problem.position[i]) ** 2
                + w["ask"] * clues.relation[i] * twice + w["date"] * clues.date[i])  # fmt: skip

    def gain(i, chosen):
        covered = {r for j in chosen for r in np.flatnonzero(clues.roots[j])}
        new = sum(clues.weight[r] for r in np.flatnonzero(clues.roots[i]) if r not in covered)
        mass = sum(value(j) for j in chosen if document[j] == document[i])
        return (value(i) + w["qry"] * new + w["link"] * any(clues.mentions[j, document[i]] for j in chosen)
                + w["div"] * (math.sqrt(mass + value(i)) - math.sqrt(mass))
                - w["red"] * max((problem.similarity[i, j] for j in chosen), default=0))  # fmt: skip

    chosen, gains, left, room = [], [], set(range(n)), problem.capacity(budget)
    while left and budget > 0:
        found = {i: gain(i, chosen) for i in left}
        i = min(left, key=lambda i: (-round(found[i], 10), i))
        left.remove(i)
        if problem.cost[i] <= room:
            room -= problem.cost[i]
            chosen.append(i)
            gains.append(found[i])
    return chosen, gains


@settings(max_examples=300)
@given(linked(), budgets, st.fixed_dictionaries(dict.fromkeys(WEIGHTS, grid)))
def test_it_is_the_loop_of_its_formula(problem, budget, weights):
    for given_weights in (weights, DEFAULTS):
        chosen, gains = slow(problem, budget, given_weights)
        found = bridge(problem, budget, **given_weights, overflow="skip")
        assert found.chosen == tuple(chosen)
        assert found.gains == pytest.approx(gains, abs=1e-9)


PARTS = {
    "rel": lambda p: dataclasses.replace(p, relevance=p.relevance[::-1].copy()),
    "prior": lambda p: dataclasses.replace(p, prior=np.linspace(0, 1, p.n)),
    "lead": lambda p: dataclasses.replace(p, position=p.position[::-1].copy()),
    "red": lambda p: dataclasses.replace(p, vectors=np.eye(p.n)),
    "qry": lambda p: _with(p, roots=~p.clues.roots),
    "date": lambda p: _with(p, date=~p.clues.date),
    "ask": lambda p: _with(p, relation=1 - p.clues.relation),
    "link ask": lambda p: _with(p, mentions=~p.clues.mentions),
}


def _with(problem, **clues):
    found = problem.clues._replace(**clues)
    return dataclasses.replace(problem, find_clues=lambda: found)


@pytest.mark.parametrize("part", PARTS)
@given(problem=linked(), weights=st.fixed_dictionaries(dict.fromkeys(WEIGHTS, grid)))
def test_a_weight_of_0_switches_its_part_off(part, problem, weights):
    """What the part looks at may then be anything."""
    weights |= dict.fromkeys(part.split(), 0.0)
    one, other = bridge(problem, 20, **weights), bridge(PARTS[part](problem), 20, **weights)
    assert (one.chosen, one.cut_last) == (other.chosen, other.cut_last)
    assert one.gains == pytest.approx(other.gains, abs=1e-9)
