"""Lines as they come: marks, line ends, compression, bad records, unknown keys."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import orjson
import pytest
from command import ROOT, Run


def question(**fields: object) -> bytes:
    made = {
        "id": "q1",
        "question": "Where is Orrel?",
        "docs": [{"id": "d1", "title": "Orrel", "text": "Orrel is in Lisk."}],
    }
    return orjson.dumps({**made, **fields}) + b"\n"


def hits(**fields: object) -> bytes:
    made = {
        "id": "q1",
        "question": "Where is Orrel?",
        "answers": ["Lisk"],
        "gold": ["d1"],
        "hits": [{"rank": 1, "id": "d1", "title": "Orrel", "text": "Orrel is in Lisk.", "score": 1.5}],
    }
    return orjson.dumps({**made, **fields}) + b"\n"


def ids(out: bytes) -> list[str]:
    return [orjson.loads(line)["id"] for line in out.splitlines()]


TWO = question() + question(id="q2")


@pytest.mark.parametrize(
    "given",
    [
        TWO,
        b"\xef\xbb\xbf" + TWO,
        TWO.replace(b"\n", b"\r\n"),
        TWO.rstrip(b"\n"),
        gzip.compress(TWO),
        gzip.compress(question()) + gzip.compress(question(id="q2")),
    ],
    ids=["plain", "bom", "crlf", "no last line end", "gzip", "gzip in two members"],
)
def test_the_same_lines_in_any_dress(ragpack: Run, given: bytes) -> None:
    assert ragpack("retrieve", stdin=given).stdout == ragpack("retrieve", stdin=TWO).stdout


def test_zstd_in_and_out(ragpack: Run, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="the extra 'zstd' is not installed")
    assert ids(ragpack("retrieve", stdin=zstandard.ZstdCompressor().compress(TWO)).stdout) == ["q1", "q2"]
    ragpack("retrieve", "-o", "out.jsonl.zst", stdin=TWO)
    assert ids(ragpack("show", "nothing.jsonl", check=2).stdout) == []
    again = ragpack("pack", "out.jsonl.zst").stdout
    assert ids(again) == ["q1", "q2"]


def test_compression_is_read_by_magic_and_written_by_suffix(ragpack: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.jsonl").write_bytes(gzip.compress(TWO))
    first = ragpack("retrieve", "wrong.jsonl", "-o", "out.jsonl.gz")
    assert first.stdout == b""
    made = (tmp_path / "out.jsonl.gz").read_bytes()
    assert gzip.decompress(made) == ragpack("retrieve", stdin=TWO).stdout
    ragpack("retrieve", "wrong.jsonl", "-o", "out.jsonl.gz")
    assert (tmp_path / "out.jsonl.gz").read_bytes() == made  # no clock and no name in the header


def test_files_follow_one_another_and_a_dash_is_standard_input(ragpack: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(question(id="a").rstrip(b"\n"))
    (tmp_path / "b").write_bytes(question(id="b"))
    assert ids(ragpack("retrieve", "b", "-", "a", stdin=question(id="c")).stdout) == ["b", "c", "a"]


def test_nothing_in_nothing_out(ragpack: Run) -> None:
    for stage in ("retrieve", "pack", "diagnose"):
        assert ragpack(stage, stdin=b"").stdout == b""
    assert "no rows" in ragpack("stats", stdin=b"", check=1).stderr.decode()


def test_line_separators_of_unicode_are_text(ragpack: Run) -> None:
    odd = question(question="Where\u2028is\u0085Orrel\u2029?")
    out = ragpack("retrieve", stdin=odd.replace("\u2028".encode(), b"\\u2028") + odd).stdout
    assert [orjson.loads(row)["question"] for row in out.split(b"\n")[:-1]] == ["Where\u2028is\u0085Orrel\u2029?"] * 2


def test_unknown_keys_survive_behind_the_known_ones(ragpack: Run) -> None:
    given = hits(note={"by": "hand"}, answers=["Lisk"])
    row = orjson.loads(given)
    row["hits"][0]["mine"] = [1, None]
    row = {"zebra": 1, **row}
    for stage in (["pack"], ["generate", "--reader", "extractive"], ["diagnose"]):
        out = ragpack(*stage, stdin=orjson.dumps(row) + b"\n").stdout
        row = orjson.loads(out)
        assert list(row)[:3] == ["schema", "id", "question"]
        assert list(row)[-2:] == ["zebra", "note"]
        assert row["note"] == {"by": "hand"}
        assert row["hits"][0]["mine"] == [1, None]
    assert list(row["hits"][0]) == ["rank", "id", "title", "score", "has_answer", "mine"]


BAD = {
    "not json": (b'{"id": "q9"\n', "not JSON"),
    "nan": (b'{"id": "q9", "x": NaN}\n', "not JSON"),
    "lone surrogate": (b'{"id": "q9", "question": "\\ud800"}\n', "not JSON"),
    "empty line": (b"\n", "the line is empty"),
    "a list": (b"[1]\n", "expected an object"),
    "number for an id": (hits(id=9), 'id: expected a string, got 9\nWrite "9"'),
    "text for a number": (
        hits(hits=[{"rank": 1, "id": "d", "score": "high"}]),
        "hits[0].score: expected a number or null",
    ),
    "nested too deeply": (hits(note=1).replace(b":1}\n", b":" + b"[" * 300 + b"]" * 300 + b"}\n"), "can't be written"),
    "no question": (b'{"id": "q9", "hits": []}\n', "the field 'question' is missing"),
    "no text": (hits(hits=[{"rank": 1, "id": "d"}]), "hits[0]: the field 'text' is missing"),
    "span outside": (hits(hits=[{"rank": 1, "id": "d", "text": "ab", "sentences": [[0, 9]]}]), "not inside the text"),
    "another record": (hits(schema="ragpack.question/1"), 'expected ragpack.hits/1, got "ragpack.question/1"'),
    "another version": (hits(schema="ragpack.hits/2"), "another version; this ragpack reads ragpack.hits/1"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_named_and_counted(ragpack: Run, tmp_path: Path, name: str) -> None:
    line, said = BAD[name]
    (tmp_path / "in.jsonl").write_bytes(hits(id="a") + line + hits(id="b"))
    failed = ragpack("pack", "in.jsonl", check=1)
    assert ids(failed.stdout) == ["a"]  # what came before it is written
    assert re.match(r"in\.jsonl:2: ", failed.stderr.decode())
    assert said in failed.stderr.decode()
    assert b"Traceback" not in failed.stderr
    skipped = ragpack("pack", "in.jsonl", "--on-error", "skip", "--failures", "bad.jsonl", check=3)
    assert ids(skipped.stdout) == ["a", "b"]
    assert b"3 in, 2 out, 0 cached, 1 failed" in skipped.stderr
    (row,) = map(orjson.loads, (tmp_path / "bad.jsonl").read_bytes().splitlines())
    assert (row["schema"], row["source"], row["line"]) == ("ragpack.failure/1", "in.jsonl", 2)
    assert row["error"]["message"] == said.split("\n")[0] or said.split("\n")[0] in row["error"]["message"]


def test_many_failures_are_counted_not_told(ragpack: Run, tmp_path: Path) -> None:
    given = b"not json\n" * 9 + hits()
    said = ragpack("pack", "--on-error", "skip", stdin=given, check=3).stderr.decode().splitlines()
    assert [line.partition(": not JSON")[0] for line in said[:-2]] == [f"<stdin>:{number}" for number in range(1, 6)]
    assert said[-2] == "pack: further failures are counted; --failures FILE lists them"
    assert "10 in, 1 out, 0 cached, 9 failed" in said[-1]
    listed = ragpack("pack", "--on-error", "skip", "--failures", "bad.jsonl", stdin=given, check=3)
    assert listed.stderr.decode().splitlines()[-2] == "pack: further failures are counted, see --failures"
    assert (tmp_path / "bad.jsonl").read_bytes().count(b"\n") == 9


def test_an_error_names_the_id(ragpack: Run) -> None:
    said = ragpack("pack", stdin=hits(hits=[{"rank": 1, "id": "d"}]), check=1).stderr.decode()
    assert said.startswith("<stdin>:1: id=q1: hits[0]: ")


def test_a_torn_gzip_gives_what_is_whole(ragpack: Run, tmp_path: Path) -> None:
    lines = b"".join(question(id=f"q{number}", meta={"n": number * 7919 % 10007}) for number in range(3000))
    (tmp_path / "torn.gz").write_bytes(gzip.compress(lines)[:-3000])
    done = ragpack("retrieve", "torn.gz", "-o", "out.jsonl", check=1)
    assert "can't be read further" in done.stderr.decode()
    kept = (tmp_path / "out.jsonl.part").read_bytes()
    assert kept.endswith(b"\n")
    assert 0 < len(ids(kept)) < 3000


def test_each_line_stands_for_itself(ragpack: Run) -> None:
    """Two lines of one id: neither is dropped, and neither changes the other."""
    one, other = hits(), hits(question="Is Orrel in Lisk?")
    assert (
        ragpack("pack", stdin=one + other).stdout
        == ragpack("pack", stdin=one).stdout + ragpack("pack", stdin=other).stdout
    )
    rows = ragpack("diagnose", stdin=ragpack("pack", stdin=one + other).stdout).stdout
    assert "there twice" in ragpack("stats", stdin=rows, check=1).stderr.decode()


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (hits(answers=[]), None),
        (hits(hits=[]), "not_retrieved"),
        (hits(answers=["the"]), None),
        (hits(gold=[]), "in_context"),
    ],
    ids=["no answers", "no hits", "empty answer", "no gold"],
)
def test_what_is_not_known_is_null(ragpack: Run, given: bytes, verdict: str | None) -> None:
    row = orjson.loads(ragpack("diagnose", stdin=ragpack("pack", stdin=given).stdout).stdout)
    assert row["diagnose"]["verdict"] == verdict
    assert row["pack"]["context"] == ("" if not row["hits"] else "Orrel: Orrel is in Lisk.")


def test_a_budget_of_nothing_is_an_empty_context(ragpack: Run) -> None:
    policies = "topk,chunk_packed,chunk_focused,chunk_mmr,chunk_submod"
    for line in ragpack("pack", "--policy", policies, "--budget", "0", stdin=hits()).stdout.splitlines():
        pack = orjson.loads(line)["pack"]
        assert (pack["context"], pack["tokens"], pack["snippets"]) == ("", 0, [])


def test_outputs_that_can_not_be(ragpack: Run) -> None:
    assert "no such folder" in ragpack("pack", "-o", "nowhere/out.jsonl", stdin=hits(), check=2).stderr.decode()
    assert "is a folder" in ragpack("pack", "-o", ".", stdin=hits(), check=2).stderr.decode()
    ragpack("pack", "-o", "/dev/null", stdin=hits())
    assert Path("/dev/null").is_char_device()


def test_the_run_file_holds_what_records_must_not(ragpack: Run, tmp_path: Path) -> None:
    ragpack("retrieve", ROOT / "fixtures/questions.jsonl", "-o", "out.jsonl")
    run = orjson.loads((tmp_path / "out.jsonl.run.json").read_bytes())
    assert run["counts"] == {"in": 87, "out": 87, "cached": 0, "failed": 0}
    assert {"argv", "host", "started", "seconds", "versions", "params"} <= set(run)
    assert str(tmp_path).encode() not in (tmp_path / "out.jsonl").read_bytes()
