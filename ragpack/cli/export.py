"""ragpack export"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import SHARED, whole_numbers, with_flow


@app.command()
@with_flow(SHARED)
def export(
    flow: object,
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="`ragpack list exports`.", show_default=False)],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", metavar="SPEC", help="Contexts of these policies; repeatable.")
    ] = None,
    budget: Annotated[
        list[str] | None, typer.Option("--budget", metavar="N,N", help="Contexts of these budgets; repeatable.")
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="WORD", help="trec: the run's name; by default ragpack.")
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="FILE", help="beir: the corpus; by default what the questions hold."),
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAME", help="beir: the name of the qrels; by default test.")
    ] = None,
    qualify: Annotated[
        bool, typer.Option("--qualify", help="beir: name each document QUESTION/DOCUMENT, where ids are a pool's own.")
    ] = False,
) -> int:
    """ragpack export trec hits.jsonl -o bm25.run

    Write records in the format of another toolkit. `beir` writes a folder, the others one file.
    """
    from ragpack.exports.base import Selection, exported
    from ragpack.exports.choice import opened
    from ragpack.flow.run import Fail, Flow, run_source
    from ragpack.flow.streams import check_inputs

    assert isinstance(flow, Flow)
    given = {"tag": tag, "corpus": corpus, "split": split, "qualify": qualify or None}
    options = {name: value for name, value in given.items() if value is not None}
    check_inputs(flow.files)
    wanted = Selection(
        frozenset(policy or ()), frozenset(whole_numbers(budget or [], "--budget")) if budget else frozenset()
    )
    target, folder = opened(format, flow.output, options)

    def produce(fail: Fail, count: Callable[[], None]) -> Iterator[bytes]:
        with target as made:
            yield from exported(made, flow.files, wanted, fail, count)

    params = {"format": format, "policy": sorted(wanted.policies), "budget": sorted(wanted.budgets), **options}
    return run_source("export", produce, replace(flow, output=None) if folder else flow, {"params": params})
