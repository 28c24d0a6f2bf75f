"""generate with SmolLM2 in vLLM: draws, plain prompts, stop texts, log-probabilities of tokens, one tokenizer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from mapped import mapped, rows
from smollm2 import MODEL, needs_reader

from ragpack.errors import UsageError
from ragpack.readers.prompts.named import TEMPLATES, plain_text
from ragpack.stages import generate as stage_module
from ragpack.stages.generate import GenerateParams, open_generate
from ragpack.tokens import open_counter

pytestmark = needs_reader

CONTEXTS = ["Ostra Bridge: It was built by Ida Vale in 1901.", "", "Lisk: The Lisk is 41 km long."]


def packed(unit: str) -> list[dict[str, Any]]:
    pack = {"policy": "p", "budget": 99, "unit": unit, "tokens": 9, "snippets": [], "dropped": 0}
    return [
        {"schema": "ragpack.pack/1", "id": f"q{at}", "question": "Who built the Ostra Bridge?", "hits": [],
         "pack": {**pack, "context": context}}
        for at, context in enumerate(CONTEXTS)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def unit() -> str:
    return open_counter(str(MODEL)).unit


@pytest.fixture(scope="module")
def ask(unit: str):
    """Answers of one engine, loaded once, under any parameters."""
    from ragpack.readers.vllm import open_reader

    reader = open_reader(str(MODEL), most_logprobs=5, max_model_len=512)

    def asked(**params: Any) -> list[dict[str, Any]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stage_module, "load", lambda table, name: lambda model, **_: reader)
            stage = open_generate(GenerateParams("vllm", str(MODEL), keep_prompt=True, **params))
            found = [row["generate"] for row in rows(stage, packed(unit))]
            assert stage.notes() == list(getattr(reader, "notes", []))
            return found

    yield asked
    reader.close()


def test_samples_are_drawn_from_the_seed(ask) -> None:
    one = ask(temperature=1.0, top_p=0.9, n=3, max_tokens=8)
    assert all(len({said["answer"] for said in made["samples"]}) > 1 for made in one), "n samples are not one"
    assert all(made["answer"] == made["samples"][0]["answer"] for made in one)
    assert all(made["tokens"]["completion"] == sum(said["tokens"] for said in made["samples"]) for made in one)
    assert ask(temperature=1.0, top_p=0.9, n=3, max_tokens=8) == one, "the same seed, the same draws"
    other = ask(temperature=1.0, top_p=0.9, n=3, max_tokens=8, seed=1)
    assert [made["answer"] for made in other] != [made["answer"] for made in one]
    assert "samples" not in ask(max_tokens=2)[0]


def test_a_plain_prompt_is_the_joined_messages(ask) -> None:
    made = ask(chat_template=False, max_tokens=4)
    for found, context in zip(made, CONTEXTS, strict=True):
        text = plain_text(TEMPLATES["answer/1"].messages("Who built the Ostra Bridge?", context))
        assert found["prompt_text"] == text, "no roles, and no BOS, since this tokenizer puts none"
        assert found["chat_template"] is False


def test_stop_texts_end_an_answer(ask) -> None:
    whole = ask(max_tokens=12)
    word = next(part for part in whole[0]["answer"].split()[1:] if part.isalpha())
    cut = ask(max_tokens=12, stop=(word,))[0]
    assert word not in cut["answer"]
    assert whole[0]["answer"].startswith(cut["answer"])
    assert cut["finish"] == "stop"


def test_log_probabilities_of_tokens(ask) -> None:
    """Greedy: the token given is the most likely one; the given ones add up to the sum; N = 0 says the same of them."""
    made, bare = ask(logprobs=5, max_tokens=6), ask(logprobs=0, max_tokens=6)
    for found, other in zip(made, bare, strict=True):
        steps = found["token_logprobs"]
        assert len(steps) == found["tokens"]["completion"]
        assert found["logprob"] == pytest.approx(sum(step["logprob"] for step in steps), abs=1e-4)
        for step in steps:
            assert step["top"][0] == [step["token"], step["id"], step["logprob"]]
            assert len(step["top"]) == 5
            assert sum(math.exp(value) for _, _, value in step["top"]) <= 1 + 1e-5
        ids = [(step["token"], step["id"]) for step in steps]
        assert ids == [(step["token"], step["id"]) for step in other["token_logprobs"]]
        assert all("top" not in step for step in other["token_logprobs"])


def test_packs_of_another_tokenizer_are_refused_before_the_model_is_loaded(unit: str) -> None:
    stage = open_generate(GenerateParams("vllm", str(MODEL)))
    with pytest.raises(UsageError, match=r"counted by the tokenizer regex, the reader's is smollm2-135m-instruct@"):
        mapped(stage, packed("regex"))
    stage.close()
