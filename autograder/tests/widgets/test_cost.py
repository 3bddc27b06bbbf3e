"""What is special to `show_cost`: what the function is asked, the parts, refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from transformer_course.widgets import show_cost
from transformer_course.widgets.cost import LENGTHS, WIDTHS, WINDOWS

from autograder.tests.widgets.examples import block_cost


def found(flops: Callable[..., Any] = block_cost) -> np.ndarray:
    """The parts that cross: (windows, widths, lengths, parts)."""
    view = show_cost(flops)
    (about,) = view.options["arrays"]
    assert about["kind"] == "float32"
    return np.frombuffer(view.data, np.float32).reshape(about["shape"])


def test_the_parts_are_those_of_the_function() -> None:
    parts = found()
    assert parts.shape == (len(WINDOWS), len(WIDTHS), len(LENGTHS), 3)
    wide, long = WIDTHS.index(128), LENGTHS.index(64)
    for window, keys in ((0, 64), (16, 16), (49, 49), (256, 64)):
        expected = [8 * 64 * 128**2, 4 * 64 * keys * 128, 16 * 64 * 128**2]
        assert parts[WINDOWS.index(window), wide, long].tolist() == expected


def test_a_forgotten_square_shows() -> None:
    def linear(length: int, d_model: int, d_ff: int, window: int | None = None) -> int:
        return 2 * length * d_model * (4 * d_model + 2 * d_ff)

    assert (found(linear)[..., 1] == 0).all()


def test_the_text_says_flops_and_parameters() -> None:
    alt = show_cost(block_cost, title="a block").picture.alt
    assert "a block, width 256. FLOPs at 256 tokens: projections 1.34e+08" in alt
    assert "Parameters: projections 262,144, scores and weighted sum 0, feed-forward 524,288" in alt


def test_the_controls_begin_on_the_sliders() -> None:
    state = show_cost(block_cost).state
    assert state == {"length": 256, "width": 256, "window": 0}


def refused(value: Any) -> Callable[..., Any]:
    return lambda *given: value


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), [1, 2]])
def test_others_are_refused_in_one_line(value: Any) -> None:
    with pytest.raises(ValueError, match="flops must return one finite number; got") as caught:
        show_cost(refused(value))
    assert "\n" not in str(caught.value)
