"""ragpack import"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import SHARED, with_flow


@app.command(name="import")
@with_flow(SHARED)
def import_(
    flow: object,
    format: Annotated[
        str | None,
        typer.Argument(metavar="[FORMAT]", help="`ragpack list formats`; the files tell it where absent.",
                       show_default=False),
    ] = None,
    forced: Annotated[str | None, typer.Option("--format", metavar="FORMAT", help="Read the files as this.")] = None,
    sample: Annotated[int | None, typer.Option("--sample", min=1, metavar="N", help="Draw N questions.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the sample.")] = 0,
    gold: Annotated[
        str | None,
        typer.Option("--gold", metavar="FILE", help="Gold documents: question id, a tab, document id; or qrels."),
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAME", help="beir: the split of a folder; by default test.")
    ] = None,
    questions: Annotated[
        str | None, typer.Option("--questions", metavar="FILE", help="trec: the run's questions, ragpack.question/1.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option("--corpus", metavar="FILE", help="trec: the texts of the run's documents.")
    ] = None,
) -> int:  # fmt: skip
    """ragpack import hotpotqa hotpot_dev_distractor_v1.json --sample 500 --seed 42 -o q.jsonl

    Read a published dataset: its files in, ragpack.question/1 out, or ragpack.doc/1 of a corpus, or ragpack.hits/1
    where passages were retrieved already. Without FORMAT the first entry tells it; layouts of a format are always told
    apart by themselves. A sample depends on the questions' ids and the seed alone, not on the order of the file.
    """
    from ragpack.datasets.choice import check_sides, choose, detected, records
    from ragpack.datasets.detect import spooled
    from ragpack.datasets.emit import written
    from ragpack.errors import DataError
    from ragpack.flow.run import Fail, Flow, run_source
    from ragpack.flow.streams import check_inputs

    assert isinstance(flow, Flow)
    given = {"gold": gold, "split": split, "questions": questions, "corpus": corpus}
    sides = {name: value for name, value in given.items() if value is not None}
    beside = [value for name, value in sides.items()
              if name != "split" and not (name == "corpus" and os.path.isdir(value))]  # fmt: skip
    if beside:
        check_inputs(beside)
    choice = choose(format, forced, flow.files)
    with ExitStack() as stack:
        files, name = choice.files, choice.format
        spool = None
        if name is None:
            if not files or files == ("-",):
                files = (spool := stack.enter_context(spooled()),)
            try:
                name = detected(files)
            except DataError as error:
                raise DataError(error.message.replace(spool or "\0", "<stdin>"), error.hint) from None
            if not flow.quiet:
                print(f"import: this is {name}", file=sys.stderr)
        check_sides(name, sides)

        def produce(fail: Fail, count: Callable[[], None]) -> Iterator[bytes]:
            def told(source: str, number: int, error: DataError, identity: object) -> None:
                fail("<stdin>" if source == spool else source, number, error, identity)

            yield from written(records(name, files, sides, told, count), sample, seed)

        params = {"format": name, "sample": sample, "seed": seed, **sides}
        return run_source("import", produce, flow, {"params": params})
