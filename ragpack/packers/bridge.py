"""Greedy packing that follows names from document to document: the rule of the preset `ragpack`."""

import numpy as np

from ragpack.candidates.problem import Problem
from ragpack.errors import UsageError
from ragpack.packers.selection import Knapsack, Overflow, Selection, first_best


def bridge(
    problem: Problem,
    budget: int,
    *,
    rel: float = 1.0,
    prior: float = 1.2,
    qry: float = 4.0,
    div: float = 1.0,
    link: float = 2.5,
    lead: float = 0.4,
    ask: float = 0.3,
    date: float = 1.2,
    red: float = 0.3,
    overflow: Overflow = "truncate",
) -> Selection:
    """What the question names, then what that names: coverage of rare question words, the retriever's word, links by
    title, leading sentences, and the relation that is asked for; no division by length.

    Source: ours.
    Rule: take the snippet with the largest value + marginal gain, until the budget is hit.
    value(i) = rel * relevance + prior * retrieval score of its document + lead / (1 + position)² + ask * share of the
    relations asked for that it states (twice that in a document whose title stands in one that the question names, or
    in the best one) + date where a time is asked for and it has a year.
    gain(i) = qry * idf share of the question's word roots that it covers anew + link where a chosen snippet names its
    document + div * growth of the root of the value taken from its document - red * largest similarity to a chosen one.
    Gain reported: the sum. Complexity: O(n) a step. Ties: rank of the hit, then position in the document.
    """
    weights = {"rel": rel, "prior": prior, "qry": qry, "div": div, "link": link, "lead": lead, "ask": ask, "date": date,
               "red": red}  # fmt: skip
    for name, weight in weights.items():
        if not 0.0 <= weight < np.inf:
            raise UsageError(f"{name} must be a finite number of at least 0, got {weight}")
    sack = Knapsack(problem, budget, overflow)
    if problem.n == 0:
        return sack.selection()
    clues, document = problem.clues, problem.document
    known = clues.asked.copy()
    known[document[0]] = True
    named = known | clues.mentions[known[document]].any(axis=0)
    score = 1.0 / problem.rank if problem.prior is None else problem.prior
    value = rel * problem.relevance + prior * score + lead / (1.0 + problem.position) ** 2 + date * clues.date
    value = value + ask * clues.relation * (1.0 + (named & ~known)[document])
    cover, similarity = qry * clues.roots * clues.weight, red * problem.similarity
    uncovered = np.ones(cover.shape[1])
    linked, mass, redundancy = np.zeros(problem.n), np.zeros(problem.n), np.zeros(problem.n)
    while sack.open:
        gain = value + cover @ uncovered + link * linked - redundancy
        gain = gain + div * (np.sqrt(mass + value) - np.sqrt(mass))
        i = first_best(np.where(sack.available, gain, -np.inf))
        if not sack.offer(i, float(gain[i])):
            continue
        uncovered[clues.roots[i]] = 0.0
        linked = np.maximum(linked, clues.mentions[i][document])
        mass[document == document[i]] += value[i]
        np.maximum(redundancy, similarity[i], out=redundancy)
    return sack.selection()
