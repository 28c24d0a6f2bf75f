"""ragpack list"""

from __future__ import annotations

from typing import Annotated

import typer

from ragpack.cli import app


@app.command(name="list")
def list_(
    family: Annotated[
        str | None, typer.Argument(metavar="FAMILY", help="One family; all of them where absent.", show_default=False)
    ] = None,
) -> int:
    """ragpack list policies

    Names that specs and options may use, with their parameters and defaults.
    """
    from ragpack.report.listing import listing

    print(listing(family))
    return 0
