"""What the methods share: a model's files, and the package kept from touching what is not its own.

`llmlingua.PromptCompressor` fetches tiktoken's file from the network when it is made, counts in GPT's tokens, runs a
model folder's code, and reseeds Python, NumPy and torch. Its constructor is replaced here and its methods are used.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from ragpack.errors import BackendError, DataError, Missing, UsageError, in_a_line
from ragpack.flow.keys import digest, fingerprint_file
from ragpack.models.folder import device
from ragpack.tokens import Counter

PATIENT = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that wait sleep: spinning ones take the cores of the other workers and stages. Read when torch is loaded."""

SEED = 42
"""The package's own: embeddings of added tokens are drawn with it."""

_FILES = ("*.json", "*.safetensors", "*.txt", "*.model")


class Folder(NamedTuple):
    """A model's files."""

    path: Path
    name: str
    """Id, or the folder's name."""
    config: Mapping[str, Any]
    """config.json."""
    fingerprint: str
    """Of every file."""


def open_folder(method: str, model: str, architecture: str) -> Folder:
    """Find a model and look at its config; nothing is loaded. Raises `Missing` without the package, `UsageError` or
    `BackendError` without the model, or where its architecture is another."""
    if importlib.util.find_spec("llmlingua") is None:
        raise Missing(f"The policy {method}", "llmlingua")
    if not model:
        raise UsageError(f"policy '{method}': give model=FOLDER or model=ID", "A small causal language model will do.")
    for variable, value in PATIENT.items():
        os.environ.setdefault(variable, value)
    path = Path(model).expanduser()
    if path.is_dir():
        path, name = path.resolve(), path.resolve().name
    elif model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise UsageError(f"policy '{method}': no folder '{model}'", "Give a model's folder, or its id (owner/name).")
    else:
        path, name = _fetched(method, model), model
    try:
        config = orjson.loads((path / "config.json").read_bytes())
    except (OSError, orjson.JSONDecodeError):
        raise UsageError(f"policy '{method}': {name} has no readable config.json") from None
    if not any(architecture in one for one in config.get("architectures") or ()):
        has = ", ".join(config.get("architectures") or ()) or "none"
        raise UsageError(f"policy '{method}': {name} is no {architecture} model; its architectures: {has}")
    return Folder(path, name, config, _fingerprint(path))


def _fetched(method: str, model: str) -> Path:
    """The folder of a model id, from the cache of the hub that the user's environment names, or from that hub."""
    from huggingface_hub import snapshot_download

    try:
        try:
            return Path(snapshot_download(model, allow_patterns=list(_FILES), local_files_only=True))
        except Exception:  # not there yet: each version of the hub has its own word for it
            return Path(snapshot_download(model, allow_patterns=list(_FILES)))
    except Exception as error:
        raise BackendError(
            f"policy '{method}': the model {model} is not on this machine and was not fetched: {in_a_line(error)}",
            f"Fetch it where there is a network (`hf download {model} --local-dir FOLDER`), then give model=FOLDER.",
        ) from None


def _fingerprint(path: Path) -> str:
    files = sorted(file for pattern in _FILES for file in path.glob(pattern))
    return digest([[file.name, fingerprint_file(file)] for file in files])


def versions() -> str:
    """Version of the package, for a method's fingerprint."""
    return f"llmlingua/{metadata.version('llmlingua')}"


class ReaderTokens:
    """Stands where the package has tiktoken: it counts, and is asked for nothing else."""

    def __init__(self, counter: Counter) -> None:
        # A word is weighed by its tokens. Some tokenizers give none for a stray mark: it weighs 1, or a text of such
        # marks would have nothing to take a percentile of.
        self._count = functools.lru_cache(maxsize=1 << 16)(lambda text: max(1, counter.count(text)))

    def encode(self, text: str) -> range:
        """As many as the reader has tokens."""
        return range(self._count(text))


@contextmanager
def quiet() -> Iterator[None]:
    """No bars and no warnings of transformers while a model is loaded."""
    from transformers.utils import logging

    before, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bar:
            logging.enable_progress_bar()


def set_up(compressor: Any, folder: Folder, counter: Counter, auto: str) -> None:  # noqa: ANN401 # a PromptCompressor
    """What the package's constructor does, less its network and less its side effects; `auto` names the transformers
    class. Raises `BackendError` where the model can't be loaded."""
    import transformers

    where = device()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder.path, trust_remote_code=False)
        kind = getattr(transformers, auto)
        half = where != "cpu"
        model = kind.from_pretrained(folder.path, trust_remote_code=False, dtype="auto" if half else "float32")
        model = model.to(where).eval()
    except Exception as error:
        raise BackendError(f"The model {folder.name} was not loaded: {in_a_line(error)}") from error
    if not tokenizer.is_fast:
        raise BackendError(
            f"The tokenizer of {folder.name} has no tokenizer.json", "Convert it: offsets in the text are needed."
        )
    tokenizer.model_max_length = 10**9  # else it warns of long texts; the methods cut these themselves
    compressor.model_name = folder.name
    compressor.retrieval_model = compressor.retrieval_model_name = None
    compressor.open_api_config = {}
    compressor.cache_bos_num, compressor.prefix_bos_num = 10, 100
    compressor.oai_tokenizer = ReaderTokens(counter)
    compressor.tokenizer, compressor.model, compressor.device = tokenizer, model, where
    compressor.context_idxs = []
    compressor.max_position_embeddings = model.config.max_position_embeddings


@contextmanager
def sealed(method: str) -> Iterator[None]:
    """The package's own errors about a text become a record's; global state is as it was before.

    Random numbers: the package seeds, and a data loader draws one. Not seen outside.
    """
    import torch

    python, array, here = random.getstate(), np.random.get_state(), torch.get_rng_state()
    there = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    hashing = os.environ.get("PYTHONHASHSEED")
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    try:
        yield
    except (AssertionError, IndexError, ValueError, ZeroDivisionError) as error:
        said = str(error).strip().splitlines()[0] if str(error).strip() else "no word"
        raise DataError(f"{method}: the package stops at this record: {type(error).__name__}: {said}") from error
    finally:
        random.setstate(python)
        np.random.set_state(array)
        torch.set_rng_state(here)
        if there:
            torch.cuda.set_rng_state_all(there)
        if hashing is None:
            os.environ.pop("PYTHONHASHSEED", None)
        else:
            os.environ["PYTHONHASHSEED"] = hashing
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn
