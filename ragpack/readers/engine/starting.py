"""How vLLM's engine is started on a machine, and what tells one engine's answers from another's.

The process decides a good deal before vLLM is imported: where it prints, how its threads wait, whether it forks. All
of that is here, so that `vllm.py` is only about prompts and answers.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import warnings
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ragpack.errors import BackendError, in_a_line

QUIET = {"VLLM_LOGGING_LEVEL": "WARNING", "TQDM_DISABLE": "1"}

PATIENT = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that wait sleep. Spinning wins a few per cent on idle cores and loses two thirds on shared ones, and the
other stages of a pipe share them. Read when torch is loaded, so it is set before."""

IN_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
"""The engine in this process: the same schedule in every run, and nothing that could outlive us."""

ON_CPU = {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_LOGGING_LEVEL": "ERROR"}
"""GiB for keys and values; threads left to the system's scheduler (binding needs NUMA facts that containers hide); and
no word on the dozen things that a GPU would do otherwise."""

CPU_ROOM = 32
"""Requests under way on a CPU: more gains nothing measurable, and answers would come later and in larger lumps."""

CPU_LENGTH = 2048
"""The longest prompt and answer on a CPU unless told: the memory for a model's full length is rarely there."""

SCHEDULING = frozenset(
    """async_scheduling data_parallel_size disable_log_stats enforce_eager gpu_memory_utilization kv_cache_memory_bytes
    max_num_batched_tokens max_num_seqs pipeline_parallel_size tensor_parallel_size use_tqdm_on_load""".split()  # noqa: SIM905 # a list to read
)
"""Engine arguments that change how fast an answer comes, not which; they are not part of the fingerprint."""

LIMITS = frozenset({"seed", "max_model_len", "max_logprobs"})
"""Settings that refuse a request or do nothing to it: draws have seeds of their own, and what is too long is refused. A
passage that is cut to fit is the exception, and its probe says so."""

WHOLE = 16 << 20
END = 1 << 20


def start(path: str, name: str, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401 # the library has no types here
    """Load the model. Raises `BackendError` where vLLM won't have it."""
    try:
        from vllm import LLM

        quiet = {"disable_log_stats": True, "use_tqdm_on_load": False}
        _mend_llvmlite()
        with warnings.catch_warnings(action="ignore"):
            return LLM(model=path, trust_remote_code=False, **{**quiet, **settings})
    except Exception as error:
        raise BackendError(
            f"vLLM can't serve '{name}': {in_a_line(error)}",
            "Give a folder with config.json and safetensors, or the id of a model that this machine can fetch.",
        ) from error


def _mend_llvmlite() -> None:
    """Let vLLM look at numba's modules, which another library may have loaded: bm25s does.

    On a CPU the engine reads `vars()` of every object in every module. llvmlite's handle on its C library says that it
    has any attribute, `__dict__` as well, and gives a C function for it: the engine falls over that.
    """
    module = sys.modules.get("llvmlite.binding.ffi")
    kind: Any = type(getattr(module, "lib", None))
    found = kind.__dict__.get("__getattr__")
    if found is None:
        return

    def ours(self: object, name: str) -> object:
        if name == "__dict__":
            raise AttributeError(name)
        return found(self, name)

    kind.__getattr__ = ours


def resolve(model: str) -> str:
    """A local folder as vLLM can open it, or the hub id as it is."""
    path = Path(model).expanduser()
    if path.is_dir():
        return str(path)
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise BackendError(f"no folder '{model}'", "Give a model's folder, or its id on a hub (owner/name).")
    return model


def defaults(model: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What a machine like this one wants, for everything that the user left open."""
    for variable, value in PATIENT.items():
        os.environ.setdefault(variable, value)
    import torch

    on_cpu = not torch.cuda.is_available()
    cpu = {**ON_CPU, "OMP_NUM_THREADS": str(_cores())} if on_cpu else {}
    for variable, value in {**QUIET, **IN_PROCESS, **cpu}.items():  # vLLM reads them when it is imported
        os.environ.setdefault(variable, value)
    if on_cpu:
        if settings["dtype"] == "auto":
            settings["dtype"] = "float32"  # bfloat16 is emulated on most processors, and several times slower
        settings.setdefault("enforce_eager", True)
        settings.setdefault("max_num_seqs", CPU_ROOM)
        if settings["max_model_len"] is None:
            settings["max_model_len"] = min(CPU_LENGTH, _longest(model))
    return {key: value for key, value in settings.items() if value is not None}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _longest(model: str) -> int:
    """The positions that the model knows, from its configuration; `CPU_LENGTH` where that doesn't say."""
    try:
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(model, trust_remote_code=False).get_text_config()
    except Exception:
        return CPU_LENGTH  # vLLM will say what is wrong with the model, in its own words
    return int(getattr(config, "max_position_embeddings", None) or CPU_LENGTH)


def version() -> str:
    """vLLM's version without importing it: that takes seconds, and a run may have nothing to compute."""
    for distribution in ("vllm", "vllm-cpu"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(distribution)
    import vllm

    return str(vllm.__version__)


def fingerprint(model: str, facts: Mapping[str, Any]) -> str:
    """A hash of the model and of the facts that decide its answers; files count by name, size and content.

    Of a file from 16 MiB on only the first and the last MiB are read: weights of many GB are told apart by these.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr(sorted(facts.items(), key=lambda item: item[0])).encode())
    folder = Path(model)
    if not folder.is_dir():
        digest.update(model.encode())
        return digest.hexdigest()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not path.is_file() or any(part.startswith(".") for part in name.parts):
            continue
        size = path.stat().st_size
        digest.update(f"{name.as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            if size < WHOLE:
                digest.update(file.read())
            else:
                digest.update(file.read(END))
                file.seek(-END, os.SEEK_END)
                digest.update(file.read(END))
    return digest.hexdigest()
