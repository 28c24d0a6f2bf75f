"""diagnose: of several answers the mean is scored, and the first one is judged."""

import pytest
from mapped import rows

from ragpack.stages.diagnose import DiagnoseParams, open_diagnose


def answered(*answers, golds=("Ida Vale",), context="Ida Vale built it."):
    said = [{"answer": answer, "finish": "stop", "tokens": 1} for answer in answers]
    made = {"reader": "x", "model": "m", "prompt": {"name": "p", "hash": "h"}, "answer": answers[0], "finish": "stop",
            "tokens": {"prompt": 1, "completion": 1}, **({"samples": said} if len(said) > 1 else {})}  # fmt: skip
    pack = {"policy": "p", "budget": 9, "unit": "regex", "tokens": 4, "context": context, "snippets": [], "dropped": 0}
    return {"schema": "ragpack.answer/1", "id": "q", "question": "Who?", "answers": list(golds), "gold": [],
            "hits": [], "pack": pack, "generate": made}  # fmt: skip


def measured(*answers, profile="squad", **more):
    return rows(open_diagnose(DiagnoseParams(profile=profile)), [answered(*answers, **more)])[0]["diagnose"]


def test_scores_are_means():
    """EM 1, 0, 0, 0; F1 1, 2/3 (one of one word, one of two), 0, 0; acc 1, 0, 1, 0."""
    found = measured("Ida Vale", "Ida", "no", "", profile="flashrag")
    assert found["em"] == pytest.approx(1 / 4)
    assert found["f1"] == pytest.approx((1 + 2 / 3) / 4)
    assert found["acc"] == pytest.approx(1 / 4)
    assert measured("Ida", "Ida", "Ida Vale")["f1"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)


def test_the_verdict_is_the_first_one_s():
    assert measured("Ida Vale", "no")["verdict"] == "correct"
    assert measured("no", "Ida Vale", "Ida Vale")["verdict"] == "in_context_missed"


def test_without_golds_nothing_is_defined():
    found = measured("a", "b", golds=())
    assert (found["em"], found["f1"], found["verdict"]) == (None, None, None)


def test_every_answer_is_in_the_key():
    stage = open_diagnose(DiagnoseParams())
    keys = [
        rows(stage, [answered(*answers)])[0]["diagnose"]["key"]
        for answers in (("a",), ("a", "b"), ("a", "c"), ("b", "a"))
    ]
    assert len(set(keys)) == 4
