"""The answering prompt: ours, named and versioned; its hash is in every record."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

Message = dict[str, str]


class Example(NamedTuple):
    """A worked example, shown as an earlier turn of the chat."""

    context: str
    question: str
    answer: str


class Template(NamedTuple):
    """A prompt as chat messages with two places, `{context}` and `{question}`."""

    name: str
    system: str
    user: str
    examples: tuple[Example, ...] = ()

    @property
    def hash(self) -> str:
        """Hash of the words: another wording is another prompt."""
        words = [self.system, self.user, *(part for example in self.examples for part in example)]
        return blake2b("\0".join(words).encode(), digest_size=8).hexdigest()

    def messages(self, question: str, context: str) -> list[Message]:
        """The chat of one question. Braces in a context are text."""
        chat = [{"role": "system", "content": self.system}]
        for example in self.examples:
            chat.append({"role": "user", "content": self._filled(example.question, example.context)})
            chat.append({"role": "assistant", "content": example.answer})
        chat.append({"role": "user", "content": self._filled(question, context)})
        return chat

    def _filled(self, question: str, context: str) -> str:
        before, _, rest = self.user.partition("{context}")
        between, _, after = rest.partition("{question}")
        return f"{before}{context or '(none)'}{between}{question}{after}"


ANSWER = Template(
    "answer/1",
    "You answer questions from evidence. Reply with the answer alone, as short as possible: a name, a number, a date, "
    "yes or no.",
    "Evidence:\n{context}\n\nQuestion: {question}\nAnswer:",
)
EXAMPLES = Template(
    "answer-examples/1",
    ANSWER.system,
    ANSWER.user,
    (
        Example(
            "Varno Bridge: Varno Bridge crosses the Lisk in the town of Orrel.\n"
            "Orrel: Orrel was founded in 1702 by Ida Brant.",
            "Who founded the town in which Varno Bridge stands?",
            "Ida Brant",
        ),
        Example(
            "Tam Reel: Tam Reel (born 1951) is a painter.\nJo Lutz: Jo Lutz, born in 1948, is a Swiss painter.",
            "Are Tam Reel and Jo Lutz both painters?",
            "yes",
        ),
    ),
)
"""For small readers, which answer in sentences until they have seen what is meant."""

TEMPLATES = {template.name: template for template in (ANSWER, EXAMPLES)}
