"""A live view where students meet it: JupyterLab, Notebook 7, Colab's Notebook 6, a plain page."""

import html
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import TimeoutError

from autograder.bench.browser import chromium, jupyter
from autograder.tests.support.colab import Colab
from autograder.tests.widgets.pages import CONTROLS, VIEW, assert_accessible, rest

SHOW = """\
import time
from pathlib import Path
import torch
from transformer_course.widgets import show_attention
scores = torch.arange(75.0).reshape(3, 5, 5).sin()
view = show_attention(torch.softmax(3 * scores, -1), "the animal was too tired".split())
view
"""
WAIT = "while not Path('go_on').exists(): time.sleep(0.05)"
CELLS = [
    new_code_cell(SHOW),
    new_markdown_cell("a text below"),
    new_code_cell("view.state"),
    new_code_cell(WAIT),
]
SHOWS, TEXT, STATE, WAITS = range(4)
PIXELS = "root => [...root.querySelectorAll('canvas')].map(canvas => canvas.toDataURL())"


# a page calls its kernel idle before it is connected; so the first word of the kernel is marked
HEARD = """
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    const mark = () => (document.documentElement.dataset.kernel = "heard");
    if (this.url.includes("/channels")) this.addEventListener("message", mark);
  }
};
"""


@dataclass(frozen=True)
class Marks:
    """By what a front end's page is known: its cells, and a kernel at rest."""

    cell: str
    prompt: str
    idle: str


NEW = Marks(
    ".jp-Notebook .jp-Cell",
    ".jp-InputPrompt",
    '.jp-Notebook-ExecutionIndicator[data-status="idle"]',
)
CLASSIC = Marks(".cell", ".input_prompt", "#kernel_indicator_icon.kernel_idle_icon")


@dataclass
class Notebook:
    """A notebook that is open in a browser."""

    page: Any
    marks: Marks
    folder: Path
    asked: list[str] = field(default_factory=list)  # of any machine

    def cell(self, number: int) -> Any:
        return self.page.locator(self.marks.cell).nth(number)

    def run(self, number: int) -> None:
        """Run a cell to its end, again if the page forgets it: it does before it is connected."""
        for _ in range(10):
            self.begin(number)
            self.prompted(number, "now => !now.includes('*')")
            if re.search(r"\d", self.prompt(number)):
                break
        self.finish(number)

    def begin(self, number: int) -> None:
        """Run a cell, and do not wait for its end."""
        before = self.prompt(number)
        for again in (True, True, True, True, False):
            self.cell(number).locator(self.marks.prompt).first.click()
            self.page.keyboard.press("Shift+Enter")
            try:
                self.prompted(number, "(now, before) => now !== before", before, seconds=5)
                return
            except TimeoutError:
                # the same, before the prompt has changed at all
                if not again:
                    raise

    def prompt(self, number: int) -> str:
        return self.cell(number).locator(self.marks.prompt).first.inner_text().strip()

    def prompted(self, number: int, until: str, before: str = "", seconds: int = 60) -> None:
        """Wait for a cell's prompt; looked up each time, as a page may put another in its place."""
        self.page.wait_for_function(
            f"""([cell, prompt, number, before]) => {{
              const found = document.querySelectorAll(cell)[number]?.querySelector(prompt);
              return found && ({until})(found.innerText.trim(), before);
            }}""",
            arg=[self.marks.cell, self.marks.prompt, number, before],
            timeout=1000 * seconds,
        )

    def finish(self, number: int) -> str:
        """Wait for the end of a cell; return what it shows."""
        self.prompted(number, r"now => /\[\d+\]/.test(now)")
        self.page.wait_for_selector(self.marks.idle)
        return self.cell(number).inner_text()

    @property
    def view(self) -> Any:
        return self.page.locator(VIEW)

    @property
    def slider(self) -> Any:
        return self.view.locator('input[type="range"]').first

    def press(self, control: Any, key: str) -> None:
        """Press a key on a control, and wait until the pixels are others."""
        before = self.view.evaluate(PIXELS)
        control.focus()
        self.page.keyboard.press(key)
        self.page.wait_for_function(
            f"([root, before]) => String(({PIXELS})(root)) !== before",
            arg=[self.view.element_handle(), ",".join(before)],
        )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(viewport={"width": 1200, "height": 1300}) as context:
        context.set_default_timeout(60_000)
        yield context


@pytest.fixture(scope="module", params=["lab", "notebook", "classic"])
def opened(
    request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    """The notebook, open in a front end, after its first cell has run."""
    front_end = request.param
    folder = tmp_path_factory.mktemp(front_end)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=CELLS, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "live.ipynb")
    python = Path(sys.executable)
    if front_end == "classic":
        colab: Colab = request.getfixturevalue("colab")
        python = colab.python
    with jupyter(python, front_end, folder) as address:
        page = browser.new_page()
        opened = Notebook(page, CLASSIC if front_end == "classic" else NEW, folder)
        page.on("request", lambda request: opened.asked.append(request.url))
        page.on("websocket", lambda socket: opened.asked.append(socket.url))
        page.add_init_script(HEARD)
        page.goto(address.format("live.ipynb"))
        try:
            page.wait_for_selector("html[data-kernel]", state="attached")
            page.wait_for_selector(opened.marks.idle)
            opened.run(SHOWS)
            page.wait_for_selector(f"{VIEW}[data-frames]")
        except Exception:
            page.screenshot(path=folder / "stuck.png")
            print("to be looked at:", folder / "stuck.png")
            raise
        yield opened
        page.close()


def test_the_live_view_takes_the_place_of_its_picture(opened: Notebook) -> None:
    shot = opened.folder / "shown.png"
    opened.page.screenshot(path=shot)
    print("to be looked at:", shot)
    figure = opened.page.locator("[data-picture]")
    assert figure.count() == 1
    assert not figure.is_visible()
    assert opened.view.is_visible()
    assert len(set(opened.view.evaluate(PIXELS))) > 1
    assert_accessible(opened.page, VIEW)


def test_the_kernel_hears_of_keys_when_they_rest_and_python_sees_the_state(
    opened: Notebook,
) -> None:
    opened.page.evaluate(
        """() => {
          Object.assign(window, { keys: [], sent: [] });
          addEventListener("keydown", () => keys.push(performance.now()), true);
          const { send } = WebSocket.prototype;
          WebSocket.prototype.send = function (...given) {
            if (this.url.includes("/channels")) sent.push(performance.now());
            return send.apply(this, given);
          };
        }"""
    )
    moved = []
    for _ in range(5):
        opened.press(opened.slider, "ArrowRight")
        moved.append(float(opened.slider.input_value()))
    opened.page.wait_for_function("() => sent.at(-1) > keys.at(-1)")
    keys, sent = opened.page.evaluate("() => [keys, sent]")
    assert len(keys) == len(set(moved)) == 5
    # by the page's own clock, so that a slow machine changes nothing
    pauses = [min(at - key for key in keys if key <= at) for at in sent]
    assert min(pauses) > 0.9 * rest(), "a message while the slider moved"
    opened.begin(STATE)
    (temperature,) = re.findall(r"'temperature': ([\d.]+)", opened.finish(STATE))
    assert float(temperature) == pytest.approx(moved[-1])


def test_the_view_moves_while_the_kernel_is_busy(opened: Notebook) -> None:
    opened.begin(WAITS)
    assert "*" in opened.prompt(WAITS)
    opened.press(opened.slider, "ArrowRight")
    opened.press(opened.view.locator("canvas[tabindex]").first, "ArrowDown")
    opened.press(opened.view.locator("select").first, "ArrowDown")
    shot = opened.folder / "moved.png"
    opened.page.screenshot(path=shot)
    print("to be looked at:", shot)
    assert "*" in opened.prompt(WAITS)
    (opened.folder / "go_on").touch()
    opened.finish(WAITS)


def test_keys_on_a_control_never_delete_the_cell(opened: Notebook) -> None:
    cells = opened.page.locator(opened.marks.cell)
    before = cells.count()
    assert before >= len(CELLS)
    controls = opened.page.locator(CONTROLS).all()
    assert {control.evaluate("c => c.tagName") for control in controls} >= {
        *("CANVAS", "INPUT", "SELECT", "SUMMARY")
    }
    for control in controls:
        control.focus()
        opened.page.keyboard.press("d")
        opened.page.keyboard.press("d")
        opened.page.evaluate("() => new Promise(d => requestAnimationFrame(() => setTimeout(d)))")
        assert cells.count() == before, control
    assert opened.view.is_visible()


def test_nothing_outside_this_machine_is_asked(opened: Notebook) -> None:
    here = re.compile(r"(https?|ws)://127\.0\.0\.1:\d+/|data:|blob:")
    assert opened.asked
    assert [url for url in opened.asked if not here.match(url)] == []


def test_a_page_made_of_an_executed_notebook_shows_the_picture(
    browser: Any, tmp_path: Path
) -> None:
    client = NotebookClient(new_notebook(cells=CELLS[:1]), store_widget_state=False)
    # a thread of its own, as this one has the browser's event loop
    with ThreadPoolExecutor() as thread:
        executed = thread.submit(client.execute).result()
    figure, live = executed.cells[0].outputs
    assert "application/vnd.jupyter.widget-view+json" in live.data
    file = tmp_path / "executed.html"
    markup, _ = HTMLExporter().from_notebook_node(executed)
    file.write_text(markup, encoding="utf-8")
    page = browser.new_page()
    page.route("**", lambda route: (route.continue_ if is_file(route) else route.abort)())
    page.goto(file.as_uri())
    page.screenshot(path=tmp_path / "executed.png")
    print("to be looked at:", tmp_path / "executed.png")
    picture = page.locator("[data-picture] img")
    assert picture.is_visible()
    assert picture.evaluate("image => image.naturalWidth") > 200
    assert html.escape(picture.get_attribute("alt")) in figure.data["text/html"]
    assert page.locator(VIEW).count() == 0
    page.close()


def is_file(route: Any) -> bool:
    return route.request.url.startswith(("file:", "data:"))
