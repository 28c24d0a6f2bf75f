"""The command line: typer, and only typer. A command's module is light; what it runs is imported when it runs."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer._click.exceptions import ClickException  # typer's own copy; the range in pyproject has it

from ragpack import __version__
from ragpack.errors import Exit, RagpackError

app = typer.Typer(
    name="ragpack",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"ragpack {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """ragpack retrieve q.jsonl -k 5 | ragpack pack --budget 160 | ragpack diagnose | ragpack stats

    What survives into the context: measure it, decide it, prove it. Five stages, each a filter over JSONL.
    """


from ragpack.cli import (  # noqa: E402 # the commands register themselves on the app above
    diagnose,
    doctor,
    export,
    generate,
    imports,
    lists,
    pack,
    retrieve,
    show,
    stats,
    validate,
)

__all__ = ["app", "diagnose", "doctor", "export", "generate", "imports", "lists", "pack", "retrieve", "run", "show",
           "stats", "validate"]  # fmt: skip


def run() -> int:
    """Run the command line and give the exit code."""
    try:
        code = app(standalone_mode=False)
    except ClickException as error:
        error.show(file=sys.stderr)
        return Exit.USAGE
    except typer.Abort:
        return Exit.INTERRUPTED
    except SystemExit:  # what typer makes of a closed pipe while it prints a help
        return Exit.READER_WENT_AWAY
    except RagpackError as error:
        print(f"ragpack: {error}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.READER_WENT_AWAY
    except OSError as error:  # a full disk, a file that may not be read
        print(f"ragpack: {error}", file=sys.stderr)
        return Exit.FAILED
    return int(code or 0)
