"""The server back end against a vLLM server on this machine, with SmolLM2, and against transformers' own figures."""

import math
from collections.abc import Iterator

import pytest
from smollm2 import MODEL, needs_reader, script

from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request
from ragpack.readers.openai import open_reader

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

LENGTH = 512
K = 64
SERVER = script("server")

pytestmark = needs_reader

QUESTIONS = ["What is the capital of France?", "Who wrote Hamlet?", "How many legs does a spider have?"]
PROMPTS = [f"User: {question} Assistant:" for question in QUESTIONS]


def chat(question: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Answer in a few words."}, {"role": "user", "content": question}]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server of its own, ended with the tests."""
    with SERVER.served(str(MODEL), length=LENGTH, logprobs=K, room=4) as number:
        yield number


@pytest.fixture
def reader(port: int) -> Iterator[Reader]:
    opened = open_reader(SERVER.NAME, base_urls=(f"http://127.0.0.1:{port}/v1",), concurrency=4, retries=0)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def model():
    """Tokenizer and model in transformers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(MODEL), AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)


def run(reader: Reader, *requests: Request) -> dict[int, Completion]:
    found = {reply.id: reply for reply in reader.answer(iter(requests))}
    assert not [reply for reply in found.values() if isinstance(reply, Refusal)], found
    assert found.keys() == {request.id for request in requests}
    return found


def rollout(model, prompt: str, most: int):
    """Ids and log-probabilities [T, V] of a greedy rollout."""
    import torch

    tokenizer, network = model
    inputs = tokenizer(prompt, return_tensors="pt")
    out = network.generate(
        **inputs, max_new_tokens=most, do_sample=False, return_dict_in_generate=True, output_logits=True
    )
    return out.sequences[0, inputs["input_ids"].shape[1] :], torch.cat(out.logits).double().log_softmax(-1)


def test_greedy_answers_are_those_of_transformers(reader: Reader, model) -> None:
    how = Decoding(max_tokens=12, logprobs=0)
    found = run(reader, *(Request(at, chat(question), decoding=how) for at, question in enumerate(QUESTIONS)))
    tokenizer, _ = model
    for at, question in enumerate(QUESTIONS):
        prompt = tokenizer.apply_chat_template(chat(question), add_generation_prompt=True, tokenize=False)
        ids, logprobs = rollout(model, prompt, 12)
        assert found[at].text == tokenizer.decode(ids, skip_special_tokens=True)
        assert found[at].samples[0].tokens == len(ids)
        assert [step.given.id for step in found[at].samples[0].steps] == ids.tolist()
        given = logprobs.gather(1, ids[:, None]).sum()
        assert found[at].samples[0].logprob == pytest.approx(float(given), abs=1e-3)


@pytest.mark.parametrize("text", [True, False])
def test_steps_have_ids_and_texts(reader: Reader, model, text: bool) -> None:
    how = Decoding(max_tokens=5, logprobs=3)
    tokenizer, _ = model
    messages = chat(QUESTIONS[0])
    prompt = PROMPTS[0] if text else tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    request = Request(0, text=prompt, decoding=how) if text else Request(0, messages, decoding=how)
    sample = run(reader, request)[0].samples[0]
    ids, logprobs = rollout(model, prompt, 5)
    assert [step.given.id for step in sample.steps] == ids.tolist()
    for step, row in zip(sample.steps, logprobs, strict=True):
        best = row.topk(3)
        assert [one.id for one in step.top] == best.indices.tolist()
        assert [one.logprob for one in step.top] == pytest.approx(best.values.tolist(), abs=1e-4)
        assert [one.token for one in step.top] == [tokenizer.decode([one.id]) for one in step.top]


def test_uncertainty_is_that_of_transformers_logits(reader: Reader, model) -> None:
    how = Decoding(max_tokens=16, uncertainty=K)
    found = run(reader, *(Request(at, text=prompt, decoding=how) for at, prompt in enumerate(PROMPTS)))
    for at, prompt in enumerate(PROMPTS):
        _, logprobs = rollout(model, prompt, 16)
        p = logprobs.topk(K).values.softmax(-1)
        expected = -(p * p.log()).sum(-1) / math.log(K)
        assert found[at].samples[0].uncertainty == pytest.approx(expected.tolist(), abs=1e-4)
        assert found[at].k == K


def test_k_falls_to_what_the_server_was_started_with(reader: Reader) -> None:
    how = Decoding(max_tokens=4, uncertainty=128)
    found = run(reader, *(Request(at, text=prompt, decoding=how) for at, prompt in enumerate(PROMPTS)))
    assert {reply.k for reply in found.values()} == {K}
    assert reader.notes == [f"the server gives {K} log-probabilities a step: uncertainty is over K={K}, not 128"]
    assert (reader.about["k"], reader.about["max_model_len"]) == (K, LENGTH)


@pytest.mark.parametrize("question", [" who wrote Hamlet?", " wer schrieb 源氏物語 \U0001f600?", "s and pears"])
def test_a_continuation_has_transformers_logprobs(reader: Reader, model, question: str) -> None:
    import torch

    tokenizer, network = model
    prompt = "Passage: Genji, 源氏, is a tale.\nQuestion: apple"
    reply = run(reader, Request(0, text=prompt, continuation=question))[0]
    encoded = tokenizer(prompt + question, return_offsets_mapping=True)
    ids = torch.tensor([encoded["input_ids"]])
    with torch.no_grad():
        logprobs = network(ids).logits[0, :-1].double().log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
    ends = [end for _, end in encoded["offset_mapping"]][1:]
    expected = [float(value) for value, end in zip(logprobs, ends, strict=True) if end > len(prompt)]
    assert reply.continuation == pytest.approx(expected, abs=1e-3)


def test_choices_are_exact_however_unlikely(reader: Reader, model) -> None:
    groups = (("Yes", " Yes", "yes", " yes"), ("No", " No"), (" Zimbabwe",), ("no such single token",))
    prompt = "Question: Is the sun a star?\nAnswer:"
    choosing = Decoding(max_tokens=1, choices=groups)
    rollout_of = Decoding(max_tokens=8, uncertainty=8)  # the engine must not have both kinds in one batch
    kinds = [choosing, rollout_of, rollout_of, choosing] * 3
    found = run(reader, *(Request(at, text=prompt, decoding=how) for at, how in enumerate(kinds)))
    tokenizer, _ = model
    _, logprobs = rollout(model, prompt, 1)
    encoded = [[tokenizer.encode(text) for text in group] for group in groups]
    ids = [[one[0] for one in group if len(one) == 1] for group in encoded]
    expected = [float(logprobs[0, group].logsumexp(0)) if group else None for group in ids]
    assert expected[2] < -8  # far below the most likely ones
    assert expected[3] is None
    for reply, how in zip((found[at] for at in range(len(kinds))), kinds, strict=True):
        sample = reply.samples[0]
        if how is choosing:
            assert sample.choices[:3] == pytest.approx(expected[:3], abs=1e-3)
            assert sample.choices[3] is None
        else:
            assert len(sample.uncertainty) == sample.tokens


def test_500_pages_are_cut_to_what_the_model_holds(reader: Reader) -> None:
    passage = "The tide was late and the ferry waited. " * 37_500
    text = f"Passage: {passage}\nQuestion: What waited?\nAnswer:"
    cut = (9, 9 + len(passage))
    messages = chat(f"Evidence: {passage}\nWhat waited?")
    start = messages[1]["content"].index(passage)
    found = run(
        reader,
        Request(0, text=text, cut=cut, decoding=Decoding(max_tokens=8)),
        Request(1, messages, cut=(start, start + len(passage)), decoding=Decoding(max_tokens=8)),
        Request(2, text=text, cut=cut, continuation=" The ferry"),
        Request(3, text="Passage: short. Q:", cut=(9, 15), decoding=Decoding(max_tokens=8)),
    )
    assert [reply.cut for _, reply in sorted(found.items())] == [True, True, True, False]
    for at in (0, 1):
        assert LENGTH - 8 - 20 <= found[at].prompt_tokens <= LENGTH - 8
    assert len(found[2].continuation) == 2


def test_a_prompt_without_room_for_its_answer_is_refused_with_the_numbers(reader: Reader) -> None:
    how = Decoding(max_tokens=12)
    texts = ["a" + " a" * (LENGTH - 12 + more - 1) for more in (0, 1, 400)]
    found = {r.id: r for r in reader.answer(Request(n, text=text, decoding=how) for n, text in enumerate(texts))}
    assert found[0].prompt_tokens == LENGTH - 12
    for at, tokens in ((1, LENGTH - 11), (2, LENGTH + 388)):
        assert isinstance(found[at], Refusal)
        assert f"has {tokens} tokens and the answer may have 12: more than the {LENGTH}" in found[at].message


def test_two_replicas_answer_as_one(port: int, reader: Reader) -> None:
    how = Decoding(max_tokens=6, uncertainty=16)
    requests = [Request(at, text=f"{prompt} {at}", decoding=how) for at, prompt in enumerate(PROMPTS * 4)]
    urls = (f"http://127.0.0.1:{port}/v1", f"http://localhost:{port}/v1")
    both = open_reader(SERVER.NAME, base_urls=urls, concurrency=2, retries=0)
    assert both.fingerprint == reader.fingerprint
    found, alone = run(both, *requests), run(reader, *requests)
    both.close()
    assert {at: reply.text for at, reply in found.items()} == {at: reply.text for at, reply in alone.items()}
    assert {reply.k for reply in found.values()} == {16}


def test_draws_follow_their_seed(reader: Reader) -> None:
    def drawn(seed: int) -> Completion:
        how = Decoding(max_tokens=8, temperature=1.0, top_p=0.95, n=2, seed=seed, logprobs=0, stop=("\n",))
        return run(reader, Request(0, text=PROMPTS[0], decoding=how))[0]

    first, again, other = drawn(1), drawn(1), drawn(2)
    assert [sample.text for sample in first.samples] == [sample.text for sample in again.samples]
    assert first.samples[0].text != first.samples[1].text
    assert [sample.text for sample in first.samples] != [sample.text for sample in other.samples]
    assert all("\n" not in sample.text and sample.tokens for sample in first.samples)
