"""All live views in a real browser: pages without a network and without a kernel."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from transformer_course.widgets import view as views

from autograder.bench.browser import chromium
from autograder.tests.widgets.examples import EXAMPLES
from autograder.tests.widgets.pages import CONTROLS, VIEW, assert_accessible, rest

HERE = Path(__file__).parent
WATCH = (HERE / "watch.js").read_text(encoding="utf-8")
HOST = (HERE / "host.js").read_text(encoding="utf-8")
KINDS = pytest.mark.parametrize("kind", EXAMPLES)
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])
# the contrast that WCAG asks of text, less a colour's rounding, and of signs such as arrows
READABLE, DISCERNIBLE = 4.45, 3.0
# what is to be seen of a view: the pixels of its canvases, and the text beside them
SEEN = """root => [
  ...[...root.querySelectorAll("canvas")].filter(c => c.checkVisibility()).map(c => c.toDataURL()),
  root.querySelector(".stage").innerText, root.querySelector(".told").textContent,
]"""
STATE = "() => host.state()"
SLIDERS = f'{VIEW} input[type="range"]:visible'
GRIDS = f'{VIEW} canvas[role="application"]:visible'


@dataclass
class Page:
    """A page of Chromium's, and what it asked for and complained about."""

    at: Any
    asked: list[str]
    complaints: list[str]

    def settled(self, nth: int = 0) -> int:
        """Wait until nothing is left to be drawn; say how many frames a view has drawn."""
        self.at.evaluate("() => new Promise(d => requestAnimationFrame(() => setTimeout(d)))")
        return self.frames(nth)

    def frames(self, nth: int = 0) -> int:
        return int(self.view(nth).get_attribute("data-frames") or 0)

    def drawn_after(self, frames: int) -> None:
        """Wait until the first view has drawn more than so many frames."""
        drawn = f"frames => Number(document.querySelector('{VIEW}').dataset.frames) > frames"
        self.at.wait_for_function(drawn, arg=frames)

    def view(self, nth: int = 0) -> Any:
        return self.at.locator(VIEW).nth(nth)

    def seen(self, nth: int = 0) -> list[str]:
        return self.view(nth).evaluate(SEEN)

    def each(self, controls: str) -> list[Any]:
        return self.at.locator(controls).all()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        yield context


@pytest.fixture(scope="module")
def stopped(browser: Any) -> Iterator[Any]:
    """Pages whose clock stands still."""
    context = browser.browser.new_context(viewport={"width": 1000, "height": 800})
    context.clock.install(time=0)
    context.clock.pause_at(3600)
    yield context
    context.close()


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every example's page."""
    return {kind: make().to_html() for kind, make in EXAMPLES.items()}


@pytest.fixture
def opened(
    request: pytest.FixtureRequest, browser: Any, texts: dict[str, str], tmp_path: Path
) -> Iterator[Any]:
    """A function that opens an example's page; `host` stands in for Jupyter, if it is to."""
    pages = []

    def open_page(
        kind: str, host: bool = False, clock: bool = False, before: Callable = lambda page: None
    ) -> Page:
        text = texts[kind]
        if host:
            assert views.OPEN in text
            text = text.replace(views.OPEN, HOST)
        file = tmp_path / f"{kind}.html"
        file.write_text(text, encoding="utf-8")
        context = request.getfixturevalue("stopped") if clock else browser
        page = Page(context.new_page(), [], [])
        pages.append(page)
        page.at.set_default_timeout(10_000)
        page.at.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.at.on(
            "console",
            lambda said: (
                page.complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        page.at.on("request", lambda request: page.asked.append(request.url))
        page.at.route("**", only_files)
        page.at.add_init_script(WATCH)
        before(page.at)
        page.at.goto(file.as_uri())
        if host:
            page.at.wait_for_function("window.host")
        else:
            page.at.wait_for_selector(f"{VIEW}[data-frames]")
            page.settled()
        return page

    yield open_page
    for page in pages:
        print(f"{page.at.url}: {json.dumps(page.complaints)}")
        page.at.close()
    for page in pages:
        assert page.complaints == []
        assert [url for url in page.asked if not url.startswith(("file:", "blob:", "data:"))] == []


def only_files(route: Any) -> None:
    if route.request.url.startswith(("file:", "blob:", "data:")):
        route.continue_()
    else:
        route.abort()


# --- what is on the page -----------------------------------------------------------------


@KINDS
@THEMES
def test_a_live_view_takes_the_place_of_its_picture(
    opened: Any, kind: str, theme: str, tmp_path: Path
) -> None:
    def before(page: Any) -> None:
        page.emulate_media(color_scheme=theme)
        page.add_init_script("window.reading = true")

    page = opened(kind, before=before)
    page.at.screenshot(path=tmp_path / f"{kind}_{theme}.png", full_page=True)
    print("to be looked at:", tmp_path / f"{kind}_{theme}.png")
    assert not page.at.locator("[data-picture]").is_visible()
    assert page.each(CONTROLS), "something to move"
    painted = page.view().evaluate(
        """root => [...root.querySelectorAll("canvas:not([aria-hidden])")]
        .filter(c => c.checkVisibility()).map(c => {
          const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
          return new Set(new Uint32Array(data.buffer)).size;
        })"""
    )
    assert painted
    assert min(painted) > 4, "colours on each canvas"
    assert_accessible(page.at, "main")
    faint = [
        (text, contrast)
        for text, contrast in page.at.evaluate("() => window.written")
        if contrast < (READABLE if re.search(r"\w", text) else DISCERNIBLE)
    ]
    assert faint == [], "texts on a canvas with too little contrast"


@KINDS
def test_a_view_follows_the_theme(opened: Any, kind: str) -> None:
    page = opened(kind)
    light = page.seen()
    assert in_theme(page, "dark") != light
    assert in_theme(page, "light") == light


def in_theme(page: Page, theme: str) -> list[str]:
    """What is to be seen of a view in another theme."""
    frames = page.frames()
    page.at.emulate_media(color_scheme=theme)
    page.drawn_after(frames)
    return page.seen()


@KINDS
def test_without_scripts_the_picture_stays(opened: Any, kind: str, tmp_path: Path) -> None:
    page = opened(kind, host=True)  # no view is open yet
    assert page.at.locator("[data-picture] img").is_visible()
    close = page.at.evaluate_handle("() => host.open()")
    assert not page.at.locator("[data-picture] img").is_visible()
    close.evaluate("close => close()")
    assert page.at.locator("[data-picture] img").is_visible()


# --- keys --------------------------------------------------------------------------------


@KINDS
def test_each_control_moves_by_key_and_each_slider_changes_what_is_seen(
    opened: Any, kind: str
) -> None:
    page = opened(kind)
    changed = []
    for control in page.each(CONTROLS):
        key = key_for(control)
        if key is None:
            continue
        seen, frames = page.seen(), page.frames()
        control.focus()
        page.at.keyboard.press(key)
        page.drawn_after(frames)
        changed.append(page.seen() != seen)
        if control.get_attribute("type") == "range":
            assert changed[-1], control.evaluate("slider => slider.parentElement.innerText")
    assert any(changed) or page.each(GRIDS)


def key_for(control: Any) -> str | None:
    """A key that moves a control from where it stands; None for what only acts, or is folded."""
    return control.evaluate(
        """control => {
          if (control.disabled) return null;
          if (control.type === "range")
            return Number(control.value) < Number(control.max) ? "ArrowRight" : "ArrowLeft";
          if (control.type === "checkbox") return "Space";
          if (control.tagName === "SELECT")
            return control.selectedIndex + 1 < control.length ? "ArrowDown" : "ArrowUp";
          return null;
        }"""
    )


@KINDS
def test_arrow_keys_move_the_cell_and_it_is_told(opened: Any, kind: str) -> None:
    page = opened(kind)
    told = page.at.locator(f"{VIEW} .told")
    assert told.get_attribute("aria-live") == "polite"
    for grid in page.each(GRIDS):
        for there, back in [("ArrowRight", "ArrowLeft"), ("ArrowDown", "ArrowUp")]:
            grid.focus()
            moved = []
            # at an edge one of the two does nothing
            for key in (there, back, there):
                before, said = grid.evaluate("c => c.toDataURL()"), told.text_content()
                page.at.keyboard.press(key)
                page.settled()
                assert told.text_content()
                pixels = grid.evaluate("c => c.toDataURL()")
                moved.append((pixels != before, told.text_content() != said))
            assert (True, True) in moved, f"{there} on {grid.get_attribute('aria-label')}"


@KINDS
def test_every_control_keeps_its_keys_from_jupyter(opened: Any, kind: str) -> None:
    page = opened(kind)
    page.at.evaluate(
        """() => {
          window.heard = [];
          document.addEventListener("keydown", (event) => heard.push(event.key));
        }"""
    )
    controls = page.each(CONTROLS)
    for control in controls:
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true", control
        control.focus()
        page.at.keyboard.press("d")
    assert controls
    assert page.at.evaluate("() => heard") == []


@KINDS
def test_each_key_press_is_one_frame(opened: Any, kind: str) -> None:
    page = opened(kind, host=True)
    page.at.evaluate("() => { host.open() }")
    frames = [page.settled()]
    states = walk(page, 30, after=lambda: frames.append(page.settled()))
    assert [frame - frames[0] for frame in frames] == list(range(31))
    assert all(one != other for one, other in pairwise(states))


def test_thirty_key_presses_show_thirty_states(opened: Any) -> None:
    page = opened("attention", host=True)
    page.at.evaluate("() => { host.open() }")
    page.settled()
    seen = [str(page.seen())]
    walk(page, 30, after=lambda: (page.settled(), seen.append(str(page.seen()))))
    assert len(set(seen)) == 31


def walk(page: Page, presses: int, after: Callable[[], Any]) -> list[str]:
    """Press keys on a control, `after` each time; return the states, the first included."""
    control, there, back = walked(page)
    control.focus()
    states = [page.at.evaluate(STATE)]
    for _ in range(presses):
        page.at.keyboard.press(there)
        if page.at.evaluate(STATE) == states[-1]:  # at the end: turn round
            there, back = back, there
            page.at.keyboard.press(there)
        after()
        states.append(page.at.evaluate(STATE))
    return states


def walked(page: Page) -> tuple[Any, str, str]:
    """A control that has a way to go, and its keys there and back."""
    there, back = "ArrowRight", "ArrowLeft"
    for slider in page.each(SLIDERS):
        if slider.evaluate("slider => Number(slider.value) === Number(slider.max)"):
            there, back = back, there
        return slider, there, back
    for grid in page.each(GRIDS):
        return grid, there, back
    raise AssertionError("no control that has a way to go")


# --- the model ---------------------------------------------------------------------------


@KINDS
def test_the_kernel_hears_once_when_the_movement_rests(opened: Any, kind: str) -> None:
    page = opened(kind, host=True, clock=True)
    page.at.evaluate("() => { host.open() }")
    page.at.clock.run_for(50)
    walk(page, 30, after=lambda: page.at.clock.run_for(20))
    saved = "() => host.saved.length"
    assert page.at.evaluate(saved) == 0
    page.at.clock.run_for(rest() - 21)
    assert page.at.evaluate(saved) == 0
    page.at.clock.run_for(1000)
    assert page.at.evaluate(saved) == 1
    assert page.at.evaluate("() => JSON.stringify(host.saved[0])") == page.at.evaluate(STATE)


@KINDS
def test_a_view_goes_on_when_the_kernel_is_gone(opened: Any, kind: str) -> None:
    page = opened(kind, host=True, clock=True)
    page.at.evaluate("() => { host.gone = true; host.open() }")
    page.at.clock.run_for(50)
    seen = [page.seen()]
    walk(page, 3, after=lambda: (page.at.clock.run_for(1000), seen.append(page.seen())))
    assert all(one != other for one, other in pairwise(seen))
    assert page.at.evaluate("() => [host.tried, host.saved.length]") == [3, 0]


@KINDS
def test_two_views_of_one_widget_stay_in_step(opened: Any, kind: str) -> None:
    page = opened(kind, host=True)
    page.at.evaluate("() => { host.open(); host.open() }")
    page.settled()
    walk(page, 1, after=page.settled)
    one, other = page.seen(0), page.seen(1)
    # the second says nothing: it is told aloud once
    assert one[:-1] == other[:-1]
    assert page.frames(1) == 2
    controls = "root => [...root.querySelectorAll('input, select')].map(c => [c.value, c.checked])"
    assert page.view(0).evaluate(controls) == page.view(1).evaluate(controls)


@KINDS
def test_what_a_view_begins_it_ends(opened: Any, kind: str) -> None:
    page = opened(kind, host=True)
    left = page.at.evaluate(
        """async () => {
          const styles = document.querySelectorAll("style").length;
          const before = watched.left();
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          for (let i = 0; i < 52; i++) {
            const close = host.open();
            if (i % 3) await frame(); // closed after its first frame, or before it, as the last is
            const slider = document.querySelector(".course-view input[type=range]");
            if (i % 3 === 2) slider?.dispatchEvent(new Event("input"));
            close();
            close();
          }
          const place = document.getElementById("view");
          return {
            model: host.heard.length,
            begun: watched.left().filter((one) => !before.includes(one)),
            views: document.querySelectorAll(".course-view").length,
            styles: document.querySelectorAll("style").length - styles,
          };
        }"""
    )
    assert left == {"model": 0, "begun": [], "views": 0, "styles": 0}
