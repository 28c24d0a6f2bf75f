"""The folder of `--index DIR`: in it a folder for each kind of index, each with a manifest of what it stands for.

    DIR/bm25/manifest.json    what it was built for and with, and each file's size and hash
    DIR/bm25/...              files of that kind, none of them pickled

An index that is absent, of another corpus, settings or version, or damaged is built anew beside its place and then
renamed: whoever opens it finds all of it or nothing. A lock lets one process build while others wait.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ragpack.errors import DataError, UsageError
from ragpack.flow.keys import fingerprint_file
from ragpack.registry import Value

LAYOUT = 1
"""Of the manifest itself."""
_NAME = "manifest.json"
_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []
"""Folders of indexes that nobody asked to keep; they go when the process ends."""


class Manifest(NamedTuple):
    """What decides the files of an index."""

    kind: str
    """Name of its folder; letters, digits, `-` and `_`."""
    version: int
    """Counted up when the same corpus and settings give other files."""
    corpus: str
    """Fingerprint of the documents."""
    documents: int | None
    """How many; None where only the build tells."""
    settings: Mapping[str, Value]


def open_index(
    folder: Path | None,
    manifest: Manifest,
    build: Callable[[Path], None],
    say: Callable[[str], object],
    *,
    resume: bool = False,
) -> Path:
    """The folder with the files of one kind, built by `build(folder)` if it is not there as the manifest wants it.

    `folder` None: a temporary one, removed at the end of the process. `say` is told why an index that was there is
    built anew. `resume`: a build that was cut short, with this very manifest, is handed to `build` as it was left.
    Raises `UsageError` where the place is taken by something else.
    """
    if folder is None:
        _TEMPORARY.append(tempfile.TemporaryDirectory(prefix="ragpack-index-"))
        place = Path(_TEMPORARY[-1].name) / manifest.kind
        place.mkdir()
        build(place)
        return place
    place, fresh, old = folder / manifest.kind, folder / f".{manifest.kind}.new", folder / f".{manifest.kind}.old"
    with _locked(folder, manifest.kind):
        reason = _reason(place, manifest)
        if reason is None:
            return place
        if reason:
            say(f"index {place}: {reason}; it is built anew")
        if not (resume and _read(fresh / _NAME) == _described(manifest)):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            (fresh / _NAME).write_bytes(orjson.dumps(_described(manifest)))
        build(fresh)
        (fresh / _NAME).write_bytes(_written(fresh, manifest))
        shutil.rmtree(old, ignore_errors=True)
        if place.exists():
            place.rename(old)
        fresh.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    return place


@contextlib.contextmanager
def _locked(folder: Path, kind: str) -> Iterator[None]:
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f".{kind}.lock").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"--index {folder}: it is no folder") from None
    except PermissionError as error:
        raise UsageError(f"--index {folder}: {error.strerror}: {error.filename}", "Name a folder of yours.") from None


def _reason(place: Path, manifest: Manifest) -> str | None:
    """Why the index can't be used: empty if there is none, None if it can."""
    if not place.exists():
        return ""
    found = _read(place / _NAME)
    if found is None:
        if not (place / _NAME).exists() and any(place.iterdir()):
            raise UsageError(f"--index: {place} holds files that are no index", "Name another folder.")
        return "its manifest can't be read"
    wanted = _described(manifest)
    if any(found.get(key) != wanted[key] for key in ("layout", "kind", "version")):
        return "it was built by another version of ragpack"
    if found.get("corpus") != wanted["corpus"] or found.get("documents") != wanted["documents"]:
        return "it was built for another corpus"
    if found.get("settings") != wanted["settings"]:
        return _changed(found.get("settings"), manifest.settings)
    files = found.get("files")
    if not isinstance(files, dict) or not files:
        return "it was not finished"
    for name, known in files.items():
        path = place / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != known["bytes"]:
            return f"{name} has {path.stat().st_size} bytes instead of {known['bytes']}"
        if fingerprint_file(path) != known["hash"]:
            return f"{name} was changed"
    return None


def _changed(found: object, wanted: Mapping[str, Value]) -> str:
    settings = found if isinstance(found, dict) else {}
    keys = [key for key in wanted if settings.get(key) != wanted[key]]
    was = ", ".join(f"{key}={settings[key]}" for key in keys if key in settings)
    return f"it was built with {was or 'other settings'}"


def _described(manifest: Manifest) -> dict[str, Any]:
    return {"layout": LAYOUT, **manifest._asdict(), "settings": dict(sorted(manifest.settings.items()))}


def _written(folder: Path, manifest: Manifest) -> bytes:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / _NAME)
    if not paths:
        raise DataError(f"the index '{manifest.kind}' has no files")
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "hash": fingerprint_file(path)}
        for path in paths
    }
    return orjson.dumps({**_described(manifest), "files": files}, option=orjson.OPT_INDENT_2)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return found if isinstance(found, dict) else None
