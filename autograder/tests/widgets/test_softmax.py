"""Softmax at each temperature and each width: the student's own weights, and what is refused."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.widgets import show_softmax
from transformer_course.widgets.view import View

SCORES = [2.0, 1.0, 0.5, -1.0]


def sent(view: View, name: str) -> np.ndarray:
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    count = int(np.prod(about["shape"]))
    assert about["kind"] == "float32"
    return np.frombuffer(view.data, np.float32, count, about["at"]).reshape(about["shape"])


def test_the_weights_are_those_of_the_function_at_each_temperature() -> None:
    weights = sent(show_softmax(torch.softmax, SCORES), "weights")
    assert weights.shape == (41, 4)
    for row, temperature in ((0, 0.1), (20, 1.0), (40, 10.0)):
        expected = torch.softmax(torch.tensor(SCORES) / temperature, -1)
        np.testing.assert_allclose(weights[row], expected, atol=1e-6)


def test_a_wrong_dimension_stays_in_sight() -> None:
    view = show_softmax(lambda scores, dim: torch.softmax(scores, 0), SCORES)
    assert sent(view, "weights")[20].sum() < 0.5
    right = show_softmax(torch.softmax, SCORES)
    assert view.picture.png != right.picture.png


def test_the_scale_is_the_root_of_the_width_and_nothing_else() -> None:
    dots = sent(show_softmax(torch.softmax, SCORES), "dots")
    widths = 2.0 ** np.arange(10)
    np.testing.assert_allclose(dots[0], dots[1] * np.sqrt(widths)[:, None], rtol=1e-5)


def test_without_the_scale_one_weight_takes_all_and_the_gradient_dies() -> None:
    view = show_softmax(torch.softmax, SCORES)
    (plain, scaled), (slope, scaled_slope) = sent(view, "largest"), sent(view, "gradient")
    assert (np.diff(plain) > 0).all()
    assert plain[-1] > 0.9
    assert np.ptp(scaled) < 0.1
    assert slope[-1] < 0.2 * scaled_slope[-1]


def test_the_query_that_is_shown_stays_near_the_mean() -> None:
    view = show_softmax(torch.softmax, SCORES)
    apart = sent(view, "dot_weights").max(-1) - sent(view, "largest")
    assert np.abs(apart).max() < 0.2


def test_the_function_is_asked_once_for_each_experiment_with_its_dimension() -> None:
    asked = []

    def recording(scores: Tensor, dim: int) -> Tensor:
        asked.append((scores.ndim, dim))
        return torch.softmax(scores, dim)

    show_softmax(recording, SCORES)
    assert asked == [(2, -1), (2, -1)]


def test_the_text_names_the_weights_and_the_largest_at_the_largest_width() -> None:
    alt = show_softmax(torch.softmax, SCORES, "abcd").picture.alt
    assert "over a, b, c, d: " in alt
    assert "at temperature 1 [0.61, 0.22, 0.14, 0.03]" in alt
    assert "0.96 for q·k and 0.32 for q·k / √d_k" in alt


def test_it_stays_small() -> None:
    assert len(show_softmax(torch.softmax, torch.arange(24)).data) < 12_000


@pytest.mark.parametrize(
    ("softmax", "scores", "line"),
    [
        (torch.softmax, [1.0], "scores must be 2 to 24 numbers; got 1"),
        (torch.softmax, torch.ones(25), "scores must be 2 to 24 numbers; got 25"),
        (torch.softmax, torch.ones(2, 2), "scores must be (score); got (2, 2)"),
        (
            torch.softmax,
            [1.0, float("nan")],
            "scores must be finite numbers; some are infinite or NaN",
        ),
        (
            lambda scores, dim: scores.sum(dim),
            SCORES,
            "softmax must keep the scores' shape (41, 4); got (41,)",
        ),
        (
            lambda scores, dim: None,
            SCORES,
            "softmax must keep the scores' shape (41, 4); got NoneType",
        ),
        (
            lambda scores, dim: scores.exp() / scores.exp().sum(dim, keepdim=True),
            [100.0, 1.0],
            "softmax gives infinite or NaN weights for scores up to ±1000",
        ),
    ],
)
def test_what_it_refuses(softmax: Callable[..., Any], scores: Any, line: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        show_softmax(softmax, scores)
