"""The user's own prompts: a Jinja file with the places `question`, `context` and `snippets`.

A template sees nothing but these: no clock, no chance, no files. Equal records give equal prompts.
What is wrong with a file is said when it is read, with its line; what a record makes of it is that record's failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragpack.errors import DataError, UsageError, did_you_mean, in_a_line

SUFFIXES = (".jinja", ".jinja2", ".j2")
VARIABLES = ("question", "context", "snippets")
ROLES = ("system", "user")
"""Names of the blocks, which are the roles of the messages, in their order."""


class PromptFile:
    """A prompt from a file: one message for each block, or one user message where there are no blocks."""

    def __init__(self, name: str, text: str) -> None:
        """Raises `UsageError` for a text that is no such prompt; `name` is the file's, without its folder.

        >>> prompt = PromptFile("mine.jinja", "{{ context }}\\n\\n{{ question }}")
        >>> prompt.messages("Who?", "Ida did.")
        [{'role': 'user', 'content': 'Ida did.\\n\\nWho?'}]
        """
        self.name = name
        self.hash = blake2b(text.encode(), digest_size=8).hexdigest()
        environment = _environment()
        self._template, used = _read(environment, name, text)
        self.reads_snippets = "snippets" in used

    def messages(self, question: str, context: str, snippets: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, str]]:
        """The chat of one question; messages without a word are left out. Raises `DataError` where nothing is asked."""
        shown = [{name: one.get(name) for name in ("id", "title", "rank")} for one in snippets]
        try:
            parts = self._parts({"question": question, "context": context, "snippets": shown})
        except Exception as error:  # a template is a program: whatever it does wrong is said of this record
            raise DataError(f"the prompt {self.name} can't be filled: {in_a_line(error)}") from None
        messages = [{"role": role, "content": text} for role, text in parts if text]
        if not messages or messages[-1]["role"] != "user":
            raise DataError(f"the prompt {self.name} renders to nothing: there is no user message")
        return messages

    def _parts(self, values: dict[str, Any]) -> list[tuple[str, str]]:
        """(role, text) of each message, blanks at both ends removed."""
        blocks = self._template.blocks
        if not blocks:
            return [("user", self._template.render(values).strip())]
        context = self._template.new_context(values)
        return [(role, "".join(blocks[role](context)).strip()) for role in ROLES if role in blocks]


def open_prompt_file(name: str) -> PromptFile:
    """The prompt of a file. Raises `UsageError`."""
    path = Path(name).expanduser()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"--prompt: no such file: {name}") from None
    except OSError as error:
        raise UsageError(f"--prompt {name}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--prompt {name}: not UTF-8") from None
    return PromptFile(path.name, text)


def _environment() -> Any:  # noqa: ANN401 # jinja2 is imported when a file is named
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        # As for chat templates: a line that holds a tag alone leaves no empty line.
        trim_blocks=True, lstrip_blocks=True, autoescape=False, undefined=StrictUndefined, finalize=_printable,
    )  # fmt: skip
    # The two that draw lots.
    environment.globals.pop("lipsum", None)
    environment.filters.pop("random", None)
    return environment


def _printable(value: Any) -> Any:  # noqa: ANN401 # whatever a template prints
    """Refuse what would print an address of this process's memory; nothing prints as nothing."""
    from jinja2 import Undefined

    if value is None:
        return ""
    if isinstance(value, (str, int, float, list, tuple, dict, Undefined)):
        return value
    raise TypeError(f"a {type(value).__name__} is no text; a filter such as `list` or `join` may be missing")


def _read(environment: Any, name: str, text: str) -> tuple[Any, set[str]]:  # noqa: ANN401 # jinja2's
    """The template, and which of the variables it uses."""
    from jinja2 import TemplateSyntaxError, meta, nodes

    def wrong(line: int, what: str) -> UsageError:
        return UsageError(f"--prompt {name}: line {line}: {what}")

    try:
        tree = environment.parse(text)
        for other in tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
            raise wrong(other.lineno, "a prompt is one file: nothing is included, imported or extended")
        known = {*VARIABLES, *environment.globals}
        used = meta.find_undeclared_variables(tree)
        template = environment.from_string(text)
    except TemplateSyntaxError as error:
        raise wrong(error.lineno, str(error.message)) from None
    for unknown in sorted(used - known):
        lines = [one.lineno for one in tree.find_all(nodes.Name) if one.name == unknown]
        raise wrong(min(lines, default=1), f"unknown variable '{unknown}'. {did_you_mean(unknown, VARIABLES)}")
    if not used & {"question", "context"}:
        raise UsageError(f"--prompt {name}: it has neither {{{{ question }}}} nor {{{{ context }}}}")
    blocks = list(tree.find_all(nodes.Block))
    for block in blocks:
        if block.name not in ROLES:
            raise wrong(block.lineno, f"no message is called '{block.name}'. {did_you_mean(block.name, ROLES)}")
        if block not in tree.body:
            raise wrong(block.lineno, f"block {block.name} stands inside something else: a block is a whole message")
    if blocks:
        if not any(block.name == "user" for block in blocks):
            raise UsageError(f"--prompt {name}: there is no block user", "{% block user %}…{% endblock %}")
        for node in tree.body:
            if not isinstance(node, nodes.Block) and not _is_blank(node):
                raise wrong(node.lineno, "where there are blocks, all else stands inside them")
    return template, used


def _is_blank(node: Any) -> bool:  # noqa: ANN401 # jinja2's
    """Blanks between blocks; comments leave no node."""
    from jinja2 import nodes

    return isinstance(node, nodes.Output) and all(
        isinstance(part, nodes.TemplateData) and not part.data.strip() for part in node.nodes
    )
