"""The page: tables, plots and questions put into the template."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from ragpack import __version__
from ragpack.records import Raw
from ragpack.registry import load
from ragpack.report.html.questions import Entry, Shelf, chosen
from ragpack.report.plots import PLOTS
from ragpack.report.plots.figure import GRID, INK, PAPER, SOFT, Drawn
from ragpack.report.sheet import Sheet

VERDICTS = ("correct", "unsupported_correct", "in_context", "in_context_missed", "dropped_by_packing", "not_retrieved")
"""In the order in which they are shown; rows without a verdict come last."""


class Contents(NamedTuple):
    """What goes into a page."""

    sheets: Sequence[Sheet]
    plots: Mapping[str, Drawn]
    notes: Sequence[str]
    """Sentences about plots that are missing."""
    shelf: Shelf
    entries: Sequence[Entry]
    """The rows that the tables are about."""
    most: int
    """Questions to list."""
    origins: Mapping[str, Sequence[tuple[str, int]]]
    runs: Sequence[Raw]
    params: Raw
    """Of this run."""


def page(contents: Contents) -> bytes:
    """The whole page. The same contents give the same bytes."""
    script, listed = _text("page.js"), _listed(contents)
    verdicts = [one for one in VERDICTS if any(entry.verdict == one for entry in contents.entries)]
    filled = Template(_text("template.html")).substitute(
        version=escape(__version__),
        csp_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        css=_text("page.css"),
        js=script,
        summary=_summary(contents.entries),
        verdicts=_verdicts(contents.entries, verdicts),
        tables="\n".join(map(_table, contents.sheets)),
        plots="\n".join(_plot(name, plot) for name, plot in contents.plots.items())
        + "".join(f'\n<p class="note">{escape(note)}</p>' for note in contents.notes),
        cut=escape(listed.sentence),
        index=embedded(listed.items),
        details="\n".join(
            f'<script type="application/json" id="question-{at}">{embedded(detail)}</script>'
            for at, detail in enumerate(listed.details)
        ),
        provenance=_provenance(contents),
    )
    # Where a text has half a surrogate pair the rest of the page should still be readable.
    return filled.encode("utf-8", "backslashreplace")


class _Listed(NamedTuple):
    items: Raw
    details: list[Raw]
    sentence: str


def _listed(contents: Contents) -> _Listed:
    """The list's index, which the filters read, and each question's own part, which is read when it is opened."""
    rows: dict[str, list[Entry]] = {}
    for entry in contents.entries:
        rows.setdefault(entry.id, []).append(entry)
    shown = chosen(rows, contents.most)
    names: dict[str, list[Any]] = {
        "policies": sorted({entry.policy for entry in contents.entries}),
        "budgets": sorted({entry.budget for entry in contents.entries}),
        "models": sorted({entry.model or "" for entry in contents.entries}),
        "groups": sorted({entry.group or "" for entry in contents.entries}),
        "verdicts": [one for one in (*VERDICTS, "") if any((entry.verdict or "") == one for entry in contents.entries)],
    }
    at = {name: {value: place for place, value in enumerate(values)} for name, values in names.items()}
    items, details = [], []
    for identity in shown:
        entries, detail = contents.shelf.question(rows[identity])
        labels = [[at["verdicts"][one.verdict or ""], at["policies"][one.policy], at["budgets"][one.budget],
                   at["models"][one.model or ""], one.seed] for one in entries]  # fmt: skip
        items.append({"id": identity, "question": detail["question"], "answers": detail["answers"],
                      "group": at["groups"][entries[0].group or ""], "rows": labels})  # fmt: skip
        details.append({"gold": detail["gold"], "hits": detail["hits"], "missed": detail["missed"],
                        "rows": detail["rows"]})  # fmt: skip
    sentence = ""
    if len(shown) < len(rows):
        sentence = (f"{len(shown)} of {len(rows)} questions are listed here (--html-questions), drawn by a hash of "
                    "their ids; the tables are over all of them.")  # fmt: skip
    return _Listed({**names, "items": items}, details, sentence)


def embedded(value: object) -> str:
    r"""JSON that ends no script element and breaks no line.

    >>> print(embedded("</script>\u2028"))
    "\u003c/script\u003e\u2028"
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029\x7f\x85":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _summary(entries: Sequence[Entry]) -> str:
    told = [
        (len(entries), "rows"),
        (len({entry.id for entry in entries}), "questions"),
        (len({entry.policy for entry in entries}), "policies"),
        (len({entry.budget for entry in entries}), "budgets"),
        (len({entry.model for entry in entries} - {None}), "readers"),
    ]
    return "".join(f"<li><b>{number:,}</b> {_plural(number, name)}</li>" for number, name in told if number)


def _plural(number: int, name: str) -> str:
    return name if number != 1 else name.replace("ies", "y").removesuffix("s")


def _verdicts(entries: Sequence[Entry], verdicts: Sequence[str]) -> str:
    """A bar of verdicts for each policy, budget and reader; each part opens its questions."""
    cells: dict[tuple[str, int, str], dict[str, int]] = {}
    for entry in entries:
        counts = cells.setdefault((entry.model or "", entry.budget, entry.policy), {})
        counts[entry.verdict or ""] = counts.get(entry.verdict or "", 0) + 1
    several = {"reader": len({key[0] for key in cells}) > 1, "budget": len({key[1] for key in cells}) > 1}
    lines = []
    for (model, budget, policy), counts in sorted(cells.items()):
        n = sum(counts.values())
        parts = []
        for verdict in (*verdicts, ""):
            count = counts.get(verdict, 0)
            if count:
                words = verdict.replace("_", " ") or "no verdict"
                share = f"{words}: {count} of {n} ({100 * count / n:.0f} %)"
                data = {"verdict": verdict, "policy": policy, "budget": budget, "model": model}
                given = " ".join(f'data-{name}="{escape(str(value))}"' for name, value in data.items())
                label = escape(f"{policy}, {budget}: {share}")
                parts.append(f'<button type="button" class="part v-{verdict or "none"}" style="flex-grow:{count}" '
                             f'{given} title="{escape(share)}" aria-label="{label}">'
                             f"<span>{count if count >= 0.03 * n else ''}</span></button>")  # fmt: skip
        labels = [f"<th scope=row>{escape(policy)}</th>"]
        labels += [f"<td class=r>{budget}</td>"] if several["budget"] else []
        labels += [f"<td>{escape(model)}</td>"] if several["reader"] else []
        lines.append(f'<tr>{"".join(labels)}<td class="bar"><div>{"".join(parts)}</div></td><td class=r>{n}</td></tr>')
    heads = ["<th scope=col>policy</th>"]
    heads += ["<th scope=col class=r>budget</th>"] if several["budget"] else []
    heads += ["<th scope=col>reader</th>"] if several["reader"] else []
    keys = "".join(f'<li class="v-{one}"><i></i>{one.replace("_", " ")}</li>' for one in verdicts)
    return (f'<ul class="keys">{keys}</ul><div class="wide"><table class="verdicts"><thead><tr>{"".join(heads)}'
            f"<th scope=col>verdicts (rows)</th><th scope=col class=r>n</th></tr></thead><tbody>"
            f"{''.join(lines)}</tbody></table></div>")  # fmt: skip


def _table(sheet: Sheet) -> str:
    heads = "".join(
        f'<th scope="col"{" class=r" if column.right else ""}><button type="button">{escape(column.head)}</button></th>'
        for column in sheet.columns
    )
    lines = []
    for cells, row in zip(sheet.cells, sheet.rows, strict=True):
        texts = []
        for column, text in zip(sheet.columns, cells, strict=True):
            kinds = ["r"] if column.right else []
            if row.get("significant") is True and column.name == "difference":
                kinds.append("sig")
            shown = escape(text).replace("-", "−") if column.right else escape(text)
            kind = f' class="{" ".join(kinds)}"' if kinds else ""
            texts.append(f"<td{kind}>{shown}</td>")
        lines.append(f"<tr>{''.join(texts)}</tr>")
    foot = "".join(f'<p class="note">{escape(line)}</p>' for line in sheet.foot.splitlines())
    return (f'<section class="table" id="table-{escape(sheet.name)}"><h3>{escape(sheet.title)}</h3><div class="wide" '
            f'tabindex="0" role="region" aria-label="{escape(sheet.title)}"><table class="sortable"><thead><tr>{heads}'
            f"</tr></thead><tbody>{''.join(lines)}</tbody></table></div>{foot}</section>")  # fmt: skip


def _plot(name: str, plot: Drawn) -> str:
    """The SVG as a part of the page: its ids made its own, its ink that of the page."""
    text = plot.svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    for colour, role in ((INK, "currentColor"), (SOFT, "var(--soft)"), (GRID, "var(--line)"), (PAPER, "var(--card)")):
        text = text.replace(colour, role)
    told = " ".join((load(PLOTS, name).__doc__ or "").split("\n\n")[0].split()).replace("`", "")
    text = text.replace("<svg", f'<svg role="img" aria-label="{escape(told)}"', 1)
    return f'<figure id="plot-{name}">{text}<figcaption>{escape(told)}</figcaption></figure>'


def _provenance(contents: Contents) -> str:
    told = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>"
        + "<br>".join(f"{escape(value)} <small>{count:,} rows</small>" for value, count in values)
        + "</td></tr>"
        for name, values in contents.origins.items()
    )
    here = {"stage": "stats", "params": contents.params, "ragpack": __version__}
    blocks = [f"<h3>This page</h3>{_run(here)}"]
    blocks += [f"<h3>{escape(str(run['stage']))} <small>{escape(run['file'])}</small></h3>{_run(run)}"
               for run in contents.runs]  # fmt: skip
    if not contents.runs:
        blocks.append('<p class="note">No run files beside the inputs: stages before left no more than their rows.</p>')
    return f'<h3>What the rows say</h3><table class="pairs"><tbody>{told}</tbody></table>{"".join(blocks)}'


def _run(run: Raw) -> str:
    lines = []
    for name, value in run.items():
        if name in ("stage", "file"):
            continue
        if isinstance(value, dict) and name != "params":
            shown = escape(", ".join(f"{key} {_plain(one)}" for key, one in value.items()))
        elif isinstance(value, dict):
            shown = "<br>".join(f"{escape(str(key))}: {escape(_plain(one))}" for key, one in value.items())
        else:
            shown = escape(_plain(value))
        lines.append(f"<tr><th scope=row>{escape(name)}</th><td>{shown or '–'}</td></tr>")
    return f'<table class="pairs"><tbody>{"".join(lines)}</tbody></table>'


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "–"
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(one)}" for key, one in value.items())
    text = "–" if value is None else str(value)
    # A page is sent to others: of a model's folder its name is enough.
    return f"…/{os.path.basename(text.rstrip('/'))}" if os.path.isabs(text) else text


def _text(name: str) -> str:
    return (files("ragpack.report.html") / name).read_text(encoding="utf-8")
