"""The page in a real browser, opened from disk with the network off: the list is filtered, a verdict is read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from command import ROOT
from page_rows import HOSTILE, row

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no browser: chromium, chromium-browser or google-chrome on PATH"
)


def rows() -> list[dict[str, Any]]:
    """60 questions under two policies and two budgets. `q07` and `q08` are dropped by one policy at one budget; one
    question is hostile, and stands for a fox before the answer."""
    made = [row(f"q{n:02}", policy, budget) for n in range(60) for policy in ("packed", "mmr") for budget in (9, 20)]
    for one in made:
        if one["id"] in ("q07", "q08") and (one["pack"]["policy"], one["pack"]["budget"]) == ("mmr", 9):
            explained = [{"id": "d", "rank": 1, "span": [0, 8], "relevance": 1.0, "cost": 7, "terms": [],
                          "reason": "over the budget"}]  # fmt: skip
            one["pack"] |= {"context": "In London", "explain": explained}
            one["generate"]["answer"] = "London"
            one["diagnose"] |= {"verdict": "dropped_by_packing", "answer_in_context": 0.0, "f1": 0.0, "em": 0.0,
                                "spans": []}  # fmt: skip
    bad = row("bad", "packed", 9, question=HOSTILE, answers=[HOSTILE, "Paris"])
    bad["hits"][0] |= {"title": HOSTILE, "id": HOSTILE}
    bad["pack"]["context"] = f"🦊🦊 Paris {HOSTILE}"
    bad["generate"]["answer"] = HOSTILE
    return [*made, bad]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # As root Chromium has no sandbox; the only page that it sees is ours.
        running = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, written by the command."""
    folder = tmp_path_factory.mktemp("page")
    subprocess.run(
        [sys.executable, "-m", "ragpack", "stats", "--baseline", "packed", "--resamples", "100", "--html", "page.html"],
        input=b"".join(orjson.dumps(one) + b"\n" for one in rows()), capture_output=True, check=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return folder / "page.html"


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    """The page, opened. At the end: nothing was asked of the network, and nothing went wrong."""
    context = browser.new_context(offline=True)
    asked: list[str] = []
    wrong: list[str] = []
    opened = context.new_page()
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    opened.goto(file.as_uri())
    yield opened
    assert asked == [file.as_uri()]
    assert wrong == []
    context.close()


def listed(page: Any) -> list[str]:
    return [one.get_attribute("data-id") for one in page.locator(".question").all()]


def chip(page: Any, verdict: str) -> Any:
    return page.locator(f'.chip[data-verdict="{verdict}"]')


def test_the_list_is_filtered_and_a_verdict_is_read(page: Any) -> None:
    assert page.locator("#count").inner_text() == "61 of 61 questions"
    assert chip(page, "dropped_by_packing").inner_text() == "dropped by packing2"
    chip(page, "dropped_by_packing").click()
    assert listed(page) == ["q07", "q08"]
    assert page.locator("#count").inner_text() == "2 of 61 questions"
    question = page.locator(".question").first
    question.locator("> summary").click()
    opened = question.locator(".row[open]")
    sync_api.expect(opened).to_have_count(1)  # the browser tells of an opened part in its own time
    assert opened.locator(".verdict").inner_text() == "dropped by packing"
    assert "mmr, budget 9" in opened.locator("> summary").inner_text()
    assert opened.locator(".answer").inner_text() == "London"
    assert opened.locator(".context").inner_text() == "In London"
    assert opened.locator("mark").count() == 0
    assert "over the budget" in opened.inner_text()
    # Its other rows are there, closed, and have the answer marked.
    other = question.locator(".row:not([open])").first
    assert other.locator(".verdict").inner_text() == "correct"
    other.locator("> summary").click()
    sync_api.expect(question.locator("mark")).to_have_text(["Paris"])


def test_hits_are_shown_with_their_gold_marks(page: Any) -> None:
    question = page.locator('[data-id="q00"]')
    question.locator("> summary").click()
    cells = question.locator("table").first.locator("tbody td")
    sync_api.expect(cells).to_have_text(["1", "D", "★ gold", "yes", "2.500"])
    assert "not among the hits: e" in question.inner_text()


def test_filters_go_together_and_are_cleared(page: Any) -> None:
    chip(page, "dropped_by_packing").click()
    page.locator("#policy").select_option(label="packed")
    assert listed(page) == []
    assert "No question fits" in page.locator("#list").inner_text()
    page.locator("#policy").select_option(label="mmr")
    page.locator("#budget").select_option(label="9")
    assert listed(page) == ["q07", "q08"]
    page.locator("#search").fill("Q08")
    assert listed(page) == ["q08"]
    assert chip(page, "correct").inner_text() == "correct0"
    page.locator("#clear").click()
    assert page.locator("#count").inner_text() == "61 of 61 questions"
    assert chip(page, "dropped_by_packing").get_attribute("aria-pressed") == "false"
    assert not page.locator("#model").is_visible()  # one reader: nothing to choose


def test_questions_are_drawn_on_demand(page: Any) -> None:
    assert page.locator(".question").count() == 40
    page.locator("#more").scroll_into_view_if_needed()
    sync_api.expect(page.locator(".question")).to_have_count(61)
    assert not page.locator("#more").is_visible()


def test_a_part_of_a_bar_lists_its_questions(page: Any) -> None:
    page.locator('.part[data-policy="mmr"][data-budget="9"].v-dropped_by_packing').click()
    assert listed(page) == ["q07", "q08"]
    assert page.locator("#policy option:checked").inner_text() == "mmr"


def test_hostile_text_is_text(page: Any) -> None:
    page.locator("#search").fill("bad")
    question = page.locator(".question")
    assert question.locator(".asked").text_content() == HOSTILE
    question.locator("> summary").click()
    assert question.locator(".golds li").first.text_content() == HOSTILE
    assert question.locator(".answer").text_content() == HOSTILE
    # The answer stands behind two signs that are four units in the browser, and is marked all the same.
    assert question.locator("mark").all_text_contents() == ["Paris"]
    assert question.locator(".context").text_content() == f"🦊🦊 Paris {HOSTILE}"
    assert page.locator("#list script, #list b, #tables script").count() == 0


def test_a_question_has_an_address(browser: Any, file: Path) -> None:
    opened = browser.new_page(offline=True)
    opened.goto(f"{file.as_uri()}#q=q55")
    sync_api.expect(opened.locator('[data-id="q55"][open] .row[open]')).to_have_count(1)
    opened.close()


def test_the_list_works_from_the_keyboard(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("q33")
    assert listed(page) == ["q33"]
    page.locator(".question > summary").focus()
    page.keyboard.press("Enter")
    sync_api.expect(page.locator(".question[open] .row[open]")).to_have_count(1)


def test_tables_sort_by_number(page: Any) -> None:
    head = page.locator("#table-policies th", has_text="F1")
    column = page.locator("#table-policies tbody tr").first.locator("td").count()
    assert column > 3
    at = [one.inner_text() for one in page.locator("#table-policies th").all()].index("F1")

    def values() -> list[float]:
        return [float(one.locator("td").nth(at).inner_text()) for one in page.locator("#table-policies tbody tr").all()]

    head.locator("button").click()
    assert values() == sorted(values(), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert values() == sorted(values())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_text_can_be_read_and_nothing_runs_out_of_the_window(browser: Any, file: Path, scheme: str, width: int) -> None:
    opened = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800}, offline=True)
    opened.goto(file.as_uri())
    opened.locator(".question > summary").first.click()
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    for selector in (".note", ".asked", ".chip", ".verdict", "td", "thead th", "mark", ".golds li", "nav a"):
        assert opened.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector  # WCAG 2, AA
    opened.close()


CONTRAST = """node => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data; };
  const bright = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  let behind = node;
  while (behind.parentElement && read(getComputedStyle(behind).backgroundColor)[3] < 255) behind = behind.parentElement;
  const [a, b] = [getComputedStyle(node).color, getComputedStyle(behind).backgroundColor].map(read).map(bright);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""
