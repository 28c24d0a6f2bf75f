"""retrieve --rerank: what becomes of the hits, and the two models."""

import json
from pathlib import Path

import pytest
from mapped import failure, rows
from minilm import embedding_folder, needs_dense, needs_minilm

from ragpack.checked import view
from ragpack.errors import UsageError
from ragpack.records import Hits
from ragpack.rerankers import RERANKERS
from ragpack.stages.rerank import Rerank
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

DOCS = [{"id": str(at), "title": f"T{at}", "text": "tern " * (at + 1) + "x " * 20} for at in range(6)]
QUESTION = {"id": "q", "question": "tern?", "docs": DOCS}


class Shortest:
    """Likes short texts; says what it was given."""

    field = "ce"
    fingerprint = "shortest"

    def scores(self, question, passages):
        return [-float(len(one.text)) for one in passages]


def shortest(*, model: str = "m") -> Shortest:
    """Short texts first."""
    return Shortest()


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setitem(RERANKERS, "ce", f"{__name__}:shortest")
    monkeypatch.setattr("ragpack.stages.rerank.load", lambda table, name: shortest)


def reranked(record=QUESTION, k=3, **params):
    return rows(open_retrieve(RetrieveParams(k=k, rerank="ce:m", **params)), [record])[0]


@pytest.mark.usefixtures("plain")
def test_the_best_k_of_the_first_depth():
    before = rows(open_retrieve(RetrieveParams(k=6)), [QUESTION])[0]["hits"]
    row = reranked(rerank_depth=4)
    expected = sorted(before[:4], key=lambda hit: len(hit["text"]))[:3]
    assert [hit["id"] for hit in row["hits"]] == [hit["id"] for hit in expected]
    assert [hit["rank"] for hit in row["hits"]] == [1, 2, 3]
    for hit, old in zip(row["hits"], expected, strict=True):
        assert hit["score"] == hit["scores"]["ce"] == -len(hit["text"])
        assert hit["scores"] == {"retrieved": old["score"], "rank": old["rank"], "ce": hit["score"]}
    about = row["retrieve"]
    assert (about["rerank"], about["rerank_depth"], about["k"]) == ("ce", 4, 3)
    assert view(row, (Hits,))


@pytest.mark.usefixtures("plain")
def test_hits_are_read_where_no_retriever_is_asked_for():
    found = rows(open_retrieve(RetrieveParams(k=6)), [QUESTION])[0]
    found["hits"][0]["note"] = 1
    row = reranked(found, k=6)
    assert {hit["id"]: hit for hit in row["hits"]}[found["hits"][0]["id"]]["note"] == 1, "what is unknown stays"
    straight = reranked(k=6)
    assert [(hit["id"], hit["scores"]) for hit in row["hits"]] == [
        (hit["id"], hit["scores"]) for hit in straight["hits"]
    ]
    assert row["retrieve"]["key"] != found["retrieve"]["key"]
    assert row["retrieve"]["retriever"] == "bm25"
    del found["retrieve"]
    assert reranked(found)["retrieve"]["retriever"] == "given"
    stage = open_retrieve(RetrieveParams(rerank="ce:m", retriever="bm25"))
    assert "expected ragpack.question/1" in failure(stage, found), "a retriever that was asked for needs questions"


@pytest.mark.usefixtures("plain")
def test_hits_without_texts():
    found = rows(open_retrieve(RetrieveParams(k=2)), [QUESTION])[0]
    del found["hits"][1]["text"]
    assert failure(open_retrieve(RetrieveParams(rerank="ce:m")), found).startswith("hits[1]: the text is missing")


def test_ties_keep_their_order():
    class Same(Shortest):
        def scores(self, question, passages):
            return [1.0] * len(passages)

    hits = [{"rank": rank, "id": name, "text": "x", "score": 1 / rank} for rank, name in enumerate("cab", 1)]
    assert [hit["id"] for hit in Rerank("x", Same(), 9, 9).reranked("?", hits[::-1])] == list("cab")


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"rerank": "cee:m"}, "unknown reranker 'cee'. Did you mean 'ce'?"),
        ({"rerank": "ce:m,q=1"}, "reranker 'ce' has no parameter 'q'"),
        ({"rerank": "ce:m", "rerank_depth": 2}, "--rerank-depth 2 is less than -k 5"),
        ({"rerank_depth": 9}, "--rerank-depth needs --rerank"),
    ],
)
def test_params(params, expected):
    with pytest.raises(UsageError) as caught:
        open_retrieve(RetrieveParams(**params))
    assert expected in str(caught.value)


@pytest.fixture(scope="module")
def crosses(tmp_path_factory) -> dict[int, Path]:
    """BERTs of one small layer with random weights, by their number of outputs."""
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
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=64,
    )  # fmt: skip
    found = {}
    for outputs in (1, 3):
        found[outputs] = tmp_path_factory.mktemp("cross")
        tokenizer.save_pretrained(found[outputs])
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=made.get_vocab_size(), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=32, max_position_embeddings=64, num_labels=outputs, initializer_range=0.8,
        )  # fmt: skip
        BertForSequenceClassification(config).save_pretrained(found[outputs])
    return found


@needs_dense
def test_ce_is_the_logit(crosses):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    stage = open_retrieve(RetrieveParams(k=6, rerank=f"ce:{crosses[1]}"))
    row = rows(stage, [QUESTION])[0]
    tokenizer = AutoTokenizer.from_pretrained(crosses[1])
    model = AutoModelForSequenceClassification.from_pretrained(crosses[1]).eval()
    for hit in row["hits"]:
        inputs = tokenizer(
            "tern?", f"{hit['title']}\n{hit['text']}", truncation=True, max_length=64, return_tensors="pt"
        )
        with torch.inference_mode():
            assert hit["scores"]["ce"] == pytest.approx(model(**inputs).logits.item(), abs=1e-4)
    values = [hit["score"] for hit in row["hits"]]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 1
    assert row["retrieve"]["rerank"] == f"ce:model={crosses[1].name}"
    mixed = {**QUESTION, "docs": DOCS[::-1]}
    assert rows(stage, [mixed])[0]["hits"] == row["hits"]
    with pytest.raises(UsageError, match="gives 3 numbers for a pair, not one"):
        rows(open_retrieve(RetrieveParams(rerank=f"ce:{crosses[3]}")), [QUESTION])


@needs_minilm
def test_bi_is_the_dense_retrievers_score(ragpack):
    model = embedding_folder()
    dense = rows(open_retrieve(RetrieveParams(k=6, retriever=f"dense:{model}")), [QUESTION])[0]["hits"]
    bi = rows(open_retrieve(RetrieveParams(k=6, rerank=f"bi:{model}")), [QUESTION])[0]["hits"]
    assert [hit["id"] for hit in bi] == [hit["id"] for hit in dense]
    assert [hit["scores"]["bge"] for hit in bi] == pytest.approx([hit["score"] for hit in dense], abs=2e-6)
    stdin = json.dumps(QUESTION).encode() + b"\n"
    done = ragpack("retrieve", "-q", "-k", "6", "--rerank", f"bi:{model}", stdin=stdin)
    assert (json.loads(done.stdout)["hits"], done.stderr) == (bi, b"")
