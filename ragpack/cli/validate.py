"""ragpack validate"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

import typer

from ragpack.cli import app
from ragpack.cli.options import SHARED, with_flow


@app.command()
@with_flow({name: SHARED[name] for name in ("files", "output", "params")})
def validate(
    flow: object,
    type: Annotated[
        str | None,
        typer.Option("--type", metavar="NAME", help="Read every line as this record: question, hits, pack, …"),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="text|jsonl", help="Text for people; by default on a terminal. Else ragpack.finding/1."
        ),
    ] = None,
) -> int:
    """ragpack validate packs.jsonl rows.jsonl

    Check each line against its record type, and what types don't say: spans, ranks, budgets, rows that are there
    twice. Findings of one kind are one line, with the first places. Exit 3 where there are errors; notes are none.
    """
    from ragpack.errors import Exit, UsageError
    from ragpack.flow.run import Fail, Flow, run_source
    from ragpack.flow.streams import STDOUT, check_inputs, lines
    from ragpack.report.kinds import kind_named
    from ragpack.report.validation import Validation

    assert isinstance(flow, Flow)
    if format not in (None, "text", "jsonl"):
        raise UsageError(f"--format is text or jsonl, got '{format}'")
    check_inputs(flow.files)
    validation = Validation(kind_named(type) if type else None)
    plain = format == "text" or (format is None and flow.output in (None, "-") and os.isatty(STDOUT.fd))

    def produce(fail: Fail, count: Callable[[], None]) -> Iterator[bytes]:
        del fail
        validation.check(lines(flow.files))
        count()
        if plain:
            yield from (f"{line}\n".encode("utf-8", "replace") for line in validation.text())
        else:
            yield from validation.rows()

    code = run_source("validate", produce, replace(flow, quiet=True), {})
    return Exit.SOME_FAILED if code is Exit.OK and validation.errors else code
