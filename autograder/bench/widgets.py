"""`python -m autograder.bench.widgets`: measure the speed of live views, interact and bertviz.

Every figure is measured in this run, on the same attention weights, each side in turn, in
JupyterLab with this machine's Chromium. The network is not used: scripts that bertviz loads are
served from the files that `make bench-widgets` has fetched.
"""

import argparse
import re
import statistics
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import v4

from autograder.bench.browser import chromium, jupyter
from autograder.bench.sides import BERTVIZ, HEADS, INTERACT, OURS, RIVAL, WEIGHTS, Side
from autograder.commands.terminal import as_table, console

SCRIPTS = {
    "d3": ("d3-5.7.0.tgz", "package/dist/d3.min.js"),
    "jquery": ("jquery-2.1.0.tgz", "package/dist/jquery.min.js"),  # npm has no 2.0.0
    "require.js": ("requirejs-2.3.6.tgz", "package/require.js"),
}
TOKENS = (64, 128, 256)
LIMIT = 60  # seconds for a first paint
LATE = 1000.0 * LIMIT  # milliseconds; also recorded for a first paint that took longer
AGAIN = 3  # runs of the same cell after the first
STEPS = 9
KEYS = 30  # pressed in a second
WATCH = Path(__file__).with_name("watch.js")  # the clock, in the page

Found = dict[tuple[str, int, str], float]  # by side, number of tokens and name of the figure


class Wire:
    """Counts the bytes sent between the page and the kernel."""

    def __init__(self, page: Any) -> None:
        self.total = 0
        page.on("websocket", self._listen)

    def _listen(self, socket: Any) -> None:
        if "/channels" in socket.url:
            socket.on("framesent", self._add)
            socket.on("framereceived", self._add)

    def _add(self, payload: str | bytes) -> None:
        self.total += len(payload if isinstance(payload, bytes) else payload.encode())

    def during(self, act: Callable[[], Any]) -> int:
        """The number of bytes sent while `act` runs."""
        before = self.total
        act()
        return self.total - before


def session(side: Side, tokens: int) -> dict[str, list[float]]:
    """Measure with a fresh kernel, page and browser; return the figures by name."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        weights = WEIGHTS.format(heads=HEADS, tokens=tokens)
        cells = (f"{weights}{side.imports}\nprint('imported')", side.call)
        about = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = v4.new_notebook(cells=[v4.new_code_cell(c) for c in cells], metadata=about)
        folder = Path(name)
        nbformat.write(notebook, folder / "lesson.ipynb")
        window = {"width": 1200, "height": 900}
        with (
            jupyter(Path(sys.executable), "lab", folder) as address,
            chromium(viewport=window) as browser,
        ):
            browser.route(re.compile("^https?://(?!127.0.0.1)"), _serve_locally)
            browser.add_init_script(path=WATCH)
            page = browser.pages[0]
            wire = Wire(page)
            page.goto(address.format("lesson.ipynb"))
            page.get_by_text("(ipykernel) | Idle").wait_for(timeout=1000 * LIMIT)
            editors = page.locator(".jp-Notebook-cell .cm-content")
            editors.nth(0).click()
            page.keyboard.press("Control+Enter")
            page.get_by_text("imported", exact=True).wait_for(timeout=1000 * LIMIT)
            editors.nth(1).click()
            return _measured(page, wire, side)


def _measured(page: Any, wire: Wire, side: Side) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    found["payload"] = [wire.during(lambda: found["first"].append(_paint(page, side, found)))]
    if not side.slider:
        return found
    found["again"] = [_paint(page, side, found) for _ in range(AGAIN)]
    # the static picture may still be drawn in the background
    page.get_by_text("(ipykernel) | Idle").wait_for(timeout=1000 * LIMIT)
    page.locator(side.slider).focus()
    page.evaluate(f"void bench.watch({side.picture})")
    found["bytes"] = [wire.during(lambda: _steps(page)) / STEPS]
    found["step"], found["frames"] = map(list, zip(*_changes(page), strict=True))
    page.keyboard.press("Home")
    _settle(page)
    before = len(_changes(page))
    found["seconds"] = [_drag(page)]
    found["rest"] = [wire.during(lambda: _settle(page))]
    found["shown"] = [len(_changes(page)) - before]
    return found


def _paint(page: Any, side: Side, found: dict[str, list[float]]) -> float:
    """Run the cell; return the milliseconds from the key to the frame with its picture."""
    from playwright.sync_api import TimeoutError as TooLong

    page.evaluate(f"void bench.begin({side.ready})")
    page.keyboard.press("Control+Enter")
    try:
        page.wait_for_function("bench.first", polling=100, timeout=1000 * LIMIT)
    except TooLong:
        found["page"].append(LATE)
        return LATE
    first, messages = page.evaluate("[bench.first, bench.messages]")
    found["page"].append(first - messages[-1][1])
    return first


def _changes(page: Any) -> list[tuple[float, int]]:
    return page.evaluate("bench.changes")


def _steps(page: Any) -> None:
    for number in range(STEPS):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"bench.changes.length > {number}")


def _settle(page: Any) -> None:
    """Wait until there has been no change for a second."""
    before = -1
    while before < (before := len(_changes(page))):
        page.wait_for_timeout(1000)


def _drag(page: Any) -> float:
    """Hold an arrow key, as keyboards repeat it; return the seconds this took."""
    start = time.monotonic()
    for number in range(KEYS):
        page.keyboard.press("ArrowRight")
        left = start + (number + 1) / KEYS - time.monotonic()
        page.wait_for_timeout(1000 * max(0, left))
    return time.monotonic() - start


def _serve_locally(route: Any) -> None:
    """Answer a request with a file fetched before, or abort it."""
    for name, (archive, member) in SCRIPTS.items():
        if name in route.request.url:
            with tarfile.open(RIVAL / archive) as files:
                body = files.extractfile(member)
                assert body is not None
                return route.fulfill(body=body.read(), content_type="text/javascript")
    return route.abort()


def main() -> None:
    """Run the benchmark, and print its tables."""
    parser = argparse.ArgumentParser(
        prog="python -m autograder.bench.widgets",
        description=f"""Show the attention weights of {HEADS} heads in JupyterLab by
        show_attention, by ipywidgets' interact with matplotlib, and by bertviz: first paint, and
        what a step of a slider takes. Needs Chromium (`make browser`), what `make bench-widgets`
        fetches, no network, and 10 minutes of a quiet machine.""",
    )
    add = parser.add_argument
    add("--rounds", type=int, default=3, metavar="N", help="fresh kernels for each figure; 3")
    sizes = "64, 128 and 256 if none are given"
    add("--tokens", type=int, nargs="+", default=TOKENS, metavar="N", help=sizes)
    given = parser.parse_args()
    for name in ("bertviz", *(archive for archive, _ in SCRIPTS.values())):
        if not (RIVAL / name).exists():
            parser.exit(1, f"no {name} in {RIVAL.name}: `make bench-widgets` fetches it\n")
    try:
        found = _found(given.tokens, given.rounds)
    except FileNotFoundError as error:
        parser.exit(1, f"{error}\n")
    _print(found, given.tokens)


def _found(sizes: Sequence[int], rounds: int) -> Found:
    """The medians over all sessions."""
    every: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for number in range(1, rounds + 1):
        for tokens in sizes:
            for side in (OURS, INTERACT, BERTVIZ):
                with console.status(f"{side.name}, {tokens} tokens, round {number} of {rounds}"):
                    for name, figures in session(side, tokens).items():
                        every[side.name, tokens, name] += figures
    return {key: statistics.median(figures) for key, figures in every.items()}


def _print(found: Found, sizes: Sequence[int]) -> None:
    columns = {
        "first": ("first paint", _ms),
        "again": ("again", _ms),
        "page": ("in the page", _ms),
        "payload": ("payload", _size),
    }
    _table(f"first paint of {HEADS} heads, from the key", columns, found)
    columns = {
        "step": ("key to pixels", _ms),
        "frames": ("frames", "{:.0f}".format),
        "bytes": ("sent a step", _size),
        "shown": (f"of {KEYS} keys", "{:.0f}".format),
        "rest": ("at rest", _size),
    }
    _table("a step of the temperature slider", columns, found)
    goals = [_goals(found, tokens) for tokens in sizes]
    rows = [
        (*row[0][:2], *(f"{value:.0f}{'' if met else ' NOT MET'}" for _, _, value, met in row))
        for row in zip(*goals, strict=True)
    ]
    heading = ("", "goal", *(f"{tokens} tokens" for tokens in sizes))
    console.print(as_table("goals", heading, rows))


def _table(title: str, columns: dict[str, tuple[str, Callable]], found: Found) -> None:
    """Print a row for each side and size with these figures."""
    rows = [
        (
            f"{side}, {tokens}",
            *(
                shown(found[side, tokens, key]) if (side, tokens, key) in found else ""
                for key, (_, shown) in columns.items()
            ),
        )
        for side, tokens, name in found
        if name == next(iter(columns))
    ]
    heading = ("side, tokens", *(name for name, _ in columns.values()))
    console.print(as_table(title, heading, rows))


def _goals(found: Found, tokens: int) -> list[tuple[str, str, float, bool]]:
    """Each goal of show_attention: its name, its bound, the value found, and whether it is met."""
    ours, interact, bertviz = (
        {
            name: found.get((side.name, tokens, name), 0)
            for name in ("first", "page", "step", "frames", "bytes", "shown")
        }
        for side in (OURS, INTERACT, BERTVIZ)
    )
    most = [
        ("frames from key to pixels", 1, ours["frames"]),
        ("bytes sent a step", 0, ours["bytes"]),
        ("ms to first paint, from the key", 300, ours["first"]),
        ("ms to first paint, in the page", 300, ours["page"]),
    ]
    least = [
        (f"shown of {KEYS} keys", KEYS, ours["shown"]),
        ("key to pixels: interact / ours", 10, interact["step"] / ours["step"]),
        ("first paint, from the key: bertviz / ours", 20, bertviz["first"] / ours["first"]),
        ("first paint, in the page: bertviz / ours", 20, bertviz["page"] / ours["page"]),
    ]
    return [
        *((name, f"≤ {goal}", value, value <= goal) for name, goal, value in most),
        *((name, f"≥ {goal}", value, value >= goal) for name, goal, value in least),
    ]


def _ms(milliseconds: float) -> str:
    return f"> {LIMIT} s" if milliseconds == LATE else f"{milliseconds:,.0f} ms"


def _size(count: float) -> str:
    return f"{count / 1000:,.0f} kB" if count >= 10000 else f"{count:,.0f} B"


if __name__ == "__main__":
    main()
