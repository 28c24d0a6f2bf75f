"""Answers from a model in vLLM, in this process.

The engine's own loop is driven by hand (`add_request`, `step`), so that a stream of any length keeps the batch full
without being held in memory, and an answer is given as soon as its last token is there. The engine starts with the
first request: a run that has nothing to compute loads no model.

Prompts go in as token ids, from the chat template of the model's own tokenizer, so no second BOS is added on the way.
Greedy is temperature exactly 0; greedy is not batch-invariant, so a near-tie may still fall otherwise in another batch
(VLLM_BATCH_INVARIANT=1 on GPUs that can).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ragpack.errors import BackendError, Missing
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request, Sample
from ragpack.readers.chat import TEMPLATE, Chat, first_line

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

WHOLE = 16 << 20
END = 1 << 20


def open_reader(
    model: str,
    *,
    most_logprobs: int = 0,
    max_model_len: int | None = None,
    dtype: str = "auto",
    seed: int = 0,
    engine_args: Mapping[str, Any] | None = None,
    template_args: Mapping[str, Any] | None = None,
    lookahead: int | None = None,
) -> Reader:
    """Prepare a model, by hub id or local folder; it is loaded when the first request arrives.

    `engine_args` go to `vllm.LLM` as they are and win over the defaults here; `template_args` go to the chat
    template. `lookahead` is how many requests may be under way at once: by default as many as the engine batches.
    """
    if importlib.util.find_spec("vllm") is None:
        raise Missing("The vllm reader", "vllm")
    return _Vllm(
        model=_resolve(model),
        named=model,
        lookahead=lookahead,
        template={**TEMPLATE, **(template_args or {})},
        settings={
            "max_logprobs": max(20, most_logprobs),
            "dtype": dtype,
            "max_model_len": max_model_len,
            "seed": seed,
            **(engine_args or {}),
        },
    )


class _Vllm:
    """One model in one engine."""

    name = "vllm"

    def __init__(
        self,
        *,
        model: str,
        named: str,
        lookahead: int | None,
        template: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        folder = Path(named).expanduser()
        # A path belongs to one machine; the folder's name and the fingerprint say which model it was.
        self.model = folder.resolve().name if folder.is_dir() else named
        self._path = model
        self.about: dict[str, Any] = {}
        self._lookahead = lookahead
        self._template = template
        self._settings = _defaults(model, settings)
        self._llm: Any = None
        self._served = 0
        given = {key: value for key, value in self._settings.items() if key not in SCHEDULING}
        for key in (
            "seed",
            "max_model_len",
            "max_logprobs",
        ):  # greedy draws nothing; too long is a refusal, not another answer
            given.pop(key, None)
        self.fingerprint = _fingerprint(model, {"vllm": _version(), "template": template, **given})

    def answer(self, requests: Iterator[Request]) -> Iterator[Completion | Refusal]:
        """Keep the engine full from `requests`; give each answer in the step that ends it."""
        under_way: dict[str, tuple[Request, str | None]] = {}
        more = True
        try:
            while more or under_way:
                while more and (self._llm is None or len(under_way) < self._room):
                    request = next(requests, None)
                    if request is None:
                        more = False
                        break
                    self._start()
                    ids = self._prompt_ids(request)
                    if isinstance(ids, Refusal):
                        yield ids
                    else:
                        under_way[self._add(ids, request.decoding)] = (request, self._shown(ids, request))
                if under_way:
                    for output in self._step():
                        request, prompt = under_way.pop(output.request_id)
                        yield self._completion(request, prompt, output)
        finally:
            if under_way:  # the consumer has gone, or the engine failed
                with contextlib.suppress(Exception):
                    self._llm.llm_engine.abort_request(list(under_way))

    def close(self) -> None:
        """Give the memory back and end the workers, where there are any."""
        llm, self._llm = self._llm, None
        if llm is not None:
            with contextlib.suppress(Exception):  # what is left of a broken engine goes with the process
                llm.llm_engine.engine_core.shutdown()

    def _start(self) -> None:
        """Load the model, once; everything that could print or pick a device is settled before vLLM is imported."""
        if self._llm is not None:
            return
        try:
            from vllm import LLM

            quiet = {"disable_log_stats": True, "use_tqdm_on_load": False}
            _mend_llvmlite()
            with warnings.catch_warnings(action="ignore"):
                llm = LLM(model=self._path, trust_remote_code=False, **{**quiet, **self._settings})
        except Exception as error:
            raise BackendError(
                f"vLLM can't serve '{self.model}': {first_line(error)}",
                "Give a folder with config.json and safetensors, or the id of a model that this machine can fetch.",
            ) from error
        tokenizer = llm.get_tokenizer()
        if not getattr(tokenizer, "chat_template", None):
            raise BackendError(
                f"'{self.model}' has no chat template", "Use an instruction-tuned model, or add its template."
            )
        self._llm = llm
        self._limit = int(llm.llm_engine.model_config.max_model_len)
        self._room = self._lookahead or int(llm.llm_engine.vllm_config.scheduler_config.max_num_seqs)
        self._chat = Chat(tokenizer, self._template)

    def _prompt_ids(self, request: Request) -> list[int] | Refusal:
        """The prompt as token ids; refused where the template won't have it or it leaves no room for the answer."""
        import jinja2

        try:
            ids = self._chat.ids(request.messages or [])
        except jinja2.TemplateError as error:
            return Refusal(request.id, f"the model's chat template refuses the messages: {first_line(error)}")
        most = request.decoding.max_tokens
        if len(ids) + most > self._limit:
            return Refusal(
                request.id,
                f"the prompt has {len(ids)} tokens and the answer may have {most}: more than the"
                f" {self._limit} that the model is served with",
            )
        return ids

    def _add(self, ids: list[int], decoding: Decoding) -> str:
        engine = self._llm.llm_engine
        name = str(self._served)  # ours, not the caller's: those may repeat from one stream to the next
        self._served += 1
        engine.add_request(name, _engine_input(engine, ids), _sampling(decoding))
        return name

    def _step(self) -> list[Any]:
        try:
            return [output for output in self._llm.llm_engine.step() if output.finished]
        except Exception as error:
            raise BackendError(f"vLLM stopped while answering: {first_line(error)}") from error

    def _shown(self, ids: list[int], request: Request) -> str | None:
        return self._chat.tokenizer.decode(ids, skip_special_tokens=False) if request.decoding.keep_prompt else None

    def _completion(self, request: Request, prompt: str | None, output: Any) -> Completion:  # noqa: ANN401 # the library has no types here
        best = output.outputs[0]
        sample = Sample(
            text=best.text,
            finish=str(best.finish_reason),
            tokens=len(best.token_ids),
            logprob=float(best.cumulative_logprob) if request.decoding.logprobs is not None else None,
        )
        return Completion(request.id, (sample,), len(output.prompt_token_ids), prompt)


# prompts


def _sampling(decoding: Decoding) -> Any:  # noqa: ANN401 # the library has no types here
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        temperature=decoding.temperature,
        max_tokens=decoding.max_tokens,
        logprobs=decoding.logprobs,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _engine_input(engine: Any, ids: list[int]) -> Any:  # noqa: ANN401 # the library has no types here
    """Token ids as this vLLM wants them: newer ones want them rendered first and warn about anything else."""
    from vllm.inputs import TokensPrompt

    prompt = TokensPrompt(prompt_token_ids=ids)
    renderer: Any = getattr(engine, "renderer", None)
    return renderer.render_cmpl([prompt])[0] if hasattr(renderer, "render_cmpl") else prompt


# set-up


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


def _resolve(model: str) -> str:
    """A local folder as vLLM can open it, or the hub id as it is."""
    path = Path(model).expanduser()
    if path.is_dir():
        return str(path)
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise BackendError(f"no folder '{model}'", "Give a model's folder, or its id on a hub (owner/name).")
    return model


def _defaults(model: str, settings: dict[str, Any]) -> dict[str, Any]:
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


def _version() -> str:
    """vLLM's version without importing it: that takes seconds, and a run may have nothing to compute."""
    for distribution in ("vllm", "vllm-cpu"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(distribution)
    import vllm

    return str(vllm.__version__)


def _fingerprint(model: str, facts: Mapping[str, Any]) -> str:
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
