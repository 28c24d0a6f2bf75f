"""Rollouts, log-probabilities of a prompt, and choices: vLLM beside transformers' logits for the same token ids."""

from collections.abc import Iterator

import numpy as np
import pytest
from smollm2 import MODEL, needs_reader

from ragpack.checked import view
from ragpack.metrics.uncertainty import normalised_uncertainty
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request
from ragpack.readers.prompts.probes import CHAT, KINDS, TEXT, Form
from ragpack.readers.vllm import open_reader
from ragpack.records import Hits
from ragpack.stage import Task
from ragpack.stages.probe import Probing

K, LENGTH = 128, 512

pytestmark = needs_reader

PROMPTS = [
    "User: Who wrote Hamlet? Assistant:",
    "User: Who wrote Hamlet? Context: Hamlet is a play by William Shakespeare. Assistant:",
    "User: Name the largest planet. Assistant:",
    "User: 桥在哪里？ Assistant:",
    "The first ten letters are a, b, c, d,",
]
ROLLOUT = Decoding(max_tokens=12, uncertainty=K)
YES_NO = Decoding(max_tokens=1, choices=(("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no")))


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    opened = open_reader(str(MODEL), max_model_len=LENGTH, most_logprobs=K)
    yield opened
    opened.close()


class Reference:
    """transformers, in float32."""

    def __init__(self) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(MODEL)
        self.model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)

    def rollout(self, text: str, most: int) -> tuple[list[int], np.ndarray]:
        """Tokens, and [T, V] log-probabilities."""
        ids = self.tokenizer(text, return_tensors="pt")
        out = self.model.generate(
            **ids, max_new_tokens=most, do_sample=False, return_dict_in_generate=True, output_logits=True
        )
        logits = self.torch.stack([one[0] for one in out.logits]).log_softmax(-1)
        return out.sequences[0, ids["input_ids"].shape[1] :].tolist(), logits.double().numpy()

    def prompt(self, text: str) -> tuple[list[int], np.ndarray]:
        """Token ids, and the log-probability of each from the second on."""
        ids = self.tokenizer(text, return_tensors="pt")["input_ids"]
        with self.torch.no_grad():
            logits = self.model(ids).logits[0].log_softmax(-1)
        return ids[0].tolist(), logits[:-1].gather(1, ids[0, 1:, None])[:, 0].double().numpy()


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference()


def ask(reader: Reader, *requests: Request) -> dict[int, Completion]:
    replies = {reply.id: reply for reply in reader.answer(iter(requests))}
    assert sorted(replies) == sorted(request.id for request in requests)
    return replies


def entropy_over_k(logprobs: np.ndarray) -> np.ndarray:
    """u_t by the letter of the definition, with no step of ours."""
    top = np.sort(logprobs, axis=1)[:, -K:]
    p = np.exp(top) / np.exp(top).sum(axis=1, keepdims=True)
    return -(p * np.log(p)).sum(axis=1) / np.log(K)


def test_uncertainty_is_that_of_transformers_logits(reader: Reader, reference: Reference) -> None:
    replies = ask(reader, *(Request(n, text=text, decoding=ROLLOUT) for n, text in enumerate(PROMPTS)))
    for number, text in enumerate(PROMPTS):
        tokens, logprobs = reference.rollout(text, 12)
        (sample,) = replies[number].samples
        assert sample.tokens == len(tokens) == len(sample.uncertainty)  # the step that ends it is counted
        assert sample.text == reference.tokenizer.decode(tokens, skip_special_tokens=True)
        assert np.abs(np.asarray(sample.uncertainty) - entropy_over_k(logprobs)).max() < 1e-4
        assert normalised_uncertainty(sample.uncertainty) == pytest.approx(entropy_over_k(logprobs).mean(), abs=1e-4)
        assert replies[number].k == K


def test_a_rollout_that_ends_early_counts_its_last_step(reader: Reader, reference: Reference) -> None:
    chat = [{"role": "user", "content": "What is the capital of France? One word."}]
    reply = ask(reader, Request(0, chat, decoding=Decoding(max_tokens=64, uncertainty=K)))[0]
    text = reference.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    tokens, logprobs = reference.rollout(text, 64)
    (sample,) = reply.samples
    assert sample.finish == "stop"
    assert tokens[-1] == reference.tokenizer.eos_token_id
    assert len(sample.uncertainty) == len(tokens)
    assert np.abs(np.asarray(sample.uncertainty) - entropy_over_k(logprobs)).max() < 1e-4


def test_the_log_probability_of_a_continuation(reader: Reader, reference: Reference) -> None:
    front, behind = "Passage: Hamlet is a play by William Shakespeare.\nQuestion:", " Who wrote Hamlet?"
    reply = ask(reader, Request(0, text=front, continuation=behind))[0]
    ids, logprobs = reference.prompt(front + behind)
    size = len(reference.tokenizer(behind)["input_ids"])
    assert reference.tokenizer.decode(ids[-size:]) == behind
    assert len(reply.continuation) == size
    assert np.abs(np.asarray(reply.continuation) - logprobs[-size:]).max() < 1e-3


def test_choices_are_exact_however_unlikely(reader: Reader, reference: Reference) -> None:
    groups = (*YES_NO.choices, (" zebra",))
    for text in PROMPTS:
        reply = ask(reader, Request(0, text=text, decoding=Decoding(max_tokens=1, choices=groups)))[0]
        _, logprobs = reference.rollout(text, 1)
        for group, found in zip(groups, reply.samples[0].choices, strict=True):
            ids = [reference.tokenizer(one, add_special_tokens=False)["input_ids"] for one in group]
            wanted = np.logaddexp.reduce([logprobs[0, one[0]] for one in ids if len(one) == 1])
            assert found == pytest.approx(wanted, abs=1e-3)


def test_kinds_in_one_stream_do_not_spoil_each_other(reader: Reader) -> None:
    """vLLM gives all of a batch the named tokens where one request names some; each kind has its turn."""
    alone = ask(reader, *(Request(n, text=text, decoding=ROLLOUT) for n, text in enumerate(PROMPTS)))
    named = ask(reader, *(Request(n, text=text, decoding=YES_NO) for n, text in enumerate(PROMPTS)))
    mixed = ask(
        reader,
        *(
            request
            for n, text in enumerate(PROMPTS)
            for request in (
                Request(3 * n, text=text, decoding=ROLLOUT),
                Request(3 * n + 1, text=text, decoding=YES_NO),
                Request(3 * n + 2, text=text, continuation=" And then?"),
            )
        ),
    )
    for n in range(len(PROMPTS)):
        one, two = alone[n].samples[0].uncertainty, mixed[3 * n].samples[0].uncertainty
        assert np.abs(np.subtract(one, two)).max() < 1e-4
        assert np.abs(np.subtract(named[n].samples[0].choices, mixed[3 * n + 1].samples[0].choices)).max() < 1e-4
        assert len(mixed[3 * n + 2].continuation) == 3


def test_a_passage_is_cut_at_its_end_and_nothing_else(reader: Reader, reference: Reference) -> None:
    front, behind = "User: Who? Context: ", " Assistant:"
    long = "word " * 3_000
    text = front + long + behind
    place = (len(front), len(front) + len(long))
    how = Decoding(max_tokens=8, uncertainty=K, keep_prompt=True)
    replies = ask(
        reader,
        Request(0, text=text, cut=place, decoding=how),
        Request(1, text=text, decoding=how),
        Request(2, [{"role": "user", "content": text}], cut=place, decoding=how),
        Request(3, text=front + "short" + behind, cut=(len(front), len(front) + 5), decoding=how),
        Request(4, text="word " * 600 + "x" + behind, cut=(3000, 3001), decoding=how),
    )
    assert isinstance(replies[1], Refusal)
    assert isinstance(replies[4], Refusal)
    assert "even without its passage" in replies[4].message
    assert "512" in replies[4].message
    for number in (0, 2):
        assert replies[number].cut
        assert replies[number].prompt_tokens == LENGTH - 8  # as much as there is room for
        assert front + "word word" in replies[number].prompt
        assert "word Assistant:" in replies[number].prompt
    assert not replies[3].cut
    assert replies[3].prompt == front + "short" + behind


def test_top_log_probabilities_and_samples(reader: Reader, reference: Reference) -> None:
    greedy = ask(reader, Request(0, text=PROMPTS[1], decoding=Decoding(max_tokens=5, logprobs=3)))[0].samples[0]
    tokens, logprobs = reference.rollout(PROMPTS[1], 5)
    assert [step.given.id for step in greedy.steps] == tokens
    assert "".join(step.given.token for step in greedy.steps) == greedy.text
    for step, row in zip(greedy.steps, logprobs, strict=True):
        best = np.argsort(-row)[:3]
        assert [one.id for one in step.top] == best.tolist()
        assert [one.logprob for one in step.top] == pytest.approx(row[best].tolist(), abs=1e-3)
    assert greedy.logprob == pytest.approx(sum(step.given.logprob for step in greedy.steps), abs=1e-4)
    drawn = Decoding(max_tokens=8, temperature=1.5, top_p=0.95, seed=5, n=3)
    first, again = (ask(reader, Request(0, text=PROMPTS[4], decoding=drawn))[0] for _ in range(2))
    texts = [sample.text for sample in first.samples]
    assert texts == [sample.text for sample in again.samples]
    assert len(set(texts)) == 3


def test_stop_texts_end_an_answer(reader: Reader) -> None:
    how = Decoding(max_tokens=12, stop=(",",))
    reply = ask(reader, Request(0, text="The first ten letters are a, b, c, d,", decoding=how))[0]
    assert "," not in reply.samples[0].text
    assert reply.samples[0].finish == "stop"


@pytest.mark.parametrize("form", [TEXT, CHAT], ids=lambda form: form.name)
def test_every_kind_in_both_forms_through_the_stage(reader: Reader, reference: Reference, form: Form) -> None:
    """Scores by transformers from the prompts that the form gives: IG over rollouts, QLM, YesNo."""
    question, passage = "Who wrote Hamlet?", "Hamlet: Hamlet is a play by William Shakespeare."
    hit = {"rank": 1, "id": "h", "title": "Hamlet", "text": passage.removeprefix("Hamlet: ")}
    record = {"schema": "ragpack.hits/1", "id": "a", "question": question, "hits": [hit]}
    probing = Probing(reader, form, KINDS, Decoding(max_tokens=6, uncertainty=K))
    (outcome,) = probing.run(iter([Task(record, view(record, (Hits,)), (0,))]))
    scores = outcome[0]["hits"][0]["scores"]

    def shown(request: Request) -> str:
        if request.messages is None:
            return request.text
        return reference.tokenizer.apply_chat_template(request.messages, add_generation_prompt=True, tokenize=False)

    def nu(given: str) -> float:
        _, logprobs = reference.rollout(shown(form.rollout(question, given, Decoding())), 6)
        return float(entropy_over_k(logprobs).mean())

    assert outcome[0]["probe"]["nu0"] == pytest.approx(nu(""), abs=1e-4)
    assert scores["nu"] == pytest.approx(nu(passage), abs=1e-4)
    assert scores["ig"] == pytest.approx(nu("") - nu(passage), abs=2e-4)
    likely = form.likelihood(question, passage)
    _, behind = reference.prompt(likely.text + likely.continuation)
    size = len(reference.tokenizer(likely.continuation)["input_ids"])
    assert scores["qlm"] == pytest.approx(behind[-size:].mean(), abs=1e-3)
    _, first = reference.rollout(shown(form.verdict(question, passage)), 1)
    yes, no = (
        np.exp([first[0, reference.tokenizer(one)["input_ids"][0]] for one in group if is_token(reference, one)]).sum()
        for group in YES_NO.choices
    )
    assert scores["yesno"] == pytest.approx(yes / (yes + no), abs=1e-3)


def is_token(reference: Reference, text: str) -> bool:
    return len(reference.tokenizer(text)["input_ids"]) == 1
