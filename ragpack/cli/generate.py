"""ragpack generate"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import RESUME, SHARED, with_flow
from ragpack.cli.probing import Probing, with_probe
from ragpack.cli.reading import Chosen, no_model, with_reader
from ragpack.errors import UsageError


@app.command()
@with_flow(SHARED, RESUME)
@with_reader
@with_probe
def generate(
    flow: object,
    reader: object,
    probe: object,
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", min=1, help="Most tokens of an answer.")] = 32,
    stop: Annotated[
        list[str] | None,
        typer.Option("--stop", metavar="TEXT", help=r"End an answer before this text; \n is a line end; repeatable."),
    ] = None,
    temperature: Annotated[
        float, typer.Option("--temperature", metavar="T", help="Draw the tokens; 0 takes the most likely one.")
    ] = 0.0,
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", metavar="P", help="Draw from the most likely tokens with this probability together."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed of the draws.  [default: 0 with --temperature]")
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Answers to each prompt, drawn with --temperature.")] = 1,
    prompt: Annotated[
        str,
        typer.Option(
            "--prompt", metavar="NAME|FILE.jinja", help="Prompt template; `ragpack list prompts`, or a file of yours."
        ),
    ] = "answer/1",
    no_chat_template: Annotated[
        bool, typer.Option("--no-chat-template", help="The prompt is a plain text, for a base model.")
    ] = False,
    first_line: Annotated[
        bool, typer.Option("--first-line", help="The answer is the first line that is not blank.")
    ] = False,
    logprob: Annotated[bool, typer.Option("--logprob", help="Keep the answer's log-probability.")] = False,
    logprobs: Annotated[
        int | None,
        typer.Option("--logprobs", metavar="N", help="Keep those of its tokens, and of the N most likely ones."),
    ] = None,
    keep_prompt: Annotated[bool, typer.Option("--keep-prompt", help="Keep the templated prompt.")] = False,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            metavar="MODEL",
            help="The reader's tokenizer, if not the vLLM model's own: packs must be counted by it.",
        ),
    ] = None,
    allow_tokenizer_mismatch: Annotated[
        bool,
        typer.Option("--allow-tokenizer-mismatch", help="Read packs that another tokenizer counted."),
    ] = False,
) -> int:
    """ragpack generate packs.jsonl --model MODEL -o answers.jsonl

    Let the reader answer from each context, greedily unless told: ragpack.pack/1 in, ragpack.answer/1 out. With --probe
    it scores hits instead, before they are packed: ragpack.hits/1 in and out.
    """
    from ragpack.flow.run import Flow, run_stage
    from ragpack.stages.generate import GenerateParams, open_generate

    assert isinstance(flow, Flow)
    if reader is None:
        raise no_model()
    assert isinstance(reader, Chosen)
    assert isinstance(probe, Probing)
    if probe.kinds:
        answering = {
            "--max-tokens": max_tokens != 32, "--stop": stop, "--temperature": temperature,
            "--top-p": top_p is not None, "--seed": seed is not None, "--n": n != 1, "--prompt": prompt != "answer/1",
            "--no-chat-template": no_chat_template, "--first-line": first_line, "--logprob": logprob,
            "--logprobs": logprobs is not None, "--keep-prompt": keep_prompt, "--tokenizer": tokenizer,
        }  # fmt: skip
        for option, given in answering.items():
            if given:
                raise UsageError(f"{option} is about answers, and --probe asks for none", "Its own are --probe-….")
        return probe.run(flow, reader)
    params = GenerateParams(
        reader.name, reader.model, max_tokens, prompt, logprob, keep_prompt, reader.engine, temperature=temperature,
        top_p=top_p, seed=seed, n=n, stop=tuple(map(_read, stop or ())), logprobs=logprobs, first_line=first_line,
        chat_template=not no_chat_template, tokenizer=tokenizer, any_tokenizer=allow_tokenizer_mismatch,
        cache=reader.cache,
    )  # fmt: skip
    about = {"params": replace(params, engine=reader.shown, cache=None)}
    return run_stage("generate", open_generate, params, flow, about)


def _read(text: str) -> str:
    r"""What a text of the command line means: no shell has a plain way to write a line end.

    >>> _read("a\\nb"), _read(r"C:\\new")
    ('a\nb', 'C:\\new')
    """
    return "\\".join(part.replace("\\n", "\n").replace("\\t", "\t") for part in text.split("\\\\"))
