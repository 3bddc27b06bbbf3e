"""The page of `show_gpt` in a browser: what is typed, pressed and said."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformer_course.widgets import gpt_network
from transformer_course.widgets.view import OPEN, View

from autograder.bench.browser import chromium
from autograder.tests.widgets.examples import LETTERS, letter_ids
from autograder.tests.widgets.pages import assert_accessible
from autograder.tests.widgets.test_gpt import CLOSE, CONTEXT, sized, truth, with_off

PIXELS = "canvas => canvas.toDataURL()"
FOCUSED = "one => one === document.activeElement"
# two views of one widget
TWICE = """const model = pageModel(shown, data);
for (let i = 0; i < 2; i++) render({ model, el: document.getElementById("view") });"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        yield context.browser


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A function that opens the page of a view; `settings` are those of a browser's context."""
    contexts = []

    def open_page(view: View, *, twice: bool = False, **settings: Any) -> Any:
        file = tmp_path / "gpt.html"
        file.write_text(view.to_html().replace(OPEN, TWICE if twice else OPEN), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": 390, "height": 800}, **settings))
        page = contexts[-1].new_page()
        page.clock.install(time=0)
        page.clock.pause_at(3600)
        page.set_default_timeout(10_000)
        page.goto(file.as_uri())
        page.locator(".course-view").first.wait_for()
        page.clock.run_for(50)
        return page

    yield open_page
    for context in contexts:
        context.close()


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name).press("Enter")
    page.clock.run_for(50)


def written(page: Any) -> str:
    """The text that the page reads, by its chips, with its white space made visible."""
    names = "chips => chips.map((chip) => chip.firstChild.textContent).join('')"
    return page.locator(".gpt-chips span").evaluate_all(names)


def bars(page: Any) -> dict[str, list[str]]:
    """The rows of the next tokens: what is said of each."""
    rows = page.locator(".gpt-next tr").evaluate_all(
        "rows => rows.slice(1).map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return {name: [text.replace("\u00a0", " ") for text in rest] for name, _, *rest in rows}


def visible(text: str) -> str:
    return text.replace(" ", "␣").replace("\n", "↵")


def assert_says(page: Any, column: int, model: nn.Module, text: str) -> None:
    """A column of the bars holds the model's probabilities after a text, in %, to one decimal."""
    last = truth(model, letter_ids(text)[0].tolist())[-1]
    wanted = {visible(name): 100 * p for name, p in zip(LETTERS, last, strict=True)}
    found = bars(page)
    assert len(found) >= 8
    for name, said in found.items():
        number = float(said[column].removesuffix(" %").removeprefix("< "))
        assert abs(number - wanted[name]) <= 0.05 + 100 * CLOSE, (name, said)


def test_what_is_typed_is_read(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    page.get_by_label("prompt").fill("?a\nzb")
    page.clock.run_for(50)
    assert written(page) == "a↵b"
    assert "left out: ? z" in page.locator(".gpt-top").inner_text()
    assert_says(page, 0, model, "a\nb")


def test_without_a_token_nothing_else_is_shown(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    page.get_by_label("prompt").fill("?")
    page.clock.run_for(50)
    assert not page.locator(".gpt-section").first.is_visible()
    assert "Type at least one token." in page.locator(".gpt-remark").inner_text()
    for name in ("Next token", "Generate"):
        button = page.get_by_role("button", name=name)
        assert button.is_disabled()
        assert button.get_attribute("title") == "Type at least one token."
    assert "0 of 9 tokens" in page.locator(".gpt-top").inner_text()
    page.get_by_label("prompt").fill("a")
    page.clock.run_for(50)
    assert page.locator(".gpt-section").first.is_visible()


def test_a_longer_text_than_the_context_is_cut(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    page.get_by_label("prompt").fill("abcabcabcde")
    page.clock.run_for(50)
    assert written(page) == "cabcabcde"
    assert "does not fit: 2 tokens." in page.locator(".gpt-top").inner_text()


def test_the_next_token_is_the_one_marked_and_is_computed_alone(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    (name,) = [name for name, said in bars(page).items() if said[-1]]
    press(page, "Next token")
    assert written(page) == f"a␣ball{name}"
    cache = page.locator(".gpt-section", has_text="key–value cache").inner_text()
    assert "7 of 9 positions cached: the last call read 6 and computed 1." in cache
    assert_says(page, 0, model, "a ball" + name.replace("␣", " ").replace("↵", "\n"))


def test_generation_goes_on_until_it_is_stopped(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    press(page, "Generate")
    assert len(written(page)) == 7
    page.clock.run_for(250)
    assert len(written(page)) == 8
    press(page, "Stop")
    page.clock.run_for(5000)
    assert len(written(page)) == 8
    press(page, "Back to the prompt")
    assert written(page) == "a␣ball"


def test_generation_ends_where_the_context_does_and_says_so(opened: Any) -> None:
    """With less motion at once, token by token otherwise; the likeliest each time, if cold."""
    model, view = sized(2, 3)
    view._state["temperature"] = 0
    text = "a ball"
    while len(text) < CONTEXT:
        text += LETTERS[truth(model, letter_ids(text)[0].tolist())[-1].argmax()]
    for motion in ("reduce", "no-preference"):
        page = opened(view, reduced_motion=motion)
        press(page, "Generate")
        if motion == "no-preference":
            page.clock.run_for(5000)
        assert written(page) == visible(text)
        said = page.locator(".gpt-remark").inner_text()
        assert said == "The context is full: 9 tokens. Go back to the prompt."
        assert page.locator(".told").inner_text().startswith("9 tokens, 8 read from the cache.")
        for name in ("Next token", "Generate"):
            assert page.get_by_role("button", name=name).is_disabled()
        assert page.get_by_role("button", name="Back to the prompt").evaluate(FOCUSED)


def test_a_switch_shows_the_probabilities_before_and_after(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    page.get_by_role("group", name="parts of block 1").get_by_label("head 2").press("Space")
    page.clock.run_for(50)
    assert_says(page, 0, with_off(model, [(1, "2")], 3), "a ball")
    assert_says(page, 1, model, "a ball")
    press(page, "all on")
    assert_says(page, 0, model, "a ball")
    page.get_by_role("group", name="parts of block 0").get_by_label("attention").press("Space")
    page.clock.run_for(50)
    assert page.get_by_label("head 0").first.is_disabled()


def test_a_position_is_chosen_by_keys(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    with torch.no_grad():
        ids = letter_ids("a ball")[0].tolist()
        first = (
            gpt_network.reference(model.state_dict(), 2, 3, ids).logits[:, 2].argmax(-1).tolist()
        )
    page.get_by_role("listbox").press("Home")
    for _ in range(2):
        page.get_by_role("listbox").press("ArrowRight")
    page.clock.run_for(50)
    assert page.locator(".told").inner_text() == "position 2: “b”, id 1"
    cells = page.locator(".gpt-lens tr td:nth-child(2)").evaluate_all(
        "cells => cells.map((cell) => cell.firstChild.textContent)"
    )
    assert cells == [visible(LETTERS[i]) for i in first]


def test_what_is_said_while_tokens_come(opened: Any) -> None:
    """Nothing on load; each new token alone; the summary once, at the end."""
    page = opened(sized(2, 3)[1])
    told = page.locator(".gpt-top .told")
    assert told.inner_text() == ""
    press(page, "Generate")
    for count in (7, 8):
        assert len(written(page)) == count
        assert told.inner_text() == f"“{written(page)[-1]}”"
        if count == 7:
            page.clock.run_for(250)
    press(page, "Stop")
    assert told.inner_text().startswith("8 tokens, 7 read from the cache. Likeliest:")


def test_generation_stops_when_another_view_changes_the_text(opened: Any) -> None:
    page = opened(sized(2, 3)[1], twice=True)
    one, other = (page.locator(".course-view").nth(i) for i in (0, 1))
    one.get_by_role("button", name="Generate").press("Enter")
    page.clock.run_for(50)
    other.get_by_label("prompt").fill("ba")
    page.clock.run_for(5000)
    assert [one.locator(".gpt-chips span").count(), written(page)] == [2, "baba"]
    assert one.get_by_role("button", name="Generate").is_visible()
    names = "all => all.map((one) => one.id)"
    ids = page.locator(".course-view [id]").evaluate_all(names)
    assert len(set(ids)) == len(ids)


def test_the_continuation_is_written_after_the_prompt(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    line = page.locator(".gpt-text")
    assert not line.is_visible()
    page.get_by_label("prompt").press("Control+Enter")
    page.clock.run_for(50)
    assert line.evaluate("line => line.children[0].textContent") == "a ball"
    assert visible(line.evaluate("line => line.textContent")) == written(page)
    assert page.locator(".gpt-count").inner_text() == "7 of 9 tokens"


def test_a_chosen_position_stays_when_tokens_come(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    chosen = page.locator('.gpt-chips [aria-selected="true"]')
    press(page, "Next token")
    assert chosen.get_attribute("data-position") == "6", "the last one is followed"
    page.get_by_role("listbox").press("Home")
    press(page, "Next token")
    assert chosen.get_attribute("data-position") == "0"


def test_a_pointer_over_the_large_map_chooses_nothing(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    chosen = page.locator('.gpt-chips [aria-selected="true"]')
    large = page.locator('canvas[role="application"]')
    before = large.evaluate(PIXELS)
    large.hover(position={"x": 60, "y": 60})
    page.clock.run_for(50)
    assert chosen.get_attribute("data-position") == "5"
    assert large.evaluate(PIXELS) != before, "the value is shown"
    assert page.locator(".told").inner_text() == ""
    large.click(position={"x": 60, "y": 60})
    page.clock.run_for(50)
    assert chosen.get_attribute("data-position") == "0"
    assert page.locator(".told").inner_text().startswith("query 0 “a”")


def test_another_head_is_said_with_its_weight(opened: Any) -> None:
    model, view = sized(2, 3)
    page = opened(view)
    page.locator("select").nth(1).select_option("head 2")
    page.clock.run_for(50)
    ids = letter_ids("a ball")[0].tolist()
    weight = gpt_network.reference(model.state_dict(), 2, 3, ids).weights[0][2, 5, 0].item()
    told = page.locator(".told").inner_text()
    said, _, number = told.rpartition(": ")
    assert said == "block 0, head 2: query 5 “l”, key 0 “a”"
    assert abs(float(number) - weight) < CLOSE


def test_the_map_of_a_head_that_is_off_is_faded(opened: Any) -> None:
    page = opened(sized(2, 3)[1])
    small, large = page.locator(".gpt-section canvas").all()
    cell = "canvas => canvas.getContext('2d').getImageData(58, 20, 1, 1).data[3]"
    before = large.evaluate(PIXELS)
    assert small.evaluate(cell) == 255
    page.get_by_role("group", name="parts of block 0").get_by_label("head 0").press("Space")
    page.clock.run_for(50)
    assert small.evaluate(cell) == 64
    assert large.evaluate(PIXELS) != before


def test_tokens_that_are_cut_have_no_bar(opened: Any) -> None:
    model, view = sized(2, 3)
    view._state["temperature"] = 0
    page = opened(view)
    assert [said[0] for said in bars(page).values()] == ["100 %"]
    page.get_by_role("group", name="parts of block 1").get_by_label("attention").press("Space")
    page.clock.run_for(50)
    changed = with_off(model, [(1, "attention")], 3)
    ids = letter_ids("a ball")[0].tolist()
    first, before = (visible(LETTERS[truth(m, ids)[-1].argmax()]) for m in (changed, model))
    assert first != before
    said = {name: cells[:2] for name, cells in bars(page).items()}
    assert said == {first: ["100 %", "cut"], before: ["cut", "100 %"]}


def test_forced_colours_keep_what_colours_mean(opened: Any) -> None:
    page = opened(sized(2, 3)[1], forced_colors="active")
    press(page, "Next token")
    blue, orange = "rgb(0, 114, 178)", "rgb(213, 94, 0)"
    for part, name, wanted in (
        (".gpt-bar div div", "backgroundColor", blue),
        (".gpt-lens td div", "backgroundColor", blue),
        (".gpt-key.new", "backgroundColor", orange),
        ('.gpt-chips [aria-selected="true"]', "borderTopColor", orange),
    ):
        style = f"part => getComputedStyle(part).{name}"
        assert page.locator(part).first.evaluate(style) == wanted, part
    cells = page.locator(".gpt-cache div").first
    assert blue in cells.evaluate("part => getComputedStyle(part).backgroundImage")


def test_touch_targets_are_large(opened: Any) -> None:
    small = """least => [...document.querySelectorAll(
      ".course-view :is(button, select, [role=option], .gpt-switches label)"
    )].filter((one) => Math.min(one.offsetHeight, one.offsetWidth) < least).length"""
    assert opened(sized(2, 3)[1]).evaluate(small, 24) == 0
    assert opened(sized(2, 3)[1], has_touch=True, is_mobile=True).evaluate(small, 44) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_page_needs_no_scrolling_and_is_accessible(opened: Any, theme: str) -> None:
    page = opened(sized(3, 12)[1], color_scheme=theme, reduced_motion="reduce")
    press(page, "Generate")
    page.get_by_label("head 0").first.press("Space")
    page.clock.run_for(50)
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.clock.resume()  # axe waits for timers of its own
    assert_accessible(page, "main")
