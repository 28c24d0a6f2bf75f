"""RAGBench (Friel et al. 2024), rows of Hugging Face `galileo-ai/ragbench`.

`id, question, documents [], response, documents_sentences [[[key, sentence]]], all_relevant_sentence_keys []` and more.
A key is the document's number and letters of the sentence, `0a`; the number names the document. A document is gold
where one of its sentences is relevant. `response` was written by a model: it is no gold answer, and goes to `meta`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragpack.datasets.fields import each, id_of, string, strings
from ragpack.errors import DataError
from ragpack.flow.run import Fail
from ragpack.records import Doc, Question, Raw

LAYOUTS = "Hugging Face rows"
KEPT = ("dataset_name", "generation_model_name", "response", "adherence_score")


def read(path: str, fail: Fail) -> Iterator[Question]:
    """The questions of a file. The release has some questions several times, with the responses of several models:
    what comes after the first one goes to `fail`."""
    seen: dict[str, object] = {}

    def question(entry: dict[str, Any]) -> Question:
        found = _question(entry)
        if found.id in seen:
            raise DataError(
                f"the question is there already, with the response of {seen[found.id]}",
                "Rows of one question are one question: --on-error skip keeps the first of them.",
            )
        seen[found.id] = entry.get("generation_model_name", "another model")
        return found

    return each(path, fail, question, LAYOUTS)


def _question(entry: dict[str, Any]) -> Question:
    documents, sentences = strings(entry["documents"], "documents"), entry["documents_sentences"]
    if len(documents) != len(sentences):
        raise DataError(f"{len(documents)} documents, but documents_sentences of {len(sentences)}")
    places: dict[str, tuple[str, int]] = {}
    docs = []
    for number, (text, pairs) in enumerate(zip(documents, sentences, strict=True)):
        for index, (key, _) in enumerate(pairs):
            places[_bare(key)] = (str(number), index)
        docs.append(_doc(str(number), text, [string(sentence, "documents_sentences") for _, sentence in pairs]))
    keys = list(dict.fromkeys(map(_bare, strings(entry["all_relevant_sentence_keys"], "all_relevant_sentence_keys"))))
    relevant = [places[key] for key in keys if key in places]
    meta: Raw = {name: entry[name] for name in KEPT if entry.get(name) is not None}
    if len(relevant) < len(keys):
        meta["unknown_keys"] = len(keys) - len(relevant)  # a model wrote the keys
    return Question(
        id=id_of(entry["id"]),
        question=string(entry["question"], "question"),
        gold=list(dict.fromkeys(doc for doc, _ in relevant)),
        gold_sentences=relevant,
        docs=docs,
        group="ragbench",
        meta=meta or None,
    )


def _bare(key: object) -> str:
    """A key without the point that some have at the end."""
    return string(key, "a sentence's key").strip().rstrip(".")


def _doc(name: str, text: str, sentences: list[str]) -> Doc:
    """A document with its sentences found in its text, blanks apart. Where one isn't there, the text is that of its
    sentences, so that their spans hold."""
    spans: list[tuple[int, int]] = []
    at = 0
    for sentence in sentences:
        found = _find(text, sentence, at)
        if found is None:
            text, spans, at = "", [], 0
            for one in sentences:
                spans.append((at, at + len(one)))
                text += one + " "
                at += len(one) + 1
            return Doc(id=name, text=text.removesuffix(" "), sentences=spans)
        spans.append(found)
        at = found[1]
    return Doc(id=name, text=text, sentences=spans)


def _find(text: str, sentence: str, start: int) -> tuple[int, int] | None:
    """Where a sentence stands, from `start` on, whatever blanks are between its words."""
    words = sentence.split()
    if not words:
        return start, start
    at = text.find(words[0], start)
    while at >= 0:
        end = at
        for word in words:
            while end < len(text) and text[end].isspace():
                end += 1
            if not text.startswith(word, end):
                break
            end += len(word)
        else:
            return at, end
        at = text.find(words[0], at + 1)
    return None
