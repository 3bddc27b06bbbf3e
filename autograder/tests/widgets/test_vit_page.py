"""The page of `show_vit` in a browser, as wide as a telephone: what is drawn, chosen and said."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformer_course.widgets import show_vit

from autograder.bench.browser import chromium
from autograder.tests.widgets.test_vit import Encoder, made, pictures


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(viewport={"width": 390, "height": 800}) as context:
        yield context


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A page with a view of a model, at the width of a telephone."""
    model = made(Encoder).eval()
    page = browser.new_page()
    page.set_default_timeout(10_000)
    file = tmp_path / "vit.html"
    file.write_text(show_vit(model, pictures(12, 12), targets=range(4)).to_html(), encoding="utf-8")
    page.goto(file.as_uri())
    page.wait_for_selector(".course-view[data-frames]")
    yield page, model
    page.close()


def answer(model: nn.Module, ink: np.ndarray) -> str:
    """What the page should say of a bitmap (32, 32)."""
    pixels = torch.tensor(ink.reshape(8, 4, 8, 4).mean((1, 3)), dtype=torch.float32)
    with torch.no_grad():
        shares = model(F.pad(pixels, (2, 2, 2, 2))[None, None])[0].softmax(-1)
    return f"The model answers {shares.argmax()} ({math.floor(100 * shares.max() + 0.5)} %)"


def pen(*places: tuple[int, int]) -> np.ndarray:
    """The ink of a pen of width 4 at these places (row, column)."""
    y, x = np.mgrid[:32, :32]
    return np.any([(y - row) ** 2 + (x - column) ** 2 <= 4 for row, column in places], axis=0)


SHEET = "canvas[aria-label^='the sheet']"
SEEN = "canvas[aria-label^='what the model sees']"
MAPS = "canvas[aria-label^='the attention of every head']"
FIT = "centre and scale my drawing"
BEGINS = "([at, text]) => document.querySelector(at).textContent.startsWith(text)"
SHOWS = "([at, image]) => document.querySelector(at).toDataURL() === image"
DIFFERS = "([at, image]) => document.querySelector(at).toDataURL() !== image"
PIXELS = "canvas => canvas.toDataURL()"
WORDS = ".course-view .vit-said"
TOLD = ".course-view .told"


def begins(page: Any, at: str, text: str) -> None:
    page.wait_for_function(BEGINS, arg=[at, text])


def drag(page: Any, *places: tuple[int, int]) -> None:
    """Draw with the mouse through these cells (row, column) of the sheet."""
    sheet = page.locator(SHEET)
    sheet.scroll_into_view_if_needed()
    box = sheet.bounding_box()
    cell = (box["width"] / sheet.evaluate("c => c.width / devicePixelRatio")) * 304 / 32
    left, top = box["x"] + cell * 4 / 9.5, box["y"] + cell * 22 / 9.5
    for number, (row, column) in enumerate(places):
        page.mouse.move(left + (column + 0.5) * cell, top + (row + 0.5) * cell)
        if not number:
            page.mouse.down()
    page.mouse.up()


def test_drawing_by_key_and_by_mouse_gives_the_same_answer(opened: Any) -> None:
    page, model = opened
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.get_by_label(FIT).uncheck()
    sheet = page.locator(SHEET)
    sheet.focus()
    for _ in range(7):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    for _ in range(6):
        page.keyboard.press("Shift+ArrowRight")
    expected = answer(model, pen(*[(9, column) for column in range(16, 23)]))
    begins(page, WORDS, expected)
    assert page.locator(TOLD).text_content() == "pen at row 9, column 22: ink"
    drawn = sheet.evaluate(PIXELS)
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("at => document.querySelector(at).checked", arg="input[type=checkbox]")
    page.get_by_label(FIT).uncheck()
    drag(page, (9, 16), (9, 22))
    assert page.locator(TOLD).text_content() == "pen at row 9, column 22: ink"
    begins(page, WORDS, expected)
    sheet.focus()
    page.wait_for_function(SHOWS, arg=[SHEET, drawn])


def test_an_empty_sheet_is_named_and_clear_and_undo_are_opposites(opened: Any) -> None:
    page, _ = opened
    empty = "Nothing is drawn: draw a digit. (The model must still choose one of 5: "
    begins(page, WORDS, empty)
    page.get_by_label("brush").select_option(label="erase")
    page.locator(SHEET).focus()
    page.keyboard.press("e")
    drag(page, (5, 5), (20, 9))
    begins(page, WORDS, "The model answers")
    drawn = page.locator(SHEET).evaluate(PIXELS)
    page.locator(SHEET).focus()
    page.keyboard.press("e")
    page.keyboard.press("Delete")
    begins(page, WORDS, empty)
    assert page.locator(TOLD).text_content() == "Cleared. Undo brings it back."
    assert page.get_by_label("brush").evaluate("s => s.selectedOptions[0].text") == "draw"
    page.keyboard.press("Control+z")
    page.wait_for_function(SHOWS, arg=[SHEET, drawn])
    page.get_by_role("button", name="Undo").click()
    begins(page, WORDS, empty)
    page.get_by_role("button", name="Undo").click()
    assert page.locator(TOLD).text_content() == "There is nothing to undo."


def test_a_stroke_on_an_example_changes_a_copy_where_it_is(opened: Any) -> None:
    page, _ = opened
    image, fit = page.get_by_role("combobox", name="image"), page.get_by_label(FIT)
    image.select_option(label="1")
    begins(page, WORDS, "The model answers")
    assert page.locator(WORDS).text_content().endswith((" Right.", " Wrong: it is 1."))
    page.wait_for_function("at => document.querySelector(at).disabled", arg="input[type=checkbox]")
    page.get_by_label("brush").select_option(label="erase")
    page.locator(SHEET).focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('select').selectedOptions[0].text[0] === 'y'"
    )
    assert not fit.is_checked()
    assert fit.is_enabled()


def test_a_small_drawing_is_fitted_only_if_that_is_chosen(opened: Any) -> None:
    page, _ = opened
    page.locator(SHEET).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    begins(page, WORDS, "The model answers")
    fitted, pixels = page.locator(WORDS).text_content(), page.locator(SEEN).evaluate(PIXELS)
    page.get_by_label(FIT).uncheck()
    page.wait_for_function(DIFFERS, arg=[SEEN, pixels])
    assert page.locator(WORDS).text_content() != fitted


def test_a_stroke_is_announced_once_at_its_end(opened: Any) -> None:
    page, _ = opened
    page.evaluate(
        """at => {
          window.said = [];
          const told = document.querySelector(at);
          const watching = new MutationObserver(() => said.push(told.textContent));
          watching.observe(told, { childList: true });
        }""",
        TOLD,
    )
    drag(page, *[(row, 10) for row in range(5, 28)])
    begins(page, TOLD, "pen at row 27, column 10: ink")
    assert page.evaluate("() => said.filter(Boolean).length") == 1


def test_what_is_told_of_a_patch_follows_the_image(opened: Any) -> None:
    page, _ = opened
    page.locator(SEEN).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    begins(page, TOLD, "patch 5 of 16 (row 1, column 1): mean pixel 0, share")
    page.get_by_role("combobox", name="image").select_option(label="1")
    page.wait_for_function(
        "at => !document.querySelector(at).textContent.includes('mean pixel 0,')", arg=TOLD
    )
    assert page.locator(TOLD).text_content().startswith("patch 5 of 16")


def test_a_patch_becomes_the_source_by_key_and_by_click(opened: Any) -> None:
    page, _ = opened
    seen, maps = page.locator(SEEN), page.locator(MAPS)
    before = maps.evaluate(PIXELS)
    seen.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(TOLD).text_content() == "attention from patch 1"
    page.wait_for_function(DIFFERS, arg=[MAPS, before])
    page.get_by_role("button", name="attention from the class token").click()
    assert page.locator(TOLD).text_content() == "attention from the class token"
    page.wait_for_function(SHOWS, arg=[MAPS, before])
    seen.scroll_into_view_if_needed()
    seen.click(position={"x": 150, "y": 100})
    assert page.locator(TOLD).text_content() == "attention from patch 6"
    box = seen.bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 30, box["y"] + 80)
    page.mouse.up()
    assert page.locator(TOLD).text_content() == "attention from patch 6", "a swipe chooses nothing"


def test_a_head_is_chosen_and_switched_off_by_key(opened: Any) -> None:
    page, _ = opened
    words = page.locator(WORDS)
    before = words.text_content()
    page.locator(MAPS).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.locator(TOLD).text_content().startswith("block 0, head 1: the class token ")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="switch block 0, head 1 on").wait_for()
    assert page.locator(TOLD).text_content().startswith("block 0, head 1, switched off: ")
    assert words.text_content().endswith("Switched off: block 0, head 1.")
    assert words.text_content().split(" Switched")[0] != before
    page.get_by_role("button", name="all heads on").click()
    page.get_by_role("button", name="switch block 0, head 1 off").wait_for()
    assert words.text_content() == before
