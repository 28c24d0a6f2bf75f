"""Answers from a model in vLLM, in this process.

The engine's own loop is driven by hand (`add_request`, `step`), so that a stream of any length keeps the batch full
without being held in memory, and an answer is given as soon as its last token is there. The engine starts with the
first request: a run that has nothing to compute loads no model.

Prompts go in as token ids, from the chat template of the model's own tokenizer, so no second BOS is added on the way.
Greedy is temperature exactly 0; greedy is not batch-invariant, so a near-tie may still fall otherwise in another batch
(VLLM_BATCH_INVARIANT=1 on GPUs that can).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ragpack.errors import BackendError, DataError, Missing, in_a_line
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request, Sample
from ragpack.readers.engine.fitting import continued, fitted, token_ends
from ragpack.readers.engine.starting import LIMITS, SCHEDULING, defaults, fingerprint, resolve, start, version
from ragpack.readers.engine.told import continuation_of, sample_of
from ragpack.readers.prompts.chat import TEMPLATE, Chat
from ragpack.readers.turns import Turns


def open_reader(
    model: str,
    *,
    most_logprobs: int = 0,
    max_model_len: int | None = None,
    dtype: str = "auto",
    seed: int = 0,
    engine_args: Mapping[str, Any] | None = None,
    template_args: Mapping[str, Any] | None = None,
    lookahead: int | None = None,
) -> Reader:
    """Prepare a model, by hub id or local folder; it is loaded when the first request arrives.

    `engine_args` go to `vllm.LLM` as they are and win over the defaults here; `template_args` go to the chat
    template. `lookahead` is how many requests may be under way at once: by default as many as the engine batches.
    """
    if importlib.util.find_spec("vllm") is None:
        raise Missing("The vllm reader", "vllm")
    limits = {"max_logprobs": most_logprobs} if most_logprobs > 20 else {}  # 20 is the engine's own
    return _Vllm(
        model=resolve(model),
        named=model,
        lookahead=lookahead,
        template={**TEMPLATE, **(template_args or {})},
        settings={"dtype": dtype, "max_model_len": max_model_len, "seed": seed, **limits, **(engine_args or {})},
    )


class _Prompt(NamedTuple):
    """A prompt as the engine gets it."""

    ids: list[int]
    start: int | None = None
    """Index of the continuation's first token, where there is one."""
    cut: bool = False


class _UnderWay(NamedTuple):
    request: Request
    prompt: _Prompt


class _Vllm:
    """One model in one engine."""

    name = "vllm"

    def __init__(
        self, *, model: str, named: str, lookahead: int | None, template: dict[str, Any], settings: dict[str, Any]
    ) -> None:
        folder = Path(named).expanduser()
        # A path belongs to one machine; the folder's name and the fingerprint say which model it was.
        self.model = folder.resolve().name if folder.is_dir() else named
        if settings.get("quantization"):  # another reader: `stats` must not mix it up with the whole one
            self.model += f"@{settings['quantization']}"
        self._path = model
        self._lookahead = lookahead
        self._template = template
        self._settings = defaults(model, settings)
        self._llm: Any = None
        self._served = 0
        self._known_groups: dict[tuple[tuple[str, ...], ...], tuple[tuple[int, ...], ...]] = {}
        given = {key: value for key, value in self._settings.items() if key not in SCHEDULING | LIMITS}
        self.fingerprint = fingerprint(model, {"vllm": version(), "template": template, **given})

    @property
    def about(self) -> dict[str, Any]:
        """The engine: what it was asked for, and what it made of it."""
        told: dict[str, Any] = {"vllm": version(), "fingerprint": self.fingerprint, "settings": dict(self._settings)}
        told["batch_invariant"] = os.environ.get("VLLM_BATCH_INVARIANT", "0") == "1"
        if self._llm is not None:
            config = self._llm.llm_engine.vllm_config
            told["engine"] = {
                "dtype": str(config.model_config.dtype).removeprefix("torch."),
                "max_model_len": self._limit,
                "max_logprobs": config.model_config.max_logprobs,
                "max_num_seqs": config.scheduler_config.max_num_seqs,
                "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
                "tensor_parallel_size": config.parallel_config.tensor_parallel_size,
                "quantization": config.model_config.quantization,
                "prefix_caching": config.cache_config.enable_prefix_caching,
            }
        return told

    def answer(self, requests: Iterator[Request]) -> Iterator[Completion | Refusal]:
        """Keep the engine full from `requests`; give each answer in the step that ends it."""
        under_way: dict[str, _UnderWay] = {}
        turns = Turns(requests)
        waiting: Iterator[Request] = iter(())
        try:
            while turns.left or under_way:
                while self._llm is None or len(under_way) < self._room:
                    request = next(waiting, None) or turns.next(1 if self._llm is None else self._room)
                    if request is None and not under_way and turns.held:
                        waiting = turns.turn()
                        continue
                    if request is None:
                        break
                    self._start()
                    prompt = self._prompt(request)
                    if isinstance(prompt, Refusal):
                        yield prompt
                    else:
                        under_way[self._add(prompt, request.decoding)] = _UnderWay(request, prompt)
                if under_way:
                    for output in self._step():
                        yield self._reply(under_way.pop(output.request_id), output)
        finally:
            if under_way:  # the consumer has gone, or the engine failed
                with contextlib.suppress(Exception):
                    self._llm.llm_engine.abort_request(list(under_way))

    def close(self) -> None:
        """Give the memory back and end the workers, where there are any."""
        llm, self._llm = self._llm, None
        if llm is not None:
            with contextlib.suppress(Exception):  # what is left of a broken engine goes with the process
                llm.llm_engine.engine_core.shutdown()

    def _start(self) -> None:
        """Load the model, once; everything that could print or pick a device is settled before vLLM is imported."""
        if self._llm is not None:
            return
        llm = start(self._path, self.model, self._settings)
        self._llm = llm
        self._limit = int(llm.llm_engine.model_config.max_model_len)
        self._room = self._lookahead or int(llm.llm_engine.vllm_config.scheduler_config.max_num_seqs)
        self._chat = Chat(llm.get_tokenizer(), self._template)

    # prompts

    def _prompt(self, request: Request) -> _Prompt | Refusal:
        """The prompt as token ids; refused where the template won't have it or it leaves no room for the answer."""
        import jinja2

        if request.messages is not None and not self._chat.has_template:
            raise BackendError(
                f"'{self.model}' has no chat template",
                "Use an instruction-tuned model, or --no-chat-template for a base model.",
            )
        most = 1 if request.continuation else request.decoding.max_tokens
        starts: list[int] = []

        def build(passage: str) -> list[int]:
            messages, text = _with_passage(request, passage)
            if messages is not None:
                return self._chat.ids(messages)
            if not request.continuation:
                return self._chat.plain_ids(text)
            found = continued(self._chat, text, request.continuation)
            starts.append(found.start)
            return found.ids

        try:
            if request.cut:
                found = fitted(
                    build, _passage(request), lambda text: token_ends(self._chat.tokenizer, text), self._limit - most
                )
                if found is not None:
                    return _Prompt(found.ids, starts[-1] if starts else None, found.cut)
            ids = build(_passage(request) if not request.cut else "")
        except jinja2.TemplateError as error:
            return Refusal(request.id, f"the model's chat template refuses the messages: {in_a_line(error)}")
        if not ids:
            return Refusal(request.id, "the prompt has no token: there is nothing to continue")
        if len(ids) + most > self._limit:
            without = " even without its passage" if request.cut else ""
            return Refusal(
                request.id,
                f"the prompt has {len(ids)} tokens{without} and the answer may have {most}: more than the"
                f" {self._limit} that the model is served with",
            )
        return _Prompt(ids, starts[-1] if starts else None)

    def _groups(self, decoding: Decoding) -> tuple[tuple[int, ...], ...]:
        """Token ids of the choices; a text of more than one token can't be one."""
        if decoding.choices in self._known_groups:
            return self._known_groups[decoding.choices]
        encode = self._chat.tokenizer
        found = []
        for group in decoding.choices:
            ids = [encode(text, add_special_tokens=False)["input_ids"] for text in group]
            found.append(tuple(sorted({one[0] for one in ids if len(one) == 1})))
            if not found[-1]:
                raise BackendError(f"'{self.model}' has none of {', '.join(group)} as one token")
        self._known_groups[decoding.choices] = tuple(found)
        return tuple(found)

    # the engine

    def _add(self, prompt: _Prompt, decoding: Decoding) -> str:
        engine = self._llm.llm_engine
        name = str(self._served)  # ours, not the caller's: those may repeat from one stream to the next
        self._served += 1
        engine.add_request(name, _engine_input(engine, prompt.ids), self._sampling(prompt, decoding))
        return name

    def _sampling(self, prompt: _Prompt, decoding: Decoding) -> Any:  # noqa: ANN401 # the library has no types here
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        wanted: dict[str, Any] = {
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "seed": decoding.seed,
            "n": decoding.n,
            "stop": list(decoding.stop) or None,
            "max_tokens": decoding.max_tokens,
            "logprobs": decoding.logprobs,
        }
        if prompt.start is not None:
            # 0: the log-probability of each token that is there, and of no other. One token must be generated.
            wanted = {"temperature": 0.0, "max_tokens": 1, "prompt_logprobs": 0, "detokenize": False}
        elif decoding.choices:
            ids = sorted({token for group in self._groups(decoding) for token in group})
            wanted |= {"max_tokens": 1, "logprobs": None, "logprob_token_ids": ids, "detokenize": False}
        elif decoding.uncertainty is not None:
            # Without texts: the engine would decode K tokens at each step, and nobody reads them.
            wanted |= {"logprobs": decoding.uncertainty, "detokenize": bool(decoding.stop)}
        if prompt.start is not None or decoding.uncertainty is not None:
            wanted["flat_logprobs"] = True
        unknown = {"flat_logprobs", "logprob_token_ids"} - set(SamplingParams.__struct_fields__)
        if "logprob_token_ids" in unknown & wanted.keys():
            # An older engine: the choices are looked for among the most likely tokens.
            wanted["logprobs"] = self._llm.llm_engine.model_config.max_logprobs
        wanted = {name: value for name, value in wanted.items() if name not in unknown}
        return SamplingParams(output_kind=RequestOutputKind.FINAL_ONLY, **wanted)

    def _step(self) -> list[Any]:
        try:
            return [output for output in self._llm.llm_engine.step() if output.finished]
        except Exception as error:
            raise BackendError(f"vLLM stopped while answering: {in_a_line(error)}") from error

    def _reply(self, one: _UnderWay, output: Any) -> Completion | Refusal:  # noqa: ANN401 # the library has no types here
        request, prompt = one
        decoding = request.decoding
        continuation = None
        groups = self._groups(decoding) if decoding.choices else ()
        samples: tuple[Sample, ...] = ()
        try:
            if prompt.start is not None:
                continuation = continuation_of(output.prompt_logprobs, prompt.ids, prompt.start)
            else:
                samples = tuple(
                    sample_of(sample, decoding, self._text(sample, decoding), groups) for sample in output.outputs
                )
        except DataError as error:
            return Refusal(request.id, error.message)
        if continuation is None and len(samples) != decoding.n:
            return Refusal(request.id, f"asked for {decoding.n} answers, got {len(samples)}")
        decode = self._chat.tokenizer.decode
        return Completion(
            id=request.id,
            samples=samples,
            prompt_tokens=len(prompt.ids),
            prompt=decode(prompt.ids, skip_special_tokens=False) if decoding.keep_prompt else None,
            continuation=continuation,
            cut=prompt.cut,
            k=decoding.uncertainty,
        )

    def _text(self, sample: Any, decoding: Decoding) -> str:  # noqa: ANN401 # same
        if decoding.uncertainty is None or decoding.stop:
            return str(sample.text)
        return str(self._chat.tokenizer.decode(list(sample.token_ids), skip_special_tokens=True))


def _passage(request: Request) -> str:
    if not request.cut:
        return ""
    text = request.messages[-1]["content"] if request.messages is not None else request.text or ""
    return text[request.cut[0] : request.cut[1]]


def _with_passage(request: Request, passage: str) -> tuple[list[dict[str, str]] | None, str]:
    """Messages, or the text, with this in the place of the passage."""
    if request.messages is None:
        return None, _replaced(request.text or "", request.cut, passage)
    if not request.cut:
        return request.messages, ""
    last = request.messages[-1]
    return [*request.messages[:-1], {**last, "content": _replaced(last["content"], request.cut, passage)}], ""


def _replaced(text: str, place: tuple[int, int] | None, passage: str) -> str:
    return text if place is None else text[: place[0]] + passage + text[place[1] :]


def _engine_input(engine: Any, ids: list[int]) -> Any:  # noqa: ANN401 # the library has no types here
    """Token ids as this vLLM wants them: newer ones want them rendered first and warn about anything else."""
    from vllm.inputs import TokensPrompt

    prompt = TokensPrompt(prompt_token_ids=ids)
    renderer: Any = getattr(engine, "renderer", None)
    return renderer.render_cmpl([prompt])[0] if hasattr(renderer, "render_cmpl") else prompt
