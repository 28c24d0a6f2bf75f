"""show: what a person sees of a record."""

import subprocess
import sys

import orjson
import pytest
from command import ROOT

from ragpack.checked import view
from ragpack.errors import UsageError
from ragpack.records import Packed
from ragpack.report.paint import Paint, wants_colour
from ragpack.report.show import owners_of_spans, spans_of, text_of

PACK = {"policy": "p", "budget": 20, "unit": "u", "tokens": 6, "context": "Lisk\nIda Vale was here.\nShe built.",
        "snippets": [{"id": "d", "title": "Lisk", "rank": 1, "span": [0, 4], "tokens": 3, "relevance": 1.0},
                     {"id": "d", "title": "Lisk", "rank": 1, "span": [5, 9], "tokens": 3, "relevance": 1.0}],
        "dropped": 0}  # fmt: skip
ROW = {"schema": "ragpack.pack/1", "id": "r", "question": "Who?", "answers": ["Ida Vale"], "gold": ["d"],
       "hits": [{"rank": 1, "id": "d", "title": "Lisk"}], "pack": PACK}  # fmt: skip


def test_text_and_answer_of_a_snippet_under_a_header():
    row = view(ROW, (Packed,))
    assert [text_of(row, one) for one in row.pack.snippets] == ["Lisk Ida Vale was here.", "She built."]
    assert spans_of(row) == [(5, 13)]
    assert owners_of_spans(row) == [0]


def test_colours():
    assert Paint(False).answers("in Rome", [(3, 7)]) == "in [[Rome]]"
    assert Paint(True).answers("in Rome", [(3, 7)]) == "in \x1b[1m\x1b[32mRome\x1b[0m"
    assert Paint(True).set("", "a\x1b[2Jb\tc\nd") == "a\ufffd[2Jb\tc\nd"  # a record can't steer the terminal
    assert [wants_colour(when, True, False) for when in ("auto", "always", "never")] == [True, True, False]
    assert [wants_colour("auto", *given) for given in ((False, False), (True, True))] == [False, False]
    assert wants_colour("always", False, True)
    with pytest.raises(UsageError, match="--color is auto, always or never"):
        wants_colour("on", True, False)


def test_a_closed_pipe_is_no_failure(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes((orjson.dumps(ROW) + b"\n") * 5000)
    line = f"{sys.executable} -m ragpack show rows.jsonl --context; echo $? >&2"
    done = subprocess.run(
        ["sh", "-c", f"({line}) | head -n 1"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"r  Who?\n"
    assert done.stderr == b"141\n"


def test_rows_of_different_cells_are_paired_wherever_they_stand(ragpack):
    rows = [{**ROW, "id": name, "pack": {**PACK, "policy": policy, "budget": budget}}
            for policy in ("a", "b") for name in ("x", "y") for budget in (5, 20)]  # fmt: skip
    out = ragpack("show", "--diff", "b", "a", stdin=b"".join(orjson.dumps(row) + b"\n" for row in rows)).stdout.decode()
    assert out.count("only b: 0") == out.count("both: 2") == 4
    assert out.index("b 5 ") < out.index("a 5 ")
    rows = [rows[0], {**rows[-1], "id": "z"}]
    said = ragpack(
        "show", "--diff", "a", "b", stdin=b"".join(orjson.dumps(row) + b"\n" for row in rows), check=2
    ).stderr
    assert b"no question has rows of both policies" in said


def test_probed_hits_show_what_the_reader_said():
    hits = [{"rank": 1, "id": "d", "text": "t", "has_answer": True, "scores": {"ig": 0.1018, "nu": 0.2, "yesno": 0.25}},
            {"rank": 2, "id": "e", "text": "t", "has_answer": False,
             "scores": {"ig": -0.3156, "yesno": None}}]  # fmt: skip
    record = {"schema": "ragpack.hits/1", "id": "r", "question": "Who?", "hits": hits, "probe": {"nu0": 0.3018}}
    done = subprocess.run([sys.executable, "-m", "ragpack", "show", "--color", "never"], input=orjson.dumps(record),
                          capture_output=True, cwd=ROOT, check=True)  # fmt: skip
    assert done.stdout.decode().splitlines()[2:4] == [
        "  ig      1 +0.102 answer; 2 -0.316   (alone NU 0.302)",
        "  yesno   1 0.250 answer; 2 –",
    ]
