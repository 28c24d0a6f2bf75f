"""ragpack generate"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ragpack.cli import app
from ragpack.cli.options import RESUME, SHARED, with_flow
from ragpack.errors import UsageError


@app.command()
@with_flow(SHARED, RESUME)
def generate(
    flow: object,
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="Model id or folder.")] = "",
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url", metavar="URL", help="An OpenAI-compatible server; key in OPENAI_API_KEY. Else vLLM runs here."
        ),
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(
            "--reader", metavar="vllm|openai|extractive", help="extractive: a model-free baseline for dry runs."
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", min=1, help="Most tokens of an answer.")] = 32,
    prompt: Annotated[
        str, typer.Option("--prompt", metavar="NAME", help="Prompt template; `ragpack list prompts`.")
    ] = "answer/1",
    logprob: Annotated[bool, typer.Option("--logprob", help="Keep the answer's log-probability.")] = False,
    keep_prompt: Annotated[bool, typer.Option("--keep-prompt", help="Keep the templated prompt.")] = False,
    max_model_len: Annotated[
        int | None, typer.Option("--max-model-len", metavar="N", min=1, help="vLLM: longest prompt with answer.")
    ] = None,
    dtype: Annotated[str, typer.Option("--dtype", help="vLLM: number type of the weights.")] = "auto",
    engine_arg: Annotated[
        list[str] | None,
        typer.Option("--engine-arg", metavar="KEY=VALUE", help="vLLM: any other engine argument; repeatable."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, help="Server: requests in flight.")
    ] = 8,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Server: longest wait for one answer.")
    ] = 120.0,
    retries: Annotated[
        int, typer.Option("--retries", metavar="N", min=0, help="Server: tries after a failed one.")
    ] = 5,
) -> int:
    """ragpack generate packs.jsonl --model MODEL -o answers.jsonl

    Let the reader answer from each context, greedily: ragpack.pack/1 in, ragpack.answer/1 out.
    """
    from ragpack.flow.run import Flow, run_stage
    from ragpack.readers import READERS
    from ragpack.stages.generate import GenerateParams, open_generate

    assert isinstance(flow, Flow)
    name = reader or ("openai" if base_url else "vllm")
    if name not in READERS:
        from ragpack.errors import did_you_mean

        raise UsageError(f"unknown reader '{name}'. {did_you_mean(name, READERS)}")
    if name == "openai" and not base_url:
        raise UsageError("--reader openai needs --base-url URL")
    if base_url and name != "openai":
        raise UsageError(f"--base-url is for a server, not for --reader {name}")
    if not model and name != "extractive":
        raise UsageError("--model: name the reader's model", "Without one, --reader extractive makes a dry run.")
    if model and name == "extractive":
        raise UsageError("--model: the extractive reader has no model")
    engine: dict[str, Any] = {}
    if name == "vllm":
        engine = {"max_model_len": max_model_len, "dtype": dtype, "engine_args": _pairs(engine_arg or [])}
    elif name == "openai":
        engine = {"base_url": base_url, "concurrency": concurrency, "timeout": timeout, "retries": retries}
    params = GenerateParams(name, model, max_tokens, prompt, logprob, keep_prompt, engine)
    shown = {**engine, "base_url": None} if base_url else engine  # argv has it, without credentials
    about = {"params": {"reader": name, "model": model, "max_tokens": max_tokens, "prompt": prompt, "engine": shown}}
    return run_stage("generate", open_generate, params, flow, about)


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
