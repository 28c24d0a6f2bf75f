"""LLMLingua-2: a token classifier says how likely each word is to be kept; the least likely ones go.

Pan et al., "LLMLingua-2" (Findings of ACL 2024), as the package `llmlingua` computes it. What the package decides
stays as it is: chunks, percentiles, words. What it does around that is replaced, see docs/compressors.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from ragpack.candidates.snippet import Document, one_line
from ragpack.compressors.base import Compressed, Compressor
from ragpack.compressors.budget import Words, fit
from ragpack.compressors.model import SEED, Folder, open_folder, quiet, sealed, set_up, versions
from ragpack.compressors.spacing import as_in_source
from ragpack.errors import UsageError
from ragpack.flow.keys import digest
from ragpack.registry import Value
from ragpack.tokens import Counter

MODEL = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"

Foreign: TypeAlias = Any
"""A tensor, a model, a class: the libraries have no types here."""

LEVELS = 100
"""The package rounds the rate to a whole per cent."""

FAMILIES = {"bert": "bert-base-multilingual-cased", "xlm-roberta": "xlm-roberta-large"}
"""`model_type` of a config → what the package looks for in the name of a model's folder to know how it marks words."""

MEMO = 8
"""Questions whose model outputs are held: the cells of a question come one after the other."""


def open_compressor(
    counter: Counter,
    *,
    model: str = MODEL,
    header: bool = True,
    filter: bool = False,
    force_tokens: str = "",
    force_digits: bool = False,
    drop_consecutive: bool = False,
    token_to_word: Literal["mean", "first"] = "mean",
    text: Literal["source", "package"] = "source",
    specials: Literal["model", "package"] = "model",
) -> Compressor:
    """Words that a token classifier would keep, without regard to the question (LLMLingua-2).

    A text is cut into chunks of at most 510 subwords; in each, words whose probability is above a percentile stay.
    `filter` drops whole documents of low mean probability first. Each character of `force_tokens` is always kept,
    as are digits with `force_digits`; `drop_consecutive` keeps one of several equal forced characters in a row.
    `text=package` prints words as the package does, a blank between any two. `specials=package` gives an XLM-R model
    the unknown token at both ends of a text, as the package does, and not its own marks.
    """
    folder = open_folder("llmlingua2", model, "ForTokenClassification")
    if folder.config.get("model_type") not in FAMILIES:
        raise UsageError(
            f"policy 'llmlingua2': {folder.name} is of the type '{folder.config.get('model_type')}'",
            f"The package knows how these mark their words: {', '.join(FAMILIES)}.",
        )
    settings: dict[str, Value] = {
        "header": header, "filter": filter, "force_tokens": force_tokens, "force_digits": force_digits,
        "drop_consecutive": drop_consecutive, "token_to_word": token_to_word, "text": text, "specials": specials,
    }  # fmt: skip
    return LLMLingua2(counter, folder, settings)


class LLMLingua2:
    """One classifier; loaded with the first text that does not fit its budget."""

    name = "llmlingua2"

    def __init__(self, counter: Counter, folder: Folder, settings: Mapping[str, Value]) -> None:
        self.model, self.settings = folder.name, settings
        self.fingerprint = digest([versions(), folder.fingerprint])
        self._counter, self._folder = counter, folder
        self._package: Foreign = None

    @property
    def model_calls(self) -> int:
        """Batches that went through the model so far."""
        return self._package.model.calls if self._package else 0

    def compress(self, question: str, documents: Sequence[Document], budget: int) -> Compressed:
        """The documents in rank order. The question plays no part."""
        del question
        at = [index for index, one in enumerate(documents) if one.text.strip()]
        texts = [one_line(documents[index].text) for index in at]

        def at_rate(rate: float) -> list[Words]:
            with sealed(self.name):
                return [one._replace(document=at[one.document]) for one in self._words(texts, rate)]

        header = bool(self.settings["header"])
        return fit(self._counter, documents, budget, header=header, levels=LEVELS, at_rate=at_rate)

    def _words(self, texts: list[str], rate: float) -> list[Words]:
        if self._package is None:
            with quiet():
                self._package = _subclass()(self._folder, self._counter, self.settings["specials"] == "model")
        found = []
        for one in self._package.labelled(texts, rate, self.settings):
            body = as_in_source(texts[one.text], one.words, one.kept) if self.settings["text"] == "source" else None
            aligned = self.settings["text"] == "package" or body is not None
            found.append(Words(one.text, one.printed if body is None else body, aligned))
        return found


class Labelled(NamedTuple):
    """What the package says of one text."""

    text: int
    printed: str
    """Its own rendering."""
    words: list[str]
    kept: list[bool]


class _Memo:
    """The model, asked once for each batch: probabilities do not depend on the rate.

    Texts are padded to 512 by the package: here only to the longest of the batch, and the answer is padded back.
    """

    def __init__(self, model: Foreign, tokenizer: Foreign, repair: bool) -> None:
        self._model, self._tokenizer, self._repair = model, tokenizer, repair
        self._known: dict[bytes, Foreign] = {}
        self.calls = 0

    def __call__(self, input_ids: Foreign, attention_mask: Foreign) -> Foreign:
        key = input_ids.cpu().numpy().tobytes() + attention_mask.cpu().numpy().tobytes()
        if key not in self._known:
            if len(self._known) >= MEMO:
                self._known.pop(next(iter(self._known)))
            self._known[key] = self._ask(input_ids, attention_mask)
        return self._known[key]

    def _ask(self, ids: Foreign, mask: Foreign) -> Foreign:
        import torch

        self.calls += 1
        if self._repair:
            ids = self._own_marks(ids.clone(), mask)
        longest = int(mask.sum(dim=1).max())
        output = self._model(input_ids=ids[:, :longest], attention_mask=mask[:, :longest].long())
        rest = (0, 0, 0, ids.shape[1] - longest)
        output.logits = torch.nn.functional.pad(output.logits.float(), rest)
        return output

    def _own_marks(self, ids: Foreign, mask: Foreign) -> Foreign:
        """The model's own first, last and padding token. The package writes BERT's words for them, whatever the
        model; XLM-R's vocabulary does not know these, and they become the unknown token."""
        tokenizer = self._tokenizer
        last = tokenizer.convert_tokens_to_ids("[SEP]")
        ids[:, 0] = tokenizer.cls_token_id
        for row, length in enumerate(mask.sum(dim=1).tolist()):
            if ids[row, length - 1] == (tokenizer.unk_token_id if last is None else last):
                ids[row, length - 1] = tokenizer.sep_token_id
        ids[~mask] = tokenizer.pad_token_id
        return ids


@functools.cache
def _subclass() -> Foreign:
    from llmlingua import PromptCompressor

    class Package(PromptCompressor):  # type: ignore[misc] # the package has no types
        """The package's method, and what it keeps to itself: which text, which words.

        The names with `_PromptCompressor__` are its private methods: it calls them, so they can be listened to.
        """

        def __init__(self, folder: Folder, counter: Counter, own_marks: bool) -> None:
            self.model: Foreign
            self.max_seq_len: int
            set_up(self, folder, counter, "AutoModelForTokenClassification")
            self.use_llmlingua2 = True
            self.model_name = FAMILIES[folder.config["model_type"]]
            import torch

            torch.manual_seed(SEED)  # embeddings of the added tokens are drawn; `sealed` puts the state back
            self.init_llmlingua2()
            spare = 2 if folder.config["model_type"] == "xlm-roberta" else 0  # positions begin behind the padding's
            self.max_seq_len = min(self.max_seq_len, self.max_position_embeddings - spare)
            self.model = _Memo(self.model.eval(), self.tokenizer, own_marks)

        def labelled(self, texts: list[str], rate: float, settings: Mapping[str, Value]) -> list[Labelled]:
            """The package's choice at a rate, of the texts that its context filter leaves."""
            self._chunks: list[Foreign] = []
            self.compress_prompt_llmlingua2(
                texts,
                rate=rate,
                use_context_level_filter=settings["filter"],
                token_to_word=settings["token_to_word"],
                force_tokens=list(dict.fromkeys(str(settings["force_tokens"]))),
                force_reserve_digit=settings["force_digits"],
                drop_consecutive=settings["drop_consecutive"],
            )
            number = {id(chunks): at for at, chunks in enumerate(self._chunks)}
            printed, words, labels = self._result
            return [
                Labelled(number[which], text, list(of), [bool(label) for label in said])
                for which, text, of, said in zip(self._passed, printed, words, labels, strict=True)
            ]

        def _PromptCompressor__chunk_context(self, text: str, chunk_end_tokens: set[str]) -> list[str]:  # noqa: N802 # same
            """Chunks without a known token are left out: there is nothing to take a percentile of."""
            chunks = super()._PromptCompressor__chunk_context(text, chunk_end_tokens)
            chunks = [
                chunk
                for chunk in chunks
                if any(one not in self.special_tokens for one in self.tokenizer.tokenize(chunk))
            ]
            self._chunks.append(chunks)
            return chunks

        def _PromptCompressor__compress(self, texts: list[Foreign], **kwargs: Foreign) -> Foreign:  # noqa: N802 # its name
            self._passed = [id(chunks) for chunks in texts]
            self._result = super()._PromptCompressor__compress(texts, **kwargs)
            return self._result

        def _PromptCompressor__get_context_prob(self, texts: list[Foreign], **kwargs: Foreign) -> Foreign:  # noqa: N802 # same
            """A text without a known word has no mean: it is given the lowest, and the others are as they were."""
            full = [chunks for chunks in texts if chunks]
            probs, words = super()._PromptCompressor__get_context_prob(full, **kwargs)
            left, said = iter(probs), iter(words)
            return (
                [next(left) if chunks else 0.0 for chunks in texts],
                [next(said) if chunks else [] for chunks in texts],
            )

    return Package
