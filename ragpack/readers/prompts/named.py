"""The prompts: ours, named and versioned; their hashes are in every record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ragpack.errors import UsageError, did_you_mean
from ragpack.readers.prompts.file import SUFFIXES, open_prompt_file

Message = dict[str, str]


class AnswerPrompt(Protocol):
    """What asks for an answer: a prompt of ours, or a file of the user's."""

    @property
    def name(self) -> str:
        """Name and version, or the file's name."""

    @property
    def hash(self) -> str:
        """Hash of the words."""

    @property
    def reads_snippets(self) -> bool:
        """Does it print more of the pack than the context?"""

    def messages(self, question: str, context: str, snippets: Sequence[Mapping[str, Any]] = ()) -> list[Message]:
        """The chat of one question; `snippets` have `id`, `title` and `rank`."""


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
        return _hash([self.system, self.user, *(part for example in self.examples for part in example)])

    @property
    def reads_snippets(self) -> bool:
        """The context is all that it prints."""
        return False

    def messages(
        self,
        question: str,
        context: str,
        snippets: Sequence[Mapping[str, Any]] = (),  # noqa: ARG002 # for the user's prompts
    ) -> list[Message]:
        """The chat of one question. Braces in a context are text."""
        chat = [{"role": "system", "content": self.system}]
        for example in self.examples:
            chat.append({"role": "user", "content": self._filled(example.question, example.context)})
            chat.append({"role": "assistant", "content": example.answer})
        chat.append({"role": "user", "content": self._filled(question, context)})
        return chat

    def _filled(self, question: str, context: str) -> str:
        return _filled(self.user, {"context": context, "question": question})


class Thinking(NamedTuple):
    """A prompt for the next thought, as chat messages with the places `{context}`, `{question}` and `{thoughts}`."""

    name: str
    system: str
    user: str
    end: str
    """Words of a thought that is the last one, in lower case."""
    examples: tuple[ThoughtExample, ...] = ()

    @property
    def hash(self) -> str:
        """Hash of the words: another wording is another prompt."""
        words = [part for one in self.examples for part in (one.context, one.question, *one.thoughts, one.next)]
        return _hash([self.system, self.user, self.end, *words])

    def messages(self, question: str, context: str, thoughts: Sequence[str]) -> list[Message]:
        """The chat for one thought. Braces in a context are text."""
        chat = [{"role": "system", "content": self.system}]
        for one in self.examples:
            chat.append({"role": "user", "content": self._filled(one.question, one.context, one.thoughts)})
            chat.append({"role": "assistant", "content": one.next})
        chat.append({"role": "user", "content": self._filled(question, context, thoughts)})
        return chat

    def ends(self, thought: str) -> bool:
        """Is it the last one?"""
        return self.end in " ".join(thought.lower().split())

    def _filled(self, question: str, context: str, thoughts: Sequence[str]) -> str:
        return _filled(self.user, {"context": context, "question": question, "thoughts": " ".join(thoughts)})


class ThoughtExample(NamedTuple):
    """A worked example of one thought, shown as an earlier turn of the chat."""

    context: str
    question: str
    thoughts: tuple[str, ...]
    """Those before it."""
    next: str


def _filled(form: str, places: Mapping[str, str]) -> str:
    """A form with its places filled, in one pass: what is filled in has no places of its own."""
    return re.sub(r"\{(\w+)\}", lambda place: places[place[1]] or "(none)", form)


def _hash(words: Sequence[str]) -> str:
    return blake2b("\0".join(words).encode(), digest_size=8).hexdigest()


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


def open_prompt(name: str) -> AnswerPrompt:
    """A prompt by its name, or from a Jinja file. Raises `UsageError`."""
    if name in TEMPLATES:
        return TEMPLATES[name]
    if name.endswith(SUFFIXES):
        return open_prompt_file(name)
    if Path(name).is_file():
        raise UsageError(f"--prompt {name}: a prompt's file ends in {', '.join(SUFFIXES)}")
    raise UsageError(
        f"unknown prompt '{name}'. {did_you_mean(name, TEMPLATES)}", "One of your own is a file: NAME.jinja."
    )


def plain_text(messages: Sequence[Message]) -> str:
    """Messages as one text, for models that know no chat: an empty line between them, and an answer that is shown as
    an example behind the question, where the model's own will stand.

    >>> turns = [("user", "1+1? Answer:"), ("assistant", "2"), ("user", "2+2? Answer:")]
    >>> plain_text([{"role": role, "content": text} for role, text in turns])
    '1+1? Answer: 2\\n\\n2+2? Answer:'
    """
    text = ""
    for message in messages:
        joint = " " if message["role"] == "assistant" else "\n\n"
        text += (joint if text else "") + message["content"]
    return text


THOUGHT = Thinking(
    "thought/1",
    "You work out step by step what a question needs, from passages that are found for you. Reply with the next "
    "thought alone: one short sentence with one new fact from the passages, naming everything in full. Once the facts "
    "are enough, reply: So the answer is, and the answer.",
    "Passages:\n{context}\n\nQuestion: {question}\nThoughts so far: {thoughts}\nNext thought:",
    "the answer is",
    (
        ThoughtExample(
            "Varno Bridge: Varno Bridge crosses the Lisk in the town of Orrel.",
            "Who founded the town in which Varno Bridge stands?",
            (),
            "Varno Bridge stands in the town of Orrel.",
        ),
        ThoughtExample(
            "Varno Bridge: Varno Bridge crosses the Lisk in the town of Orrel.\n"
            "Orrel: Orrel was founded in 1702 by Ida Brant.",
            "Who founded the town in which Varno Bridge stands?",
            ("Varno Bridge stands in the town of Orrel.", "Orrel was founded in 1702 by Ida Brant."),
            "So the answer is Ida Brant.",
        ),
    ),
)
"""What `retrieve --retriever ircot` asks between its searches."""
