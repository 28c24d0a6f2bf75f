"""What goes to vLLM's engine, seen without an engine: its settings, its sampling parameters, and older versions."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from ragpack.readers import vllm as module
from ragpack.readers.base import Decoding

EVERY = ("temperature", "top_p", "seed", "n", "stop", "max_tokens", "logprobs", "prompt_logprobs", "detokenize",
         "output_kind", "flat_logprobs", "logprob_token_ids")  # fmt: skip
GREEDY = {"temperature": 0.0, "top_p": 1.0, "seed": None, "n": 1, "stop": None}
YES_NO = Decoding(max_tokens=1, choices=(("Yes", " Yes"), ("No",)))


@pytest.fixture
def reader(monkeypatch):
    """A reader whose model is not loaded, and a `vllm` that is a name alone."""
    pytest.importorskip("torch", reason="torch is not installed: just reader")

    def sampling(fields):
        package, params = ModuleType("vllm"), ModuleType("vllm.sampling_params")

        class SamplingParams(SimpleNamespace):
            __struct_fields__ = fields

            def __init__(self, **given):
                assert set(given) <= set(fields), "a field that this version doesn't know"
                super().__init__(**given)

        package.SamplingParams = SamplingParams
        params.RequestOutputKind = SimpleNamespace(FINAL_ONLY="final")
        monkeypatch.setitem(sys.modules, "vllm", package)
        monkeypatch.setitem(sys.modules, "vllm.sampling_params", params)

    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "version", lambda: "0.0")
    made = module.open_reader("owner/model", max_model_len=64, dtype="float32")
    ids = {"Yes": [5], " Yes": [6], "No": [7, 8], "Nay": [9]}
    made._chat = SimpleNamespace(tokenizer=lambda text, **_: {"input_ids": ids[text]})
    made._llm = SimpleNamespace(llm_engine=SimpleNamespace(model_config=SimpleNamespace(max_logprobs=20)))

    def given(decoding, prompt=module._Prompt([1, 2]), fields=EVERY):  # noqa: B008 # a tuple
        sampling(fields)
        found = vars(made._sampling(prompt, decoding))
        assert found.pop("output_kind") == "final"
        return found

    return given


def test_each_kind_is_asked_for_in_its_own_way(reader) -> None:
    assert reader(Decoding()) == {**GREEDY, "max_tokens": 32, "logprobs": None}
    drawn = Decoding(temperature=0.7, top_p=0.9, seed=3, n=4, stop=("\n",), logprobs=2)
    assert reader(drawn) == {
        "temperature": 0.7, "top_p": 0.9, "seed": 3, "n": 4, "stop": ["\n"], "max_tokens": 32, "logprobs": 2
    }  # fmt: skip
    rolled = {**GREEDY, "max_tokens": 32, "logprobs": 128, "flat_logprobs": True}
    assert reader(Decoding(uncertainty=128)) == {**rolled, "detokenize": False}
    assert reader(Decoding(uncertainty=128, stop=(".",))) == {**rolled, "stop": ["."], "detokenize": True}
    assert reader(Decoding(), module._Prompt([1, 2, 3], start=2)) == {
        "temperature": 0.0, "max_tokens": 1, "prompt_logprobs": 0, "detokenize": False, "flat_logprobs": True
    }  # fmt: skip


def test_choices_are_named_by_id_and_a_text_of_two_tokens_is_none(reader) -> None:
    named = {**GREEDY, "max_tokens": 1, "logprobs": None, "detokenize": False}
    assert reader(Decoding(choices=(("Yes", " Yes"), ("Nay", "No")))) == {**named, "logprob_token_ids": [5, 6, 9]}
    with pytest.raises(module.BackendError, match="has none of No as one token"):
        reader(YES_NO)


def test_an_older_engine_is_not_asked_for_what_it_does_not_know(reader) -> None:
    old = tuple(field for field in EVERY if field not in ("flat_logprobs", "logprob_token_ids"))
    assert "flat_logprobs" not in reader(Decoding(uncertainty=128), fields=old)
    among = reader(Decoding(choices=(("Yes",), ("Nay",))), fields=old)
    assert (among["logprobs"], "logprob_token_ids" in among) == (20, False), "looked for among the most likely"


def test_options_of_the_command_line_are_settings_of_the_engine(monkeypatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed: just reader")
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "version", lambda: "0.0")

    def opened(**engine_args):
        return module.open_reader("owner/model", max_model_len=64, dtype="float32", engine_args=engine_args)

    whole = opened()
    split = opened(tensor_parallel_size=2, gpu_memory_utilization=0.5)
    settings = split.about["settings"]
    assert (settings["tensor_parallel_size"], settings["gpu_memory_utilization"]) == (2, 0.5)
    assert split.fingerprint == whole.fingerprint, "how fast, not what"
    quantised = opened(quantization="bitsandbytes")
    assert quantised.about["settings"]["quantization"] == "bitsandbytes"
    assert quantised.model == "owner/model@bitsandbytes"
    assert quantised.fingerprint != whole.fingerprint
