"""What a record's types don't say: is it consistent with itself, and is it there once?

Each check gives findings: an error is something that a stage would refuse or count wrongly, a note is something that
may be meant, but that its owner wants to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ragpack.records import Answered, Diagnosed, Doc, Hit, Hits, Packed, Question, Record
from ragpack.text import Span


class Remark(NamedTuple):
    """One finding about one line."""

    level: str
    """`error` or `note`."""
    message: str


def remarks(record: Record) -> Iterator[Remark]:
    """What is wrong, or odd, in a record whose types are right."""
    check = _CHECKS.get(type(record))
    if check is not None:
        yield from check(record)


def key_of(record: Record) -> tuple[object, ...] | None:
    """What may be there only once in a file of such records; `None` where nothing is."""
    if isinstance(record, (Doc, Question, Hits)):
        return (record.id,)
    if isinstance(record, (Packed, Answered, Diagnosed)):
        pack, generate = record.pack, getattr(record, "generate", None)
        cell = (record.id, record.sample, pack.policy, pack.budget, pack.unit)
        reader = (generate.reader, generate.model, generate.prompt.name) if generate else ()
        diagnose = (record.diagnose.profile, record.diagnose.match) if isinstance(record, Diagnosed) else ()
        return (*cell, *reader, *diagnose)
    return None


def named(record: Record) -> str:
    """A record's key in words."""
    words = [f"id {record.id}"] if hasattr(record, "id") else []
    if isinstance(record, (Packed, Answered, Diagnosed)):
        words += [f"policy {record.pack.policy}", f"budget {record.pack.budget}"]
    return ", ".join(words)


def _doc(doc: Doc, where: str = "") -> Iterator[Remark]:
    yield from _spans(doc.sentences or [], len(doc.text), f"{where}sentences", "text")
    if not doc.text.strip():
        yield Remark("note", f"{where}text: the document has no text")


def _question(record: Question) -> Iterator[Remark]:
    yield from _asked(record)
    if record.docs is None:
        return
    ids = [doc.id for doc in record.docs]
    yield from _twice(ids, "docs")
    for at, doc in enumerate(record.docs):
        yield from _doc(doc, f"docs[{at}].")
    yield from _golds(record, ids, "docs")
    sentences = {doc.id: doc.sentences for doc in record.docs}
    for at, (name, index) in enumerate(record.gold_sentences or []):
        known = sentences.get(name)
        if index < 0 or (known is not None and index >= len(known)):
            yield Remark("note", f"gold_sentences[{at}]: the document '{name}' has no sentence {index}")


def _hits(record: Hits) -> Iterator[Remark]:
    yield from _asked(record)
    yield from _ranking(record)
    for at, hit in enumerate(record.hits):
        if hit.text is None:
            yield Remark("note", f"hits[{at}].text: the hit has no text, so `pack` can't read it")
        else:
            yield from _spans(hit.sentences or [], len(hit.text), f"hits[{at}].sentences", "text")


def _packed(record: Packed | Answered | Diagnosed) -> Iterator[Remark]:
    pack = record.pack
    yield from _asked(record)
    yield from _ranking(record)
    if pack.tokens > pack.budget:
        yield Remark("error", f"pack.tokens: {pack.tokens} are more than the budget of {pack.budget}")
    total = sum(snippet.tokens for snippet in pack.snippets)
    if pack.snippets and total != pack.tokens:
        yield Remark("error", f"pack.snippets: their tokens add up to {total}, and pack.tokens is {pack.tokens}")
    if pack.snippets and not pack.context:
        yield Remark("error", "pack.context: it is empty, and there are snippets")
    known = {(hit.id, hit.rank) for hit in record.hits}
    for at, snippet in enumerate(pack.snippets):
        if (snippet.id, snippet.rank) not in known:
            yield Remark("error", f"pack.snippets[{at}]: no hit has id '{snippet.id}' at rank {snippet.rank}")
        if not 0 <= snippet.span[0] <= snippet.span[1]:
            yield Remark("error", f"pack.snippets[{at}].span: {list(snippet.span)} is no span")


def _diagnosed(record: Diagnosed) -> Iterator[Remark]:
    yield from _packed(record)
    row = record.diagnose
    spans, owners = row.spans or [], row.span_snippets
    yield from _spans(spans, len(record.pack.context), "diagnose.spans", "context")
    if owners is not None and len(owners) != len(spans):
        yield Remark("error", f"diagnose.span_snippets: {len(owners)} for {len(spans)} spans")
    for at, owner in enumerate(owners or []):
        if owner is not None and not 0 <= owner < len(record.pack.snippets):
            yield Remark("error", f"diagnose.span_snippets[{at}]: there is no snippet {owner}")
    for name in _SHARES:
        value = getattr(row, name)
        if value is not None and not 0 <= value <= 1:
            yield Remark("error", f"diagnose.{name}: {value} is not in [0, 1]")


def _asked(record: Question | Hits | Packed | Answered | Diagnosed) -> Iterator[Remark]:
    if not record.question.strip():
        yield Remark("error", "question: it is empty")
    if not record.answers:
        yield Remark("note", "answers: none, so EM, F1 and answer_in_context are undefined")
    if not record.gold:
        yield Remark("note", "gold: none, so coverage and recall are undefined")


def _ranking(record: Hits | Packed | Answered | Diagnosed) -> Iterator[Remark]:
    hits: Sequence[Hit] = record.hits
    ranks = sorted(hit.rank for hit in hits)
    if ranks != list(range(1, len(hits) + 1)):
        shown = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
        yield Remark("error", f"hits: ranks are not 1 to {len(hits)} but {shown}")
    ids = [hit.id for hit in hits]
    yield from _twice(ids, "hits", "note")
    yield from _golds(record, ids, "hits")


def _golds(record: Any, ids: Sequence[str], where: str) -> Iterator[Remark]:  # noqa: ANN401 # any record with gold
    missing = [name for name in dict.fromkeys(record.gold) if name not in set(ids)]
    if missing:
        yield Remark("note", f"gold: {len(missing)} of {len(set(record.gold))} not in {where}: '{missing[0]}'")


def _twice(ids: Sequence[str], where: str, level: str = "error") -> Iterator[Remark]:
    seen: set[str] = set()
    for at, name in enumerate(ids):
        if name in seen:
            yield Remark(level, f"{where}[{at}].id: '{name}' is there twice")
        seen.add(name)


def _spans(spans: Sequence[Span], size: int, where: str, text: str) -> Iterator[Remark]:
    before = 0
    for at, (start, end) in enumerate(spans):
        if not 0 <= start <= end <= size:
            yield Remark("error", f"{where}[{at}]: [{start}, {end}] is not inside the {text} of {size} characters")
        elif start < before:
            yield Remark("note", f"{where}[{at}]: [{start}, {end}] begins before the end of the one before it")
        before = max(before, end)


_CHECKS: dict[type[Record], Callable[[Any], Iterator[Remark]]] = {
    Doc: _doc,
    Question: _question,
    Hits: _hits,
    Packed: _packed,
    Answered: _packed,
    Diagnosed: _diagnosed,
}
_SHARES = ("answer_in_context", "graded", "gold_doc_coverage", "all_gold_in_context", "gold_token_density",
           "answer_in_hits", "all_gold_in_hits", "supported_answer_in_context", "entailed", "em", "f1", "acc",
           "answer_position")  # fmt: skip
