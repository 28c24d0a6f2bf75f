"""The documentation is true: its blocks run, its output is what comes out, its names and links are complete."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from ragpack.compressors import COMPRESSORS
from ragpack.datasets import DATASETS
from ragpack.encoders import ENCODERS
from ragpack.exports import EXPORTS
from ragpack.metrics.answer import PROFILES
from ragpack.metrics.matching import MATCHES
from ragpack.readers import READERS
from ragpack.readers.prompts.named import TEMPLATES
from ragpack.retrievers import RETRIEVERS
from ragpack.stages import retrieve
from ragpack.stages.policies import POLICIES, options_of
from ragpack.statistics import TABLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
GENERATED = (DOCS / "records.md", DOCS / "cli.md")
WRITTEN = [page for page in PAGES if page not in GENERATED]
COMMANDS = (
    "retrieve",
    "pack",
    "generate",
    "diagnose",
    "stats",
    "import",
    "export",
    "show",
    "validate",
    "list",
    "doctor",
)

_FENCE = re.compile(r"^(?P<mark><!-- output -->\n)?```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.S | re.M)
_FILE = re.compile(r"\$T/([\w.-]+)")
_TARGET = re.compile(r"(?:^|\s)(?:-o|--output|--failures|tee|>>?)\s*(\S+)")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


class Block(NamedTuple):
    """A shell block, and the output that the page shows for it."""

    body: str
    shown: str | None


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """The blocks that are run, in order."""
    found: list[Block] = []
    for fence in _FENCE.finditer(page.read_text(encoding="utf-8")):
        if fence["info"] == "sh":
            found.append(Block(fence["body"], None))
        elif fence["mark"]:
            assert found, f"{name(page)}: output before any block"
            assert found[-1].shown is None, f"{name(page)}: a block has two outputs"
            found[-1] = found[-1]._replace(shown=fence["body"].rstrip("\n"))
    return found


def without_jq(found: list[Block]) -> list[Block]:
    """The blocks that need neither jq nor a file that a block with jq writes."""
    kept: list[Block] = []
    lost: set[str] = set()
    for block in found:
        if re.search(r"\bjq\b", block.body) or lost.intersection(_FILE.findall(block.body)):
            lost.update(name for target in _TARGET.findall(block.body) for name in _FILE.findall(target))
        else:
            kept.append(block)
    return kept


def test_blocks_behind_jq_are_found() -> None:
    first, second, third, fourth = (
        Block(body, None) for body in ('a -o "$T/x"\n', 'jq . "$T/x" > "$T/y"\n', 'b "$T/y" | c\n', 'd < "$T/x"\n')
    )
    assert without_jq([first, second, third, fourth]) == [first, fourth]


def model_blocks() -> list[tuple[str, str]]:
    """(page, body) of the blocks that are only read."""
    return [
        (name(page), fence["body"])
        for page in PAGES
        for fence in _FENCE.finditer(page.read_text(encoding="utf-8"))
        if fence["info"] == "sh model"
    ]


def test_generated_pages_are_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr}\nRun docs/generate.py."


def test_generated_pages_do_not_depend_on_the_terminal(tmp_path: Path) -> None:
    around = {**os.environ, "COLUMNS": "40", "FORCE_COLOR": "1", "RAGPACK_JOBS": "3", "RAGPACK_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], cwd=tmp_path, env=around, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_blocks_run_and_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    """All blocks of a page run in one shell, as a reader would paste them."""
    everything = blocks(page)
    found = everything if shutil.which("jq") else without_jq(everything)
    if find_spec("matplotlib") is None:
        found = [block for block in found if "--plots" not in block.body]
    work, tools = tmp_path / "work", tmp_path / "bin"
    work.mkdir()
    tools.mkdir()
    log = tmp_path / "codes"
    log.touch()
    wrapper = tools / "ragpack"
    # A pipe shows only its last command's code, so each one is noted.
    wrapper.write_text(
        f'#!/bin/sh\ncode=0\n"{sys.executable}" -m ragpack "$@" || code=$?\necho "$code $*" >> "{log}"\nexit $code\n'
    )
    wrapper.chmod(0o755)
    script = "".join(f'exec > "{tmp_path}/{number}.out"\n{block.body}' for number, block in enumerate(found))
    around = {key: value for key, value in os.environ.items() if not key.startswith("RAGPACK_")}
    around |= {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "T": str(work), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["sh", "-eu", "-c", script], cwd=ROOT, env=around, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    # 3: finished with failed records; 141: `head` has seen enough.
    failed = [line for line in log.read_text().splitlines() if line.split()[0] not in ("0", "3", "141")]
    assert not failed, done.stderr.decode()
    for number, block in enumerate(found):
        if block.shown is not None:
            printed = (tmp_path / f"{number}.out").read_text(encoding="utf-8").rstrip("\n")
            assert printed == block.shown, f"{name(page)}: the output of\n{block.body}"
    if len(found) < len(everything):
        left_out = f"{len(everything) - len(found)} of {len(everything)} blocks not run"
        pytest.skip(reason=f"jq or matplotlib is not installed: {left_out}")


def test_blocks_leave_the_tree_alone() -> None:
    """What a block writes goes below $T."""
    for page in PAGES:
        for block in blocks(page):
            for target in _TARGET.findall(block.body):
                assert target.strip("\"'").startswith(("$T", "/dev/null")), f"{name(page)} writes {target}"


@pytest.mark.parametrize(("page", "body"), model_blocks())
def test_options_of_blocks_that_need_a_model_exist(page: str, body: str) -> None:
    for command, options in calls(body):
        assert command in COMMANDS, f"{page}: ragpack {command}"
        missing = [option for option in options if option not in options_in_help(command)]
        assert not missing, f"{page}: ragpack {command} has no {', '.join(missing)}"


def calls(body: str) -> list[tuple[str, list[str]]]:
    """(command, options) of each ragpack call."""
    found: list[tuple[str, list[str]]] = []
    for line in body.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&()")
        lexer.whitespace_split = True
        before, inside = "", False
        for word in lexer:
            if before.rsplit("/", 1)[-1] == "ragpack" and re.fullmatch(r"[a-z]+", word):
                found.append((word, []))
                inside = True
            elif set(word) <= set("|;&()"):
                inside = False
            elif inside and re.match(r"--?[a-zA-Z]", word):
                found[-1][1].append(word.split("=", 1)[0])
            # `pip install ragpack` names a package, not a command.
            before = "" if before == "install" else word
    return found


def test_calls_are_found() -> None:
    body = 'pip install ragpack\n./a/bin/ragpack pack h -o "x y" \\\n  --budget 9 | ragpack generate --model=M # --no\n'
    assert calls(body) == [("pack", ["-o", "--budget"]), ("generate", ["--model"])]


@cache
def options_in_help(command: str) -> frozenset[str]:
    done = subprocess.run(
        [sys.executable, "-m", "ragpack", command, "--help"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    heads = re.findall(r"^  (--?\w[\w-]*(?:, --?\w[\w-]*)*)", done.stdout, re.M)
    return frozenset(option for head in heads for option in head.split(", "))


def test_commands_are_all_there_are() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\w+)$", page, re.M)[:-1] == list(COMMANDS[:5]) + sorted(COMMANDS[5:])


@pytest.mark.parametrize(
    "names",
    [
        COMMANDS,
        POLICIES,
        COMPRESSORS,
        RETRIEVERS,
        PROFILES,
        MATCHES,
        ENCODERS,
        TABLES,
        DATASETS,
        EXPORTS,
        READERS,
        TEMPLATES,
    ],
    ids=[
        "commands",
        "policies",
        "compressors",
        "retrievers",
        "profiles",
        "matches",
        "encoders",
        "tables",
        "formats",
        "exports",
        "readers",
        "prompts",
    ],
)
def test_every_name_is_in_a_written_page(names: object) -> None:
    """The generated pages have them all by themselves: a name should also be explained."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in WRITTEN)
    assert not [one for one in names if not re.search(rf"(?<![\w]){re.escape(one)}(?![\w])", text)]


@pytest.mark.parametrize(("page", "names"), [("packers.md", POLICIES), ("compressors.md", COMPRESSORS)])
def test_policy_pages_have_every_parameter_with_its_default(page: str, names: Iterable[str]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for policy in names:
        for option in options_of(policy).values():
            default = str(option.default).lower() if isinstance(option.default, bool) else str(option.default)
            row = f"| `{option.name}` | `{default}` |" if not option.choices else f"`{option.name}={default}`"
            row = row.replace("| `` |", "| |")
            assert row in text, f"{policy}: {row}"


def test_retrievers_page_has_every_parameter_with_its_default() -> None:
    text = (DOCS / "retrievers.md").read_text(encoding="utf-8")
    for retriever in RETRIEVERS:
        for option in retrieve.options_of(retriever).values():
            default = str(option.default).lower() if isinstance(option.default, bool) else option.default
            row = f"| `{option.name}` | `{default}` |".replace("| `` |", "| |")
            assert row in text, f"{retriever}: {row}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_it_is(page: Path) -> None:
    """Under another word a block would be neither run nor checked. Output is marked, so that it is compared; a plain
    fence is for what no command prints."""
    for fence in _FENCE.finditer(page.read_text(encoding="utf-8")):
        info = fence["info"]
        assert info in ("", "sh", "sh model", "console", "text", "json"), f"{name(page)}: ```{info}"
        if page in WRITTEN and info in ("console", "text", "json"):
            assert fence["mark"], f"{name(page)}: output that is not compared\n{fence['body']}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page: Path) -> None:
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve()
        assert file.exists(), f"{name(page)}: {target}"
        if anchor and file.suffix == ".md":
            heads = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.M)
            assert anchor[1:] in [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads], anchor
