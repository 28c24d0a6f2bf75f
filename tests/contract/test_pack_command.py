"""pack as a command: files of policies, cells that are added, keys, and input that is off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from command import Run

Raw = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path, hits: list[bytes]) -> Path:
    """A folder with `hits.jsonl`: twelve questions, each hit with an information gain."""
    found = [orjson.loads(line) for line in hits]
    for record in found:
        for hit in record["hits"]:
            hit["scores"] = {"ig": 0.3 / hit["rank"] - 0.1}
    save(tmp_path, found)
    return tmp_path


def save(folder: Path, records: list[Raw]) -> None:
    (folder / "hits.jsonl").write_bytes(b"\n".join(map(orjson.dumps, records)) + b"\n")


def load(folder: Path) -> list[Raw]:
    return [orjson.loads(line) for line in (folder / "hits.jsonl").read_bytes().splitlines()]


def packs(out: bytes) -> list[Raw]:
    return [orjson.loads(line)["pack"] for line in out.splitlines()]


def keys(ragpack: Run, *words: str) -> dict[tuple[str, int, int], str]:
    """Keys by policy, budget and question."""
    found = packs(ragpack("pack", "hits.jsonl", *words).stdout)
    size = len(found) // 12
    return {(one["policy"], one["budget"], at // size): one["key"] for at, one in enumerate(found)}


def cached(said: bytes) -> int:
    found = re.search(rb"(\d+) cached", said)
    assert found
    return int(found[1])


# ---- --policy-file


def test_a_file_of_policies(ragpack: Run, folder: Path) -> None:
    """Comments, blank lines, several specs a line, a line that goes on with parameters, a BOM, CRLF."""
    (folder / "set.txt").write_text(
        "\ufeff# The baselines.\r\n\r\ntopk\r\nchunk_packed, chunk_mmr:lambda=0.5,overflow=skip  # two\r\n\t\r\n"
        "chunk_submod:cap=2,\nigp\n",
        encoding="utf-8",
    )
    done = ragpack("pack", "hits.jsonl", "--policy-file", "set.txt", "--budget", "64")
    assert list(dict.fromkeys(one["policy"] for one in packs(done.stdout))) == [
        "topk", "chunk_packed", "chunk_mmr:lambda=0.5,overflow=skip", "chunk_submod:cap=2", "igp"]  # fmt: skip
    same = ragpack("pack", "hits.jsonl", "--budget", "64", "--policy",
                   "topk,chunk_packed,chunk_mmr:lambda=0.5,overflow=skip,chunk_submod:cap=2,igp")  # fmt: skip
    assert done.stdout == same.stdout


def test_several_files_beside_policies(ragpack: Run, folder: Path) -> None:
    """Those of the command line first, then each file's in turn; the same one twice is one too many."""
    (folder / "a.txt").write_text("chunk_mmr\n")
    (folder / "b.txt").write_text("chunk_focused\n")
    words = ("pack", "hits.jsonl", "--policy-file", "a.txt", "--policy-file", "b.txt", "--budget", "9")
    done = ragpack(*words, "--policy", "topk")
    assert [one["policy"] for one in packs(done.stdout)[:3]] == ["topk", "chunk_mmr", "chunk_focused"]
    said = ragpack(*words, "--policy", "chunk_mmr:lambda=0.7", check=2).stderr.decode()
    assert "policy 'chunk_mmr' is given twice" in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "--policy-file set.txt: No such file or directory"),
        ("", "--policy-file set.txt: no policy in it"),
        ("# topk\n\n  \n", "--policy-file set.txt: no policy in it"),
        ("topk\nchunk_pakced\n", "unknown policy 'chunk_pakced'. Did you mean 'chunk_packed'?"),
        ("chunk_mmr:lamda=1\n", "policy 'chunk_mmr' has no parameter 'lamda'. Did you mean 'lambda'?"),
        ("chunk_mmr:lambda=2\n", "lambda must be from 0 to 1, got 2.0"),
        (b"\xff\xfe", "--policy-file set.txt: not UTF-8 text"),
    ],
)
def test_a_file_that_is_off(ragpack: Run, folder: Path, text: str | bytes | None, expected: str) -> None:
    if text is not None:
        (folder / "set.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = ragpack("pack", "hits.jsonl", "--policy-file", "set.txt", "-o", "out.jsonl", check=2)
    assert expected in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert not (folder / "out.jsonl").exists()


def test_a_folder_is_no_file(ragpack: Run, folder: Path) -> None:
    (folder / "set").mkdir()
    said = ragpack("pack", "hits.jsonl", "--policy-file", "set", check=2).stderr.decode()
    assert "--policy-file set: Is a directory" in said


# ---- cells that are added


def test_resume_adds_only_new_cells(ragpack: Run, folder: Path) -> None:
    first = ("pack", "hits.jsonl", "--policy", "chunk_packed", "--budget", "64")
    ragpack(*first, "-o", "out.jsonl")
    more = ("pack", "hits.jsonl", "--policy", "gold,chunk_packed,igp,ragpack", "--budget", "96,64")
    done = ragpack(*more, "-o", "out.jsonl", "--resume")
    assert cached(done.stderr) == 12
    assert (folder / "out.jsonl").read_bytes() == ragpack(*more).stdout
    assert cached(ragpack(*more, "-o", "out.jsonl", "--resume").stderr) == 96
    prompted = (*more, "--prompt-budget", "200")
    assert cached(ragpack(*prompted, "-o", "out.jsonl", "--resume").stderr) == 96
    assert (folder / "out.jsonl").read_bytes() == ragpack(*prompted).stdout
    assert cached(ragpack(*more, "--explain", "-o", "out.jsonl", "--resume").stderr) == 0, "they have more fields"


def test_company_changes_no_key(ragpack: Run, folder: Path) -> None:
    alone = keys(ragpack, "--policy", "chunk_packed,chunk_mmr", "--budget", "64")
    company = keys(ragpack, "--policy", "gold,igp,chunk_packed,ragpack,answer,chunk_mmr", "--budget", "32,64")
    assert alone.items() <= company.items()


EVERY = "topk,chunk_packed,chunk_focused,chunk_mmr,chunk_submod,ace_packed,chunk_packed:relevance=rank,random"
CEILINGS = "gold,answer"
SCORED = "igp,ragpack,chunk_mmr:relevance=ig,chunk_packed:relevance=score"


def changed(ragpack: Run, folder: Path, change: Any) -> set[tuple[str, int]]:
    """(policy, question) whose key moves."""
    words = ("--policy", f"{EVERY},{CEILINGS},{SCORED}", "--budget", "64")
    before = keys(ragpack, *words)
    records = load(folder)
    change(records)
    save(folder, records)
    after = keys(ragpack, *words)
    return {(policy, question) for (policy, budget, question), key in before.items()
            if after[policy, budget, question] != key}  # fmt: skip


def test_an_answer_is_read_by_the_ceilings_only(ragpack: Run, folder: Path) -> None:
    def change(records: list[Raw]) -> None:
        records[3]["answers"] = ["Nobody"]

    assert changed(ragpack, folder, change) == {("gold", 3), ("answer", 3)}


def test_gold_documents_are_read_by_the_ceilings_only(ragpack: Run, folder: Path) -> None:
    def change(records: list[Raw]) -> None:
        records[5]["gold"] = ["elsewhere"]

    assert changed(ragpack, folder, change) == {("gold", 5), ("answer", 5)}


def test_scores_are_read_by_few(ragpack: Run, folder: Path) -> None:
    def change(records: list[Raw]) -> None:
        records[0]["hits"][1]["scores"]["ig"] = 0.7
        records[1]["hits"][1]["score"] = 0.7
        records[2]["probe"] = {"nu0": 0.3}

    scored = {"igp", "ragpack", "chunk_mmr:relevance=ig", "chunk_packed:relevance=score"}
    assert changed(ragpack, folder, change) == {(policy, question) for policy in scored for question in (0, 1, 2)}


def test_what_nobody_reads(ragpack: Run, folder: Path) -> None:
    def change(records: list[Raw]) -> None:
        for record in records:
            record |= {"id": record["id"] + "x", "group": "new", "note": 1, "hits": record["hits"][::-1]}
            for hit in record["hits"]:
                hit["site"] = "x"

    assert changed(ragpack, folder, change) == set()


def test_a_text_is_read_by_all(ragpack: Run, folder: Path) -> None:
    def change(records: list[Raw]) -> None:
        records[7]["hits"][4]["text"] += " It is closed."

    policies = {policy for policy, _, _ in keys(ragpack, "--policy", f"{EVERY},{CEILINGS},{SCORED}", "--budget", "64")}
    assert changed(ragpack, folder, change) == {(policy, 7) for policy in policies}


# ---- input that is off


def record(*found: Raw, **fields: Any) -> Raw:
    return {"schema": "ragpack.hits/1", "id": "a", "question": "Who built the mill?", "hits": list(found), **fields}


ALL = f"{EVERY},gold,answer,ragpack"
GOOD = {"rank": 1, "id": "x", "title": "Mill", "text": "Ida Vale built the mill."}


@pytest.mark.parametrize(
    "found",
    [
        [],
        [{**GOOD, "text": ""}],
        [{**GOOD, "text": " \n\u2028\t"}],
        [{**GOOD, "text": "\u200b\u200d\ufeff"}],
        [{**GOOD, "title": "\u200b", "text": "Ida\u200b Vale\u2060 built\u00ad it."}],
        [{**GOOD, "text": "mill " * 10_000}],
        [{**GOOD, "text": "mill" * 12_500}],
        [GOOD, {**GOOD, "rank": 2}, GOOD],
        [{**GOOD, "text": "A sentence that is much longer than any budget of this test could hold, by far. " * 3}],
        [{**GOOD, "text": "e\u0301" * 40 + "👩‍🚀" * 9 + "\u0000\u001f\ufffe"}],
    ],
    ids=["no-hits", "empty", "blank", "zero-width", "zero-width-inside", "50kB-of-words", "50kB-in-a-word", "twins",
         "longer-than-the-budget", "marks"],
)  # fmt: skip
def test_hits_of_every_kind(ragpack: Run, found: list[Raw]) -> None:
    line = orjson.dumps(record(*found))
    made = packs(ragpack("pack", "--policy", ALL, "--budget", "0,1,7,20", "--explain", stdin=line).stdout)
    assert len(made) == 4 * len(ALL.split(","))
    for one in made:
        assert one["tokens"] <= one["budget"]
        assert (one["context"] == "") is (one["snippets"] == [])
        assert one["budget"] > 0 or one["context"] == ""


def test_twins_are_shown_once(ragpack: Run) -> None:
    line = orjson.dumps(record(GOOD, {**GOOD, "rank": 2}, GOOD))
    for one in packs(ragpack("pack", "--policy", ALL, "--budget", "99", stdin=line).stdout):
        assert one["context"].count("Ida Vale built") == (one["policy"] != "gold"), one["policy"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--budget", "-1"), "-1"),
        (("--budget", "9,9"), "give different whole numbers"),
        (("--budget", "1.5"), "1.5"),
        (("--budget", "many"), "many"),
        (("--prompt-budget", "-1"), "-1"),
        (("--prompt-budget", "300", "--answer-reserve", "-1"), "-1"),
        (("--prompt-budget", "300", "--prompt", "answr/1"), "unknown prompt 'answr/1'. Did you mean 'answer/1'?"),
        (("--prompt-budget", "300", "--tokenizer", "tiktoken:gpt2x"), "no such encoding"),
        (("--policy", "chunk_pakced"), "unknown policy 'chunk_pakced'. Did you mean 'chunk_packed'?"),
        (("--policy", "rnadom"), "Did you mean 'random'?"),
        (("--policy", "chunk_packed:ordr=edges"), "Did you mean 'order'?"),
        (("--policy", "chunk_packed:order=edge"), "order=edge is not one of score, document, edges"),
        (("--policy", "chunk_packed:layout=nested"), "layout=nested is not one of flat, grouped"),
        (("--policy", "topk:layout=grouped"), "policy 'topk' has no parameter 'layout'"),
        (("--policy", "igp:threshold=high"), "threshold is a number, got 'high'"),
        (("--policy", "chunk_packed:max_tokens=-1"), "max_tokens must be at least 0, got -1"),
        (("--tokenizer", "./none"), "no such file"),
    ],
)
def test_words_that_are_off(ragpack: Run, words: tuple[str, ...], expected: str) -> None:
    done = ragpack("pack", *words, stdin=orjson.dumps(record(GOOD)), check=2)
    said = done.stderr.decode()
    assert expected in said
    assert "Traceback" not in said
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("line", "policy", "expected"),
    [
        (orjson.dumps(record(GOOD)), "igp", "igp: the hits have no scores.ig"),
        (orjson.dumps(record(GOOD)), "igp:threshold=0.1", "generate --probe ig"),
        (orjson.dumps(record({**GOOD, "scores": {"ig": None}})), "igp", "1 of 1 hits have no scores.ig"),
        (orjson.dumps(record({**GOOD, "scores": {"ig": None}})), "chunk_mmr:relevance=ig", "scores.ig is missing"),
        (orjson.dumps(record(GOOD)), "chunk_mmr:relevance=dense", "scores.dense is missing"),
        (orjson.dumps(record(GOOD)), "chunk_mmr:relevance=score", "score is missing"),
        (orjson.dumps(record({**GOOD, "score": 1})).replace(b'"score":1', b'"score":NaN'), "topk", "JSON"),
        (orjson.dumps(record({**GOOD, "scores": {"ig": 1}})).replace(b'"ig":1', b'"ig":Infinity'), "topk", "JSON"),
        (orjson.dumps(record({**GOOD, "scores": {"ig": "high"}})), "igp", "scores"),
        (orjson.dumps(record(GOOD)).replace(b"Ida", b"\\ud800"), "topk", "JSON"),
        (orjson.dumps(record(GOOD)).replace(b"Ida", b"\\udc00\\ud800"), "topk", "JSON"),
        (orjson.dumps(record(GOOD)).replace(b"Ida", b"\xed\xa0\x80"), "topk", "JSON"),
        (orjson.dumps(record({"rank": 1, "id": "x"})), "topk", "the field 'text' is missing"),
    ],
)
def test_lines_that_are_off(ragpack: Run, line: bytes, policy: str, expected: str) -> None:
    """One sentence with the place; with --on-error skip the good lines beside it are packed."""
    good = orjson.dumps(record({**GOOD, "score": 1.0, "scores": {"ig": 1.0, "dense": 1.0}}))
    both = b"\n".join([good, line, good]) + b"\n"
    said = ragpack("pack", "--policy", policy, stdin=both, check=1).stderr.decode()
    assert expected in said
    assert "<stdin>:2" in said
    assert "Traceback" not in said
    done = ragpack("pack", "--policy", policy, "--on-error", "skip", stdin=both, check=3)
    assert len(packs(done.stdout)) == 2
