"""Options of the commands that ask a reader: which one, and how it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from ragpack.cli.options import Options, bundled
from ragpack.errors import UsageError, did_you_mean


class Chosen(NamedTuple):
    """A reader back end with what opens it."""

    name: str
    model: str
    engine: dict[str, Any]
    """More keyword arguments for `open_reader`."""
    shown: dict[str, Any]
    """The same for the run file: argv has the address, without credentials."""
    cache: str | None = None
    """Folder of replies that were given before."""


READER: Options = {
    "model": (Annotated[str, typer.Option("--model", metavar="MODEL", help="Model id or folder.")], ""),
    "base_url": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--base-url",
                metavar="URL",
                help="An OpenAI-compatible server; key in OPENAI_API_KEY. Else vLLM runs here. Repeatable: replicas.",
            ),
        ],
        None,
    ),
    "reader": (
        Annotated[
            str | None,
            typer.Option(
                "--reader", metavar="vllm|openai|extractive", help="extractive: a model-free baseline for dry runs."
            ),
        ],
        None,
    ),
    "max_model_len": (
        Annotated[
            int | None, typer.Option("--max-model-len", metavar="N", min=1, help="vLLM: longest prompt with answer.")
        ],
        None,
    ),
    "dtype": (Annotated[str, typer.Option("--dtype", help="vLLM: number type of the weights.")], "auto"),
    "quantization": (
        Annotated[
            str | None,
            typer.Option("--quantization", metavar="NAME", help="vLLM: of the weights; bitsandbytes makes 4 bits."),
        ],
        None,
    ),
    "tensor_parallel_size": (
        Annotated[
            int | None,
            typer.Option("--tensor-parallel-size", metavar="N", min=1, help="vLLM: GPUs that share the model."),
        ],
        None,
    ),
    "gpu_memory_utilization": (
        Annotated[
            float | None,
            typer.Option("--gpu-memory-utilization", metavar="SHARE", help="vLLM: share of the GPU's memory to use."),
        ],
        None,
    ),
    "engine_arg": (
        Annotated[
            list[str] | None,
            typer.Option("--engine-arg", metavar="KEY=VALUE", help="vLLM: any other engine argument; repeatable."),
        ],
        None,
    ),
    "concurrency": (
        Annotated[
            int, typer.Option("--concurrency", metavar="N", min=1, help="Server: requests in flight, of each replica.")
        ],
        8,
    ),
    "timeout": (
        Annotated[
            float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Server: longest wait for one answer.")
        ],
        120.0,
    ),
    "retries": (
        Annotated[int, typer.Option("--retries", metavar="N", min=0, help="Server: tries after a failed one.")],
        5,
    ),
    "cache": (
        Annotated[
            str | None,
            typer.Option(
                "--cache",
                metavar="DIR",
                envvar="RAGPACK_READER_CACHE",
                help="Keep the reader's replies here, for all runs: what was asked once is not asked again.",
            ),
        ],
        None,
    ),
}


def with_reader(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the reader's options; it gets them as `reader`, a `Chosen`, or None where none is named."""
    return bundled(command, "reader", READER, _chosen)


def _chosen(given: dict[str, Any]) -> Chosen | None:
    model, base_url, reader = given["model"], given["base_url"], given["reader"]
    if not (model or base_url or reader):
        return None
    from ragpack.readers import READERS

    name = reader or ("openai" if base_url else "vllm")
    if name not in READERS:
        raise UsageError(f"unknown reader '{name}'. {did_you_mean(name, READERS)}")
    if name == "openai" and not base_url:
        raise UsageError("--reader openai needs --base-url URL")
    if base_url and name != "openai":
        raise UsageError(f"--base-url is for a server, not for --reader {name}")
    if not model and name != "extractive":
        raise no_model()
    if model and name == "extractive":
        raise UsageError("--model: the extractive reader has no model")
    engine: dict[str, Any] = {}
    if name == "vllm":
        engine = {
            "max_model_len": given["max_model_len"],
            "dtype": given["dtype"],
            "engine_args": _named(given) | _pairs(given["engine_arg"] or []),
        }
    elif name == "openai":
        engine = {"base_urls": tuple(base_url), **{key: given[key] for key in ("concurrency", "timeout", "retries")}}
    return Chosen(name, model, engine, {**engine, "base_urls": None} if base_url else engine, given["cache"])


def _named(given: dict[str, Any]) -> dict[str, Any]:
    """Engine arguments that have an option of their own."""
    share = given["gpu_memory_utilization"]
    if share is not None and not 0 < share <= 1:
        raise UsageError(f"--gpu-memory-utilization: {share} is not a share: more than 0, at most 1")
    names = ("quantization", "tensor_parallel_size", "gpu_memory_utilization")
    return {name: given[name] for name in names if given[name] is not None}


def no_model() -> UsageError:
    """What a command says that needs a reader and was told none."""
    return UsageError("--model: name the reader's model", "Without one, --reader extractive makes a dry run.")


def _pairs(texts: list[str]) -> dict[str, Any]:
    """KEY=VALUE; the value is JSON where it can be read as such, else text."""
    import orjson

    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--engine-arg {text}: expected KEY=VALUE")
        if key.replace("-", "_") in ("model", "trust_remote_code"):
            raise UsageError(f"--engine-arg {key}: the model is --model's, and code of a model is never run")
        try:
            found[key.replace("-", "_")] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[key.replace("-", "_")] = value
    return found
