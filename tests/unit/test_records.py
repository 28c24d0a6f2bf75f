"""Records: how a line is checked, and what is said where it is wrong."""

import dataclasses
import itertools
import typing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.checked import view
from ragpack.errors import DataError
from ragpack.records import (
    RECORDS,
    Answered,
    Diagnosed,
    Doc,
    Hits,
    Packed,
    Question,
    field_names,
    ordered,
)

HIT = {"rank": 1, "id": "d", "text": "One.", "score": 0.5}
HITS = {"schema": "ragpack.hits/1", "id": "a", "question": "Who?", "hits": [HIT, HIT, HIT, HIT]}


def message(raw, *accepted):
    with pytest.raises(DataError) as caught:
        view(raw, accepted)
    return str(caught.value)


def with_hit(**fields):
    return {**HITS, "hits": [HIT, {**HIT, **fields}]}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (with_hit(score="x"), 'hits[1].score: expected a number or null, got "x"'),
        (with_hit(rank=1.5), "hits[1].rank: expected a whole number, got 1.5"),
        (with_hit(rank=True), "hits[1].rank: expected a whole number, got true"),
        (with_hit(sentences=[[0]]), "hits[1].sentences[0]: expected a list of 2, got [0]"),
        (with_hit(sentences=[[0, "4"]]), 'hits[1].sentences[0][1]: expected a whole number, got "4"'),
        (with_hit(title=["x" * 90]), 'hits[1].title: expected a string or null, got ["' + "x" * 55 + "..."),
        ({**HITS, "hits": {}}, "hits: expected a list, got {}"),
        ({**HITS, "answers": "Ida"}, 'answers: expected a list, got "Ida"'),
        ({**HITS, "gold": [1]}, 'gold[0]: expected a string, got 1\nWrite "1": ids and texts are strings'),
        ({**HITS, "id": 7}, 'id: expected a string, got 7\nWrite "7": ids and texts are strings'),
        ({**HITS, "id": None}, "id: expected a string, got null"),
        ({key: HITS[key] for key in ("id", "question")}, "the field 'hits' is missing"),
        ({**HITS, "hits": [{"id": "d"}]}, "hits[0]: the field 'rank' is missing"),
        ([1], "expected an object, got [1]\nEach line is one JSON object."),
        ("text", 'expected an object, got "text"'),
    ],
)
def test_what_is_wrong_and_where(raw, expected):
    assert message(raw, Hits).startswith(expected)


def test_numbers_of_both_kinds_are_numbers():
    assert view({**HITS, "hits": [{**HIT, "score": 3}]}, (Hits,)).hits[0].score == 3


@pytest.mark.parametrize(
    ("schema", "accepted", "expected"),
    [
        ("ragpack.question/1", (Hits,), 'expected ragpack.hits/1, got "ragpack.question/1"\n`ragpack retrieve` writes'),
        ("ragpack.hits/2", (Hits,), "schema ragpack.hits/2 is another version; this ragpack reads ragpack.hits/1"),
        ("ragpack.doc/1", (Answered, Packed), "expected ragpack.answer/1 or ragpack.pack/1, got"),
        (7, (Hits,), "expected ragpack.hits/1, got 7"),
        ({}, (Doc,), "expected ragpack.doc/1, got {}"),
    ],
)
def test_schemas(schema, accepted, expected):
    assert message({**HITS, "schema": schema}, *accepted).startswith(expected)


def test_a_line_without_schema_is_the_usual_record():
    row = {key: value for key, value in HITS.items() if key != "schema"}
    assert isinstance(view(row, (Hits, Packed)), Hits)
    assert isinstance(view({"id": "a", "question": "?"}, (Question,)), Question)


def test_unknown_fields_are_no_mistake():
    assert view({**HITS, "note": 1, "hits": [{**HIT, "site": "x"}]}, (Hits,)).id == "a"


any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(HITS)), any_json)
def test_no_value_gets_past_or_through(field, value):
    """Whatever stands in a field: a record, or an error that a user can read; never another exception."""
    said = "a record"
    try:
        view({**HITS, field: value}, (Hits,))
    except DataError as error:
        said = error.message
    assert said
    assert "Expected `" not in said, "msgspec's words are for programmers"


@given(st.dictionaries(st.sampled_from([*field_names(Hits), "x", "y", "z"]), st.integers()), st.randoms())
def test_order_of_keys(fields, random):
    names = list(fields)
    random.shuffle(names)
    row = ordered(Hits, {name: fields[name] for name in names})
    known = [name for name in field_names(Hits) if name in fields]
    assert list(row) == ["schema", *known, *(name for name in names if name not in known)]
    assert {name: row[name] for name in fields} == fields
    assert list(ordered(Hits, row)) == list(row)


def test_each_stage_adds_to_the_fields_of_the_one_before():
    chain = [Hits, Packed, Answered, Diagnosed]
    for earlier, later in itertools.pairwise(chain):
        assert list(field_names(later))[: len(field_names(earlier))] == list(field_names(earlier))
    assert set(field_names(Question)) - set(field_names(Hits)) == {"docs"}


@pytest.mark.parametrize("kind", RECORDS)
def test_records_are_plain(kind):
    """A schema names each type once, and every field has a type that a line can hold."""
    assert kind.SCHEMA.startswith("ragpack.")
    assert kind.SCHEMA.endswith("/1")
    hints = typing.get_type_hints(kind)
    assert all(field.name in hints for field in dataclasses.fields(kind))
    assert msgspec.json.schema(kind)
