"""ragpack retrieve"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import RESUME, SHARED, WORKERS, with_flow
from ragpack.cli.reading import Chosen, with_reader
from ragpack.errors import UsageError


@app.command()
@with_flow(SHARED, RESUME, WORKERS)
@with_reader
def retrieve(
    flow: object,
    reader: object,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", min=1, help="Hits for each question.")] = 5,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="FILE", help="Search these ragpack.doc/1; else each question's own docs."),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option("--index", metavar="DIR", help="Keep the corpus's index here; built when absent or stale."),
    ] = None,
    duplicates: Annotated[
        str,
        typer.Option(
            "--duplicates", metavar="refuse|first|last", help="Documents of one id in the corpus: refuse, or keep one."
        ),
    ] = "refuse",
    shard_size: Annotated[
        int,
        typer.Option("--shard-size", metavar="N", min=1, help="Passages indexed at once: less memory, the same hits."),
    ] = 1_000_000,
    retriever: Annotated[
        str | None,
        typer.Option(
            "--retriever", metavar="SPEC", help="name:key=value,…; `ragpack list retrievers`.  [default: bm25]"
        ),
    ] = None,
    rerank: Annotated[
        str | None,
        typer.Option("--rerank", metavar="SPEC", help="Reorder the hits by ce:MODEL or bi:MODEL; reads hits too."),
    ] = None,
    rerank_depth: Annotated[
        int | None,
        typer.Option("--rerank-depth", metavar="N", min=1, help="Hits to rerank.  [default: 50, or k if more]"),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer", metavar="MODEL", help="ircot: counts the passages of a prompt; else the vLLM model's own."
        ),
    ] = None,
) -> int:
    """ragpack retrieve q.jsonl -k 5 -o hits.jsonl

    Rank documents for each question: ragpack.question/1 in, ragpack.hits/1 out. The retriever ircot also asks a reader:
    --model, and the options below it.
    """
    from ragpack.flow.run import Flow, run_stage
    from ragpack.stages.interleave import ReaderParams
    from ragpack.stages.retrieve import RetrieveParams, open_retrieve, prepare

    assert isinstance(flow, Flow)
    params = RetrieveParams(
        k=k, retriever=retriever, corpus=corpus, index=index, duplicates=duplicates, shard_size=shard_size,
        skip=flow.on_error == "skip", rerank=rerank, rerank_depth=rerank_depth,
    )  # fmt: skip
    shown = params
    if isinstance(reader, Chosen):
        if reader.name == "vllm" and (flow.jobs > 1 or flow.engine not in (None, "serial")):
            raise UsageError(
                "-j, --engine: each worker would load the model", "Leave them out: vLLM takes many questions at once."
            )
        params = replace(params, reader=ReaderParams(reader.name, reader.model, tokenizer, reader.engine, reader.cache))
        shown = replace(params, reader=ReaderParams(reader.name, reader.model, tokenizer, reader.shown))
    elif tokenizer:
        raise UsageError("--tokenizer counts what a reader is shown, and none is named")
    about = {"params": shown}
    return run_stage("retrieve", open_retrieve, params, flow, about, fields=("hits", "retrieve"), prepare=prepare)
