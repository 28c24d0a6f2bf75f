"""ragpack generate"""

from __future__ import annotations

from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import RESUME, SHARED, with_flow
from ragpack.cli.probing import Probing, with_probe
from ragpack.cli.reading import Chosen, no_model, with_reader


@app.command()
@with_flow(SHARED, RESUME)
@with_reader
@with_probe
def generate(
    flow: object,
    reader: object,
    probe: object,
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", min=1, help="Most tokens of an answer.")] = 32,
    prompt: Annotated[
        str, typer.Option("--prompt", metavar="NAME", help="Prompt template; `ragpack list prompts`.")
    ] = "answer/1",
    logprob: Annotated[bool, typer.Option("--logprob", help="Keep the answer's log-probability.")] = False,
    keep_prompt: Annotated[bool, typer.Option("--keep-prompt", help="Keep the templated prompt.")] = False,
) -> int:
    """ragpack generate packs.jsonl --model MODEL -o answers.jsonl

    Let the reader answer from each context, greedily: ragpack.pack/1 in, ragpack.answer/1 out.
    """
    from ragpack.flow.run import Flow, run_stage
    from ragpack.stages.generate import GenerateParams, open_generate

    assert isinstance(flow, Flow)
    if reader is None:
        raise no_model()
    assert isinstance(reader, Chosen)
    assert isinstance(probe, Probing)
    if probe.kinds:
        return probe.run(flow, reader)
    name, model, engine, shown = reader
    params = GenerateParams(name, model, max_tokens, prompt, logprob, keep_prompt, engine)
    about = {"params": {"reader": name, "model": model, "max_tokens": max_tokens, "prompt": prompt, "engine": shown}}
    return run_stage("generate", open_generate, params, flow, about)
