"""Write the pages that come from the code: docs/records.md, docs/cli.md, docs/schema/*.json.

    python docs/generate.py            write them
    python docs/generate.py --check    exit 1 and name the files that differ

Needs ragpack's own requirements only. Neither the terminal nor the environment changes a byte.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import os
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402 # the tree before an installed ragpack

from ragpack import records  # noqa: E402

DOCS = ROOT / "docs"
WIDTH = 100
FAMILIES = ("policies", "retrievers", "tables", "profiles", "matches", "readers", "prompts", "formats", "exports")
NOTE = "<!-- Made by docs/generate.py; edit the code instead. -->"
START = "import sys; sys.argv[0] = 'ragpack'; from ragpack.__main__ import main; main()"
WORDS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}

WRITERS = {
    "ragpack.doc/1": "A corpus file, or an entry of a question's `docs`.",
    "ragpack.question/1": "Written by `import`, or by hand; read by `retrieve`.",
    "ragpack.hits/1": "Written by `retrieve`; read by `pack`.",
    "ragpack.pack/1": "Written by `pack`, one line for each policy and budget; read by `generate` and `diagnose`.",
    "ragpack.answer/1": "Written by `generate`; read by `diagnose`.",
    "ragpack.diagnosis/1": "Written by `diagnose`; read by `stats`.",
    "ragpack.stat/1": "Written by `stats`. The columns of each table: [statistics](statistics.md).",
    "ragpack.failure/1": "Written by any command to `--failures FILE`.",
    "ragpack.finding/1": "Written by `validate`.",
}

Descriptions = dict[str, dict[str, str]]


def descriptions() -> Descriptions:
    """Class → field → the docstring under the field.

    A record that repeats a field without a docstring takes the text of the record before it in the pipe.
    """
    found: Descriptions = {}
    for node in ast.parse(inspect.getsource(records)).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = dict(_documented(node))
    before: dict[str, str] = {}
    for record in records.RECORDS[1:]:
        mine = found[record.__name__]
        for field in dataclasses.fields(record):
            if field.name not in mine and field.name in before:
                mine[field.name] = before[field.name]
        before |= mine
    return found


def _documented(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            yield statement.target.id, " ".join(following.value.value.split())


def parts_of(kind: type) -> list[type]:
    """The dataclasses that a record is made of, itself first, each once, in the order in which they are met."""
    found = [kind]
    for one in found:
        for hint in hints_of(one).values():
            found += [part for part in _inside(hint) if part not in found]
    return found


def hints_of(kind: type) -> dict[str, Any]:
    """Field → type, in the order in which the fields are written."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _inside(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for part in get_args(hint):
        yield from _inside(part)


def required(kind: type) -> list[str]:
    """Fields without a default."""
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]


def type_name(hint: Any) -> str:  # noqa: ANN401 # a type of any form
    """A type as a reader of JSON knows it."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint in WORDS:
        return WORDS[hint]
    if origin in (Union, types.UnionType):
        return " or ".join(type_name(part) for part in inside)
    if origin is list:
        return f"list of {_one(inside[0])}"
    if origin is tuple:
        return f"[{', '.join(map(type_name, inside))}]"
    if origin is dict:
        return "object" if inside[1] is typing.Any else f"object of {_one(inside[1])}"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return f"[{hint.__name__}](#{heading(hint).lower().replace('.', '').replace('/', '')})"
    raise TypeError(f"no word for {hint}")


def _one(hint: object) -> str:
    text = type_name(hint)
    return f"({text})" if " or " in text else text


def heading(kind: type) -> str:
    """A record's schema; another object's class name."""
    return getattr(kind, "SCHEMA", "") or kind.__name__


def records_page(texts: Descriptions) -> str:
    """docs/records.md"""
    lines = [
        NOTE,
        "# Records",
        "",
        "One JSON object per line, UTF-8, `\\n` after every line. The first key is `schema`. A stage adds one object",
        "under its own name and leaves the rest alone; keys that are not listed survive, after those that are. A line",
        "without `schema` is read as the command's usual input. Undefined is `null`. No clock, host or path is in a",
        "record: those are in `FILE.run.json`, beside `-o FILE`.",
        "",
        "JSON Schema (2020-12): "
        + ", ".join(f"[{one.SCHEMA}](schema/{schema_file(one)})" for one in records.RECORDS)
        + ".",
    ]
    shown: list[type] = []
    for record in records.RECORDS:
        for part in parts_of(record):
            if part not in shown:
                shown.append(part)
                lines += ["", *_section(part, texts[part.__name__])]
    return "\n".join(lines) + "\n"


def _section(kind: type, texts: dict[str, str]) -> Iterator[str]:
    schema = getattr(kind, "SCHEMA", "")
    yield f"## {schema}" if schema else f"### {kind.__name__}"
    yield ""
    yield " ".join((kind.__doc__ or "").split()) + (f" {WRITERS[schema]}" if schema else "")
    yield ""
    yield "| field | type | required | |"
    yield "|---|---|---|---|"
    if schema:
        yield f'| `schema` | `"{schema}"` | | Name and version. |'
    needed = required(kind)
    for name, hint in hints_of(kind).items():
        cells = (f"`{name}`", type_name(hint), "yes" if name in needed else "", texts.get(name, ""))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |".replace("|  |", "| |")


def schema_file(record: type[records.Record]) -> str:
    """`ragpack.question/1` → `question-1.json`"""
    return record.SCHEMA.removeprefix("ragpack.").replace("/", "-") + ".json"


def json_schema(record: type[records.Record], texts: Descriptions) -> str:
    """The schema of one record: of what is written, and of what is read."""
    definitions = msgspec.json.schema(record)["$defs"]
    by_name = {part.__name__: _described(part, definitions[part.__name__], texts) for part in parts_of(record)}
    whole = by_name.pop(record.__name__)
    whole["title"] = record.SCHEMA
    version = {"const": record.SCHEMA, "description": "Name and version."}
    whole["properties"] = {"schema": version, **whole["properties"]}
    if by_name:
        whole["$defs"] = by_name
    page = {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}
    return json.dumps(page, indent=2, ensure_ascii=False) + "\n"


def _described(kind: type, found: dict[str, Any], texts: Descriptions) -> dict[str, Any]:
    properties = {}
    for field in dataclasses.fields(kind):
        text = texts[kind.__name__].get(field.name)
        # Older versions of msgspec leave out what a factory gives.
        default = {"default": field.default_factory()} if field.default_factory is not dataclasses.MISSING else {}
        properties[field.name] = {
            **({"description": text} if text else {}),
            **found["properties"][field.name],
            **default,
        }
    return {
        "title": kind.__name__,
        "description": " ".join((kind.__doc__ or "").split()),
        "type": "object",
        "properties": properties,
        "required": required(kind),
        "additionalProperties": True,
    }


def ragpack(*arguments: str) -> str:
    """What the command line prints, in an environment of next to nothing."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "SYSTEMROOT") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", START, *arguments],
        cwd=ROOT,
        env={**kept, "COLUMNS": str(WIDTH), "LINES": "50", "TERM": "dumb", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"ragpack {' '.join(arguments)}: {done.stderr.decode()}")
    return "\n".join(line.rstrip() for line in done.stdout.decode().strip("\n").split("\n"))


def commands() -> list[str]:
    """The commands, in the order of the pipe, then the others."""
    listed = ragpack("--help").split("Commands:\n", 1)[1].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ") and not line.startswith("   ")]
    stages = ["retrieve", "pack", "generate", "diagnose", "stats"]
    return [*stages, *(name for name in names if name not in stages)]


def cli_page() -> str:
    """docs/cli.md"""
    lines = [
        NOTE,
        "# Command line",
        "",
        "Standard output carries records; messages go to standard error. Exit codes: 0 ok, 1 failed, 2 usage,",
        "3 finished with failed records, 130 interrupted, 141 the pipe's reader went away, 143 terminated. A spec is",
        "`name:key=value,key=value`. In a list of specs a piece `key=value` continues the spec before it.",
        "",
        *_block("ragpack", "--help"),
    ]
    for name in commands():
        lines += ["", f"## {name}", "", *_block("ragpack", name, "--help")]
    lines += ["", "## Names", ""]
    for family in FAMILIES:
        lines += [f"### {family}", "", *_block("ragpack", "list", family), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _block(*words: str) -> list[str]:
    return [f"`{' '.join(words)}`", "", "```text", ragpack(*words[1:]), "```"]


def pages() -> dict[Path, str]:
    """Every generated file with its text."""
    texts = descriptions()
    made = {DOCS / "records.md": records_page(texts), DOCS / "cli.md": cli_page()}
    for record in records.RECORDS:
        made[DOCS / "schema" / schema_file(record)] = json_schema(record, texts)
    return made


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 and name the files that differ")
    check = parser.parse_args().check
    made = pages()
    different = [path for path, text in made.items() if not path.is_file() or path.read_bytes() != text.encode()]
    left = [path for path in sorted((DOCS / "schema").glob("*.json")) if path not in made]
    if check:
        for path in [*different, *left]:
            print(f"{path.relative_to(ROOT)} is not what docs/generate.py writes", file=sys.stderr)
        return 1 if different or left else 0
    for path in different:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made[path].encode())
        print(f"wrote {path.relative_to(ROOT)}")
    for path in left:
        path.unlink()
        print(f"removed {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
