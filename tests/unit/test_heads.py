"""Rows of one question are read once: the bytes are those of the plain way, and no check is lost."""

import orjson
import pytest

from ragpack.flow.mapper import Mapper
from ragpack.flow.streams import Line
from ragpack.records import Answered, Packed
from ragpack.stages.diagnose import DiagnoseParams, open_diagnose

HIT = {"rank": 1, "id": "d", "title": "D", "score": 0.25, "has_answer": True, "mine": [1, {"x": None}]}
SNIPPET = {"id": "d", "title": "D", "rank": 1, "span": [0, 20], "tokens": 7, "relevance": 1.0}
PACK = {"policy": "p", "budget": 20, "unit": "regex", "tokens": 7, "context": "D: Ida Vale built “it”.\nx",
        "snippets": [SNIPPET], "dropped": 0}  # fmt: skip
ROW = {"schema": "ragpack.pack/1", "id": "r", "question": "Who?", "answers": ["Ida Vale"], "gold": ["d"],
       "meta": {"a": 1e300}, "hits": [HIT], "retrieve": {"retriever": "x", "k": 5, "index": "pool"},
       "pack": PACK}  # fmt: skip
GENERATE = {"reader": "x", "model": "x", "prompt": {"name": "x", "hash": "0"}, "answer": "Vale", "finish": "stop",
            "tokens": {"prompt": 1, "completion": 1}}  # fmt: skip
ANSWER = {**ROW, "schema": "ragpack.answer/1", "generate": GENERATE}


def packs(**fields):
    return {**ROW, "pack": {**PACK, **fields}}


def mapped(lines, plainly=False):
    """What the lines become, and how many of them went the short way."""
    mapper = Mapper(open_diagnose(DiagnoseParams(ks=(1,))))
    short = 0
    if plainly:
        mapper._heads = None
    elif mapper._heads:
        read = mapper._heads.read

        def counted(data):
            nonlocal short
            found = read(data)
            short += found is not None
            return found

        mapper._heads.read = counted
    done = list(mapper(Line("x", at, data) for at, data in enumerate(lines, 1)))
    return done, short


SAME = {
    "rows of one question": ([ROW, packs(policy="q", tokens=0), packs(context="", snippets=[])], 2),
    "answers": ([ANSWER, {**ANSWER, "generate": {**GENERATE, "answer": "no"}}], 1),
    "an answer after a pack": ([ROW, ANSWER, ROW], 0),
    "another question": ([ROW, {**ROW, "id": "s"}, ROW], 0),
    "another question, then again": ([ROW, {**ROW, "id": "s"}, {**ROW, "id": "s"}], 1),
    "an unknown field of the row": ([ROW, {**ROW, "note": 1}, ROW, ROW], 1),
    "an unknown field of the pack": ([ROW, packs(note=1), ROW], 1),
    "an unknown field of a snippet": ([ROW, packs(snippets=[{**SNIPPET, "note": 1}])], 0),
    "an order that is not ours": ([dict(reversed(ROW.items()))] * 2, 0),
    "no schema": ([{key: ANSWER[key] for key in ANSWER if key != "schema"}] * 2, 0),
    "an explanation of the pack": ([packs(objective=0.5, bound=1.0, key="k")] * 2, 1),
}


@pytest.mark.parametrize(("rows", "expected"), SAME.values(), ids=SAME)
def test_bytes_are_those_of_the_plain_way(rows, expected):
    lines = [orjson.dumps(row) for row in rows]
    done, short = mapped(lines)
    assert done == mapped(lines, plainly=True)[0]
    assert not [one.failed for one in done if one.failed]
    assert short == expected


DOUBTFUL = {
    "a type": orjson.dumps(packs(tokens="7")),
    "a snippet's type": orjson.dumps(packs(snippets=[{**SNIPPET, "span": [0]}])),
    "a missing field": orjson.dumps({**ROW, "pack": {"policy": "p"}}),
    "torn": orjson.dumps(ROW)[:-1],
    "more behind it": orjson.dumps(ROW) + b"}",
    "a second object": orjson.dumps(ROW) + b"{}",
    "not UTF-8": orjson.dumps(ROW).replace(b"built", b"bu\xfflt"),
    "a bare control character": orjson.dumps(ROW).replace(b"built", b"bu\x01lt"),
    "a lone surrogate": orjson.dumps(ROW).replace(b"built", b"bu\\ud800lt"),
    "an escape of a letter": orjson.dumps(ROW).replace(b"built", b"b\\u0075ilt"),
    "blanks at the end": orjson.dumps(ROW) + b"  ",
    "a number that is none": orjson.dumps(ROW).replace(b'"tokens":7', b'"tokens":07'),
}


@pytest.mark.parametrize("line", DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_doubtful_line_goes_the_plain_way(line):
    lines = [orjson.dumps(ROW), line, orjson.dumps(ROW)]
    done, _ = mapped(lines)
    plain, _ = mapped(lines, plainly=True)
    assert done == plain


def test_keys_do_not_tell_the_ways_apart():
    lines = [orjson.dumps(ROW), orjson.dumps(ROW)]
    first, second = (orjson.loads(one.rows[0])["diagnose"] for one in mapped(lines)[0])
    assert first == second
    assert set(ROW) <= {*Packed.__dataclass_fields__, "schema"}  # the case above is of known fields alone
    assert set(ANSWER) <= {*Answered.__dataclass_fields__, "schema"}
