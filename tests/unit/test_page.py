"""The page: nothing of the data ends an element, what is shown is what the rows say, equal rows give equal bytes."""

from __future__ import annotations

import json
import random
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_rows import HOSTILE, row

from ragpack.checked import view
from ragpack.errors import UsageError
from ragpack.flow.run import Flow
from ragpack.records import Diagnosed
from ragpack.report.beside import Beside, Wanted
from ragpack.report.html.page import embedded
from ragpack.report.html.provenance import runs
from ragpack.report.html.questions import chosen, parted
from ragpack.stages.stats import Stats, StatsParams


def page(tmp_path: Path, rows, *, most: int = 500, files: tuple[str, ...] = (), **params) -> str:
    """The page that `stats --html` writes for these rows."""
    name = tmp_path / "page.html"
    asked = StatsParams(**{"tables": ("policies",), "resamples": 100, **params})
    fold, beside = Stats(asked), Beside(Wanted(None, str(name), most), Flow(files=files))
    for one in rows:
        record = view(one, (Diagnosed,))
        fold.take(record, one)
        beside.take(record, one)
    list(beside.passing(fold.give(lambda _: None)))
    beside.finish(fold, asked, lambda _: None)
    return name.read_text(encoding="utf-8")


def data(text: str, id: str):
    """What a JSON element of the page holds."""
    return json.loads(re.search(rf'<script type="application/json" id="{id}">(.*?)</script>', text, re.S)[1])


class Elements(HTMLParser):
    """Names and attributes of all elements, as a browser would read them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_row_is_shown_as_it_is(tmp_path: Path) -> None:
    text = page(tmp_path, [row("q1"), row("q1", "r", verdict="dropped_by_packing")])
    index = data(text, "index")
    assert index["policies"] == ["p", "r"]
    assert index["verdicts"] == ["correct", "dropped_by_packing"]
    (item,) = index["items"]
    # [verdict, policy, budget, model, seed] of each row, by number.
    assert item == {"id": "q1", "question": "Where is q1?", "answers": ["Paris"], "group": 0,
                    "rows": [[0, 0, 0, 0, None], [1, 1, 0, 0, None]]}  # fmt: skip
    detail = data(text, "question-0")
    assert detail["hits"] == [[{"rank": 1, "id": "d", "title": "D", "score": 2.5, "has_answer": True, "scores": None,
                                "gold": True}]]  # fmt: skip
    assert detail["missed"] == [["e"]]
    assert detail["rows"][0]["context"] == ["In ", "Paris", ""]
    assert detail["rows"][0]["dropped"] == 1


def test_nothing_of_the_data_becomes_an_element(tmp_path: Path) -> None:
    def kinds(word: str) -> list[str]:
        one = row(word, word, model=word, question=word, answers=[word], gold=[word], group=word)
        one["hits"][0] |= {"title": word, "id": word}
        one["pack"]["context"] = word
        one["diagnose"]["spans"] = [[0, 3]]
        drawing = ("path", "g", "use", "defs", "svg", "rect", "clippath")  # a long name is drawn in more lines
        return [tag for tag, _ in Elements(page(tmp_path, [one])).found if tag not in drawing]

    assert kinds("harmless") == kinds(HOSTILE)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    item = data(text, "index")["items"][0]
    assert (item["id"], item["question"]) == (HOSTILE, HOSTILE)
    assert "".join(data(text, "question-0")["rows"][0]["context"]) == HOSTILE


@given(st.text())
def test_embedded_json_reads_back_and_has_no_sign_of_html(text: str) -> None:
    found = embedded([text])
    assert json.loads(found.encode("utf-8", "backslashreplace")) == [text]
    assert not set("<>&\u2028\u2029") & set(found)


def test_half_a_surrogate_pair_is_no_end(tmp_path: Path) -> None:
    assert b"\\ud83e" in embedded("\ud83e").encode("utf-8", "backslashreplace")


def test_nothing_leads_out_of_the_page(tmp_path: Path) -> None:
    text = page(tmp_path, [row("q1")])
    for tag, attributes in Elements(text).found:
        assert tag not in ("link", "iframe", "object", "img", "base"), tag
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(http" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


@given(st.text(max_size=40), st.lists(st.tuples(st.integers(-2, 45), st.integers(-2, 45)), max_size=5))
def test_parts_add_up_to_the_text(text: str, spans: list[tuple[int, int]]) -> None:
    pieces = parted(text, spans)
    assert "".join(pieces) == text
    assert len(pieces) % 2 == 1


def test_spans_count_code_points() -> None:
    assert parted("🦊🦊 Paris", [(3, 8)]) == ["🦊🦊 ", "Paris", ""]
    assert parted("ab", [(1, 9), (0, 1), (0, 1)]) == ["", "a", "b"]  # past the end, and twice: left out


def test_same_bytes_for_shuffled_rows(tmp_path: Path) -> None:
    rows = [row(f"q{n}", policy, budget) for n in range(12) for policy in ("p", "r") for budget in (9, 20)]
    first = page(tmp_path, rows, most=5, baseline="p", tables=())
    random.Random(1).shuffle(rows)
    assert page(tmp_path, rows, most=5, baseline="p", tables=()) == first


def test_plots_have_the_same_bytes_for_shuffled_rows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    rows = [row(f"q{n}", policy, budget) for n in range(12) for policy in ("p", "r") for budget in (9, 20)]
    for n, one in enumerate(rows):
        one["diagnose"] |= {"f1": (n % 7) / 7, "answer_in_context": float(n % 2)}
        one["hits"][0]["scores"] = {"ig": int(one["id"][1:]) / 100}

    def plots(folder: Path) -> dict[str, bytes]:
        asked = StatsParams(baseline="p", resamples=100)
        fold, beside = Stats(asked), Beside(Wanted(str(folder), None, 0), Flow())
        for one in rows:
            fold.take(view(one, (Diagnosed,)), one)
            beside.take(view(one, (Diagnosed,)), one)
        list(beside.passing(fold.give(lambda _: None)))
        beside.finish(fold, asked, lambda _: None)
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    first = plots(tmp_path / "a")
    random.Random(1).shuffle(rows)
    assert plots(tmp_path / "b") == first
    assert {"policies.svg", "conditional.svg", "contrasts.svg", "sweep.svg", "ig.png"} <= set(first)


def test_the_limit_is_said_and_does_not_touch_the_tables(tmp_path: Path) -> None:
    rows = [row(f"q{n}") for n in range(9)]
    text = page(tmp_path, rows, most=4)
    assert len(data(text, "index")["items"]) == 4
    assert "4 of 9 questions are listed here (--html-questions)" in text
    assert "<b>9</b> questions" in text
    assert "are listed here" not in page(tmp_path, rows, most=9)
    assert data(page(tmp_path, rows, most=0), "index")["items"] == []


def test_the_choice_hangs_on_the_ids_alone() -> None:
    ids = [f"q{n}" for n in range(50)]
    few = chosen(ids, 10)
    assert few == sorted(few)
    assert chosen(reversed(ids), 10) == few
    assert set(few) <= set(chosen(ids, 20))
    assert few != sorted(ids)[:10]  # a sample, not the head


def test_where_holds_for_the_list_too(tmp_path: Path) -> None:
    rows = [row("q1"), row("q1", budget=20), row("q2", budget=20)]
    text = page(tmp_path, rows, where=("budget=9",))
    assert [item["id"] for item in data(text, "index")["items"]] == ["q1"]
    assert data(text, "index")["budgets"] == [9]


def test_rows_without_a_reader_and_without_a_verdict(tmp_path: Path) -> None:
    bare = row("q1", model=None)
    bare["diagnose"] = {"profile": "squad", "verdict": None, "spans": None}
    bare["pack"] |= {"context": "", "snippets": []}
    text = page(tmp_path, [bare])
    assert data(text, "index")["verdicts"] == [""]
    assert data(text, "question-0")["rows"][0]["answer"] is None


def test_without_matplotlib_the_page_has_no_plots_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    text = page(tmp_path, [row("q1")])
    assert "<figure" not in text
    assert "a page with plots needs the extra &#x27;plots&#x27;" in text
    assert data(text, "index")["items"]


def test_explained_drops_are_shown(tmp_path: Path) -> None:
    explained = row("q1")
    candidate = {"id": "d", "rank": 1, "span": [0, 8], "relevance": 1.0, "cost": 2, "terms": ["x", "y"]}
    explained["pack"]["explain"] = [
        {**candidate, "step": 1, "reason": "taken"},
        {**candidate, "reason": "over the budget"},
    ]
    shown = data(page(tmp_path, [explained]), "question-0")["rows"][0]["explain"]
    assert shown == [{"hit": 1, "title": "D", "gold": "★ gold", "reason": "over the budget", "cost": 2,
                      "relevance": 1.0, "terms": "x, y"}]  # fmt: skip
    assert data(page(tmp_path, [row("q1")]), "question-0")["rows"][0]["explain"] is None


def run_file(path: Path, stage: str, inputs: list[str], counts: dict[str, int], **more) -> str:
    run = {"ragpack": "0", "stage": stage, "argv": ["/home/me/bin/ragpack", stage, *inputs], "counts": counts,
           "host": "secret", "started": "2026-01-01T00:00:00+00:00", **more}  # fmt: skip
    path.with_name(path.name + ".run.json").write_bytes(orjson.dumps(run))
    path.touch()
    return str(path)


def test_the_chain_of_run_files_is_followed_as_far_as_it_fits(tmp_path: Path) -> None:
    run_file(tmp_path / "hits.jsonl", "retrieve", ["q.jsonl", "-o", "hits.jsonl"], {"in": 4, "out": 4})
    run_file(tmp_path / "packs.jsonl", "pack", ["runs/hits.jsonl", "-o", "packs.jsonl"], {"in": 4, "out": 8})
    rows = run_file(tmp_path / "rows.jsonl", "diagnose", ["packs.jsonl", "-o", "rows.jsonl"], {"in": 8, "out": 8})
    assert [run["stage"] for run in runs([rows])] == ["diagnose", "pack", "retrieve"]
    assert not any("host" in run or "argv" in run for run in runs([rows]))
    # Another run has written packs.jsonl since: its count does not fit.
    run_file(tmp_path / "packs.jsonl", "pack", ["hits.jsonl"], {"in": 4, "out": 16})
    assert [run["stage"] for run in runs([rows])] == ["diagnose"]
    (tmp_path / "rows.jsonl.run.json").write_text("{")
    assert runs([rows, "-"]) == []


def test_provenance_names_no_host_and_no_folder(tmp_path: Path) -> None:
    rows = run_file(
        tmp_path / "rows.jsonl", "diagnose", [], {"in": 1, "out": 1}, params={"model": "/home/me/models/m1/"}
    )
    text = page(tmp_path, [row("q1")], files=(rows,))
    assert "…/m1" in text
    assert "/home/me" not in text
    assert "secret" not in text
    assert "<small>rows.jsonl</small>" in text


@pytest.mark.parametrize(
    ("html", "flow", "message"),
    [
        ("-", {}, "name a file"),
        ("", {}, "name a file"),
        (".", {}, "is a folder"),
        ("nowhere/x.html", {}, "no such folder"),
        ("x.html", {"output": "./x.html"}, "-o and --html both name"),
        ("x.html", {"failures": "x.html"}, "--failures and --html both name"),
        ("x.html", {"files": ("./x.html",)}, "is an input"),
    ],
)
def test_names_that_can_not_be(html: str, flow: dict, message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        Beside(Wanted(None, html, 5), Flow(**flow))
    assert not list(tmp_path.iterdir())


def test_gains_are_of_hits_not_of_rows(tmp_path: Path) -> None:
    rows = [row("q1"), row("q1", "r")]
    for one in rows:
        one["hits"][0]["scores"] = {"ig": 0.25}
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    found = re.search(r'<figure id="plot-ig">.*?</figure>', page(tmp_path, rows), re.S)
    assert found
