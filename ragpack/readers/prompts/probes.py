"""The prompts that probe a passage: short and neutral, so that what changes an answer is the passage alone.

Source: "Information Gain Pruning", §4.1.4: the form of `ig`. `qlm` scores the question behind the passage (Ponte and
Croft 1998; Sachan et al. 2022), `yesno` asks whether the passage answers it (Liang et al. 2022); their wording is ours.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from ragpack.readers.base import Decoding, Request

KINDS = ("ig", "qlm", "yesno")

YES_NO = (("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no"))
"""One-token spellings of both answers: with a blank before them or not, as a tokenizer has it."""


class Form(NamedTuple):
    """How prompts are written: as plain texts, or as a user's message in the model's chat template."""

    name: str
    chat: bool
    alone: str
    """Without a passage."""
    given: str
    """With one."""
    qlm: str
    """Before the question; always plain text."""
    yesno: str

    def hash(self, kinds: tuple[str, ...]) -> str:
        """Hash of the words that these kinds use."""
        words = {"ig": (self.alone, self.given), "qlm": (self.qlm,), "yesno": (self.yesno,)}
        text = "\0".join(word for kind in kinds for word in words[kind])
        return blake2b(text.encode(), digest_size=8).hexdigest()

    def rollout(self, question: str, passage: str, decoding: Decoding) -> Request:
        """The question with a passage, or alone where the passage is empty."""
        return self._request(self.given if passage else self.alone, question, passage, decoding)

    def likelihood(self, question: str, passage: str) -> Request:
        """The passage, and the question as its continuation."""
        text, cut = _filled(self.qlm, question, passage)
        return Request(0, text=text, cut=cut, continuation=f" {question}")

    def verdict(self, question: str, passage: str) -> Request:
        """Whether the passage answers the question: yes or no."""
        return self._request(self.yesno, question, passage, Decoding(max_tokens=1, choices=YES_NO))

    def _request(self, form: str, question: str, passage: str, decoding: Decoding) -> Request:
        text, cut = _filled(form, question, passage)
        if self.chat:
            return Request(0, [{"role": "user", "content": text}], cut=cut, decoding=decoding)
        return Request(0, text=text, cut=cut, decoding=decoding)


def _filled(form: str, question: str, passage: str) -> tuple[str, tuple[int, int] | None]:
    """The form with both in their places, and where the passage stands; braces in either are text."""
    front, has_passage, behind = form.partition("{passage}")
    front, behind = (part.replace("{question}", question) for part in (front, behind))
    if not has_passage:
        return front, None
    return front + passage + behind, (len(front), len(front) + len(passage))


_YESNO = "Passage: {passage}\nQuestion: {question}\nDoes the passage answer the question? Reply with Yes or No."

TEXT = Form(
    "probe/1",
    False,
    "User: {question} Assistant:",
    "User: {question} Context: {passage} Assistant:",
    "Passage: {passage}\nQuestion:",
    f"{_YESNO}\nReply:",
)
CHAT = Form("probe-chat/1", True, "{question}", "{question}\n\nContext: {passage}", TEXT.qlm, _YESNO)

FORMS = {"text": TEXT, "chat": CHAT}
