"""A table in LaTeX, for a paper: booktabs, one `table` environment, names and values escaped."""

from __future__ import annotations

import re

from ragpack.records import Raw
from ragpack.report.sheet import Sheet

LABELS = ("model", "baseline", "budget", "dataset", "seed", "answer_kind", "base")
"""Columns that move under the table where all rows say the same: a page is narrow."""
ESTIMATES = ("difference", "delta_r2", "gain", "headroom", "beta")
"""What a significance mark belongs to: the first of these that is shown."""

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "–": "--", "—": "---", "−": "$-$", "×": r"$\times$", "±": r"$\pm$",
    "Δ": r"$\Delta$", "β": r"$\beta$", "ρ": r"$\rho$", "²": r"\textsuperscript{2}", "≤": r"$\leq$", "≥": r"$\geq$",
    "∩": r"$\cap$", "₀": r"\textsubscript{0}", "₁": r"\textsubscript{1}", "→": r"$\rightarrow$", "\u00a0": "~",
    "\u202f": r"\,", "\u2011": "-",
}  # fmt: skip
_MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
_PERCENT = re.compile(r"(?<=\d) %")


def tabular(sheet: Sheet) -> str:
    """One table, ready for `\\input`; the preamble needs `\\usepackage{booktabs}`.

    Label columns with one value in all rows move into the notes. A difference that is significant after the
    correction has a star. A blank line's height parts groups of the first column.
    """
    several = len(sheet.rows) > 1
    said = {column.name: sheet.cells[0][at] for at, column in enumerate(sheet.columns)
            if several and column.name in LABELS and len({row[at] for row in sheet.cells}) == 1}  # fmt: skip
    shown = [at for at, column in enumerate(sheet.columns) if column.name not in said]
    names = [sheet.columns[at].name for at in shown]
    marked = next((name for name in ESTIMATES if name in names), None)
    lines = [r"\begin{table}", r"  \centering", r"  \footnotesize", rf"  \caption{{{escape(sheet.title)}}}",
             rf"  \label{{tab:{sheet.name}}}",
             rf"  \begin{{tabular}}{{@{{}}{''.join('r' if sheet.columns[at].right else 'l' for at in shown)}@{{}}}}",
             r"    \toprule",
             f"    {' & '.join(escape(sheet.columns[at].head) for at in shown)} \\\\",
             r"    \midrule"]  # fmt: skip
    firsts = [cells[shown[0]] for cells in sheet.cells]
    grouped = len(set(firsts)) < len(firsts)
    for number, (cells, row) in enumerate(zip(sheet.cells, sheet.rows, strict=True)):
        if grouped and number and firsts[number] != firsts[number - 1]:
            lines.append(r"    \addlinespace")
        texts = [escape(cells[at]) + (_mark(row) if name == marked else "")
                 for at, name in zip(shown, names, strict=True)]  # fmt: skip
        if texts[0].startswith(("[", "*")):  # after the row before, an argument of its line break
            texts[0] = "{}" + texts[0]
        lines.append(f"    {' & '.join(texts)} \\\\")
    lines += [r"    \bottomrule", r"  \end{tabular}"]
    notes = [f"{column.head}: {said[column.name]}." for column in sheet.columns if column.name in said]
    notes += sheet.foot.splitlines()
    text = escape(" ".join(notes))
    if marked and any(row.get("significant") is not None for row in sheet.rows):
        text = f"{text} {_STAR} significant at 0.05 after the correction.".lstrip()
    if text:
        lines.append(rf"  \par\smallskip {text}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


_STAR = r"\textsuperscript{*}"


def _mark(row: Raw) -> str:
    # It takes no room, so that digits stay under digits.
    return rf"\rlap{{{_STAR}}}" if row.get("significant") is True else ""


def escape(text: str) -> str:
    r"""Text that LaTeX prints as it is; a minus before a number becomes one.

    >>> print(escape("chunk_mmr:lambda=0.5 & 95 % of -0.026"))
    chunk\_mmr:lambda=0.5 \& 95\,\% of $-$0.026
    """
    text = _PERCENT.sub("\u202f%", _MINUS.sub("−", " ".join(text.split())))
    return "".join(_SPECIAL.get(character, character) for character in text)
