"""LaTeX: every sign prints as itself, and a table says what it leaves out of its columns."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragpack.report.latex import escape, tabular
from ragpack.report.sheet import Column, Sheet
from ragpack.report.tables import sheets


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("chunk_mmr:lambda=0.5", r"chunk\_mmr:lambda=0.5"),
        ("a & b # $5 {x}", r"a \& b \# \$5 \{x\}"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("95 % CI", r"95\,\% CI"),
        ("100%", r"100\%"),
        # A minus before a number is a sign; in a name it is a hyphen.
        ("[-0.109, -0.050]", "[$-$0.109, $-$0.050]"),
        ("smollm2-135m-instruct", "smollm2-135m-instruct"),
        ("2-3", "2-3"),
        ("n₁ – Δ ≥ ×", r"n\textsubscript{1} -- $\Delta$ $\geq$ $\times$"),
        ("two\nlines", "two lines"),
        ("東京 é", "東京 é"),
    ],
)
def test_signs(text: str, printed: str) -> None:
    assert escape(text) == printed


@given(st.text())
def test_no_sign_of_a_text_means_anything_to_latex(text: str) -> None:
    """What is left after our own escapes has no special sign."""
    ours = (r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}|\\[{}&%$#_,]"
            r"|\$(-|\\\w+)\$|\\textsu[bp](er)?script\{\d\}|~")  # fmt: skip
    assert not re.search(r"[\\{}&%$#_^~\n]", re.sub(ours, "", escape(text)))


def sheet(columns: list[str], cells: list[list[str]], rows: list[dict] | None = None, foot: str = "") -> Sheet:
    heads = [Column(name, name, right=name not in ("model", "policy")) for name in columns]
    return Sheet("contrasts", "Contrasts", heads, cells, rows or [{} for _ in cells], foot)


def body(text: str) -> list[str]:
    """The lines between the rules."""
    inside = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    return [line.strip() for line in inside.strip().splitlines()]


def test_a_label_that_all_rows_share_is_said_below() -> None:
    text = tabular(sheet(["model", "policy", "n"], [["m_1", "a", "3"], ["m_1", "b", "4"]], foot="Intervals: x.\n"))
    assert body(text) == [r"a & 3 \\", r"b & 4 \\"]
    assert r"\begin{tabular}{@{}lr@{}}" in text
    assert r"model: m\_1. Intervals: x." in text
    different = tabular(sheet(["model", "policy", "n"], [["m", "a", "3"], ["k", "b", "3"]]))
    assert body(different) == [r"m & a & 3 \\", r"k & b & 3 \\"]
    # One row: everything is the same in all rows, and stays.
    assert body(tabular(sheet(["model", "policy", "n"], [["m", "a", "3"]]))) == [r"m & a & 3 \\"]
    # The number of rows is no label.
    assert body(tabular(sheet(["policy", "n"], [["a", "3"], ["b", "3"]]))) == [r"a & 3 \\", r"b & 3 \\"]


def test_significance_is_marked_at_the_difference_and_explained() -> None:
    rows = [{"significant": True}, {"significant": False}, {"significant": None}]
    text = tabular(
        sheet(["policy", "difference", "p"], [["a", "0.1", "0.01"], ["b", "0.2", "0.2"], ["c", "–", "–"]], rows)
    )
    assert body(text) == [r"a & 0.1\rlap{\textsuperscript{*}} & 0.01 \\", r"b & 0.2 & 0.2 \\", r"c & -- & -- \\"]
    assert r"\textsuperscript{*} significant at 0.05 after the correction." in text
    assert "significant" not in tabular(sheet(["policy", "n"], [["a", "3"]]))


def test_groups_are_parted_and_a_bracket_is_no_argument() -> None:
    text = tabular(sheet(["policy", "n"], [["[a]", "1"], ["[a]", "2"], ["*b", "3"]]))
    assert body(text) == [r"{}[a] & 1 \\", r"{}[a] & 2 \\", r"\addlinespace", r"{}*b & 3 \\"]


def test_sheets_have_the_text_of_the_other_forms() -> None:
    rows = [{"schema": "ragpack.stat/1", "table": "policies", "model": "m", "policy": "p", "budget": None, "n": 4,
             "f1": 0.25, "f1_n": 3, "tokens": 9.5, "tokens_n": 4,
             "missing": 0, "failed": 0}]  # fmt: skip
    rows.append({**rows[0], "budget": 160, "f1_n": 4})
    (found,) = sheets(iter(rows))
    assert [column.head for column in found.columns] == ["policy", "budget", "n", "F1", "tokens"]
    assert found.cells == [["p", "all", "4", "0.250 (1 undefined)", "9.5"], ["p", "160", "4", "0.250", "9.5"]]
    assert found.title == "Policies (model m)"
