"""LLMLingua by perplexity: what a small language model could have guessed goes.

The package joins all texts, walks over them in segments, and in each keeps the tokens that surprise the model most.
Here it is told apart which tokens came from which document, and the package of 2024 is kept running on transformers 5.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from ragpack.candidates.snippet import Document, one_line
from ragpack.compressors.base import Compressed
from ragpack.compressors.budget import Words, fit
from ragpack.compressors.model import Folder, quiet, sealed, set_up, versions
from ragpack.compressors.spacing import between
from ragpack.errors import DataError
from ragpack.flow.keys import digest
from ragpack.registry import Value
from ragpack.tokens import Counter

Foreign: TypeAlias = Any
"""A tensor, a model, a class: the libraries have no types here."""

LEVELS = 200
"""A segment has about 200 tokens: a finer rate would name no other token."""

SEGMENT = 200
"""The package's `iterative_size`."""

NOTHING_DROPPED = "+1000000000"
"""A `context_budget` of the package under which its ranking orders the documents and drops none."""

DEFAULT_BUDGET = "+100"
"""The package's own: documents by rank until they are 100 tokens over the target."""

MEMO = 64
"""First passes and rankings held; a question needs one of the former and one a document of the latter."""


class Perplexity:
    """LLMLingua and LongLLMLingua: one causal language model, loaded with the first text that does not fit."""

    def __init__(self, name: str, counter: Counter, folder: Folder, settings: Mapping[str, Value]) -> None:
        self.name, self.model, self.settings = name, folder.name, settings
        self.fingerprint = digest([versions(), folder.fingerprint])
        self._counter, self._folder = counter, folder
        self._package: Foreign = None

    @property
    def model_calls(self) -> int:
        """Texts that went through the model so far."""
        return self._package.model.calls if self._package else 0

    def compress(self, question: str, documents: Sequence[Document], budget: int) -> Compressed:
        """The documents in rank order, or in LongLLMLingua's."""
        asks = self.name == "longllmlingua"
        question = one_line(question) if asks else ""
        at = [index for index, one in enumerate(documents) if one.text.strip()]
        texts = [one_line(documents[index].text) for index in at]

        def at_rate(rate: float) -> list[Words]:
            if asks and not question:
                raise DataError("longllmlingua: the question is empty", "It ranks by the question: use llmlingua.")
            with sealed(self.name):
                if self._package is None:
                    with quiet():
                        self._package = _subclass()(self._folder, self._counter)
                found = self._package.kept(texts, question, rate, self.settings)
            return [Words(at[one.text], one.body) for one in found]

        header = bool(self.settings["header"])
        return fit(self._counter, documents, budget, header=header, levels=LEVELS, at_rate=at_rate)


class Left(NamedTuple):
    """What is left of one text."""

    text: int
    body: str


def segment(tokens: int) -> int:
    """The segment length next to SEGMENT that the text divides into with almost nothing left over.

    The package leaves alone the tokens behind the last whole segment, up to 199 of them, and with texts shorter than
    a segment it looks in the wrong place. With this length at most one token a segment is left over.

    >>> segment(100), segment(299), segment(351), segment(801)
    (100, 299, 175, 200)
    """
    return tokens // max(1, round(tokens / SEGMENT)) or 1


class _Legacy:
    """The model as the package calls it: keys and values go in and out as a list of pairs, one a layer.

    transformers 5 takes and gives a Cache, whose layers come as triples: the package stops there with `too many
    values to unpack`.
    """

    def __init__(self, model: Foreign) -> None:
        self._model = model
        known = inspect.signature(model.forward).parameters
        self._word = "cache" if "cache" in known else "past_key_values"  # its newest name
        self.calls = 0

    def __call__(self, ids: Foreign, attention_mask: Foreign, past_key_values: Foreign, use_cache: bool) -> Foreign:
        from transformers import DynamicCache

        self.calls += 1
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(past_key_values or ()):
            cache.update(keys, values, layer)
        given = {self._word: cache, "attention_mask": attention_mask, "use_cache": use_cache}
        output = self._model(ids, **given)
        pairs = [tuple(item[:2]) for item in getattr(output, self._word)]
        return SimpleNamespace(logits=output.logits.float(), past_key_values=pairs)


@functools.cache
def _subclass() -> Foreign:
    import torch
    from llmlingua import PromptCompressor

    class Package(PromptCompressor):  # type: ignore[misc] # the package has no types
        """The package's method; the places where it is listened to, or mended, are the methods that it calls."""

        def __init__(self, folder: Folder, counter: Counter) -> None:
            self.model: Foreign
            set_up(self, folder, counter, "AutoModelForCausalLM")
            self.use_llmlingua2 = False
            self.model = _Legacy(self.model)
            self._losses: dict[bytes, Foreign] = {}
            self._ranks: dict[tuple[str, str, str], Foreign] = {}

        def kept(self, texts: list[str], question: str, rate: float, settings: Mapping[str, Value]) -> list[Left]:
            """What is left of each text at a rate: a share of the texts' tokens as this model has them."""
            self._order: list[int] = list(range(len(texts)))
            self._used = [*self._order]
            compare, filters = bool(settings.get("compare")), bool(settings["filter"])
            asks = bool(question)
            self._own = settings["align"] == "token"
            self.compress_prompt(
                list(texts),
                question=question,
                target_token=max(rate * sum(self.get_token_length(text, False) for text in texts), 0.0),
                use_context_level_filter=asks or filters,
                context_budget=DEFAULT_BUDGET if filters else NOTHING_DROPPED,
                use_sentence_level_filter=False,
                rank_method="longllmlingua" if asks else "llmlingua",
                condition_in_question="after_condition" if compare else "after" if asks else "none",
                condition_compare=compare,
                reorder_context=str(settings.get("reorder", "original")),
                dynamic_context_compression_ratio=float(settings.get("dynamic", 0.0)),
                concate_question=False,
            )
            return self._left([texts[at] for at in self._used])

        def _left(self, texts: list[str]) -> list[Left]:
            """Pieces of the texts, as given, for the tokens that were kept of the joined text."""
            flags = [False] * len(self._ends)
            for position in self._positions:
                flags[position] = True
            found, start = [], self._prefix
            for at, text in zip(self._used, texts, strict=True):
                pieces = between(self._ends, flags, start, start + len(text))
                found.append(Left(at, "".join(text[a - start : b - start] for a, b in pieces)))
                start += len(text) + len("\n\n")
            return found

        def control_context_budget(self, *args: Foreign, **kwargs: Foreign) -> Foreign:
            result = super().control_context_budget(*args, **kwargs)
            self._used = list(result[2])
            return result

        def iterative_compress_prompt(self, context: list[str], target_token: float, **kwargs: Foreign) -> Foreign:
            """The token level: notes where tokens lie in the joined text, and sets a segment that leaves no tail."""
            start = kwargs["start"]
            self._prefix = len(context[0]) + len("\n\n") if start else 0
            given = self.tokenizer("\n\n".join(context), add_special_tokens=False, return_offsets_mapping=True)
            self._ends = [end for _, end in given["offset_mapping"]]
            self._now = torch.arange(len(self._ends))[None]
            self._gone: list[int] = []
            kwargs["iterative_size"] = segment(len(self._ends) - start)
            result = super().iterative_compress_prompt(context, target_token, **kwargs)
            self._positions = [*self._gone, *self._now[0].tolist()]
            return result

        def get_compressed_input(
            self,
            loss: Foreign,
            input_ids: Foreign,
            attention_mask: Foreign,
            end: Foreign,
            self_loss: Foreign = None,
            **kwargs: Foreign,
        ) -> Foreign:
            """What it does to the tokens it does to their positions: the choice looks at losses alone.

            The package lays the loss of token j + 1 over token j. With align=token each loss is moved to its own
            token, and of the losses those of the tokens that are left stay.
            """
            end = int(end)  # a tensor would be counted down in place
            popped = self._now.shape[1] - input_ids.shape[1]  # beyond the model's length the first ones are set aside
            self._gone += self._now[0, :popped].tolist()
            here = self._now[:, popped:].to(input_ids.device)
            seen, alone = (_moved(loss), _moved(self_loss)) if self._own else (loss, self_loss)
            choose = functools.partial(super().get_compressed_input, seen)
            self._now = choose(here, attention_mask, end, self_loss=alone, **kwargs)[0].cpu()
            result = list(choose(input_ids, attention_mask, end, self_loss=alone, **kwargs))
            if self._own:
                stays = torch.isin(here[0], self._now[0].to(here.device))
                result[4] = loss[stays[1 : 1 + len(loss)]]
                if self_loss is not None:
                    first = 1 + kwargs["start"]
                    result[5] = self_loss[stays[first : first + len(self_loss)]]
            return result

        def get_ppl(self, *args: Foreign, **kwargs: Foreign) -> Foreign:
            """The first pass of the token level sees all of the text, whatever the rate: it is done once.

            Its keys and values are thrown away by the package, and so not held here.
            """
            if not kwargs.get("return_kv") or kwargs.get("past_key_values") is not None or kwargs.get("end"):
                return super().get_ppl(*args, **kwargs)
            key = args[2].cpu().numpy().tobytes()
            if key not in self._losses:
                _make_room(self._losses)
                self._losses[key] = super().get_ppl(*args, **kwargs)[0]
            return self._losses[key].clone(), None

        def get_condition_ppl(
            self,
            text: str,
            question: str,
            condition_in_question: str = "none",
            **kwargs: Foreign,
        ) -> Foreign:
            """Ranks do not depend on the rate either."""
            key = text, question, condition_in_question
            if key not in self._ranks:
                _make_room(self._ranks)
                self._ranks[key] = super().get_condition_ppl(text, question, condition_in_question, **kwargs)
            return self._ranks[key]

        def get_prefix_length(self, prefix: str, text: str) -> int:
            """Tokens of the joined text that begin within the prefix. By offsets: the package decodes beginnings until
            one is the prefix, and stops where a tokenizer does not give back what it took."""
            given = self.tokenizer(prefix + text[:100], add_special_tokens=False, return_offsets_mapping=True)
            return sum(start < len(prefix) for start, _ in given["offset_mapping"])

    return Package


def _moved(losses: Foreign) -> Foreign:
    """Each loss one place on; the first token, which nothing predicts, stays."""
    return None if losses is None else losses.new_tensor([float("inf"), *losses[:-1].tolist()])


def _make_room(known: dict[Any, Any]) -> None:
    if len(known) >= MEMO:
        known.pop(next(iter(known)))
