"""FAISS over vectors, without a model."""

from importlib.util import find_spec

import numpy as np
import pytest

from ragpack.errors import UsageError
from ragpack.models.embedder import check_width, shortened
from ragpack.retrievers import vectors
from ragpack.retrievers.vectors import Layout, Mapped, build, embed_shards, shards_of

pytestmark = pytest.mark.skipif(find_spec("faiss") is None, reason="faiss is not installed")
DIM = 32
FLAT = Layout("flat", DIM, 0, 0, 0, 32, 128)


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def clustered(n, seed=0):
    """Texts come in topics; vectors without any structure are the worst case of no real corpus."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, DIM))
    return unit(centres[rng.integers(0, 40, n)] + 0.6 * rng.normal(size=(n, DIM)))


def made(tmp_path, rows, layout=FLAT):
    shards, place = tmp_path / "shards", tmp_path / layout.kind
    shards.mkdir(exist_ok=True)
    place.mkdir()
    embed_shards(shards, len(rows), lambda start, end: range(start, end), lambda texts: rows[list(texts)], print)
    build(place, shards, len(rows), layout)
    return Mapped(place, layout)


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(vectors, "SHARD", 100)


@pytest.mark.usefixtures("small_shards")
def test_exact_search_is_numpys(tmp_path):
    rows = clustered(733)
    index = made(tmp_path, rows)
    for query in clustered(20, 1):
        places, scores = index.search(query, 10)
        expected = rows @ query
        order = np.argsort(-expected, kind="stable")[:10]
        assert places[:10].tolist() == order.tolist()
        assert scores[:10] == pytest.approx(expected[order], abs=1e-6)


@pytest.mark.parametrize(
    ("layout", "least"),
    [
        (FLAT._replace(kind="hnsw"), 0.95),
        (FLAT._replace(kind="ivf"), 0.8),
        (FLAT._replace(kind="ivf", lists=50, probes=50), 1.0),
        (FLAT._replace(kind="ivfpq", parts=16, probes=64), 0.6),
    ],
    ids=str,
)
def test_approximate_search_finds_most(tmp_path, layout, least):
    rows, queries = clustered(4000), clustered(30, 1)
    index = made(tmp_path, rows, layout)
    found = 0
    for query in queries:
        best = set(np.argsort(-(rows @ query))[:10].tolist())
        found += len(best & set(index.search(query, 10)[0][:10].tolist()))
    assert found >= least * 10 * len(queries)


def test_the_same_vectors_give_the_same_file(tmp_path):
    rows = clustered(1500)
    for kind in ("hnsw", "ivf", "ivfpq"):
        files = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir(exist_ok=True)
            made(tmp_path / name, rows, FLAT._replace(kind=kind, parts=8))
            files.append((tmp_path / name / kind / "index.faiss").read_bytes())
        assert files[0] == files[1], kind


def test_all_that_tie_with_the_last_are_given(tmp_path):
    rows = np.tile(clustered(1), (500, 1))
    rows[7] = unit(-rows[7:8])
    places, scores = made(tmp_path, rows).search(rows[0], 3)
    tied = places[scores == scores[0]]
    assert sorted(tied.tolist()) == [at for at in range(500) if at != 7]


@pytest.mark.usefixtures("small_shards")
def test_a_killed_run_goes_on_from_its_shards(tmp_path):
    rows = clustered(450)
    asked = []

    def embed(texts):
        asked.append(texts)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return rows[list(texts)]

    with pytest.raises(KeyboardInterrupt):
        embed_shards(tmp_path, 450, lambda start, end: range(start, end), embed, print)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000.npy", "00001.npy", "00002.part"]
    torn = tmp_path / "00001.npy"
    torn.write_bytes(torn.read_bytes()[:-9])
    said = []
    embed_shards(tmp_path, 450, lambda start, end: range(start, end), embed, said.append)
    assert asked[3:] == [range(100, 200), range(200, 300), range(300, 400), range(400, 450)]
    assert said[-1] == "dense: 450 of 450 passages are embedded"
    assert np.concatenate(list(shards_of(tmp_path))).tolist() == rows.tolist()
    embed_shards(tmp_path, 450, lambda start, end: range(start, end), embed, print)
    assert len(asked) == 7, "nothing is embedded twice"


def test_too_few_to_learn_from(tmp_path):
    with pytest.raises(UsageError, match="index=ivfpq learns from 256 passages at least, the corpus has 200"):
        made(tmp_path, clustered(200), FLAT._replace(kind="ivfpq"))


def test_the_estimate_of_memory():
    """By hand: flat 1e6 * 4 * 320; ivfpq: 4000 lists, 64 vectors each twice, the lists, 80 + 8 bytes a vector."""
    flat = Layout("flat", 320, 0, 0, 0, 32, 128)
    assert flat.bytes_of(10**6) == 1_280_000_000
    assert flat._replace(kind="ivfpq").bytes_of(10**6) == 2 * 64 * 4000 * 1280 + 4000 * 1280 + 88 * 10**6


def test_cut_and_renormalised():
    rows = clustered(5)
    short = shortened(rows, 10)
    assert short == pytest.approx(rows[:, :10] / np.linalg.norm(rows[:, :10], axis=1, keepdims=True), abs=1e-6)
    assert shortened(rows, DIM) is rows
    assert shortened(np.zeros((1, 4), dtype=np.float32), 2).tolist() == [[0.0, 0.0]]
    assert (check_width("dense", "m", 0, 384), check_width("dense", "m", 320, 384)) == (384, 320)
    with pytest.raises(UsageError, match="dim=400, but vectors of m have 384"):
        check_width("dense", "m", 400, 384)
