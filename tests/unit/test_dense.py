"""Dense retrieval by a real small model, offline. Facts are invented."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pytest
from command import ROOT
from mapped import rows
from minilm import embedding_folder, needs_dense, needs_minilm

from ragpack.errors import BackendError, UsageError
from ragpack.models.usage import usage_of
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

MODEL = embedding_folder()
QUESTIONS = [json.loads(line) for line in (ROOT / "fixtures/questions.jsonl").read_text("utf-8").split("\n")[:3]]
DOCS = [
    {"id": "a", "title": "Tern", "text": "A tern is a slender sea bird."},
    {"id": "b", "title": "Lisk", "text": "The Lisk is a river with three bridges."},
    {"id": "c", "text": "Ida Vale directed a film."},
    {"id": "d", "title": "", "text": ""},
]


def retrieved(record, k=9, spec="dense", **params):
    spec = f"dense:{MODEL}" + spec.removeprefix("dense").replace(":", ",", 1)
    return rows(open_retrieve(RetrieveParams(k=k, retriever=spec, **params)), [record])[0]


def question(docs=None, text="Who made a movie?"):
    return {"id": "q", "question": text, **({"docs": docs} if docs is not None else {})}


def corpus(tmp_path, docs=DOCS, name="corpus.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    return str(path)


def ranked(row):
    return [(hit["id"], hit["score"]) for hit in row["hits"]]


@pytest.fixture(scope="module")
def model():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(MODEL), device="cpu")


@needs_minilm
@pytest.mark.parametrize("dim", [0, 100])
def test_a_pool_is_ranked_by_cosine(model, dim):
    record = QUESTIONS[0]
    texts = [f"{doc['title']}\n{doc['text']}" for doc in record["docs"]]
    all_, query = model.encode(texts)[:, : dim or None], model.encode([record["question"]])[0, : dim or None]
    expected = all_ @ query / np.linalg.norm(all_, axis=1) / np.linalg.norm(query)
    row = retrieved(record, k=99, spec=f"dense:dim={dim}")
    names = [doc["id"] for doc in record["docs"]]
    assert dict(ranked(row)) == pytest.approx(dict(zip(names, expected.tolist(), strict=True)), abs=1e-5)
    assert [hit["score"] for hit in row["hits"]] == sorted((hit["score"] for hit in row["hits"]), reverse=True)
    assert all(hit["scores"] == {"dense": hit["score"]} for hit in row["hits"]), "pack's relevance=dense reads it"
    assert row["retrieve"]["retriever"] == f"dense:{f'dim={dim},'}model={MODEL.name}", "no path in a record"


@needs_minilm
def test_the_order_and_the_past_change_no_bit():
    """A pool alone, after other pools, shuffled: the same numbers."""
    record = QUESTIONS[1]
    first = retrieved(record, k=99)["hits"]
    retrieved(QUESTIONS[0], k=99)
    mixed = {**record, "docs": random.Random(2).sample(record["docs"], len(record["docs"]))}
    assert retrieved(mixed, k=99)["hits"] == first


@needs_minilm
def test_a_corpus_and_a_pool_find_the_same(tmp_path):
    pool, searched = retrieved(question(DOCS)), retrieved(question(), corpus=corpus(tmp_path))
    assert [name for name, _ in ranked(pool)] == [name for name, _ in ranked(searched)]
    assert dict(ranked(pool)) == pytest.approx(dict(ranked(searched)), abs=2e-6)
    mixed = retrieved(question(), corpus=corpus(tmp_path, DOCS[::-1], "mixed"))
    assert [name for name, _ in ranked(mixed)] == [name for name, _ in ranked(pool)]
    assert [name for name, _ in ranked(retrieved(question(), k=2, corpus=corpus(tmp_path)))] == ["c", "a"]


@needs_minilm
def test_ties_by_id(tmp_path):
    docs = [{"id": name, "text": "A film by Ida Vale."} for name in "dbca"] + [{"id": "0", "text": "A river."}]
    order = ["a", "b", "c", "d"]
    assert [name for name, _ in ranked(retrieved(question(docs), k=4))] == order
    assert [name for name, _ in ranked(retrieved(question(), k=2, corpus=corpus(tmp_path, docs)))] == order[:2]


@needs_minilm
def test_odd_input(tmp_path):
    assert retrieved(question([]))["hits"] == []
    assert len(retrieved(question(DOCS, text=""))["hits"]) == 4
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    with pytest.raises(UsageError, match="no documents"):
        retrieved(question(), corpus=str(path))


@needs_minilm
def test_the_instruction_and_the_prefix_are_embedded(model):
    row = retrieved(question(DOCS[:1]), spec="dense:instruction=query:,prefix=passage:")
    left, right = model.encode(["query: Who made a movie?", "passage: Tern\nA tern is a slender sea bird."])
    assert row["hits"][0]["score"] == pytest.approx(float(left @ right), abs=1e-5)


def test_how_models_are_used(tmp_path):
    def usage(name, dim=-1, instruction="auto", prefix="auto"):
        return tuple(usage_of(tmp_path / name, str(tmp_path / name), dim, instruction, prefix))

    asks = "Represent this sentence for searching relevant passages:"
    assert usage("bge-small-en-v1.5") == (asks, "", 320), "as in the paper"
    assert usage("bge-base-en-v1.5") == (asks, "", 0)
    assert usage("e5-base-v2") == usage("multilingual-e5-small") == ("query:", "passage:", 0)
    assert usage("gte-small") == ("", "", 0)
    assert usage("e5-base-v2", 64, "none", "text:") == ("", "text:", 64)
    made = tmp_path / "own"
    made.mkdir()
    (made / "config_sentence_transformers.json").write_text('{"prompts": {"query": "q: ", "document": "d: "}}')
    assert usage("own") == ("q:", "d:", 0), "what the folder itself says"


@needs_minilm
def test_an_index_is_kept_and_made_again_when_it_is_stale(tmp_path, monkeypatch):
    from ragpack.models.embedder import Embedder

    embedded = []
    plain = Embedder.encode

    def encode(self, texts):
        embedded.append(len(texts))
        return plain(self, texts)

    monkeypatch.setattr(Embedder, "encode", encode)
    path, index = corpus(tmp_path), str(tmp_path / "index")
    first = retrieved(question(), corpus=path, index=index)
    assert embedded == [4, 1]
    assert retrieved(question(), corpus=path, index=index) == first
    assert embedded == [4, 1, 1], "only the question"
    retrieved(question(), corpus=path, index=index, spec="dense:index=hnsw")
    assert embedded == [4, 1, 1, 1], "another index over the same vectors"
    retrieved(question(), corpus=path, index=index, spec="dense:dim=64")
    assert embedded[4:] == [4, 1]
    changed = corpus(tmp_path, [*DOCS, {"id": "e", "text": "Who made a movie?"}])
    assert ranked(retrieved(question(), corpus=changed, index=index))[0][0] == "e"
    assert embedded[6:] == [5, 1]
    for flat in (tmp_path / "index").glob("dense-*-flat/index.faiss"):
        flat.write_bytes(flat.read_bytes()[:-7])
    assert ranked(retrieved(question(), corpus=changed, index=index))[0][0] == "e"
    assert embedded[8:] == [1], "the vectors are still there"


@needs_minilm
@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path):
    """SIGKILL in the middle of embedding; the next run embeds the rest and finds what an undisturbed one finds."""
    docs = [{"id": str(at), "text": f"Passage {at} of the river Lisk. " * (at % 5 + 1)} for at in range(600)]
    path, asked = corpus(tmp_path, docs), tmp_path / "q.jsonl"
    asked.write_text(json.dumps(question()) + "\n")
    code = ("import sys\nfrom ragpack.retrievers import vectors\nvectors.SHARD = 50\n"
            "from ragpack.__main__ import main\nsys.exit(main())")  # fmt: skip

    def command(index):
        return [sys.executable, "-c", code, "retrieve", str(asked), "--corpus", path, "--index", str(index), "-q",
                "--retriever", f"dense:{MODEL}"]  # fmt: skip

    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    index = tmp_path / "index"
    run = subprocess.Popen(command(index), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 100
    while not list(index.glob(".vectors-*.new/00001.npy")) and run.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    shards = {path: path.stat().st_mtime_ns for path in index.glob(".vectors-*.new/*.npy")}
    assert 1 < len(shards) < 12
    outs = [subprocess.run(command(at), env=env, capture_output=True, check=True).stdout
            for at in (index, tmp_path / "other")]  # fmt: skip
    assert outs[0] == outs[1]
    made = {path.name: path.stat().st_mtime_ns for path in index.glob("vectors-*/*.npy")}
    assert len(made) == 12
    assert {path.name: stamp for path, stamp in shards.items()}.items() <= made.items(), "none was embedded twice"


@needs_minilm
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("dense:dim=385", "dense: dim=385, but vectors of"),
        ("dense:dim=-2", "dim=-2 is less than -1"),
        ("dense:index=ivfpq", "index=ivfpq learns from 256 passages at least, the corpus has 4"),
        ("dense:index=ivfpq,bytes=7", "bytes=7 does not divide the 384 dimensions"),
        ("dense:index=lsh", "index=lsh is not one of flat, hnsw, ivf, ivfpq"),
        ("dense:beam=0", "beam=0 is less than 1"),
    ],
)
def test_bad_settings(tmp_path, spec, expected):
    with pytest.raises(UsageError) as caught:
        retrieved(question(), spec=spec, corpus=corpus(tmp_path))
    assert expected in str(caught.value)


@needs_minilm
def test_a_dimension_larger_than_the_models_shows_on_a_pool_too():
    with pytest.raises(UsageError, match=r"dim=999, but vectors of .* have 384"):
        retrieved(question(DOCS), spec="dense:dim=999")


@needs_dense
def test_a_folder_that_is_no_model(tmp_path):
    record = question(DOCS)
    for spec, kind, said in (
        (f"dense:{tmp_path}", UsageError, "has no config.json, so it is no model"),
        ("dense:./none", UsageError, "no such model folder"),
    ):
        with pytest.raises(kind, match=said):
            rows(open_retrieve(RetrieveParams(retriever=spec)), [record])
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BackendError, match="the model can't be loaded"):
        rows(open_retrieve(RetrieveParams(retriever=f"dense:{tmp_path}")), [record])


def test_a_missing_extra_is_one_sentence(ragpack):
    if find_spec("sentence_transformers") is not None:
        pytest.skip(reason="sentence_transformers is installed")
    stdin = json.dumps(question(DOCS)).encode() + b"\n"
    for words, feature in (
        (["--retriever", "dense:x"], "dense: model"), (["--retriever", "hybrid:bm25+dense"], "dense: model"),
        (["--rerank", "ce:x"], "--rerank ce"), (["--rerank", "bi:x"], "--rerank bi"),
    ):  # fmt: skip
        said = ragpack("retrieve", *words, stdin=stdin, check=1).stderr.decode()
        assert said == f"ragpack: {feature} needs the extra 'dense': pip install 'ragpack[dense]'\n"


@needs_minilm
def test_the_device_is_no_part_of_the_key(monkeypatch):
    one = retrieved(question(DOCS))
    monkeypatch.setenv("RAGPACK_DEVICE", "cpu")
    assert retrieved(question(DOCS)) == one


@needs_minilm
def test_workers_write_the_same(ragpack, tmp_path):
    path, index = corpus(tmp_path), tmp_path / "index"
    stdin = "".join(json.dumps({**question(), "id": str(at)}) + "\n" for at in range(3)).encode()
    command = ["retrieve", "-q", "--corpus", path, "--index", index, "--retriever", f"dense:{MODEL}"]
    first = ragpack(*command, stdin=stdin)
    again = ragpack(*command, "-j", "2", stdin=stdin)
    assert first.stdout == again.stdout
    assert again.stderr == b""
    assert b"4 passages of 384 dimensions: vectors 0.0 MB on disk" in first.stderr
