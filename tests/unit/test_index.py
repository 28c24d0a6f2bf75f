"""The folder of `--index`: built once, used while it fits, built anew with a sentence otherwise."""

import json
import os
from pathlib import Path

import pytest

from ragpack.errors import UsageError
from ragpack.retrievers.index import Manifest, open_index

MANIFEST = Manifest("kind", 1, "corpus-a", 3, {"k1": 1.5, "method": "lucene"})


class Builder:
    """Counts how often it is asked; writes what it is told."""

    def __init__(self, text="abc"):
        self.text, self.built, self.said = text, 0, []

    def __call__(self, folder: Path):
        self.built += 1
        (folder / "inner").mkdir(exist_ok=True)
        (folder / "inner" / "data").write_text(self.text)

    def open(self, folder, manifest=MANIFEST, **more):
        return open_index(folder, manifest, self, self.said.append, **more)


def test_built_once(tmp_path):
    builder = Builder()
    place = builder.open(tmp_path / "index")
    assert place == tmp_path / "index" / "kind"
    assert (place / "inner/data").read_text() == "abc"
    assert builder.open(tmp_path / "index") == place
    assert (builder.built, builder.said) == (1, []), "a new index is no news, nor is one that fits"
    known = json.loads((place / "manifest.json").read_text())
    assert known["settings"] == {"k1": 1.5, "method": "lucene"}
    assert known["files"]["inner/data"]["bytes"] == 3


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (MANIFEST._replace(version=2), "it was built by another version of ragpack"),
        (MANIFEST._replace(corpus="corpus-b"), "it was built for another corpus"),
        (MANIFEST._replace(documents=4), "it was built for another corpus"),
        (MANIFEST._replace(settings={"k1": 1.2, "method": "lucene"}), "it was built with k1=1.5"),
        (MANIFEST._replace(settings={"method": "lucene"}), "it was built with other settings"),
    ],
)
def test_what_does_not_fit_is_built_anew(tmp_path, manifest, reason):
    Builder("old").open(tmp_path)
    builder = Builder("new")
    place = builder.open(tmp_path, manifest)
    assert (place / "inner/data").read_text() == "new"
    assert builder.said == [f"index {place}: {reason}; it is built anew"]
    assert sorted(one.name for one in tmp_path.iterdir()) == [".kind.lock", "kind"], "nothing is left beside it"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda place: os.truncate(place / "inner/data", 1), "inner/data has 1 bytes instead of 3"),
        (lambda place: (place / "inner/data").write_text("xyz"), "inner/data was changed"),
        (lambda place: (place / "inner/data").unlink(), "inner/data is missing"),
        (lambda place: (place / "manifest.json").write_text("{"), "its manifest can't be read"),
        (lambda place: (place / "manifest.json").write_text("[]"), "its manifest can't be read"),
    ],
)
def test_what_is_damaged_is_built_anew(tmp_path, damage, reason):
    place = Builder().open(tmp_path)
    damage(place)
    builder = Builder()
    builder.open(tmp_path)
    assert builder.built == 1
    assert builder.said == [f"index {place}: {reason}; it is built anew"]


def test_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "kind").mkdir()
    (tmp_path / "kind/thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="holds files that are no index"):
        Builder().open(tmp_path)
    assert (tmp_path / "kind/thesis.tex").read_text() == "mine"
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is no folder"):
        Builder().open(tmp_path / "file")


def test_a_build_that_was_cut_short(tmp_path):
    """It is never used; with `resume` it is handed on, unless it was begun for something else."""

    class Cut(Exception):
        pass

    def cut(folder):
        (folder / "half").write_text("half")
        raise Cut

    def seen(folder):
        found.append((folder / "half").exists())
        (folder / "data").write_text("x")

    found: list[bool] = []
    for resume, manifest in ((False, MANIFEST), (True, MANIFEST), (True, MANIFEST._replace(corpus="b"))):
        with pytest.raises(Cut):
            open_index(tmp_path, MANIFEST, cut, print, resume=True)
        assert not (tmp_path / "kind").exists()
        place = open_index(tmp_path, manifest, seen, print, resume=resume)
        (place / "manifest.json").unlink()
        for one in place.iterdir():
            one.unlink()
        place.rmdir()
    assert found == [False, True, False]


def test_without_a_folder_it_is_temporary():
    builder = Builder()
    place = builder.open(None)
    assert (place / "inner/data").read_text() == "abc"
    assert builder.open(None) != place
