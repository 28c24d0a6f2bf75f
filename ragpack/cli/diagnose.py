"""ragpack diagnose"""

from __future__ import annotations

from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import RESUME, SHARED, WORKERS, whole_numbers, with_flow


@app.command()
@with_flow(SHARED, RESUME, WORKERS)
def diagnose(
    flow: object,
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="Rules of EM and F1; `ragpack list profiles`.")
    ] = "squad",
    k: Annotated[
        list[str] | None,
        typer.Option("-k", "--k", metavar="N,…", help="Depths of recall@k and its kin. [default: 1,2,5,10]"),
    ] = None,
    match: Annotated[
        str,
        typer.Option(
            "--match",
            metavar="token|substring|dpr",
            help="When an answer counts as being in the context; `ragpack list matches`.",
        ),
    ] = "token",
    supported: Annotated[
        bool, typer.Option("--supported", help="Also: is the answer in a snippet of a gold document?")
    ] = False,
    semantic: Annotated[
        str | None,
        typer.Option(
            "--semantic",
            metavar="MODEL",
            help="Also: cosine similarity of question and answer to the closest snippet, by an embedding model.",
        ),
    ] = None,
    entail: Annotated[
        str | None,
        typer.Option(
            "--entail", metavar="MODEL", help="Also: probability that the context entails the answer, by an NLI model."
        ),
    ] = None,
) -> int:
    """ragpack diagnose answers.jsonl -o rows.jsonl

    Measure what survived into the context: ragpack.answer/1 or ragpack.pack/1 in, ragpack.diagnosis/1 out. It needs no
    reader: without answers EM and F1 are left out.
    """
    from ragpack.flow.run import Flow, run_stage
    from ragpack.stages.diagnose import DiagnoseParams, open_diagnose

    assert isinstance(flow, Flow)
    ks = whole_numbers(k or ["1,2,5,10"], "-k")
    params = DiagnoseParams(profile, ks, match, supported, semantic, entail)
    return run_stage("diagnose", open_diagnose, params, flow, {"params": params})
