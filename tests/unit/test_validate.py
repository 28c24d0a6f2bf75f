"""validate: what types don't say, and findings of one kind as one."""

import orjson
import pytest
from command import ROOT

from ragpack.errors import UsageError
from ragpack.flow.streams import Line
from ragpack.report.kinds import kind_named
from ragpack.report.validation import Validation

DOC = {"schema": "ragpack.doc/1", "id": "d", "text": "One. Two.", "sentences": [[0, 4], [5, 9]]}
QUESTION = {"schema": "ragpack.question/1", "id": "q", "question": "Who?", "answers": ["x"], "gold": ["d"],
            "docs": [{"id": "d", "text": "One."}]}  # fmt: skip
HIT = {"rank": 1, "id": "d", "text": "One."}
HITS = {"schema": "ragpack.hits/1", "id": "q", "question": "Who?", "answers": ["x"], "gold": ["d"], "hits": [HIT]}
SNIPPET = {"id": "d", "rank": 1, "span": [0, 4], "tokens": 3, "relevance": 1.0}
PACK = {"policy": "p", "budget": 9, "unit": "u", "tokens": 3, "context": "One.", "snippets": [SNIPPET], "dropped": 0}
PACKED = {**HITS, "schema": "ragpack.pack/1", "pack": PACK}
FOUND = {"profile": "squad", "spans": [[0, 3]], "span_snippets": [0], "f1": 1.0}
ROW = {**PACKED, "schema": "ragpack.diagnosis/1", "diagnose": FOUND}


def pack(**fields):
    return {**PACKED, "pack": {**PACK, **fields}}


def row(**fields):
    return {**ROW, "diagnose": {**FOUND, **fields}}


def findings(*rows, forced=None):
    validation = Validation(forced)
    validation.check(
        Line("f", at, one if isinstance(one, bytes) else orjson.dumps(one)) for at, one in enumerate(rows, 1)
    )
    found = [orjson.loads(line) for line in validation.rows()]
    assert validation.errors == sum(one["count"] for one in found if one["level"] == "error")
    return [(one["level"], one["message"], one["count"], one["lines"]) for one in found if one["level"] != "count"]


def test_what_is_right_has_no_findings():
    assert findings(DOC, QUESTION, HITS, PACKED, ROW) == []


CASES = {
    "not JSON": (b"{", "error", "not JSON: "),
    "blank": (b" ", "error", "the line is empty"),
    "type": ({**HITS, "hits": [{**HIT, "rank": "1"}]}, "error", 'hits[0].rank: expected a whole number, got "1"'),
    "unknown schema": ({"schema": "ragpack.hit/1"}, "error", "Did you mean 'ragpack.hits/1'?"),
    "other version": ({**HITS, "schema": "ragpack.hits/2"}, "error", "another version"),
    "no schema": ({"id": "d", "text": "x"}, "note", "no schema"),
    "no schema, no fields": ({"x": 1}, "error", "no schema, and no field tells"),
    "span outside": ({**DOC, "sentences": [[0, 10]]}, "error", "sentences[0]: [0, 10] is not inside the text of 9"),
    "spans overlap": ({**DOC, "sentences": [[0, 4], [3, 9]]}, "note", "begins before the end"),
    "no text": ({**DOC, "text": " ", "sentences": []}, "note", "no text"),
    "a pool's span": ({**QUESTION, "docs": [{"id": "d", "text": "x", "sentences": [[0, 2]]}]}, "error", "docs[0].sent"),
    "a pool's ids": ({**QUESTION, "docs": QUESTION["docs"] * 2}, "error", "docs[1].id: 'd' is there twice"),
    "gold not in the pool": ({**QUESTION, "gold": ["d", "e"]}, "note", "gold: 1 of 2 not in docs: 'e'"),
    "gold sentence": (
        {**QUESTION, "docs": [DOC], "gold_sentences": [["d", 2]]}, "note", "gold_sentences[0]: the document 'd' has no",
    ),
    "no question": ({**QUESTION, "question": " "}, "error", "question: it is empty"),
    "no answers": ({**QUESTION, "answers": []}, "note", "answers: none"),
    "no gold": ({**QUESTION, "gold": []}, "note", "gold: none"),
    "ranks": ({**HITS, "hits": [{**HIT, "rank": 2}]}, "error", "hits: ranks are not 1 to 1 but 2"),
    "ranks twice": ({**HITS, "hits": [HIT, {**HIT, "id": "e"}]}, "error", "hits: ranks are not 1 to 2 but 1, 1"),
    "a hit twice": ({**HITS, "hits": [HIT, {**HIT, "rank": 2}]}, "note", "hits[1].id: 'd' is there twice"),
    "gold not in hits": ({**HITS, "gold": ["e"]}, "note", "gold: 1 of 1 not in hits: 'e'"),
    "a hit's text": ({**HITS, "hits": [{"rank": 1, "id": "d"}]}, "note", "the hit has no text"),
    "over budget": (pack(budget=2), "error", "pack.tokens: 3 are more than the budget of 2"),
    "tokens": (pack(tokens=4), "error", "their tokens add up to 3, and pack.tokens is 4"),
    "no context": (pack(context=""), "error", "pack.context: it is empty"),
    "a snippet of no hit": (pack(snippets=[{**SNIPPET, "id": "e"}]), "error", "no hit has id 'e' at rank 1"),
    "a snippet's span": (pack(snippets=[{**SNIPPET, "span": [4, 0]}]), "error", "[4, 0] is no span"),
    "an answer's span": (row(spans=[[0, 5]]), "error", "diagnose.spans[0]: [0, 5] is not inside the context of 4"),
    "a span's snippet": (row(span_snippets=[1]), "error", "diagnose.span_snippets[0]: there is no snippet 1"),
    "spans' snippets": (row(span_snippets=[]), "error", "diagnose.span_snippets: 0 for 1 spans"),
    "a share": (row(f1=1.5), "error", "diagnose.f1: 1.5 is not in [0, 1]"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "level", "message"), CASES.values(), ids=CASES)
def test_findings(line, level, message):
    found = findings(line)
    assert any(one[0] == level and message in one[1] for one in found), found
    assert level == "error" or not [one for one in found if one[0] == "error"]


def test_rows_that_are_there_twice():
    assert findings(PACKED, pack(policy="o"), pack(budget=8)) == []
    assert findings(PACKED, ROW) == []  # two stages' rows of one cell
    assert findings(PACKED, pack(budget=8), PACKED) == [
        ("error", "id q, policy p, budget 9: it is there twice", 1, [3])
    ]
    validation = Validation()
    validation.check([Line("f", 1, orjson.dumps(DOC)), Line("g", 1, orjson.dumps(DOC))])
    assert validation.errors == 0  # another file may be another corpus: a note


def test_findings_of_one_kind_are_one():
    bad = [{**HITS, "id": f"men's {at}", "hits": [{**HIT, "rank": at}]} for at in range(2, 12)]
    assert findings(*bad) == [("error", "hits: ranks are not 1 to 1 but 2", 10, [1, 2, 3, 4, 5])]
    odd = [{**DOC, "id": "'"}, {**DOC, "id": "'"}, {**DOC, "id": 'x" y'}, {**DOC, "id": 'x" y'}]
    assert [one[2] for one in findings(*odd)] == [2]


def test_a_type_can_be_forced():
    assert kind_named("ragpack.hits/1") is kind_named("hits")
    with pytest.raises(UsageError, match="Did you mean 'question'"):
        kind_named("qestion")
    plain = {key: value for key, value in HITS.items() if key != "schema"}
    assert findings(plain, forced=kind_named("hits")) == []
    assert "expected ragpack.pack/1" in findings(HITS, forced=kind_named("pack"))[0][1]


def test_the_command(ragpack, tmp_path):
    good = ROOT / "fixtures/questions.jsonl"
    done = ragpack("validate", good)
    assert done.stderr == b""
    assert [orjson.loads(line) for line in done.stdout.splitlines()] == [
        {
            "schema": "ragpack.finding/1",
            "level": "count",
            "source": str(good),
            "record": "ragpack.question/1",
            "count": 87,
        }
    ]
    text = ragpack("validate", "--format", "text", stdin=orjson.dumps(DOC) + b"\n{\n", check=3).stdout.decode()
    assert text.splitlines()[0] == "<stdin>: 2 lines; 1 ragpack.doc/1"
    assert text.splitlines()[-1] == "1 errors"
    (tmp_path / "bad.jsonl").write_bytes(b"{\n")
    ragpack("validate", "bad.jsonl", "-o", "report.jsonl", check=3)
    assert orjson.loads((tmp_path / "report.jsonl").read_bytes())["level"] == "error"
    assert b"--format is text or jsonl" in ragpack("validate", "bad.jsonl", "--format", "xml", check=2).stderr
    assert b"no such file" in ragpack("validate", "nowhere.jsonl", check=2).stderr
    assert ragpack("validate", "--format", "text").stdout == b"no lines\n"
