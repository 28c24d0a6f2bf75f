"""A corpus that stays in its file, and `retrieve` over one: what is kept, what is refused, what is told."""

import gzip
import json
import random
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapped import rows

from ragpack.errors import DataError, UsageError
from ragpack.records import Doc
from ragpack.retrievers.corpus import Corpus, Passages, place_in, ranks_of, read_corpus
from ragpack.retrievers.hops import open_retriever as open_hops
from ragpack.stages.retrieve import RetrieveParams, open_retrieve


def written(path: Path, lines, end="\n", start=b""):
    path.write_bytes(start + "".join(line + end for line in lines).encode())
    return str(path)


def doc(id, text="a tern", **more):
    return json.dumps({"id": id, "text": text, **more}, ensure_ascii=False)


def texts(corpus):
    return [(one.id, one.text) for one in corpus.docs]


def test_documents_on_demand(tmp_path):
    """Offsets count bytes, whatever the line ends and the letters."""
    lines = [doc("b", "Zoë — 東京", title="T"), doc("a", "\u2028 inside"), doc("10", ""), doc("9", "x" * 9000)]
    plain = read_corpus(written(tmp_path / "plain", lines))
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    for corpus in (
        plain,
        read_corpus(written(tmp_path / "crlf", lines, "\r\n", b"\xef\xbb\xbf")),
        read_corpus(str(packed)),
        read_corpus(written(tmp_path / "no-end", ["\n".join(lines)], "")),
    ):
        assert isinstance(corpus.docs, Passages)
        assert corpus.fingerprint == plain.fingerprint
        assert [one.id for one in corpus.docs] == ["b", "a", "10", "9"]
        assert list(corpus.docs) == [corpus.docs[at] for at in range(4)] == corpus.docs[:]
        assert corpus.docs[0] == Doc(id="b", title="T", text="Zoë — 東京")
        assert corpus.docs[-1].id == "9"
        assert ranks_of(corpus.docs).tolist() == [3, 2, 0, 1], "10, 9, a, b"
        assert [place_in(corpus.docs)(name) for name in ("a", "9", "b", "10")] == [1, 3, 0, 2]


@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=30, unique=True))
def test_places_and_ranks(tmp_path_factory, ids):
    docs = [Doc(id=name, text=name) for name in ids if name.encode("utf-8", "ignore").decode() == name]
    if not docs:
        return
    path = tmp_path_factory.mktemp("corpus") / "c"
    path.write_bytes(b"".join(orjson.dumps({"id": one.id, "text": one.text}) + b"\n" for one in docs))
    found = read_corpus(str(path)).docs
    assert list(found) == docs
    assert ranks_of(found).tolist() == ranks_of(docs).tolist()
    order = sorted(one.id for one in docs)
    assert ranks_of(docs).tolist() == [order.index(one.id) for one in docs]
    assert [place_in(found)(one.id) for one in docs] == list(range(len(docs)))


def test_a_walk_through_more_than_a_block(tmp_path):
    path = written(tmp_path / "c", [doc(f"d{at}", "x" * (at % 50)) for at in range(9000)])
    assert [one.id for one in read_corpus(path).docs] == [f"d{at}" for at in range(9000)]


TWICE = [doc("x", "first"), doc("y"), doc("x", "second"), doc("z"), doc("y", "later"), doc("x", "third")]


def test_ids_that_come_twice(tmp_path):
    path = written(tmp_path / "c", TWICE)
    with pytest.raises(DataError, match=r"c:3: id=x: the id is on line 1 too") as error:
        read_corpus(path)
    assert "--duplicates first or last" in error.value.hint
    said = []
    first = read_corpus(path, say=said.append, duplicates="first")
    assert texts(first) == [("x", "first"), ("y", "a tern"), ("z", "a tern")]
    last = read_corpus(path, duplicates="last")
    assert texts(last) == [("z", "a tern"), ("y", "later"), ("x", "third")]
    assert said == [f"{path}: 3 documents have the id of another; the first of each id counts"]
    same = written(tmp_path / "same", [TWICE[at] for at in (0, 1, 3)])
    assert read_corpus(same).fingerprint == first.fingerprint != last.fingerprint, "it is the same corpus"
    assert [place_in(last.docs)(name) for name in "xyz"] == [2, 1, 0]


def test_one_broken_line_in_a_hundred(tmp_path):
    lines = [doc(f"d{at}", f"tern number {at}") for at in range(500)]
    for at, bad in ((7, "{"), (50, ""), (150, '{"id": "z"}'), (250, '{"id": 250, "text": "x"}'), (499, "[]")):
        lines[at] = bad
    path = written(tmp_path / "c", lines)
    with pytest.raises(DataError, match=r"c:8: not JSON"):
        read_corpus(path)
    index = tmp_path / "index"
    for _ in range(2):  # the second time they come from the index
        failed = []
        found = read_corpus(path, index, skip=True, fail=lambda *one, to=failed: to.append(one))
        assert [one.id for one in found.docs] == [f"d{at}" for at in range(500) if at not in (7, 50, 150, 250, 499)]
        assert [(source, number) for source, number, *_ in failed] == [(path, at + 1) for at in (7, 50, 150, 250, 499)]
        assert failed[2][3] == "z", "the id where there is one"
        assert failed[3][2].message.startswith("id: expected"), failed[3][2].message
    with pytest.raises(DataError, match=r"c:8: not JSON"):
        read_corpus(path, index)  # an index that was built by passing over them is no excuse


def test_nothing_but_broken_lines(tmp_path):
    with pytest.raises(UsageError, match="no documents"):
        read_corpus(written(tmp_path / "c", ["{"]), skip=True)


def test_a_changed_file_is_told(tmp_path):
    path = written(tmp_path / "c", [doc("a", "tern"), doc("b", "gull")])
    index, said = tmp_path / "index", []
    before = read_corpus(path, index, said.append)
    assert said == []
    written(tmp_path / "c", [doc("a", "tern"), doc("b", "rail")])  # of one size
    after = read_corpus(path, index, said.append)
    assert said == [f"index {index}/corpus: it was built for another corpus; it is built anew"]
    assert texts(after)[1] == ("b", "rail")
    assert before.fingerprint != after.fingerprint
    written(tmp_path / "c", ["x" * 100])
    with pytest.raises(DataError, match="was changed while it was searched"):
        after.docs[0]


NAMES = ["Ida Vale", "Rex Tern", "Ostra", "Lower Lisk", "The Who", "Tern", "Red Lisk (film)", "Zoë Müller", "", "東京"]


@given(st.randoms(use_true_random=False), st.integers(1, 25))
def test_links_in_files_are_those_in_memory(tmp_path_factory, draw: random.Random, size):
    """The same hits to the last bit from a corpus in a file and from one that is held in memory."""
    some = ["born in", "the son of", "who met", "and", ".", "in 1950", "directed"]
    docs = [
        Doc(id=str(draw.randrange(10**6)) + f"-{at}", title=draw.choice(NAMES),
            text=" ".join(draw.choice(NAMES) + " " + draw.choice(some) for _ in range(draw.randrange(9))))
        for at in range(size)
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("links")
    (folder / "c").write_bytes(
        b"".join(orjson.dumps({"id": one.id, "title": one.title, "text": one.text}) + b"\n" for one in docs)
    )
    stored, held = open_hops(read_corpus(str(folder / "c")), beam=3), open_hops(Corpus(docs, ""), beam=3)
    for question in ("Who is the son of Ida Vale in Ostra?", "The Who 東京", "Who directed Red Lisk?", ""):
        assert stored.search(question, None, 9) == held.search(question, None, 9)


def test_the_command(tmp_path, ragpack):
    """Builds, opens, in workers too; damaged and foreign indexes are built anew with a sentence."""
    draw = random.Random(3)
    lines = [doc(f"d{at}", " ".join(draw.choices([*NAMES, "film", "of", "son"], k=12)), title=draw.choice(NAMES))
             for at in range(300)]  # fmt: skip
    written(tmp_path / "c.jsonl", lines)
    asked = [
        json.dumps({"id": f"q{at}", "question": " ".join(draw.choices([*NAMES, "film"], k=3))}) for at in range(70)
    ]
    written(tmp_path / "q.jsonl", asked)
    for spec in ("bm25", "hops"):
        base = ("retrieve", "q.jsonl", "--corpus", "c.jsonl", "--retriever", spec, "-k", 7)
        plain = ragpack(*base)
        built = ragpack(*base, "--index", "index")
        warm = ragpack(*base, "--index", "index")
        workers = ragpack(*base, "--index", "index", "-j", 2, "--shard-size", 77)
        unkept = ragpack(*base, "-j", 2, "--shard-size", 100)
        assert plain.stdout == built.stdout == warm.stdout == workers.stdout == unkept.stdout
        assert b"index" not in warm.stderr
        assert b"index index/bm25: it was built with shard_size=1000000; it is built anew\n" in workers.stderr
        assert len(list((tmp_path / "index/bm25").glob("shard-*"))) == 4
        ragpack(*base, "--index", "index", "-q")
    (tmp_path / "index/bm25/shard-0/data.csc.index.npy").write_bytes(b"\x93NUMPY")
    mended = ragpack(*base, "--index", "index")
    assert mended.stdout == plain.stdout
    assert b"data.csc.index.npy has 6 bytes instead of" in mended.stderr
    written(tmp_path / "c.jsonl", lines[:200])
    other = ragpack(*base, "--index", "index")
    assert other.stdout == ragpack(*base).stdout != plain.stdout
    for kind in ("corpus", "bm25", "links"):
        assert f"index index/{kind}: it was built for another corpus; it is built anew\n".encode() in other.stderr


def test_the_command_passes_over_bad_lines(tmp_path, ragpack):
    written(tmp_path / "c.jsonl", [doc("a"), "{", doc("b", "gull")])
    written(tmp_path / "q.jsonl", [json.dumps({"id": "q", "question": "tern"})])
    base = ("retrieve", "q.jsonl", "--corpus", "c.jsonl")
    assert b"c.jsonl:2: not JSON" in ragpack(*base, check=1).stderr
    for jobs in (1, 2):
        done = ragpack(*base, "--on-error", "skip", "--failures", "f.jsonl", "-j", jobs, "--index", "index", check=3)
        assert [hit["id"] for hit in json.loads(done.stdout)["hits"]] == ["a"]
        assert b"1 in, 1 out, 0 cached, 1 failed" in done.stderr
        failure = json.loads((tmp_path / "f.jsonl").read_text())
        assert (failure["source"], failure["line"]) == ("c.jsonl", 2)


def test_options_that_go_together(tmp_path, ragpack):
    written(tmp_path / "c.jsonl", TWICE)
    written(tmp_path / "q.jsonl", [json.dumps({"id": "q", "question": "first later third"})])
    assert b"--index needs --corpus" in ragpack("retrieve", "q.jsonl", "--index", "i", check=2).stderr
    assert b"--duplicates needs --corpus" in ragpack("retrieve", "q.jsonl", "--duplicates", "last", check=2).stderr
    base = ("retrieve", "q.jsonl", "--corpus", "c.jsonl")
    assert b"c.jsonl:3: id=x: the id is on line 1 too" in ragpack(*base, check=1).stderr
    assert b"Did you mean 'first'" in ragpack(*base, "--duplicates", "frist", check=2).stderr
    done = ragpack(*base, "--duplicates", "last", "--index", "i")
    assert sorted(hit["id"] for hit in json.loads(done.stdout)["hits"]) == ["x", "y"]


def found(tmp_path, lines, question, **params):
    path = written(tmp_path / "corpus", lines)
    (row,) = rows(open_retrieve(RetrieveParams(corpus=path, **params)), [{"id": "q", "question": question}])
    return [hit["id"] for hit in row["hits"]]


def test_queries_that_find_nothing(tmp_path):
    lines = [doc("a"), doc("b", ""), doc("c", "", title="Gull")]
    for retriever in ("bm25", "bm25:method=bm25+", "hops"):
        for question in ("", "?!", "penguin", "who is it"):
            assert found(tmp_path, lines, question, retriever=retriever) == []
        assert found(tmp_path, lines, "tern penguin", retriever=retriever) == ["a"]
        assert found(tmp_path, lines, "gull", retriever=retriever, k=9) == ["c"]
    assert found(tmp_path, [doc("a", "")], "tern") == [], "a corpus without a word"


def test_more_hits_than_documents(tmp_path):
    assert found(tmp_path, [doc("b"), doc("a")], "tern", k=1000) == ["a", "b"]


def test_ids_that_are_numbers(tmp_path):
    """Text that looks like numbers is text, sorted as such; a bare number is refused with what to do."""
    assert found(tmp_path, [doc("9"), doc("10"), doc("010")], "tern") == ["010", "10", "9"]
    with pytest.raises(DataError, match=r"corpus:1: id: expected .*7"):
        found(tmp_path, ['{"id": 7, "text": "tern"}'], "tern")
