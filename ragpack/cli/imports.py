"""ragpack import"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import SHARED, with_flow
from ragpack.errors import UsageError, did_you_mean


@app.command(name="import")
@with_flow(SHARED)
def import_(
    flow: object,
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="`ragpack list formats`.", show_default=False)],
    sample: Annotated[int | None, typer.Option("--sample", min=1, metavar="N", help="Draw N questions.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the sample.")] = 0,
    gold: Annotated[
        str | None,
        typer.Option("--gold", metavar="FILE", help="Gold documents: question id, a tab, document id; or qrels."),
    ] = None,
) -> int:
    """ragpack import hotpotqa hotpot_dev_distractor_v1.json --sample 500 --seed 42 -o q.jsonl

    Read a published dataset: its files in, ragpack.question/1 out, or ragpack.doc/1 of a corpus, or ragpack.hits/1
    where passages were retrieved already. Layouts of a format are told apart by themselves. A sample depends on the
    questions' ids and the seed alone, not on the order of the file.
    """
    from ragpack.datasets import DATASETS
    from ragpack.datasets.emit import written
    from ragpack.flow.run import Fail, Flow, run_source
    from ragpack.flow.streams import check_inputs
    from ragpack.records import Doc, Hits, Question
    from ragpack.registry import load

    assert isinstance(flow, Flow)
    if format not in DATASETS:
        raise UsageError(f"unknown format '{format}'. {did_you_mean(format, DATASETS)}")
    check_inputs(flow.files)
    read = load(DATASETS, format)
    sides = {"gold": gold} if gold is not None else {}
    if gold is not None and "gold" not in signature(read).parameters:
        raise UsageError(f"--gold: {format} brings its own gold documents, or has none", "Leave --gold out.")

    def produce(fail: Fail, count: Callable[[], None]) -> Iterator[bytes]:
        def records() -> Iterator[Question | Doc | Hits]:
            for path in flow.files or ("-",):
                for record in read(path, fail, **sides):
                    count()
                    yield record

        yield from written(records(), sample, seed)

    params = {"format": format, "sample": sample, "seed": seed, **sides}
    return run_source("import", produce, flow, {"params": params})
