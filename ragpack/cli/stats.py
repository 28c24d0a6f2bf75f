"""ragpack stats"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import SHARED, with_flow


@app.command()
@with_flow(SHARED)
def stats(
    flow: object,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table", metavar="NAME,…", help="Tables; `ragpack list tables`. Default: those that the rows allow."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="POLICY", help="Compare the other policies with this one, paired."),
    ] = None,
    contrast: Annotated[
        list[str] | None,
        typer.Option("--contrast", metavar="POLICY,BASELINE", help="Compare these two, paired; repeatable."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="NAME,…", help="Cut every table by reader, budget, dataset, policy, seed or answer_kind."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="NAME=VALUE",
            help="Only rows where it holds: answer_kind=span, f1>=0.5; repeatable.",
        ),
    ] = None,
    family: Annotated[
        str, typer.Option("--family", metavar="all|metric|none", help="Contrasts that are corrected together.")
    ] = "all",
    correct: Annotated[
        str, typer.Option("--correct", metavar="holm|bh|by|bonferroni", help="Correction for several contrasts.")
    ] = "holm",
    format: Annotated[  # the option's name
        str | None,
        typer.Option(
            "--format", metavar="table|jsonl|md|csv|json|latex", help="Default: table on a terminal, jsonl elsewhere."
        ),
    ] = None,
    margin: Annotated[
        float,
        typer.Option("--margin", metavar="F1", help="How much less is still the same quality (table sweep)."),
    ] = 0.01,
    resamples: Annotated[int, typer.Option("--resamples", metavar="N", help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the bootstrap.")] = 0,
    plots: Annotated[
        str | None,
        typer.Option("--plots", metavar="DIR", help="Draw the tables into this folder too, as SVG and PNG."),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page too: tables, plots, provenance, questions to look into."
        ),
    ] = None,
    html_questions: Annotated[
        int, typer.Option("--html-questions", metavar="N", min=0, help="Most questions that the page lists.")
    ] = 500,
) -> int:
    """ragpack stats rows.jsonl --baseline chunk_packed

    Tables of the diagnostic: ragpack.diagnosis/1 in, ragpack.stat/1 out. Intervals are bootstrapped over questions.
    Files of --failures may stand among the inputs: their questions are counted as failed.
    """
    from ragpack.flow.run import Flow, run_fold
    from ragpack.records import Diagnosed, Failure, Raw
    from ragpack.report.beside import Beside, Wanted
    from ragpack.report.tables import choose_format
    from ragpack.stages.stats import Stats, StatsParams

    assert isinstance(flow, Flow)
    params = StatsParams(
        tables=_names(table),
        baseline=baseline,
        contrasts=tuple(contrast or ()),
        by=_names(by),
        where=tuple(where or ()),
        family=family,
        correct=correct,
        resamples=resamples,
        seed=seed,
        margin=margin,
    )
    fold = Stats(params)
    write = choose_format(format, flow.output)
    beside = Beside(Wanted(plots, html, html_questions), flow)

    def take(record: Diagnosed | Failure, raw: Raw) -> None:
        fold.take(record, raw)
        if isinstance(record, Diagnosed):
            beside.take(record, raw)

    def give(say: Callable[[str], None], count: Callable[[], None]) -> Iterator[bytes]:
        def counted() -> Iterator[Raw]:
            for row in fold.give(say):
                count()
                yield row

        yield from write(beside.passing(counted()))
        beside.finish(fold, params, say)

    return run_fold("stats", (Diagnosed, Failure), take, give, flow, {"params": params})


def _names(texts: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for text in texts or [] for name in text.split(","))
