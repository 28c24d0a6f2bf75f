"""The in-process back end with SmolLM2 in vLLM, on whatever this machine has."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from smollm2 import MODEL, needs_reader

from ragpack.errors import BackendError
from ragpack.readers.base import Completion, Decoding, Reader, Refusal, Request
from ragpack.readers.prompts.chat import _added_bos, _takes_system
from ragpack.readers.vllm import open_reader

LOOKAHEAD = 4
MAX_TOKENS = 12
LENGTH = 512

pytestmark = needs_reader

QUESTIONS = [
    "What is the capital of France?",
    "Who wrote Hamlet?",
    "How many legs does a spider have?",
    "Is the sun a star?",
    "Name the largest planet.",
]


HOW = Decoding(max_tokens=MAX_TOKENS, logprobs=0, keep_prompt=True)


def ask(number: int, text: str) -> Request:
    return Request(number, chat(text), decoding=HOW)


def chat(question: str, system: str | None = "Answer in a few words.") -> list[dict[str, str]]:
    head = [{"role": "system", "content": system}] if system else []
    return [*head, {"role": "user", "content": question}]


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    opened = open_reader(
        str(MODEL),
        max_model_len=LENGTH,
        lookahead=LOOKAHEAD,
        engine_args={"max_num_seqs": LOOKAHEAD},
    )
    yield opened
    opened.close()
    opened.close()


def test_no_request_loads_no_model() -> None:
    opened = open_reader(str(MODEL))
    assert list(opened.answer(iter([]))) == []
    assert opened._llm is None


def test_greedy_answers_are_those_of_transformers(reader: Reader) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    replies = {reply.id: reply for reply in reader.answer(ask(n, q) for n, q in enumerate(QUESTIONS))}
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
    for number, question in enumerate(QUESTIONS):
        ids = tokenizer.apply_chat_template(
            chat(question), add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        size = ids["input_ids"].shape[1]
        out = model.generate(
            **ids, max_new_tokens=MAX_TOKENS, do_sample=False, return_dict_in_generate=True, output_logits=True
        )
        new = out.sequences[0, size:]
        reply = replies[number]
        assert isinstance(reply, Completion)
        assert reply.text == tokenizer.decode(new, skip_special_tokens=True)
        assert (reply.prompt_tokens, reply.completion_tokens) == (size, len(new))
        assert reply.samples[0].finish == ("stop" if new[-1] == tokenizer.eos_token_id else "length")
        steps = [logits[0].log_softmax(-1)[token] for logits, token in zip(out.logits, new, strict=True)]
        assert reply.samples[0].logprob == pytest.approx(float(sum(steps)), abs=0.01)
        assert reply.prompt == tokenizer.apply_chat_template(chat(question), add_generation_prompt=True, tokenize=False)


def test_every_request_is_answered_once_and_pulled_lazily(reader: Reader) -> None:
    pulled = given = 0
    ahead = []

    def requests() -> Iterator[Request]:
        nonlocal pulled
        for number in range(11):
            pulled += 1
            ahead.append(pulled - given)
            yield ask(number, "Say one." if number % 2 else "Count from one to ten, in words.")

    seen = []
    for reply in reader.answer(requests()):
        given += 1
        seen.append(reply.id)
    assert sorted(seen) == list(range(11))
    assert max(ahead) == LOOKAHEAD


def test_a_prompt_without_room_for_its_answer_is_refused(reader: Reader) -> None:
    texts = ["Who wrote Hamlet?", "word " * 600, "Name the largest planet."]
    replies = {reply.id: reply for reply in reader.answer(ask(n, t) for n, t in enumerate(texts))}
    refusal = replies[1]
    assert isinstance(refusal, Refusal)
    assert f"more than the {LENGTH}" in refusal.message
    assert f"the answer may have {MAX_TOKENS}" in refusal.message
    assert isinstance(replies[0], Completion)
    assert isinstance(replies[2], Completion)


def test_the_last_prompt_with_room_is_answered(reader: Reader) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    frame = len(tokenizer.apply_chat_template(chat(""), add_generation_prompt=True, return_dict=False))
    texts = ["a" + " a" * (LENGTH - MAX_TOKENS - frame + more - 1) for more in (0, 1)]
    replies = {reply.id: reply for reply in reader.answer(ask(n, t) for n, t in enumerate(texts))}
    assert isinstance(replies[0], Completion)
    assert replies[0].prompt_tokens == LENGTH - MAX_TOKENS
    assert isinstance(replies[1], Refusal)


def test_a_consumer_that_leaves_early_leaves_nothing_behind(reader: Reader) -> None:
    replies = reader.answer(ask(n, q) for n, q in enumerate(QUESTIONS * 2))
    next(replies)
    replies.close()
    assert not reader._llm.llm_engine.has_unfinished_requests()
    assert len(list(reader.answer(iter([Request(0, chat("Who?"))])))) == 1


@pytest.fixture
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(MODEL)


def test_a_bos_counts_only_where_the_tokenizer_adds_it(tokenizer) -> None:
    assert tokenizer.bos_token_id is not None
    assert _added_bos(tokenizer) is None

    class Adds:
        bos_token_id = 1

        def __call__(self, text: str) -> dict[str, list[int]]:
            return {"input_ids": [1, 5]}

    assert _added_bos(Adds()) == 1


def test_a_template_that_refuses_or_drops_the_system_message_is_found_out(tokenizer) -> None:
    assert _takes_system(tokenizer, {})
    user = "{% for m in messages %}{% if m['role'] == 'user' %}{{ m['content'] }}{% endif %}{% endfor %}"
    tokenizer.chat_template = user
    assert not _takes_system(tokenizer, {})
    tokenizer.chat_template = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}" + user
    assert not _takes_system(tokenizer, {})


def test_the_fingerprint_follows_content_and_number_type_only(tmp_path: Path) -> None:
    first = open_reader(str(MODEL)).fingerprint
    copy = tmp_path / "copy"
    shutil.copytree(MODEL, copy)
    assert open_reader(str(copy)).fingerprint == first
    assert open_reader(str(copy), max_model_len=100, engine_args={"max_num_seqs": 2}).fingerprint == first
    assert open_reader(str(copy), dtype="bfloat16").fingerprint != first
    for name in ("config.json", "model.safetensors"):  # same size, another last byte
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert open_reader(str(copy)).fingerprint != first
        (copy / name).write_bytes(data)
    assert open_reader(str(copy)).fingerprint == first


def test_a_folder_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="no folder"):
        open_reader(str(tmp_path / "nothing"))


def test_a_folder_without_a_model_is_one_sentence(tmp_path: Path) -> None:
    opened = open_reader(str(tmp_path))
    with pytest.raises(BackendError, match="vLLM can't serve"):
        list(opened.answer(iter([Request(0, chat("Who?"))])))


def test_a_base_model_is_read_without_a_template_and_refused_with_one(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    for file in MODEL.iterdir():
        if file.name == "tokenizer_config.json":
            config = json.loads(file.read_text())
            config.pop("chat_template", None)
            (folder / file.name).write_text(json.dumps(config))
        elif file.name != "chat_template.jinja" and file.is_file():
            (folder / file.name).symlink_to(file)
    opened = open_reader(str(folder), max_model_len=LENGTH)
    try:
        with pytest.raises(BackendError, match="'base' has no chat template") as told:
            list(opened.answer(iter([ask(0, "Who wrote Hamlet?")])))
        assert "--no-chat-template" in told.value.hint
        (reply,) = opened.answer(iter([Request(0, text="The capital of France is", decoding=HOW)]))
        assert "Paris" in reply.text
        assert reply.prompt == "The capital of France is"
    finally:
        opened.close()
