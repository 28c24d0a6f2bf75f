"""Text for people: colours on a terminal, marks elsewhere, and nothing that could steer a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ragpack.errors import UsageError
from ragpack.text import Span

BOLD, DIM, RED, GREEN, YELLOW, END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
# A record's text may hold an escape sequence; a tab and a line end are text.
_CONTROLS = {code: "\ufffd" for code in [*range(32), *range(127, 160)] if chr(code) not in "\t\n"}


class Paint:
    """How text is set."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def set(self, style: str, text: object) -> str:
        """The text in a style; control characters are shown as U+FFFD."""
        plain = str(text).translate(_CONTROLS)
        return f"{style}{plain}{END}" if self.colour and style and plain else plain

    def answers(self, text: str, spans: Sequence[Span]) -> str:
        """The text with the places of the answer marked, `[[so]]` without colours."""
        parts, at = [], 0
        for start, end in spans:
            inside = self.set(BOLD + GREEN, text[start:end])
            parts += [self.set("", text[at:start]), inside if self.colour else f"[[{inside}]]"]
            at = end
        return "".join([*parts, self.set("", text[at:])])

    def gold(self, is_gold: bool) -> str:
        """The mark of a gold document."""
        return self.set(YELLOW, "*") if is_gold else " "


def wants_colour(when: str, terminal: bool, plain: bool) -> bool:
    """Is output coloured? `plain`: the environment asks for none. Raises `UsageError`."""
    if when not in ("auto", "always", "never"):
        raise UsageError(f"--color is auto, always or never, got '{when}'")
    return when == "always" or (when == "auto" and terminal and not plain)
