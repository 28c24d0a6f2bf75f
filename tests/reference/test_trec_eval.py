"""Measures of `diagnose` are those of trec_eval, as ir_measures runs it, on the exported run and qrels."""

from __future__ import annotations

import orjson
import pytest
from command import ROOT
from mapped import rows

from ragpack.exports.base import Selection, exported
from ragpack.exports.choice import opened
from ragpack.stages.diagnose import DiagnoseParams, open_diagnose
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

ir_measures = pytest.importorskip("ir_measures", reason="the development dependencies have ir_measures")

SPOILT = {
    "as they are": lambda rank, score: score,
    "all equal": lambda rank, score: 1.0,
    "turned round": lambda rank, score: float(rank),
    "closer than single precision": lambda rank, score: 1.0 - rank * 1e-12,
    "none": lambda rank, score: None,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_the_rank_survives(tmp_path, spoil):
    """recall and nDCG at each cut-off, a mean over the questions with gold documents; ids with blanks among them."""
    raw = [orjson.loads(line) for line in (ROOT / "fixtures/questions.jsonl").read_bytes().splitlines()]
    found = rows(open_retrieve(RetrieveParams(k=5)), raw)
    for row in found:
        for hit in row["hits"]:
            hit["score"] = spoil(hit["rank"], hit["score"])
    diagnosed = rows(open_diagnose(DiagnoseParams()), rows(open_pack(PackParams(("topk",), (96,))), found))
    source = tmp_path / "hits.jsonl"
    source.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in found))
    for name in ("trec", "qrels"):
        with opened(name, None, {}).target as export:
            blocks = exported(export, [str(source)], Selection(), pytest.fail, lambda: None)
            (tmp_path / name).write_bytes(b"".join(blocks))
    assert any(" " in hit["id"] for row in found for hit in row["hits"]), "the case is a hard one"
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    run = list(ir_measures.read_trec_run(str(tmp_path / "trec")))
    names = {"R": "recall", "nDCG": "ndcg", "Success": "hit"}
    measures = {ir_measures.parse_measure(f"{name}@{k}"): f"{names[name]}@{k}" for name in names for k in (1, 2, 5)}
    for measure, value in ir_measures.calc_aggregate(measures, qrels, run).items():
        ours = [row["diagnose"][measures[measure]] for row in diagnosed if row["gold"]]
        assert value == pytest.approx(sum(ours) / len(ours), abs=1e-12), measure
