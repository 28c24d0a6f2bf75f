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
    id: Annotated[list[str] | None, typer.Option("--id", help="Records of these ids; repeatable.")] = None,
    verdict: Annotated[
        list[str] | None, typer.Option("--verdict", metavar="NAME", help="Rows with these verdicts; repeatable.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", metavar="SPEC", help="Rows of these policies; repeatable.")
    ] = None,
    context: Annotated[
        bool, typer.Option("--context", help="Print each context, or a document's text, the answer marked.")
    ] = False,
    snippets: Annotated[
        bool, typer.Option("--snippets", help="List what was kept, and with `pack --explain` what was dropped and why.")
    ] = False,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="SPEC SPEC", help="Two policies: what is in one context, and not in the other."),
    ] = None,
    color: Annotated[str, typer.Option("--color", metavar="auto|always|never", help="Colours; NO_COLOR is heard.")] = (
        "auto"
    ),
) -> int:
    """ragpack show rows.jsonl --verdict dropped_by_packing --context

    Read records of any type: each question with its hits, and what each policy kept of them. A star is a gold document.
    """
    from ragpack.checked import view
    from ragpack.errors import DataError, UsageError, did_you_mean
    from ragpack.flow.mapper import parse
    from ragpack.flow.run import Fail, Flow, run_source
    from ragpack.flow.streams import STDOUT, check_inputs, lines
    from ragpack.metrics.verdict import VERDICTS
    from ragpack.records import Diagnosed
    from ragpack.report.diff import Diff, Policies
    from ragpack.report.kinds import kind_of
    from ragpack.report.paint import Paint, wants_colour
    from ragpack.report.show import Page, Shown

    assert isinstance(flow, Flow)
    for name in verdict or ():
        if name not in VERDICTS:
            raise UsageError(f"--verdict: unknown verdict '{name}'. {did_you_mean(name, VERDICTS)}")
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    paint = Paint(wants_colour(color, flow.output in (None, "-") and os.isatty(STDOUT.fd), plain))
    check_inputs(flow.files)
    page = Page(paint, context, snippets)
    pages = Diff(paint, page, Policies(*diff)) if diff else page

    def records(fail: Fail) -> Iterator[Shown]:
        rows = diagnosed = 0
        for line in lines(flow.files):
            raw = {}
            try:
                raw = parse(line)
                record = view(raw, (kind_of(raw).record,))
            except DataError as error:
                fail(line.source, line.number, error, raw.get("id"))
                continue
            rows += 1
            found = record.diagnose.verdict if isinstance(record, Diagnosed) else None
            diagnosed += isinstance(record, Diagnosed)
            pack = getattr(record, "pack", None)
            if (
                (not id or getattr(record, "id", None) in id)
                and (not verdict or found in verdict)
                and (not policy or (pack is not None and pack.policy in policy))
            ):
                yield Shown(record, raw)
        if verdict and rows and not diagnosed:
            raise DataError("--verdict: no row has a verdict", "`ragpack diagnose` gives one to each.")

    def produce(fail: Fail, count: Callable[[], None]) -> Iterator[bytes]:
        for block in pages.blocks(records(fail)):
            count()
            yield block.encode("utf-8", "replace")

    return run_source("show", produce, replace(flow, quiet=True), {})  # a reader counts for himself
