"""From a spec on the command line to a function with its parameters.

A spec is `name:key=value,key=value`. In a list, a piece `name` or `name:…` begins a new spec and a piece
`key=value` continues the last one. The canonical form drops defaults and sorts the keys; it is the same in the
record, in the table and on the command line, and reading it gives the same spec again.

A plug-in's keyword-only parameters are its options: names, types and defaults. The first piece behind the name may be
the bare value of the option `of` or `model`: `hybrid:bm25+dense`.

A spec may be a value in another one. There it is written `name(key=value;key=value)`, since commas end a value.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from ragpack.errors import UsageError, did_you_mean

Value = int | float | bool | str
BARE = ("of", "model")
"""Options whose name may be left out in the first place."""


class Parameter(NamedTuple):
    """One option of a plug-in."""

    name: str
    default: Value
    choices: tuple[str, ...] = ()

    def read(self, text: str, spec: str) -> Value:
        """The value that a spec's text gives; raises `UsageError` where it is of another type."""
        kind = type(self.default)
        if self.choices and text not in self.choices:
            raise UsageError(f"'{spec}': {self.name}={text} is not one of {', '.join(self.choices)}")
        try:
            if kind is bool:
                return {"true": True, "false": False}[text.lower()]
            value = kind(text)
        except (ValueError, KeyError):
            words = {int: "a whole number", float: "a number", bool: "true or false"}
            raise UsageError(f"'{spec}': {self.name} is {words.get(kind, 'text')}, got '{text}'") from None
        if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
            raise UsageError(f"'{spec}': {self.name} must be finite, got '{text}'")
        return value


@dataclass(frozen=True)
class Spec:
    """A plug-in's name with the parameters that differ from their defaults, sorted by key.

    >>> str(Spec("chunk_mmr", (("lambda", 0.5), ("overflow", "skip"))))
    'chunk_mmr:lambda=0.5,overflow=skip'
    """

    name: str
    given: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        pairs = ",".join(f"{key}={_text(value)}" for key, value in self.given)
        return f"{self.name}:{pairs}" if pairs else self.name


def split_specs(texts: Iterable[str]) -> list[str]:
    """The specs of a list.

    >>> split_specs(["chunk_packed,chunk_mmr:lambda=0.5,overflow=skip", "topk"])
    ['chunk_packed', 'chunk_mmr:lambda=0.5,overflow=skip', 'topk']
    """
    specs: list[str] = []
    for text in texts:
        for at, piece in enumerate(part.strip() for part in text.split(",")):
            if not piece:
                raise UsageError(f"'{text}' has an empty piece", "Write name:key=value,key=value.")
            if "=" in piece.split(":", 1)[0]:
                if at == 0 or not specs:
                    raise UsageError(f"'{piece}' has no name before it", "Write name:key=value,key=value.")
                specs[-1] += ("," if ":" in specs[-1] else ":") + piece
            else:
                specs.append(piece)
    return specs


def parse_spec(
    text: str, family: str, names: Iterable[str], parameters: Callable[[str], Mapping[str, Parameter]]
) -> Spec:
    """Read one spec. `parameters(name)` gives a plug-in's options; raises `UsageError` with the nearest name."""
    name, _, rest = text.partition(":")
    known = list(names)
    if name not in known:
        raise UsageError(f"unknown {family} '{name}'. {did_you_mean(name, known)}")
    options = parameters(name)
    given: dict[str, Value] = {}
    bare = next((key for key in BARE if key in options), None)
    for at, pair in enumerate(filter(None, rest.split(","))):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if bare and at == 0 and (not equals or "(" in key):
            key, equals, value = bare, "=", pair.strip()
        if not equals:
            raise UsageError(f"'{text}': '{pair}' is not key=value")
        if key not in options:
            end = did_you_mean(key, options) if options else f"{name} has no parameters."
            raise UsageError(f"{family} '{name}' has no parameter '{key}'. {end}")
        if key in given:
            raise UsageError(f"'{text}' gives '{key}' twice")
        given[key] = options[key].read(value, text)
    return Spec(name, tuple(sorted((k, v) for k, v in given.items() if v != options[k].default)))


def inner_specs(text: str) -> list[str]:
    """The specs that a value holds, joined by `+`, each as it would be written by itself.

    >>> inner_specs("bm25+dense(model=x;dim=320)")
    ['bm25', 'dense:model=x,dim=320']
    >>> inner_specs("hybrid(of=bm25+dense(dim=9;model=x);fuse=rrf)")
    ['hybrid:of=bm25+dense(dim=9;model=x),fuse=rrf']
    """
    depth, pieces = 0, [""]
    for char in text:
        if char == ")":
            depth -= 1
            if depth == 0:
                continue
        if char == "(":
            depth += 1
            char = ":" if depth == 1 else char
        elif char == ";" and depth == 1:
            char = ","
        elif char == "+" and depth == 0:
            pieces.append("")
            continue
        if depth < 0:
            break
        pieces[-1] += char
    if depth != 0:
        raise UsageError(f"'{text}': a parenthesis is not closed, or not opened", "Write name(key=value;key=value).")
    found = [piece.strip() for piece in pieces]
    if not all(found):
        raise UsageError(f"'{text}' has an empty piece", "Join specs by `+`: bm25+dense.")
    return found


def inner_text(spec: Spec) -> str:
    """A spec as a value of another one.

    >>> inner_text(Spec("dense", (("dim", 320), ("model", "x"))))
    'dense(dim=320;model=x)'
    """
    name, colon, rest = str(spec).partition(":")
    return f"{name}({';'.join(rest.split(','))})" if colon else name


def load(table: Mapping[str, str], name: str) -> Any:  # noqa: ANN401 # whatever the table names
    """The object that a literal table names as "module:attribute"; its module is imported now, not before."""
    module, _, attribute = table[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """A plug-in's options, from its keyword-only parameters. A trailing underscore (`lambda_`) is dropped."""
    hints = get_type_hints(function)
    found = {}
    for item in inspect.signature(function).parameters.values():
        if item.kind is item.KEYWORD_ONLY and item.default is not item.empty:
            hint = hints.get(item.name)
            choices = tuple(map(str, get_args(hint))) if get_origin(hint) is Literal else ()
            name = item.name.rstrip("_")
            found[name] = Parameter(name, item.default, choices)
    return found


def arguments_of(function: Callable[..., Any], given: Mapping[str, Value]) -> dict[str, Value]:
    """Of the given parameters those that are this function's, by the names that Python knows them by."""
    names = {item.name.rstrip("_"): item.name for item in inspect.signature(function).parameters.values()
             if item.kind is item.KEYWORD_ONLY}  # fmt: skip
    return {names[key]: value for key, value in given.items() if key in names}


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
