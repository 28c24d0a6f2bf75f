"""How a model is found, told apart from others, and put on a device."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from ragpack.errors import BackendError, Missing, UsageError, in_a_line
from ragpack.flow.keys import fingerprint_file
from ragpack.registry import Spec, Value

_PATHS = ("model", "embedder")
"""Options whose value may be a folder."""


def model_folder(option: str, name: str) -> Path:
    """The folder of a model by path or hub id. Raises `UsageError` for a folder that holds none, `BackendError` for an
    id that can't be had, `Missing` without the extra."""
    from importlib.util import find_spec

    if find_spec("sentence_transformers") is None:
        raise Missing(option, "dense")
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise UsageError(f"{option} {name}: the folder has no config.json, so it is no model",
                             "Give the folder that holds the model's files, or a model id.")  # fmt: skip
        return folder
    if folder.exists() or name.startswith((".", "/", "~")):
        raise UsageError(f"{option} {name}: no such model folder")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name))
    except Exception as error:
        raise BackendError(f"{option} {name}: no such folder, and not loaded as a model id: {in_a_line(error)}",
                           "Give a model folder, or an id that can be downloaded.") from None  # fmt: skip


def fingerprint_folder(folder: Path, how: str) -> str:
    """A hash of how a model is used, and of the name and content of each of its files; hidden ones do not count."""
    state = blake2b(how.encode(), digest_size=16)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith((".", "__")) for part in name.parts):
            state.update(f"{name.as_posix()}\0{fingerprint_file(path)}\0".encode())
    return state.hexdigest()


def without_paths(spec: Spec) -> Spec:
    """A spec as the record has it. A path belongs to one machine: there stands the folder's name, and the key has the
    fingerprint of its files."""
    return Spec(spec.name, tuple((key, _shown(key, value)) for key, value in spec.given))


def _shown(key: str, value: Value) -> Value:
    path = Path(str(value)).expanduser()
    return path.resolve().name if key in _PATHS and path.is_dir() else value


def without_bars() -> None:
    """transformers draws a bar while it loads weights; a run has one progress line, its own."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def not_a_model(option: str, name: str, error: Exception) -> BackendError:
    """A folder that looked like a model, and could not be loaded."""
    return BackendError(f"{option} {name}: the model can't be loaded: {in_a_line(error)}")


def device() -> str:
    """Where models run: RAGPACK_DEVICE, else a GPU if there is one."""
    import torch

    return os.environ.get("RAGPACK_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
