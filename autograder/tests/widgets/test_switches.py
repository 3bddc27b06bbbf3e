"""What is special to `show_switches`: every state is measured, refusals, clicks."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.widgets import show_switches

from autograder.bench.browser import chromium

NAMES = ["left", "noun"]


def weighed(gates: Tensor) -> list[float]:
    """The share of open heads, and whether head 1 is open."""
    return [gates.mean().item(), gates[1].item()]


def test_every_state_is_measured_once_and_crosses() -> None:
    called = []

    def measure(gates: Tensor) -> Tensor:
        called.append(tuple(gates.tolist()))
        assert gates.is_floating_point()
        return torch.tensor(weighed(gates))

    view = show_switches(measure, 2, 2, NAMES)
    assert len(called) == len(set(called)) == 16
    (about,) = view.options["arrays"]
    assert (about["name"], about["kind"], about["shape"]) == ("shares", "float32", [16, 2])
    shares = np.frombuffer(view.data, np.float32).reshape(16, 2)
    for state in range(16):
        gates = torch.tensor([float(state >> head & 1) for head in range(4)])
        assert shares[state].tolist() == pytest.approx(weighed(gates))


def test_the_picture_tells_what_each_head_costs() -> None:
    alt = show_switches(weighed, 1, 4, NAMES, title="my heads").picture.alt
    assert alt.startswith(
        "my heads. all open: left 100.0 %, noun 100.0 %; without 0.0: left 75.0 %"
    )
    assert "without 0.1: left 75.0 %, noun 0.0 %" in alt


def test_the_gates_can_be_read() -> None:
    view = show_switches(weighed, 1, 3, NAMES)
    assert view.gates.tolist() == [1, 1, 1]
    view.widget.state = {**view.state, "open": "101"}
    assert view.gates.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("measure", "heads", "names", "told"),
    [
        (weighed, 11, NAMES, "at most 10 heads in all; got 1 · 11 = 11"),
        (weighed, 2, [], "names must be 1 to 6 names; got 0"),
        (lambda gates: None, 2, NAMES, "is a return missing?"),
        (lambda gates: [0.5], 2, NAMES, "must give 2 shares, one a name; got (1,)"),
        (lambda gates: [0.5, 99.0], 2, NAMES, "must give shares from 0 to 1; got [0.5, 99.0]"),
        (lambda gates: [0.5, float("nan")], 2, NAMES, "must give shares from 0 to 1"),
    ],
)
def test_it_refuses_in_one_line(measure: Callable, heads: int, names: list, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        show_switches(measure, 1, heads, names)


def test_a_click_turns_a_switch_over(tmp_path: Path) -> None:
    file = tmp_path / "switches.html"
    file.write_text(show_switches(weighed, 2, 2, NAMES).to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        page.wait_for_selector(".course-view[data-frames]")
        told = "text => document.querySelector('.told').textContent.includes(text)"
        corner = page.locator(".course-view canvas").first.bounding_box()
        # where switches.js puts head 1 of layer 0
        page.mouse.click(corner["x"] + 62 + 1.5 * 84, corner["y"] + 40 + 20)
        page.wait_for_function(told, arg="layer 0, head 1: shut. 3 of 4 heads are open")
        page.keyboard.press("Enter")
        page.wait_for_function(told, arg="layer 0, head 1: open. 4 of 4 heads are open")
        page.get_by_role("button", name="shut all").click()
        page.wait_for_function(told, arg="0 of 4 heads are open: left 0.0\u00a0%")
