"""Plots: the marks stand where the rows say, the bytes stay the same, and what is missing is said."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT
from stat_rows import POLICIES, stat_rows

import ragpack.report.plots as package
from ragpack.errors import Missing, UsageError
from ragpack.registry import load
from ragpack.report.plots import PLOTS
from ragpack.report.plots.figure import COLOURS, WIDTH, drawn, pen, require_matplotlib, style, wrapped
from ragpack.report.plots.files import check_folder, draw, write
from ragpack.report.plots.panels import MOST, NothingToDraw, parts, with_intervals

matplotlib = pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")


def figure(name: str, tables):
    with style():
        return load(PLOTS, name)(tables)


def texts(figure) -> list[str]:
    """All that is written in a figure."""
    from matplotlib.text import Text

    return [one.get_text() for one in figure.findobj(Text) if one.get_text()]


def test_a_family_is_its_folder() -> None:
    files = {path.stem for path in Path(package.__file__).parent.glob("*.py")} - {"__init__"}
    assert files - {"bars", "figure", "files", "panels"} == set(PLOTS)
    for name in PLOTS:
        assert (inspect.getdoc(load(PLOTS, name)) or "").strip()


@pytest.mark.parametrize("name", PLOTS)
def test_bytes_are_the_same_twice(name: str) -> None:
    first = drawn_of(name, stat_rows())
    assert drawn_of(name, stat_rows()) == first
    assert first.png.startswith(b"\x89PNG")
    assert b"<dc:date>" not in first.svg
    assert matplotlib.__version__.encode() not in first.svg + first.png


def drawn_of(name: str, tables):
    with style():
        return drawn(load(PLOTS, name)(tables))


def test_style_leaves_no_trace_and_takes_none() -> None:
    before = dict(matplotlib.rcParams)
    first = drawn_of("policies", stat_rows())
    assert dict(matplotlib.rcParams) == before
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "x"}):
        assert drawn_of("policies", stat_rows()) == first
    assert "matplotlib.pyplot" not in subprocess.run(
        [sys.executable, "-c", "import sys; from ragpack.report.plots.files import draw\n"
         "from stat_rows import stat_rows; draw(stat_rows(), print); print(*sys.modules)"],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PATH": "/usr/bin"},
    ).stdout.split()  # fmt: skip


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_a_column_wide_and_says_its_n(name: str) -> None:
    made = figure(name, stat_rows())
    assert made.get_figwidth() == WIDTH
    assert any("n = " in text or "questions" in text for text in texts(made))
    for axes in made.axes:
        assert axes.get_xlabel() or axes is not made.axes[-1]


@pytest.mark.parametrize("name", PLOTS)
def test_nothing_is_cut_off_with_many_long_names(name: str) -> None:
    """Every text lies inside the figure, and labels of a panel do not lie over one another."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    many = (*POLICIES, *(f"chunk_submod:alpha=0.{n},cap={n},overflow=truncate,window=2" for n in range(1, 9)),
            "name" * 20)  # fmt: skip
    with style():
        made = load(PLOTS, name)(stat_rows(("qwen2.5-3b-instruct", "org/llama-3.1-8b-instruct-q4_k_m"), names=many))
        renderer = FigureCanvasAgg(made).get_renderer()
        made.draw(renderer)
        width, height = made.bbox.width, made.bbox.height
        from matplotlib.text import Text

        outside = set()  # ticks beyond an axis' ends are there, and not drawn
        for axis in (axis for axes in made.axes for axis in (axes.xaxis, axes.yaxis)):
            low, high = sorted(axis.get_view_interval())
            outside |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
        for one in set(made.findobj(Text)) - outside:
            if one.get_text() and one.get_visible():
                box = one.get_window_extent(renderer)
                assert -1 <= box.x0 <= box.x1 <= width + 1, one.get_text()
                assert -1 <= box.y0 <= box.y1 <= height + 1, one.get_text()


def test_bars_are_as_long_as_the_means_and_sorted() -> None:
    tables = stat_rows(("a",), (96,))
    made = figure("policies", tables)
    (axes,) = made.axes
    bars = [bar.get_width() for bar in axes.patches]
    best_first = sorted(tables["policies"], key=lambda row: -row["f1"])
    assert bars == [value for row in best_first for value in (row["f1"], row["answer_in_context"])]
    whiskers = [tuple(line.get_xdata()) for line in axes.lines]
    assert tuple(tables["sweep"][0]["f1_ci"]) in whiskers  # taken over from the sweep


def test_without_intervals_none_are_drawn_and_it_is_said() -> None:
    tables = {"policies": stat_rows(("a",), (96,))["policies"]}
    made = figure("policies", tables)
    assert not made.axes[0].lines
    assert any("no intervals" in text for text in texts(made))


def test_intervals_come_from_the_same_cell_only() -> None:
    tables = stat_rows(("a",), (96, 160))
    rows = with_intervals([{**tables["policies"][0], "dataset": "x"}], tables, ("f1",))
    assert "f1_ci" not in rows[0]
    own = with_intervals([{**tables["policies"][0], "f1_ci": [0, 1]}], tables, ("f1",))
    assert own[0]["f1_ci"] == [0, 1]


def test_undefined_means_are_no_bars() -> None:
    tables = stat_rows(("a",), (96,))
    tables["policies"][0]["f1"] = None
    made = figure("policies", tables)
    assert len(made.axes[0].patches) == 2 * len(POLICIES) - 1
    assert "–" in texts(made)


def test_without_a_reader_aic_is_shown() -> None:
    tables = stat_rows((None,))
    for row in (*tables["policies"], *tables["sweep"]):
        row["f1"] = row["f1_ci"] = None
        row["gold_doc_coverage"] = 0.5
    assert "AiC and coverage by policy" in texts(figure("policies", tables))
    assert "AiC against tokens" in texts(figure("pareto", tables))
    assert len(figure("sweep", tables).axes) == 1
    with pytest.raises(NothingToDraw, match="two readers"):
        figure("readers", tables)


def test_the_band_is_the_interval() -> None:
    tables = stat_rows(("a",), (96, 160), ("p",))
    axes = figure("sweep", tables).axes[0]
    first, second = (row for row in tables["sweep"] if row["kind"] == "mean")
    assert list(axes.lines[0].get_xdata()) == [96, 160]
    assert list(axes.lines[0].get_ydata()) == [first["f1"], second["f1"]]
    corners = {tuple(point) for point in axes.collections[0].get_paths()[0].vertices}
    assert {(96, first["f1_ci"][0]), (96, first["f1_ci"][1]), (160, second["f1_ci"][1])} <= corners


def test_significant_contrasts_are_filled() -> None:
    tables = stat_rows(("a",), (96,))
    tables["contrasts"][0]["significant"] = True
    axes = figure("contrasts", tables).axes[0]
    fills = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert fills == [COLOURS[0], "#ffffff", "#ffffff"]


def test_few_contrasts_of_many_budgets_share_a_panel() -> None:
    tables = stat_rows(("a",), (64, 96, 128, 160), ("p", "q"))
    made = figure("contrasts", tables)
    assert len(made.axes) == 2  # F1 and tokens, not two for each budget
    assert "p, budget\u00a064" in texts(made)


def test_readers_stand_weakest_first() -> None:
    tables = stat_rows(("strong", "weak"), (96,))
    for row in tables["policies"]:
        row["f1"] = 0.6 if row["model"] == "strong" else 0.2
    axes = figure("readers", tables).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["weak", "strong"]


def test_gains_are_all_counted_and_the_threshold_says_what_it_keeps() -> None:
    tables = {"ig": [{"id": str(n), "ig": n / 10, "has_answer": n > 5, "thresholds": [0.5]} for n in range(10)]}
    made = figure("ig", tables)
    assert sum(bar.get_height() for bar in made.axes[0].patches if bar.get_height() and bar.get_y() == 0) <= 10
    # 0.5, 0.6, 0.7, 0.8, 0.9 of ten.
    assert any("IG ≥ 0.5 keeps 50 %" in text for text in texts(made))
    equal = {"ig": [{"id": "a", "ig": 0.0, "has_answer": None, "thresholds": []}] * 3}
    assert any("n = 3 hits of 1 questions" in text for text in texts(figure("ig", equal)))


def test_what_lacks_its_rows_is_left_out_with_a_sentence() -> None:
    said: list[str] = []
    assert draw({}, said.append) == {}
    assert len(said) == len(PLOTS)
    assert all(sentence.startswith("no plot ") for sentence in said)
    assert "no plot sweep: it needs rows of two budgets at least" in tell(stat_rows(budgets=(96,)))
    assert "no plot readers: it needs rows of two readers at least" in tell(stat_rows(models=("a",)))


def tell(tables) -> list[str]:
    said: list[str] = []
    draw(tables, said.append)
    return said


def test_panels_are_told_apart_by_what_varies() -> None:
    rows = [{"model": model, "budget": budget, "policy": "p", "n": 1} for model in ("a", "b") for budget in (9, None)]
    found = parts(rows)
    assert [part.title.replace("\u00a0", " ") for part in found.parts] == [
        "reader a, budget 9", "reader a, all budgets", "reader b, budget 9", "reader b, all budgets",
    ]  # fmt: skip
    assert parts(rows[:1]).notes == ["reader\u00a0a, budget\u00a09."]
    many = [{"budget": budget, "policy": "p"} for budget in range(MOST + 3)]
    assert len(parts(many).parts) == MOST
    assert parts(many).notes == [f"{MOST} of {MOST + 3} panels: choose others with --where."]


def test_pens_differ() -> None:
    pens = [pen(number) for number in range(40)]
    assert len({(one.colour, one.marker) for one in pens}) == 40


@pytest.mark.parametrize(
    "text", ["", "a", "chunk_mmr:lambda=0.5,overflow=skip", "x" * 90, "two words and more, of them"]
)
def test_wrapping_loses_no_letter(text: str) -> None:
    lines = wrapped(text, 20)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(0 < len(line) <= 20 for line in lines)


def test_files_of_a_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "new" / "plots")
    check_folder(folder)
    write(folder, {"ig": drawn_of("ig", stat_rows())})
    assert sorted(path.name for path in Path(folder).iterdir()) == ["ig.png", "ig.svg"]
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file, not a folder"):
        check_folder(str(tmp_path / "file"))
    with pytest.raises(UsageError, match="Not a directory"):
        check_folder(str(tmp_path / "file" / "plots"))


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Missing, match=r"--plots needs the extra 'plots': pip install 'ragpack\[plots\]'"):
        require_matplotlib("--plots")
