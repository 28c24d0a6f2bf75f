"""Options that several commands share: same name, same meaning, in every command."""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ragpack.errors import UsageError, did_you_mean


def _params(context: typer.Context, value: str | None) -> str | None:
    """Read defaults from a TOML file: flags > environment > this file > built-in defaults."""
    if value is None:
        return None
    try:
        with open(value, "rb") as file:
            tables = tomllib.load(file)
    except OSError:
        raise UsageError(f"--params: no such file: {value}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--params {value}: {error}") from None
    command = context.info_name or ""
    assert context.parent is not None
    commands: dict[str, Any] = getattr(context.parent.command, "commands", {})
    for title, table in tables.items():
        if title not in commands:
            raise UsageError(f"--params {value}: no command '{title}'. {did_you_mean(title, commands)}")
        if not isinstance(table, dict):
            raise UsageError(f"--params {value}: [{title}] must be a table")
    known: dict[str, Any] = {name: option for option in context.command.params if (name := _long(option))}
    defaults = {}
    for name, found in tables.get(command, {}).items():
        if name not in known:
            raise UsageError(f"--params {value}: [{command}] has no option '{name}'. {did_you_mean(name, known)}")
        defaults[known[name].name] = _given(known[name], found, f"--params {value}: [{command}] {name}")
    context.default_map = {**(context.default_map or {}), **defaults}
    return value


def _given(option: Any, found: Any, where: str) -> Any:  # noqa: ANN401 # typer's parameter, TOML's values
    """A value as the command line would give it: text that typer checks, but for flags."""
    if isinstance(found, dict) or (isinstance(found, list) and not option.multiple):
        raise UsageError(f"{where}: expected one value, got {found}")
    if option.is_flag:
        return found
    texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in _listed(found)]
    return texts if option.multiple else texts[0]


def _listed(found: Any) -> list[Any]:  # noqa: ANN401 # same
    return found if isinstance(found, list) else [found]


def _long(option: Any) -> str | None:  # noqa: ANN401 # typer's parameter
    return next((name.removeprefix("--") for name in option.opts if name.startswith("--")), None)


Options = dict[str, tuple[Any, Any]]

SHARED: Options = {
    "files": (
        Annotated[
            list[str] | None,
            typer.Argument(help="Input files; none, or -, is standard input.", show_default=False),
        ],
        None,
    ),
    "output": (
        Annotated[
            str | None,
            typer.Option(
                "--output",
                "-o",
                metavar="FILE",
                help="Write here, complete or not at all; .gz and .zst are compressed.",
            ),
        ],
        None,
    ),
    "on_error": (
        Annotated[
            str,
            typer.Option(
                "--on-error",
                metavar="fail|skip",
                help="A bad record ends the run, or is counted and passed over (exit 3).",
            ),
        ],
        "fail",
    ),
    "failures": (
        Annotated[str | None, typer.Option("--failures", metavar="FILE", help="Write bad records' errors here.")],
        None,
    ),
    "quiet": (
        Annotated[bool, typer.Option("--quiet", "-q", envvar="RAGPACK_QUIET", help="No progress, no summary.")],
        False,
    ),
    "params": (
        Annotated[
            str | None,
            typer.Option(
                "--params",
                metavar="FILE.toml",
                is_eager=True,
                callback=_params,
                help="Defaults from the table of this command's name.",
            ),
        ],
        None,
    ),
}

RESUME: Options = {
    "resume": (
        Annotated[
            bool,
            typer.Option(
                "--resume", help="Take rows that -o FILE or an interrupted run already has; compute the rest."
            ),
        ],
        False,
    ),
}

WORKERS: Options = {
    "jobs": (
        Annotated[
            int,
            typer.Option(
                "--jobs",
                "-j",
                metavar="N",
                min=1,
                envvar="RAGPACK_JOBS",
                help="Worker processes; the output is the same.",
            ),
        ],
        1,
    ),
    "engine": (
        Annotated[
            str | None,
            typer.Option(
                "--engine",
                metavar="serial|processes|ray",
                help="Where the work runs; by default processes if -j is above 1.",
            ),
        ],
        None,
    ),
}


def with_flow(*groups: Options) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the shared options and arguments; it gets them bundled, as `flow`."""
    shared = {name: pair for group in groups for name, pair in group.items()}

    def flow(taken: dict[str, Any]) -> object:
        from ragpack.flow.engines import ENGINES
        from ragpack.flow.run import Flow

        taken.pop("params", None)
        engine = taken.get("engine")
        if engine is not None and engine not in ENGINES:
            raise UsageError(f"unknown engine '{engine}'. {did_you_mean(engine, ENGINES)}")
        return Flow(**{**taken, "files": tuple(taken["files"] or ())})

    return lambda command: bundled(command, "flow", shared, flow)


def bundled(
    command: Callable[..., int], name: str, options: Options, bundle: Callable[[dict[str, Any]], object]
) -> Callable[..., int]:
    """A command with more options, which it gets as one argument: what `bundle` makes of their values."""
    own = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for one, (annotation, default) in options.items()
    ]

    @functools.wraps(command)
    def wrapper(**given: Any) -> int:  # noqa: ANN401 # the options' values
        taken = {one: given.pop(one) for one in options}
        return command(**{name: bundle(taken)}, **given)

    parameters = [one for one in own.parameters.values() if one.name != name]
    wrapper.__signature__ = own.replace(parameters=[*parameters, *added])  # type: ignore[attr-defined] # read by typer
    wrapper.__annotations__ = {one.name: one.annotation for one in [*parameters, *added]}
    return wrapper


def whole_numbers(texts: list[str], option: str) -> tuple[int, ...]:
    """Numbers from a list such as `96,128`; the option may be repeated."""
    pieces = [piece.strip() for text in texts for piece in str(text).split(",")]
    try:
        return tuple(int(piece) for piece in pieces)
    except ValueError:
        raise UsageError(
            f"{option}: expected whole numbers such as 96,128, got '{','.join(map(str, texts))}'"
        ) from None
