"""Rows of the diagnostic for tests of `stats`, and its tables in one call."""

from ragpack.checked import view
from ragpack.records import Diagnosed, Failure
from ragpack.stages.stats import Stats, StatsParams


def row(id, policy="p", budget=9, *, seed=None, model="m", tokens=8, kind="span", profile="squad", prompt=1, group=None,
        gold=(), dropped=0, objective=None, bound=None, probe=None, **measured):  # fmt: skip
    """A row of the diagnostic; what is not given is undefined."""
    made = {"reader": "x", "model": model, "prompt": {"name": "", "hash": ""}, "answer": "", "finish": "stop",
            "tokens": {"prompt": prompt, "completion": 1}}  # fmt: skip
    return {
        "schema": "ragpack.diagnosis/1",
        "id": id,
        "question": "?",
        "gold": list(gold),
        **({"group": group} if group else {}),
        "hits": [],
        **({"sample": {"seed": seed, "n": 2}} if seed is not None else {}),
        **({"probe": probe} if probe else {}),
        "pack": {"policy": policy, "budget": budget, "unit": "regex", "tokens": tokens, "context": "", "snippets": [],
                 "dropped": dropped, "objective": objective, "bound": bound},
        **({"generate": made} if model else {}),
        "diagnose": {"profile": profile, "answer_kind": kind, **measured},
    }  # fmt: skip


def stats(rows, *tables, **params):
    """The tables' rows, and what was said."""
    fold = Stats(StatsParams(tables, **{"resamples": 200, **params}))
    for one in rows:
        fold.take(view(one, (Diagnosed, Failure)), one)
    said = []
    return list(fold.give(said.append)), said
