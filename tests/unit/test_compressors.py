"""LLMLingua under the reader's budget, with tiny models made here, against the package itself and transformers."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
import trained
from command import ROOT
from mapped import failure, rows
from ostra import QUESTION, TEXTS, documents

from ragpack.compressors import COMPRESSORS
from ragpack.compressors import model as shared
from ragpack.errors import DataError, Missing, UsageError
from ragpack.registry import load
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import parse_policies
from ragpack.tokens.regex import RegexCounter

needs_package = pytest.mark.skipif(
    importlib.util.find_spec("llmlingua") is None, reason="llmlingua is not installed (the extra 'llmlingua')"
)

# LLMLingua-2, with a tiny classifier


@pytest.fixture(scope="session")
def bert(tmp_path_factory) -> Path:
    """A BERT of two layers with drawn weights, in a folder whose name says nothing."""
    torch = pytest.importorskip("torch", reason="torch is not installed: just reader")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: just reader")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=marks, show_progress=False)
    made.train_from_iterator([*TEXTS, *trained.LINES], trainer)
    tokenizer = transformers.BertTokenizer(tokenizer_object=made, do_lower_case=False)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        initializer_range=0.5, num_labels=2,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("models") / "nameless"
    transformers.BertForTokenClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def xlmr(tmp_path_factory) -> Path:
    """The same as XLM-R: words begin with ▁, and the marks have other names."""
    torch = pytest.importorskip("torch", reason="torch is not installed: just reader")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: just reader")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=marks, unk_token="<unk>", show_progress=False)
    made.train_from_iterator([*TEXTS, *trained.LINES], trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    from tokenizers import decoders

    made.decoder = decoders.Metaspace()
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "pad_token": "<pad>",
             "unk_token": "<unk>", "mask_token": "<mask>"}  # fmt: skip
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)
    torch.manual_seed(2)
    config = transformers.XLMRobertaConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        initializer_range=0.5, num_labels=2, max_position_embeddings=514,
        pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("models") / "other"
    transformers.XLMRobertaForTokenClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def opened(method, folder, counter=None, **options):
    return load(COMPRESSORS, method)(counter or RegexCounter(), model=str(folder), **options)


def own(monkeypatch, folder, name, tmp_path, counter):
    """The package as it is: a folder of the name that it looks for, and a stand-in for the file from the network."""
    llmlingua = pytest.importorskip("llmlingua", reason="the extra llmlingua is not installed")
    import tiktoken

    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda _: shared.ReaderTokens(counter))
    copy = tmp_path / name
    shutil.copytree(folder, copy)
    return llmlingua.PromptCompressor(str(copy), device_map="cpu", use_llmlingua2=True)


@needs_package
@pytest.mark.parametrize(
    "options",
    [{}, {"token_to_word": "first"}, {"force_digits": True}, {"force_tokens": ".,", "drop_consecutive": True},
     {"filter": True}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("family", ["bert", "xlmr"])
def test_at_the_rate_found_the_package_says_the_same(monkeypatch, bert, xlmr, family, options, tmp_path):
    folder, name = {"bert": (bert, "bert-base-multilingual-cased"), "xlmr": (xlmr, "xlm-roberta-large")}[family]
    ours = opened("llmlingua2", folder, text="package", specials="package", **options)
    theirs = own(monkeypatch, folder, name, tmp_path, RegexCounter())
    renamed = {"filter": "use_context_level_filter", "force_digits": "force_reserve_digit"}
    given = {renamed.get(key, key): value for key, value in options.items()}
    if "force_tokens" in given:
        given["force_tokens"] = list(given["force_tokens"])
    compressed = 0
    for budget in (18, 30, 45, 60):
        done = ours.compress(QUESTION, documents(*TEXTS), budget)
        if done.truncated:
            continue
        said = theirs.compress_prompt_llmlingua2(list(TEXTS), rate=done.asked, **given)["compressed_prompt_list"]
        assert [one.text for one in done.kept] == [" ".join(one.split()) for one in said if one.strip()], budget
        compressed += done.asked < 1
    assert compressed >= 2


@needs_package
def test_an_xlmr_sees_its_own_marks(xlmr):
    """Probabilities of the words are those of transformers for the text as its tokenizer prepares it."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    ours = opened("llmlingua2", xlmr)
    ours.compress(QUESTION, documents(*TEXTS), 30)
    (answered,) = ours._package.model._known.values()
    model = AutoModelForTokenClassification.from_pretrained(xlmr).eval()
    tokenizer = AutoTokenizer.from_pretrained(xlmr)
    for row, text in enumerate(TEXTS):
        given = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            expected = model(**given).logits[0]
        assert torch.allclose(answered.logits[row, : len(expected)], expected, atol=1e-4)


@needs_package
@pytest.mark.parametrize("name", trained.NAMES)
def test_llmlingua2_keeps_every_budget(bert, name):
    counter = trained.counter(name)
    ours = opened("llmlingua2", bert, counter)
    for budget in range(0, 100, 9):
        done = ours.compress(QUESTION, documents(*TEXTS), budget)
        assert done.tokens == counter.count(done.text) <= budget
        assert sum(one.tokens for one in done.kept) == done.tokens
        assert done.unaligned == 0
    assert ours.model_calls == 1, "whatever the rate and the budget"


@needs_package
def test_kept_words_are_the_source_s_in_order(bert):
    done = opened("llmlingua2", bert, header=False).compress(QUESTION, documents(*TEXTS), 40)
    for one in done.kept:
        left = iter(TEXTS[one.document].replace(" ", ""))
        assert all(character in left for character in one.text.replace(" ", ""))


@needs_package
def test_texts_that_the_package_stumbles_over(bert):
    ours = opened("llmlingua2", bert)
    assert ours.compress(QUESTION, [], 9).text == ""
    assert ours.compress("", documents("", " \n"), 9).text == ""
    unknown = ours.compress(QUESTION, documents("ЖѬѦ " * 20), 9)  # no character of it is in the vocabulary
    assert (unknown.text, unknown.asked, unknown.truncated) == ("", 0.99, False)
    for filters in (False, True):
        mixed = opened("llmlingua2", bert, filter=filters)
        found = mixed.compress(QUESTION, documents("ЖѬѦ " * 20, "", TEXTS[0]), 12)
        assert found.kept
        assert {one.document for one in found.kept} <= {2}


@needs_package
def test_cjk_gains_no_blanks(bert):
    text = "空鈴琴楽器" * 9
    counter = trained.counter("wordpiece")  # one token a character, where the regex has one a clause
    done = opened("llmlingua2", bert, counter, header=False).compress(QUESTION, documents(text), 30)
    runs = done.text.split()
    assert done.text
    assert all(run in text for run in runs)
    assert max(map(len, runs)) > 1
    package = opened("llmlingua2", bert, counter, header=False, text="package").compress(QUESTION, documents(text), 30)
    assert all(len(run) == 1 for run in package.text.split())


@needs_package
def test_a_text_of_many_chunks(bert):
    text = " ".join(TEXTS) * 40
    counter = trained.counter("byte-level")
    done = opened("llmlingua2", bert, counter).compress(QUESTION, documents(text, TEXTS[0]), 300)
    # Training a vocabulary breaks ties by chance, so the drawn model differs a little from run to run (244 seen).
    assert 200 < done.tokens <= 300
    assert done.unaligned == 0


@needs_package
def test_nothing_outside_is_touched(bert, monkeypatch):
    """Random numbers, the hash seed, cuDNN's switches, and no network."""
    import tiktoken
    import torch

    def refused(*words):
        raise AssertionError("network")

    monkeypatch.setattr(tiktoken, "encoding_for_model", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    random.seed(3)
    np.random.seed(3)  # the global state is the point
    torch.manual_seed(3)
    cudnn = torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = False
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    opened("llmlingua2", bert).compress(QUESTION, documents(*TEXTS), 30)
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before
    assert os.environ["PYTHONHASHSEED"] == "7"
    assert torch.backends.cudnn.deterministic is False
    torch.backends.cudnn.deterministic = cudnn


@needs_package
def test_threads_company_and_earlier_questions_change_nothing(bert):
    import torch

    alone = opened("llmlingua2", bert).compress(QUESTION, documents(*TEXTS), 30)
    again = opened("llmlingua2", bert)
    random.seed(9)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if before > 1 else 2)
        for budget in (60, 20, 30):
            again.compress("Which?", documents(TEXTS[2], TEXTS[1]), budget)
        assert again.compress(QUESTION, documents(*TEXTS), 30) == alone
    finally:
        torch.set_num_threads(before)


@needs_package
def test_force_digits(bert):
    done = opened("llmlingua2", bert, force_digits=True, header=False).compress(QUESTION, documents(*TEXTS), 25)
    assert re.findall(r"\d+", done.text) == re.findall(r"\d+", " ".join(TEXTS))
    assert done.asked < 1


@needs_package
def test_models_that_are_none(bert, causal, tmp_path):
    for folder, expected in [
        (tmp_path / "nowhere", "no folder"),
        (causal, "is no ForTokenClassification model; its architectures: LlamaForCausalLM"),
        (tmp_path, "no readable config.json"),
    ]:
        with pytest.raises(UsageError, match=expected):
            opened("llmlingua2", folder)
    with pytest.raises(UsageError, match="is no ForCausalLM model"):
        opened("llmlingua", bert)
    with pytest.raises(UsageError, match="give model=FOLDER"):
        opened("longllmlingua", "")
    with pytest.raises(UsageError, match="dynamic=2"):
        opened("longllmlingua", causal, dynamic=2.0)
    other = tmp_path / "bert-base-multilingual-cased"
    shutil.copytree(bert, other)
    config = (other / "config.json").read_text().replace('"model_type": "bert"', '"model_type": "electra"')
    (other / "config.json").write_text(config)
    with pytest.raises(UsageError, match="of the type 'electra'"):
        opened("llmlingua2", other)


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(shared.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Missing, match=r"llmlingua2 needs the extra 'llmlingua': pip install 'ragpack\[llmlingua\]'"):
        opened("llmlingua2", "anything")


# LLMLingua and LongLLMLingua, with a tiny language model


@pytest.fixture(scope="session")
def causal(tmp_path_factory) -> Path:
    torch = pytest.importorskip("torch", reason="torch is not installed: just reader")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: just reader")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=trained.tokenizer("byte-level"))
    torch.manual_seed(4)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        initializer_range=0.5, max_position_embeddings=2048,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("models") / "causal"
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@needs_package
@pytest.mark.parametrize("method", ["llmlingua", "longllmlingua"])
@pytest.mark.parametrize("name", ["regex", "byte-level", "no-pieces", "metaspace", "grudging"])
def test_perplexity_keeps_every_budget(causal, method, name):
    counter = trained.counter(name)
    ours = opened(method, causal, counter)
    for budget in (0, 1, 15, 40, 77, 999):
        done = ours.compress(QUESTION, documents(*TEXTS), budget)
        assert done.tokens == counter.count(done.text) <= budget
        assert sum(one.tokens for one in done.kept) == done.tokens
        for one in done.kept:  # letters in their order, nothing invented
            left = iter(TEXTS[one.document].replace(" ", ""))
            assert all(character in left for character in one.text.replace(" ", ""))


@needs_package
@pytest.mark.parametrize(
    ("method", "options"),
    [("llmlingua", {}), ("llmlingua", {"filter": True}), ("llmlingua", {"align": "token"}),
     ("longllmlingua", {"align": "token"}), ("longllmlingua", {}), ("longllmlingua", {"compare": False}),
     ("longllmlingua", {"reorder": "two_stage", "dynamic": 0.0}), ("longllmlingua", {"filter": True})],
    ids=str,
)  # fmt: skip
def test_the_tokens_noted_are_those_that_the_package_returns(causal, method, options, monkeypatch):
    """And what is remembered of the first pass changes nothing."""
    texts = [text * repeats for text, repeats in zip(TEXTS, (3, 5, 2), strict=True)]
    ours = opened(method, causal, **options)
    ours.compress(QUESTION, documents(*texts), 60)
    package = ours._package
    ours_is, inner = type(package).__mro__[:2]
    seen = {}

    def listened(self, context, target, **kwargs):
        result = ours_is.iterative_compress_prompt(self, context, target, **kwargs)
        joined = self.tokenizer("\n\n".join(context), add_special_tokens=False)["input_ids"][kwargs["start"] :]
        seen["ids"], seen["joined"], seen["start"] = result[0][0].tolist(), joined, kwargs["start"]
        return result

    again = type("Listened", (ours_is,), {"iterative_compress_prompt": listened})
    package.__class__ = again
    settings = {**ours.settings}
    question = QUESTION if method == "longllmlingua" else ""
    for rate in (0.2, 0.5, 0.9):
        remembered = package.kept(texts, question, rate, settings)
        positions = [at - seen["start"] for at in package._positions if at >= seen["start"]]
        assert [seen["joined"][at] for at in positions] == seen["ids"]
        assert len(seen["ids"]) < len(seen["joined"])
        package._losses.clear()
        package._ranks.clear()
        monkeypatch.setattr(again, "get_ppl", inner.get_ppl, raising=False)
        monkeypatch.setattr(again, "get_condition_ppl", inner.get_condition_ppl, raising=False)
        assert package.kept(texts, question, rate, settings) == remembered
        monkeypatch.undo()


@needs_package
@pytest.mark.parametrize("align", ["package", "token"])
def test_the_most_surprising_tokens_stay(causal, align):
    """One segment, all rates: with transformers alone. What surprises more than the k-th stays, and the last token."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(causal).eval(), AutoTokenizer.from_pretrained(causal)
    text = TEXTS[0] + " " + TEXTS[2]
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    n = ids.shape[1]
    assert 40 < n < 200
    with torch.no_grad():
        said = torch.log_softmax(model(ids).logits[0, :-1], -1)
    surprise = (-said[torch.arange(n - 1), ids[0, 1:]]).tolist()  # of tokens 1, 2, …
    ours = opened("llmlingua", causal, align=align)
    ours.compress(QUESTION, documents(*TEXTS), 30)
    for rate in (0.2, 0.5, 0.8):
        ours._package.kept([text], "", rate, ours.settings)
        # The package's target: a share of rate n / (n + 3) of all that have a surprise; the last of them goes.
        ratio = rate * n / (n + 2 + 1)
        threshold = sorted(surprise, reverse=True)[max(0, int((n - 1) * ratio) - 1)]
        expected = {at + (align == "token") for at, one in enumerate(surprise) if one > threshold}
        expected |= {n - 1} | ({0} if align == "token" else set())
        assert set(ours._package._positions) == expected


@needs_package
def test_keys_and_values_go_in_and_out(causal):
    """Surprise behind a past that was handed over is that of the whole text at once."""
    import torch

    ours = opened("llmlingua", causal)
    ours.compress(QUESTION, documents(*TEXTS), 30)
    package = ours._package
    given = package.tokenizer(TEXTS[0], return_tensors="pt")
    ids, mask = given["input_ids"], given["attention_mask"]
    whole = package.get_ppl("", "token", ids, mask)
    _, past = package.get_ppl("", "token", ids, mask, end=10, return_kv=True)
    tail, _ = package.get_ppl("", "token", ids, mask, past_key_values=past, return_kv=True)
    assert [len(pair) for pair in past] == [2, 2]
    assert torch.allclose(tail, whole[10:], atol=1e-4)


@needs_package
def test_documents_stand_by_how_likely_they_make_the_question(causal):
    """The package's condition, computed with transformers: mean surprise of the question behind the document."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(causal).eval(), AutoTokenizer.from_pretrained(causal)

    def surprise(text):
        asked = QUESTION + " We can get the answer to this question in the given documents."
        ids = tokenizer(text + asked, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            said = torch.log_softmax(model(ids).logits[0, :-1], -1)
        losses = -said[torch.arange(len(said)), ids[0, 1:]]
        return losses[len(tokenizer(text)["input_ids"]) - 1 :].mean().item()

    expected = sorted(range(3), key=lambda at: surprise(TEXTS[at]))
    assert expected != [0, 1, 2], "else the test shows nothing"
    done = opened("longllmlingua", causal).compress(QUESTION, documents(*TEXTS), 70)
    assert [one.document for one in done.kept] == expected
    done = opened("longllmlingua", causal, reorder="original").compress(QUESTION, documents(*TEXTS), 70)
    assert [one.document for one in done.kept] == [0, 1, 2]


@needs_package
def test_a_question_is_needed_only_by_the_one_that_reads_it(causal):
    assert opened("llmlingua", causal).compress("", documents(*TEXTS), 30).text
    with pytest.raises(DataError, match="the question is empty"):
        opened("longllmlingua", causal).compress(" ", documents(*TEXTS), 30)


# through the stage


def hits(*texts, question=QUESTION, **fields):
    found = [{"rank": at, "id": str(at), "title": "Ostra", "text": text} for at, text in enumerate(texts, 1)]
    return {"schema": "ragpack.hits/1", "id": "a", "question": question, "hits": found, **fields}


def test_policies_are_parsed_like_any_other():
    (one,) = parse_policies(["llmlingua2:model=a/b,force_digits=true,header=true"])
    assert one.name == "llmlingua2:force_digits=true,model=a/b"
    with pytest.raises(UsageError, match=r"has no parameter 'modle'\. Did you mean 'model'"):
        parse_policies(["llmlingua2:modle=x"])
    with pytest.raises(UsageError, match="text=x is not one of source, package"):
        parse_policies(["llmlingua2:text=x"])


@needs_package
def test_a_row(bert):
    stage = open_pack(PackParams((f"topk,llmlingua2:model={bert},header=false",), (30, 999)))
    top, _, found, whole = (row["pack"] for row in rows(stage, [hits("", *TEXTS)]))
    assert found["policy"] == "llmlingua2:header=false,model=nameless"
    assert found["tokens"] == RegexCounter().count(found["context"]) <= 30
    assert found["dropped"] == 3 - len(found["snippets"])
    for snippet in found["snippets"]:
        assert snippet["span"] == [0, len(TEXTS[int(snippet["id"]) - 2])]
    assert sum(snippet["tokens"] for snippet in found["snippets"]) == found["tokens"]
    done = found["compression"]
    assert (done["method"], done["model"], done["truncated"]) == ("llmlingua2", "nameless", False)
    assert done["original"] == RegexCounter().count("\n".join(TEXTS))
    assert done["achieved"] == found["tokens"] / done["original"]
    assert done["settings"]["header"] is False
    assert (whole["context"], whole["compression"]["asked"]) == ("\n".join(TEXTS), 1.0)
    assert str(bert) not in str(found)
    assert top["key"] == rows(open_pack(PackParams(("topk",), (30, 999))), [hits("", *TEXTS)])[0]["pack"]["key"]


@needs_package
def test_keys_follow_the_model_s_files(bert, tmp_path):
    other = tmp_path / bert.name
    shutil.copytree(bert, other)

    def key():
        return rows(open_pack(PackParams((f"llmlingua2:model={other}",), (30,))), [hits(*TEXTS)])[0]["pack"]["key"]

    before = key()
    assert key() == before
    (other / "config.json").write_text((other / "config.json").read_text() + " ")
    assert key() != before


@needs_package
def test_a_record_that_can_t_be_done_fails_alone(causal):
    stage = open_pack(PackParams((f"longllmlingua:model={causal}",), (30,)))
    assert failure(stage, hits(*TEXTS, question="")).startswith("longllmlingua: the question is empty")


@needs_package
@pytest.mark.slow
def test_workers_give_the_same_bytes(ragpack, bert, hits_file, tmp_path):
    few = tmp_path / "few.jsonl"
    few.write_bytes(b"".join(hits_file.read_bytes().splitlines(keepends=True)[:34]))  # more than one batch
    words = ("pack", few, "--policy", f"llmlingua2:model={bert}", "--budget", "60", "-q")
    assert ragpack(*words, "-j", "2").stdout == ragpack(*words).stdout


def smollm2() -> Path:
    spec = importlib.util.spec_from_file_location("reader_script", ROOT / "fixtures" / "reader.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.default_folder()


@needs_package
@pytest.mark.slow
@pytest.mark.skipif(not (smollm2() / "config.json").is_file(), reason="no converted SmolLM2 folder (just reader)")
@pytest.mark.parametrize("method", ["llmlingua", "longllmlingua"])
def test_a_real_model_keeps_what_it_could_not_guess(method):
    """The capital follows from the words before it; the year that somebody made up does not."""
    from ragpack.tokens import open_counter

    counter = open_counter(str(smollm2()))
    texts = ["Paris is the capital of France, and Berlin is the capital of Germany.", *TEXTS]
    done = opened(method, smollm2(), counter).compress(QUESTION, documents(*texts), 70)
    assert 50 < done.tokens == counter.count(done.text) <= 70
    assert done.asked < 1
