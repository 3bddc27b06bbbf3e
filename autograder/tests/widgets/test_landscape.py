"""What is special to `show_landscape`: what the function is asked, what crosses, refusals."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformer_course.widgets import show_landscape
from transformer_course.widgets.view import View

from autograder.tests.widgets.examples import bowl

GIVEN = (torch.nn.Linear(1, 1), torch.nn.MSELoss(), torch.ones(1, 1), torch.zeros(1, 1), [], [])


def shown(surface: Callable[..., Any] = bowl, curvature: float = 2.0, **settings: Any) -> Any:
    return show_landscape(surface, *GIVEN, curvature, **settings)


def test_the_function_is_asked_once_for_the_whole_slice() -> None:
    asked = []

    def surface(*given: Any) -> torch.Tensor:
        asked.append(given)
        return bowl(*given)

    shown(surface, reach=0.5, points=5)
    ((*given, alphas, betas),) = asked
    assert all(one is other for one, other in zip(given, GIVEN, strict=True))
    assert alphas.tolist() == betas.tolist() == [-0.5, -0.25, 0.0, 0.25, 0.5]
    assert alphas.dtype == torch.float32


def test_losses_cross_as_they_are() -> None:
    view = shown(points=5)
    (about,) = view.options["arrays"]
    assert (about["kind"], about["shape"]) == ("float32", [5, 5])
    steps = torch.linspace(-1, 1, 5)
    expected = bowl(steps, steps).flatten().tolist()
    assert np.frombuffer(view.data, np.float32).tolist() == expected


def test_the_controls_begin_beside_the_centre() -> None:
    assert shown().state == {"row": 5, "column": 5, "rate": 1.0}
    assert (shown(points=5).state["row"], shown().options["curvature"]) == (1, 2.0)


def test_the_text_says_losses_and_curvature() -> None:
    alt = shown(reach=2.0, points=5, title="a bowl").picture.alt
    assert "a bowl: losses from 0.1 to 5.1 for α and β from -2 to 2; 0.1 at the centre" in alt
    assert "At the lower and upper end of α, then of β: 4.1, 4.1, 1.1, 1.1" in alt
    assert "The curvature λ is 2" in alt


def test_a_flat_slice_is_drawn_too() -> None:
    flat = shown(lambda *given: torch.ones(21, 21))
    assert "losses from 1 to 1" in flat.picture.alt


def none(*given: Any) -> None:
    return None


REFUSED = {
    "points must be odd, from 5 to 61; got 6": lambda: shown(points=6),
    "points must be odd, from 5 to 61; got 3": lambda: shown(points=3),
    "points must be odd, from 5 to 61; got 63": lambda: shown(points=63),
    "curvature must be positive; got -1": lambda: shown(curvature=-1.0),
    "curvature must be positive; got nan": lambda: shown(curvature=float("nan")),
    "reach must be positive; got 0": lambda: shown(reach=0.0),
    "the result of surface must be (5, 5), (alphas, betas); got None": lambda: shown(
        none, points=5
    ),
    "the result of surface must be (5, 5), (alphas, betas); got (5, 4)": lambda: shown(
        lambda *given: torch.ones(5, 4), points=5
    ),
    "the result of surface must be (alphas, betas); got (25,)": lambda: shown(
        lambda *given: torch.ones(25), points=5
    ),
    "the result of surface must be finite numbers; some are infinite or NaN": lambda: shown(
        lambda *given: torch.full((5, 5), torch.nan), points=5
    ),
}


@pytest.mark.parametrize("line", REFUSED)
def test_others_are_refused_in_one_line(line: str) -> None:
    make: Callable[[], View] = REFUSED[line]
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        make()
