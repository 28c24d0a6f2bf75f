"""ragpack show"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import SHARED, with_flow


@app.command()
@with_flow(SHARED)
def show(
    flow: object,
    id: Annotated[list[str] | None, typer.Option("--id", help="Questions of these ids; repeatable.")] = None,
    verdict: Annotated[
        list[str] | None, typer.Option("--verdict", metavar="NAME", help="Rows with these verdicts; repeatable.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", metavar="SPEC", help="Rows of these policies; repeatable.")
    ] = None,
    context: Annotated[bool, typer.Option("--context", help="Print each context, the answer marked.")] = False,
) -> int:
    """ragpack show rows.jsonl --verdict dropped_by_packing --context

    Read packs, answers or rows of the diagnostic: each question with its hits, and what each policy kept of them.
    """
    from ragpack.errors import DataError
    from ragpack.flow.mapper import parse
    from ragpack.flow.run import Fail, Flow, run_source
    from ragpack.flow.streams import STDOUT, check_inputs, lines
    from ragpack.records import Answered, Diagnosed, Packed, view
    from ragpack.report.show import Page

    assert isinstance(flow, Flow)
    check_inputs(flow.files)
    colour = flow.output in (None, "-") and os.isatty(STDOUT.fd) and "NO_COLOR" not in os.environ
    page = Page(colour and os.environ.get("TERM") != "dumb", context)

    def rows(fail: Fail) -> Iterator[Packed | Answered | Diagnosed]:
        for line in lines(flow.files):
            raw = {}
            try:
                raw = parse(line)
                row = view(raw, (Diagnosed, Answered, Packed))
            except DataError as error:
                fail(line.source, line.number, error, raw.get("id"))
                continue
            found = row.diagnose.verdict if isinstance(row, Diagnosed) else None
            if (
                (not id or row.id in id)
                and (not verdict or found in verdict)
                and (not policy or row.pack.policy in policy)
            ):
                yield row

    def produce(fail: Fail, count: Callable[[], None]) -> Iterator[bytes]:
        for block in page.blocks(rows(fail)):
            count()
            yield block.encode("utf-8", "replace")

    return run_source("show", produce, replace(flow, quiet=True), {})  # a reader counts for himself
