"""Which format a file is, what is said of a file of another format, and of files that are cut or spoilt."""

import json

import imported
import pytest

from ragpack.datasets import DATASETS
from ragpack.datasets.choice import choose, detected
from ragpack.datasets.detect import detect, with_guess
from ragpack.datasets.entries import entries, head
from ragpack.errors import DataError, UsageError

HOTPOT = {"_id": "h", "question": "?", "answer": "a", "supporting_facts": [], "context": []}
ENTRIES = {
    "hotpotqa": [
        HOTPOT,
        {**HOTPOT, "supporting_facts": {}, "context": {}},
        {"question_id": "h", "question_text": "?", "contexts": []},
    ],
    "musique": [imported.MUSIQUE],
    "2wiki": [imported.BARE, imported.RELEASE, {"question_id": "0" * 32, "question_text": "?", "contexts": []}],
    "nq": [imported.NQ, {"question": "who?", "answer": ["Ida"]}],
    "triviaqa": [
        {"Data": [{"Question": "Who?", "QuestionId": "t1", "Answer": {}}]},
        {"question": "Who?", "question_id": "t1", "answer": {"value": "Ida", "aliases": []}},
    ],
    "popqa": [imported.POPQA],
    "ambigqa": [{"id": "a", "question": "?", "annotations": []}],
    "squad": [imported.SQUAD, {"id": "1", "title": "x", "context": "y", "question": "?", "answers": {"text": []}}],
    "covidqa": [imported.COVID, imported.PARAGRAPHS],
    "expertqa": [imported.EXPERT, {"example_id": 0, "context": "", "question": "?", "answer": "x"}],
    "ragbench": [imported.RAGBENCH],
    "beir": [{"_id": "1", "text": "Who?"}],
    "dpr": [imported.DPR, {"q1": {"question": "?", "contexts": []}}],
    "flashrag": [imported.FLASHRAG, imported.RESULT, {"Who?": [{"id": 1, "contents": "x"}], "Why?": []}],
    "corpus": [{"title": "a", "text": "b"}, {"_id": "a", "title": "", "text": "b"}, {"id": 1, "contents": "x\ny"},
               {"id": 1, "text": "b"}],
}  # fmt: skip


@pytest.mark.parametrize(("format", "entry"), [(name, entry) for name, found in ENTRIES.items() for entry in found])
@pytest.mark.parametrize("indent", [None, 1], ids=["line", "indented"])
def test_the_first_entry_tells_the_format(tmp_path, format, entry, indent):
    """As a line, as an object over several lines, in a list."""
    for text in (json.dumps(entry, indent=indent), json.dumps([entry, entry], indent=indent)):
        path = tmp_path / "file"
        path.write_text("\ufeff" + text.replace("\n", "\r\n") + "\r\n", encoding="utf-8")
        assert detect(str(path)) == format
        found = [one.value for one in entries(str(path), fail)]
        assert found in ([entry], [entry, entry])


def fail(source, number, error, identity):
    raise AssertionError(f"{source}:{number}: {error}")


def test_every_format_is_told_but_those_that_share_a_layout():
    assert set(DATASETS) - set(ENTRIES) == {"2wiki-corpus", "trec"}


def test_lines_and_folders(tmp_path):
    (tmp_path / "x.run").write_text("q1\tQ0\td1\t1\t0.5\tbm25\n")
    (tmp_path / "x.md").write_text("# A heading\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "Who?"}\n')
    assert detect(str(tmp_path / "x.run")) == "trec"
    assert detect(str(tmp_path / "x.md")) == "corpus"
    assert detect(str(tmp_path)) == "beir"
    (tmp_path / "queries.jsonl").unlink()
    assert detect(str(tmp_path)) == "corpus"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("q1 0 d1 1\n", "this is a file of qrels"),
        ("query-id\tcorpus-id\tscore\n", "this is a file of qrels"),
        ("what is this\n", "neither JSON nor a TREC run"),
        ('{"a": 1, "b": 2}\n', "no known format has the keys a, b"),
        ('{"schema": "ragpack.hits/1"}\n', "this is ragpack.hits/1 already"),
        ('{"question_id": "2hop__1_2", "question_text": "?", "contexts": []}', "no known format"),
        ("[1, 2]\n", "neither JSON nor a TREC run"),
    ],
)
def test_files_of_no_format(tmp_path, text, expected):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        detect(str(path))
    assert expected in error.value.message


def test_only_the_beginning_of_a_list_is_read(tmp_path):
    """The first entry is known though the rest is torn."""
    path = tmp_path / "file"
    path.write_text('[{"id": 1, "contents": "x"},\n{"id": 2, ')
    assert head(str(path)) == {"id": 1, "contents": "x"}


def test_a_file_of_another_format(tmp_path):
    path = tmp_path / "file"
    path.write_text(json.dumps(imported.MUSIQUE) + "\n")
    said = []

    def note(source, number, error, identity):
        said.append(error.hint)

    for format in ("hotpotqa", "musique"):
        with_guess(note, str(path), format)("file", 1, DataError("bad", "Layouts: x."), None)
    assert said == ["Did you mean `ragpack import musique`? The file looks like it.", "Layouts: x."]


def test_choose(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("[]")
    (tmp_path / "texts").mkdir()
    assert choose("nq", None, ["a.json"]) == ("nq", ("a.json",))
    assert choose("a.json", None, ["a.json"]) == (None, ("a.json", "a.json"))
    assert choose("a.json", "nq", []) == ("nq", ("a.json",))
    assert choose("corpus", None, ["texts"]) == ("corpus", ("texts",))
    for words, expected in (
        (("hotpot", None, ["a.json"]), "unknown format 'hotpot'. Did you mean 'hotpotqa'?"),
        (("b.json", None, []), "no such file: b.json"),
        (("a.json", "nqq", []), "--format: unknown format 'nqq'. Did you mean 'nq'?"),
        (("nq", None, ["texts"]), "texts is a folder, not a file"),
    ):
        with pytest.raises(UsageError) as error:
            choose(*words)
        assert expected in error.value.message


def test_files_of_two_formats(tmp_path):
    for name, entry in (("a", imported.NQ), ("b", imported.DPR)):
        (tmp_path / name).write_text(json.dumps(entry))
    with pytest.raises(DataError, match=r"a is nq, and .*b is dpr"):
        detected([str(tmp_path / "a"), str(tmp_path / "b")])


GOOD = '{"a": 1}'


@pytest.mark.parametrize(
    ("text", "count", "number", "expected"),
    [
        # 8 characters an entry: `[` at 0, entries at 1 and 11, then `, ` and a line end: the third is at 22.
        (f"[{GOOD},\n{GOOD}, \n{{\"a\": ", 2, 3,
         "entry 3 begins at line 3, column 1 (byte 22), and then: Expecting value"),
        (f"[{GOOD},\n{GOOD},", 2, 2, "the list is cut off after entry 2, at line 2, column 10 (byte 20)"),
        (f"[{GOOD}", 1, 1, "the list is cut off after entry 1, at line 1, column 10 (byte 9)"),
        ("[", 0, 1, "the list is cut off after entry 0, at line 1, column 2 (byte 1)"),
        (f"[{GOOD}]\n{GOOD}", 1, 1, "not JSON"),
        (f"[{GOOD}, {{\"a\": NaN}}, {GOOD}]", 2, 2, "not JSON"),
        (f"[{GOOD}, 7]", 1, 2, "expected an object"),
        ("{\n \"a\": 1,\n \"b\"", 0, 3, "entry 1 begins at line 1, column 1 (byte 0), and then: Expecting ':'"),
        (f"{{\"a\": \n{GOOD}\n{GOOD}\n", 2, 1, "not JSON: unexpected end of data"),
        (f"{GOOD}\n{{\"a\"\n{GOOD}\n", 2, 2, "not JSON"),
    ],
)  # fmt: skip
def test_files_that_are_cut(tmp_path, text, count, number, expected):
    """What stands before the cut comes in, and its place is told."""
    path = tmp_path / "file"
    path.write_text(text)
    failed = []
    found = list(entries(str(path), lambda source, at, error, identity: failed.append((at, error.message))))
    assert len(found) == count
    ((at, message),) = failed
    assert (at, expected in message) == (number, True), message


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b'[{"a": 1},\n{"a": "caf\xe9"}]')
    failed = []
    assert not list(entries(str(path), lambda source, at, error, identity: failed.append((at, error.message[:9]))))
    assert failed == [(2, "not UTF-8")]
