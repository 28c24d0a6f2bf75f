"""Every record that flows between stages: its fields and their order.

One JSON object per line, first key `schema`. A stage adds one object under its own name and leaves the rest
alone; unknown keys survive, after the known ones. Undefined is null. The line under each field is its
reference: `docs/records.md` and the JSON Schema files are made from it.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar

Raw = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What every record has."""

    SCHEMA: ClassVar[str] = ""
    """Name and version, the value of the first key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doc(Record):
    """A document of a corpus, or of one question's own pool."""

    SCHEMA: ClassVar[str] = "ragpack.doc/1"

    id: str
    """Unique in its corpus or pool; what `gold` and `hits` name."""
    title: str | None = None
    """Printed before each snippet of the document."""
    text: str
    """The text, in Unicode; all spans count its code points."""
    sentences: list[tuple[int, int]] | None = None
    """[start, end) of each sentence in `text`; cut by rule where absent."""
    meta: Raw | None = None
    """Free; never read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Record):
    """A question with what is known of its answer."""

    SCHEMA: ClassVar[str] = "ragpack.question/1"

    id: str
    """The cluster of all inference: rows of one question are never independent."""
    question: str
    """The question as the reader will see it."""
    answers: list[str] = dataclasses.field(default_factory=list)
    """Gold answers and their aliases; empty where none is known."""
    gold: list[str] = dataclasses.field(default_factory=list)
    """Ids of the gold documents; empty where none is known."""
    gold_sentences: list[tuple[str, int]] | None = None
    """[document id, sentence index from 0] of each supporting sentence."""
    docs: list[Doc] | None = None
    """The question's own pool of documents."""
    group: str | None = None
    """A name to cut rows by: dataset, split, question type; carried along, not read."""
    sample: Raw | None = None
    """`seed`, `n`: how `import --sample` drew this question."""
    meta: Raw | None = None
    """Free; never read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One retrieved document."""

    rank: int
    """Place in the ranking, from 1."""
    id: str
    """The document's id."""
    title: str | None = None
    """The document's title."""
    text: str | None = None
    """The document's text; absent after `pack`."""
    score: float | None = None
    """The retriever's score; larger is better."""
    sentences: list[tuple[int, int]] | None = None
    """[start, end) of each sentence in `text`; absent after `pack`."""
    has_answer: bool | None = None
    """Does a gold answer occur in title and text (token match)? Null where no answer is known."""
    scores: dict[str, float | None] | None = None
    """Other scores by name."""
    bridge: str | None = None
    """Id of the document that led to this one, where the retriever follows links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """What `retrieve` did."""

    retriever: str
    """Canonical retriever string."""
    k: int
    """Hits asked for."""
    index: str
    """`pool`, or the fingerprint of the corpus."""
    reader: str | None = None
    """Back end of the reader that was asked between searches: `vllm`, `openai`, `extractive`; this and the next five
    are absent where no reader was asked."""
    model: str | None = None
    """Model id, or the name of its folder."""
    prompt: Prompt | None = None
    """The prompt template."""
    thoughts: list[str] | None = None
    """What the reader said, in order; `hits[].scores.hop` counts them from 1."""
    calls: int | None = None
    """Requests to the reader for this question; one that gave no thought is counted."""
    tokens: Usage | None = None
    """Tokens of these calls together."""
    settings: Raw | None = None
    """All that decides a corpus's index and the words of a question, defaults too; absent for pools."""
    rerank: str | None = None
    """Canonical reranker string; absent where nothing was reranked."""
    rerank_depth: int | None = None
    """Hits that the reranker was given at most."""
    key: str | None = None
    """Content key: equal keys, equal hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What probing the hits with the reader measured; each hit's part is in its `scores`."""

    reader: str | None = None
    """Back end: `vllm`, `openai`."""
    model: str | None = None
    """Model id, or the name of its folder."""
    kind: str | None = None
    """What was probed: `ig`, `qlm`, `yesno`, with commas between."""
    nu0: float | None = None
    """Normalised uncertainty of the reader without a passage."""
    k: int | None = None
    """Most likely tokens over which uncertainty was measured: those asked for, or what the server gives at most."""
    max_tokens: int | None = None
    """Most tokens of a rollout."""
    eos: str | None = None
    """`counted`: the step that ends a rollout is one of its steps; `server`: if the server tells of it."""
    prompt: Prompt | None = None
    """The probing prompts."""
    cut: list[int] | None = None
    """Ranks of hits whose passage was longer than the model allows, and was cut at its end."""
    calls: int | None = None
    """Prompts: one without a passage, and one for each different passage; also where a cache had the answer."""
    tokens: int | None = None
    """Tokens of these prompts and of what was generated."""
    key: str | None = None
    """Content key: equal keys, the same calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits(Record):
    """A question with its ranked documents."""

    SCHEMA: ClassVar[str] = "ragpack.hits/1"

    id: str
    question: str
    answers: list[str] = dataclasses.field(default_factory=list)
    gold: list[str] = dataclasses.field(default_factory=list)
    gold_sentences: list[tuple[str, int]] | None = None
    group: str | None = None
    sample: Raw | None = None
    meta: Raw | None = None
    hits: list[Hit]
    """The ranked documents."""
    retrieve: Retrieve | None = None
    """What made the hits; absent where they were brought from elsewhere."""
    probe: Probe | None = None
    """What probing added; absent where the hits were not probed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One piece of the context, in the order in which it stands there."""

    id: str
    """The document's id."""
    title: str | None = None
    """The document's title."""
    rank: int
    """The hit's rank."""
    span: tuple[int, int]
    """[start, end) in the document's text."""
    tokens: int
    """Tokens of the context that it accounts for, header and separator included; they add up to `pack.tokens`."""
    relevance: float
    """Relevance to the question, scaled to a maximum of 1 over the candidates."""
    gain: float | None = None
    """Gain of the objective when it was taken, where the packer has one."""
    also: list[Source] | None = None
    """Other places that say the same and were left out for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place in a document."""

    id: str
    """The document's id."""
    span: tuple[int, int]
    """[start, end) in its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What became of one candidate (`--explain`)."""

    id: str
    """The document's id."""
    rank: int
    """The hit's rank."""
    span: tuple[int, int]
    """[start, end) in the document's text."""
    relevance: float | None = None
    """Relevance to the question, scaled to a maximum of 1 over the candidates."""
    cost: int | None = None
    """Tokens that it would add, its header included."""
    terms: list[str] | None = None
    """Content terms of the question that it covers."""
    step: int | None = None
    """When it was taken, from 1; null where it was not."""
    gain: float | None = None
    """What it added then, where the packer has a score."""
    reason: str | None = None
    """`taken`, or why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPrompt:
    """The prompt that a pack was made for (`--prompt-budget`)."""

    name: str
    """Name and version of the template."""
    hash: str
    """Hash of its text."""
    budget: int
    """The most tokens of prompt and answer together."""
    reserve: int
    """Tokens kept for the answer."""
    evidence: int
    """Tokens that were left for the context."""
    tokens: int
    """Tokens of the whole templated prompt with this context."""
    chat_template: bool | None = None
    """False: the prompt is a plain text (`--no-chat-template`); absent where the chat template is around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """How a compressor left out words."""

    method: str
    """`llmlingua2`, `llmlingua`, `longllmlingua`."""
    model: str
    """Model id, or the name of its folder."""
    fingerprint: str
    """Of the model's files and the package."""
    asked: float | None
    """Rate that the method was asked for: the share to keep, in its own tokens. 1: everything fitted, nothing was
    compressed; null: no text, or no room for any."""
    achieved: float | None
    """`pack.tokens` / `original`; null without any text."""
    original: int
    """Tokens of the same documents uncompressed, in the unit of the pack."""
    steps: int
    """Rates tried until one fitted."""
    truncated: bool
    """Even the smallest rate was over the budget: the tail was cut."""
    unaligned: int
    """Documents printed with the package's spacing, since their words were not found in their text."""
    settings: Raw
    """Everything that was set, defaults included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What `pack` put into the context."""

    policy: str
    """Canonical policy string; defaults are left out."""
    budget: int
    """The most tokens that the context may have."""
    unit: str
    """The tokenizer that counts, and the head of its fingerprint."""
    tokens: int
    """Tokens of `context`, counted on the whole string."""
    context: str
    """What the reader sees."""
    snippets: list[Snippet]
    """What is in it, in the order of the text."""
    dropped: int
    """Candidates that are not in it."""
    objective: float | None = None
    """F(S) of the chosen set, where the packer maximises one."""
    bound: float | None = None
    """An upper bound on the largest F at this budget."""
    prompt: PackPrompt | None = None
    """The prompt that the budget is of; absent where it is of the context alone."""
    explain: list[Explained] | None = None
    """Every candidate and what became of it (`--explain`)."""
    graph: Raw | None = None
    """Claims, entities and edges that the space `ace` saw (`--explain`)."""
    compression: Compression | None = None
    """Where a compressor left out words."""
    key: str | None = None
    """Content key: equal keys, equal contexts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Record):
    """A packed context: one line for each policy and budget."""

    SCHEMA: ClassVar[str] = "ragpack.pack/1"

    id: str
    question: str
    answers: list[str] = dataclasses.field(default_factory=list)
    gold: list[str] = dataclasses.field(default_factory=list)
    gold_sentences: list[tuple[str, int]] | None = None
    group: str | None = None
    sample: Raw | None = None
    meta: Raw | None = None
    hits: list[Hit]
    """The hits, less their texts."""
    retrieve: Retrieve | None = None
    probe: Probe | None = None
    pack: Pack
    """What `pack` did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Which prompt was used."""

    name: str
    """Name and version of the template, or the name of its file."""
    hash: str
    """Hash of its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that one call took."""

    prompt: int
    """Tokens of the whole templated prompt."""
    completion: int
    """Tokens generated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How answers were drawn."""

    temperature: float
    """Above 0."""
    top_p: float
    """Tokens that were drawn from: the most likely ones whose probabilities add up to this."""
    seed: int
    """Of the draws."""
    n: int
    """Answers to this prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """One token that was given (`--logprobs N`)."""

    token: str
    """Its text."""
    id: int | None = None
    """Its number in the vocabulary; absent where the server doesn't say."""
    logprob: float | None
    """Its log-probability; null for minus infinity."""
    top: list[tuple[str, int | None, float | None]] | None = None
    """[token, id, logprob] of the most likely tokens, most likely first; absent with N = 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One of several answers to a prompt (`--n`)."""

    answer: str
    """The completion, blanks at both ends removed, and what `post` says."""
    raw: str | None = None
    """The completion before `post`, where that changed it."""
    finish: str
    """Why generation ended: `stop` or `length`."""
    tokens: int
    """Tokens generated."""
    logprob: float | None = None
    """Sum of the answer tokens' log-probabilities (`--logprob`)."""
    token_logprobs: list[TokenLogprob] | None = None
    """Log-probabilities token by token (`--logprobs`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate:
    """What the reader answered."""

    reader: str
    """Back end: `vllm`, `openai`, `extractive`."""
    model: str
    """Model id, or the name of its folder; `@` and the quantisation where one was asked for."""
    prompt: Prompt
    """The prompt template."""
    chat_template: bool | None = None
    """False: the prompt was a plain text (`--no-chat-template`); absent where the chat template was around it."""
    sampling: Sampling | None = None
    """How the answer was drawn; absent for greedy decoding."""
    stop: list[str] | None = None
    """Texts that end an answer (`--stop`)."""
    post: list[str] | None = None
    """What was done to the answer: `first_line`. Absent: nothing."""
    answer: str
    """The completion, blanks at both ends removed, and what `post` says; of several the first."""
    raw: str | None = None
    """The completion before `post`, where that changed it."""
    finish: str
    """Why generation ended: `stop` or `length`."""
    tokens: Usage
    """Tokens of the call, of all samples together."""
    logprob: float | None = None
    """Sum of the answer tokens' log-probabilities (`--logprob`)."""
    token_logprobs: list[TokenLogprob] | None = None
    """Log-probabilities token by token (`--logprobs`)."""
    samples: list[Said] | None = None
    """All answers, where more than one was asked for; the first is the one above."""
    prompt_text: str | None = None
    """The templated prompt (`--keep-prompt`)."""
    key: str | None = None
    """Content key: equal keys, the same call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Record):
    """A packed context with the reader's answer."""

    SCHEMA: ClassVar[str] = "ragpack.answer/1"

    id: str
    question: str
    answers: list[str] = dataclasses.field(default_factory=list)
    gold: list[str] = dataclasses.field(default_factory=list)
    gold_sentences: list[tuple[str, int]] | None = None
    group: str | None = None
    sample: Raw | None = None
    meta: Raw | None = None
    hits: list[Hit]
    retrieve: Retrieve | None = None
    probe: Probe | None = None
    pack: Pack
    generate: Generate
    """What `generate` did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed(Record):
    """A row of the diagnostic; `stats` reads these. `diagnose` also holds `recall@k`, `hit@k`, `all_gold@k`,
    `ndcg@k` and `answer_in_hits@k` for each k asked for."""

    SCHEMA: ClassVar[str] = "ragpack.diagnosis/1"

    id: str
    question: str
    answers: list[str] = dataclasses.field(default_factory=list)
    gold: list[str] = dataclasses.field(default_factory=list)
    gold_sentences: list[tuple[str, int]] | None = None
    group: str | None = None
    sample: Raw | None = None
    meta: Raw | None = None
    hits: list[Hit]
    retrieve: Retrieve | None = None
    probe: Probe | None = None
    pack: Pack
    generate: Generate | None = None
    diagnose: Diagnose
    """What `diagnose` measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnose:
    """The diagnostic of one context, and the answer's score where there is one."""

    profile: str
    """Rules of EM and F1: `squad`, `hotpot`, `2wiki`, `musique`, `flashrag`."""
    match: str | None = None
    """How an answer was looked for in the context: `token`, `substring`, `dpr`; absent in rows of older versions, which
    is `token`."""
    answer_kind: str | None = None
    """`span`, `yes_no`, or `empty` (every gold normalises to nothing); null without golds."""
    answer_in_context: float | None = None
    """1 if a gold answer is in the context under `match`, else 0."""
    graded: float | None = None
    """Largest share of an answer's tokens within a window of twice its length."""
    gold_doc_coverage: float | None = None
    """Share of the gold documents with a snippet in the context."""
    all_gold_in_context: float | None = None
    """1 if every gold document has one."""
    gold_token_density: float | None = None
    """Share of the context's tokens that come from gold documents; null for an empty context."""
    answer_in_hits: float | None = None
    """1 if a hit has the answer, else 0."""
    all_gold_in_hits: float | None = None
    """1 if every gold document is among the hits: the question is retrieval-perfect."""
    supported_answer_in_context: float | None = None
    """1 if a snippet of a gold document has the answer by itself, else 0 (`--supported`)."""
    semantic: float | None = None
    """Largest cosine similarity of the question with a gold answer to a snippet (`--semantic`)."""
    entailed: float | None = None
    """Largest probability that the context or a snippet entails the question with a gold answer (`--entail`)."""
    em: float | None = None
    """Exact match; absent without a reader. Of several samples, this and the next two are the mean."""
    f1: float | None = None
    """Token F1; absent without a reader."""
    acc: float | None = None
    """1 if a gold answer is a substring of the answer, else 0; in the profile `flashrag` alone."""
    verdict: str | None = None
    """`correct`, `unsupported_correct`, `in_context_missed`, `dropped_by_packing`, `not_retrieved`; without a
    reader `in_context` stands for the first and third."""
    spans: list[tuple[int, int]] | None = None
    """[start, end) of each place in `pack.context` where a gold answer stands."""
    span_snippets: list[int | None] | None = None
    """Index in `pack.snippets`, from 0, of the snippet that each span is in; null across two lines."""
    answer_position: float | None = None
    """Start of the first span as a share of the context's characters; null without one."""
    answers_found: list[str] | None = None
    """The gold answers that are in the context."""
    key: str | None = None
    """Content key: equal keys, equal numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat(Record):
    """One row of one table; after `table` that table's columns."""

    SCHEMA: ClassVar[str] = "ragpack.stat/1"

    table: str
    """Name of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(Record):
    """A line that could not be worked on (`--failures FILE`)."""

    SCHEMA: ClassVar[str] = "ragpack.failure/1"

    stage: str
    """The command."""
    source: str
    """The file, or `<stdin>`."""
    line: int
    """Line number, from 1."""
    id: str | None = None
    """The record's id, where it could be read."""
    error: Raw
    """`type` and `message`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Record):
    """What `validate` found about one file: findings of one kind are one record."""

    SCHEMA: ClassVar[str] = "ragpack.finding/1"

    level: str
    """`error`; `note`, which may be meant; `count`, how many lines are such a record."""
    source: str
    """The file, or `<stdin>`."""
    record: str | None = None
    """The record type of the lines, where it could be read."""
    message: str | None = None
    """What was said of the first of them."""
    count: int
    """How often."""
    lines: list[int] | None = None
    """The first line numbers, from 1."""


RECORDS: tuple[type[Record], ...] = (Doc, Question, Hits, Packed, Answered, Diagnosed, Stat, Failure, Finding)


def ordered(kind: type[Record], fields: Raw) -> Raw:
    """The record as it is written: `schema`, the known keys in their order, then the unknown ones as they came."""
    row: Raw = {"schema": kind.SCHEMA}
    for name in field_names(kind):  # type: ignore[arg-type] # mypy takes a dataclass for unhashable
        if name in fields:
            row[name] = fields[name]
    for name, value in fields.items():
        if name not in row:
            row[name] = value
    return row


@functools.cache
def field_names(kind: type) -> tuple[str, ...]:
    """Names of a record's fields, in the order in which they are written."""
    return tuple(field.name for field in dataclasses.fields(kind))
