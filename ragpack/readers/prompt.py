"""The answering prompt: ours, named and versioned; its hash is in every record."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

Message = dict[str, str]


class Template(NamedTuple):
    """A prompt as chat messages with two places, `{context}` and `{question}`."""

    name: str
    system: str
    user: str

    @property
    def hash(self) -> str:
        """Hash of the words: another wording is another prompt."""
        return blake2b(f"{self.system}\0{self.user}".encode(), digest_size=8).hexdigest()

    def messages(self, question: str, context: str) -> list[Message]:
        """The chat of one question. Braces in a context are text."""
        user = self.user.replace("{question}", question, 1)
        return [
            {"role": "system", "content": self.system},
            # The context goes in last: whatever it holds, no place in it is filled.
            {"role": "user", "content": user.replace("{context}", context or "(none)", 1)},
        ]


ANSWER = Template(
    "answer/1",
    "You answer questions from evidence. Reply with the answer alone, as short as possible: a name, a number, a date, "
    "yes or no.",
    "Evidence:\n{context}\n\nQuestion: {question}\nAnswer:",
)
TEMPLATES = {template.name: template for template in (ANSWER,)}
