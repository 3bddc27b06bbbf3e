"""README's animation: a student's mistake, what the check says to it, and the repaired function.

    python -m autograder.site.animation      writes assets/figures/course.gif

Nothing in it is drawn by hand: the check runs, and its message is the one that students read; the
live view is moved by its own controls. Where the fonts are the same, two runs give equal bytes.
"""

import contextlib
import html
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import torch
from PIL import Image
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from torch import Tensor
from transformer_course.checks.failure import CheckFailed
from transformer_course.widgets import show_attention

from autograder import paths
from autograder.authoring.lesson import Lesson, read_lesson
from autograder.authoring.samples import solved
from autograder.errors import CourseError
from autograder.paths import COURSE, ROOT

FILE = ROOT / "assets" / "figures" / "course.gif"
SIZE = (800, 518)  # pixels
COLOURS = 256
LESSON, EXERCISE = "01_dot_product_attention", "scaled_dot_product_attention"
SCALED, UNSCALED = "scores / math.sqrt(query.shape[-1])", "scores"
STEPS = (
    "You write the code.",
    "You are told which mistake you made.",
    "You see your own attention.",
)
WORDS = ["the", "cat", "slept", "because", "it", "was", "tired"]
IT, CAT = 4, 1  # positions
HEADS = (0, 1, 2, 3, 0)
TEMPERATURES = ("0.8", "0.5", "0.3", "0.5", "1", "1.6", "2.4", "1.6", "1")
BROWSER = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]

_STYLE = """
  :root { color-scheme: light; font: 14px/1.5 "DejaVu Sans", sans-serif }
  html { box-sizing: border-box; height: 100%; border: 1px solid #d0d7de }
  body { margin: 0; background: #fff; color: #1f2328 }
  ol.steps { display: flex; margin: 0 0 14px; padding: 0; list-style: none;
    background: #f0f2f5; border-bottom: 1px solid #d0d7de; font-size: 14px }
  .steps li { padding: 9px 14px; color: #57606a }
  .steps li[aria-current] { color: #fff; background: #0b5394; font-weight: bold }
  main { margin: 0 16px }
  pre { margin: 0 0 10px; padding: 9px 12px; white-space: pre-wrap;
    font: 15px/1.5 "DejaVu Sans Mono", monospace; background: #f5f5f5; border: 1px solid #e0e0e0 }
  pre.failed { background: #fdd; border-color: #f3b8b8 }
  pre.failed b { color: #b22b31 }
  pre.passed { background: #fff; border-color: #fff; color: #116329; font-weight: bold }
  mark { color: inherit; background: #fff3a3 }
  .course-view { font-family: "DejaVu Sans", sans-serif }
  .course-view details { display: none }
"""
_PAGE = "<!doctype html><html lang=en><meta charset=utf-8><style>{style}</style>{body}</html>"


@dataclass(frozen=True)
class Frame:
    """A picture and how long it stays, in milliseconds."""

    picture: Image.Image
    stays: int


def main() -> None:
    """Write the animation."""
    with browser_page() as page:
        frames = [*code_frames(page), *view_frames(page)]
    with paths.atomic_write(FILE) as part:
        save(frames, part)
    seconds = sum(frame.stays for frame in frames) / 1000
    size = FILE.stat().st_size / 1e6
    name = paths.display_path(FILE)
    print(f"{name}: {len(frames)} frames, {seconds:.1f} s, {size:.2f} MB")


def save(frames: list[Frame], path: Path) -> None:
    """Write an animated GIF that loops; all frames share one palette, so that nothing flickers."""
    total = Image.new("RGB", (SIZE[0], SIZE[1] * len(frames)))
    for number, frame in enumerate(frames):
        total.paste(frame.picture, (0, SIZE[1] * number))
    palette = total.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    first, *rest = [
        frame.picture.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames
    ]
    stays = [frame.stays for frame in frames]
    first.save(
        path, "GIF", save_all=True, append_images=rest, duration=stays, loop=0, optimize=True
    )


@contextmanager
def browser_page() -> Iterator[Any]:
    """Yield a page of headless Chromium, as large as a frame."""
    from playwright.sync_api import sync_playwright

    program = which("chromium") or which("chromium-browser")
    if program is None:
        raise CourseError("no Chromium found", "run `make browser`, which installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=BROWSER)
        try:
            yield browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        finally:
            browser.close()


# --- the mistake -----------------------------------------------------------------------------


def code_frames(page: Any) -> Iterator[Frame]:
    """The code is written, the check says what is wrong, the code is repaired."""
    lesson = read_lesson(COURSE.solutions / f"{LESSON}.py")
    right = solution(lesson)
    wrong = right.replace(SCALED, UNSCALED)
    lines = wrong.split("\n")
    written = lines.index("    scores = query @ key.transpose(-2, -1)")
    for count in range(written, len(lines) + 1):
        yield _shot(page, _code_page(0, "\n".join(lines[:count])), 350)
    message = told(lesson, wrong)
    yield _shot(page, _code_page(1, wrong, message), 5000)
    yield _shot(page, _code_page(1, right, message, marked=SCALED), 1500)
    yield _shot(page, _code_page(1, right, told(lesson, right), marked=SCALED), 1500)


def solution(lesson: Lesson) -> str:
    """The solved exercise, with the first line of its docstring, and without remarks on shapes."""
    head, _, rest = solved(lesson)[EXERCISE].partition("\n\n")
    body = rest.partition('"""\n')[2]
    lines = [line.partition("  # ")[0] for line in body.split("\n")]
    return f'{head}"""\n' + "\n".join(lines).rstrip()


def told(lesson: Lesson, code: str) -> str:
    """What the exercise's visible check says to this code: the failure, or what it prints."""
    known = names(lesson, code)
    check = next(cell.source for cell in lesson.of("check") if cell.name == EXERCISE)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            exec(check.partition("# BEGIN HIDDEN TESTS")[0], known)
        except CheckFailed as failed:
            return str(failed)
    return said.getvalue().rstrip()


def names(lesson: Lesson, code: str) -> dict[str, Any]:
    """The variables of a notebook in which this code was run, on top of a right `softmax`."""
    known: dict[str, Any] = {"__name__": "__main__"}
    (imports,) = [cell.source for cell in lesson.of("given") if cell.name == "imports"]
    for source in (imports, solved(lesson)["softmax"], code):
        exec(source, known)
    return known


def _code_page(step: int, code: str, message: str = "", marked: str = "") -> str:
    """A cell, below it what its check said, and in it a marked piece of code."""
    formatter = HtmlFormatter(noclasses=True, nowrap=True)
    coloured = "\n".join(
        f"<mark>{line}</mark>" if marked and marked in plain else line
        for plain, line in zip(
            code.split("\n"), highlight(code, PythonLexer(), formatter).split("\n"), strict=False
        )
    )
    body = f"<main><pre>{coloured}</pre>{_message(message)}</main>"
    return _PAGE.format(style=_STYLE, body=_steps(step) + body)


def _message(message: str) -> str:
    """What a check said; of a failure the headline and the diagnosis are bold."""
    if not message:
        return ""
    lines = html.escape(message, quote=False).split("\n")
    if not message.startswith("✗"):
        return f'<pre class="passed">{"<br>".join(lines)}</pre>'
    bold = (f"<b>{line}</b>" if n < 2 else line for n, line in enumerate(lines))
    return f'<pre class="failed">{"<br>".join(bold)}</pre>'


# --- the live view -----------------------------------------------------------------------------


def view_frames(page: Any) -> Iterator[Frame]:
    """The live view of the repaired function: its heads, its temperature, one of its cells."""
    open_view(page)
    for head in HEADS:
        page.get_by_role("combobox").first.select_option(str(head))
        yield _view_shot(page, 420)
    slider = page.get_by_label("temperature")
    for temperature in TEMPERATURES:
        slider.fill(temperature)
        yield _view_shot(page, 150)
    page.get_by_label("the chosen head's weights").focus()
    for key in ["ArrowDown"] * IT + ["ArrowRight"] * CAT:
        page.keyboard.press(key)
        yield _view_shot(page, 160)
    yield _view_shot(page, 1400)


def open_view(page: Any) -> None:
    """Open the live view of the repaired function's weights."""
    title = f"your {EXERCISE} on made-up queries and keys, four heads"
    text = show_attention(weights(), WORDS, title=title).to_html()
    style = f"<style>{_STYLE}</style>"
    page.set_content(text.replace("<main>", f"{style}{_steps(2)}<main>"))
    page.wait_for_selector(".course-view canvas")


def weights() -> Tensor:
    """The repaired function's weights, (heads, query, key)."""
    lesson = read_lesson(COURSE.solutions / f"{LESSON}.py")
    query, key = queries_and_keys()
    _, found = names(lesson, solution(lesson))[EXERCISE](query, key, key)
    return found


def queries_and_keys() -> tuple[Tensor, Tensor]:
    """Queries and keys of four heads, (heads, length, d_k), made so that each has its own pattern.

    In the first, *it* and *tired* attend to *cat*; then each token attends to the one before, each
    to its neighbours, and all to the first.
    """
    length = len(WORDS)
    at = torch.arange(length)
    apart = (at[:, None] - at).double()
    meaning = -0.3 * apart.abs()
    meaning[IT, CAT] = meaning[-1, CAT] = 3.0
    before = -((apart - 1) ** 2)
    near = -(apart**2) / 4
    first = -0.9 * at.double().expand(length, length)
    # a score is query · key / √d_k, and the keys are unit vectors
    scores = torch.stack([meaning, before, near, first])
    return scores * math.sqrt(length), torch.eye(length).double().expand(4, length, length)


def _view_shot(page: Any, stays: int) -> Frame:
    page.evaluate("() => new Promise(d => requestAnimationFrame(() => setTimeout(d)))")
    return _picture(page, stays)


def _shot(page: Any, content: str, stays: int) -> Frame:
    page.set_content(content)
    return _picture(page, stays)


def _picture(page: Any, stays: int) -> Frame:
    taken = page.screenshot(animations="disabled", caret="hide")
    return Frame(Image.open(io.BytesIO(taken)).convert("RGB"), stays)


def _steps(current: int) -> str:
    """The line at the top: the three steps, with the one that is shown."""
    items = "".join(
        f"<li{' aria-current=step' if number == current else ''}>{number + 1}. {text}</li>"
        for number, text in enumerate(STEPS)
    )
    return f'<ol class="steps">{items}</ol>'


if __name__ == "__main__":
    main()
