"""ragpack pack"""

from __future__ import annotations

from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import RESUME, SHARED, WORKERS, whole_numbers, with_flow


@app.command()
@with_flow(SHARED, RESUME, WORKERS)
def pack(
    flow: object,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="SPEC,…", help="name:key=value,…; several, or repeated; `ragpack list policies`."
        ),
    ] = None,
    budget: Annotated[
        list[str] | None, typer.Option("--budget", metavar="N,…", help="Most tokens of the context.")
    ] = None,
    tokenizer: Annotated[
        str,
        typer.Option(
            "--tokenizer",
            metavar="MODEL",
            help="Counts the tokens: a tokenizer.json, model folder or id, tiktoken:NAME, or regex (no model).",
        ),
    ] = "regex",
    prompt_budget: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt-budget",
            metavar="N,…",
            help="Most tokens of the whole prompt and the answer, instead of --budget.",
        ),
    ] = None,
    prompt: Annotated[
        str,
        typer.Option(
            "--prompt",
            metavar="NAME|FILE.jinja",
            help="Template of --prompt-budget; `ragpack list prompts`, or a file of yours.",
        ),
    ] = "answer/1",
    no_chat_template: Annotated[
        bool, typer.Option("--no-chat-template", help="--prompt-budget is of a plain text, for a base model.")
    ] = False,
    answer_reserve: Annotated[
        int,
        typer.Option("--answer-reserve", metavar="N", min=0, help="Tokens that --prompt-budget keeps for the answer."),
    ] = 32,
    policy_file: Annotated[
        list[str] | None,
        typer.Option("--policy-file", metavar="FILE", help="Policies, a spec a line; # begins a comment; repeatable."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="List every candidate: relevance, cost, terms, and why it was not taken.")
    ] = False,
) -> int:
    """ragpack pack hits.jsonl --policy chunk_packed,chunk_submod --budget 96,160 --tokenizer MODEL -o packs.jsonl

    Choose what the reader sees: ragpack.hits/1 in, one ragpack.pack/1 for each policy and budget out. All policies
    choose from the same candidates; no context exceeds its budget. Default: chunk_packed at 160.
    """
    from ragpack.flow.run import Flow, run_stage
    from ragpack.flow.specs import read_specs
    from ragpack.stages.pack import PackParams, open_pack

    assert isinstance(flow, Flow)
    specs = [*(policy or []), *(spec for file in policy_file or [] for spec in read_specs(file))]
    params = PackParams(
        policies=tuple(specs or ["chunk_packed"]),
        budgets=whole_numbers(budget or ([] if prompt_budget else ["160"]), "--budget"),
        tokenizer=tokenizer,
        explain=explain,
        prompt_budgets=whole_numbers(prompt_budget or [], "--prompt-budget"),
        prompt=prompt,
        reserve=answer_reserve,
        chat_template=not no_chat_template,
    )
    return run_stage("pack", open_pack, params, flow, {"params": params})
