"""What is special to `show_rotary`: what the function is asked, what crosses, refusals."""

import numpy as np
import pytest
import torch
from transformer_course.widgets import show_rotary

from autograder.tests.widgets.examples import turned


def test_the_function_is_asked_once_for_the_same_vector_at_all_positions() -> None:
    asked = []

    def rotate(x: torch.Tensor, positions: torch.Tensor, base: float) -> torch.Tensor:
        asked.append((x, positions, base))
        return turned(x, positions, base)

    show_rotary(rotate, d_model=4, base=77.0, positions=3)
    ((x, positions, base),) = asked
    assert x.tolist() == [[1.0, 0.0, 1.0, 0.0]] * 3
    assert positions.tolist() == [0, 1, 2]
    assert positions.dtype == torch.int64
    assert base == 77.0


def test_what_it_returns_crosses_as_it_is() -> None:
    view = show_rotary(turned, d_model=4, positions=5)
    (about,) = view.options["arrays"]
    assert (about["kind"], about["shape"]) == ("float32", [5, 4])
    expected = turned(torch.ones(5, 4), torch.arange(5), 1.0)
    assert np.frombuffer(view.data, np.float32).tolist() == expected.flatten().tolist()


def test_the_controls_begin_where_both_positions_exist() -> None:
    assert show_rotary(turned, 4, positions=64).state == {"position": 16, "offset": 5, "pair": 0}
    assert show_rotary(turned, 4, positions=2).state == {"position": 0, "offset": 1, "pair": 0}


def test_the_text_says_angles_lengths_and_dot_products() -> None:
    alt = show_rotary(turned, 4, base=100.0, positions=8).picture.alt
    assert "base 100: 2 pairs at 8 positions" in alt
    assert "At position 1 the arrows point to 57.3°, 6.37°; their lengths are from 1 to 1" in alt
    assert "Dot products of position 0 with positions 0, 1 and 4: 2, 1.53, 0.249" in alt
    stretched = show_rotary(lambda *given, base: 3 * turned(*given, base=base), 4, positions=8)
    assert "their lengths are from 3 to 3" in stretched.picture.alt


REFUSED = {
    "d_model must be even, from 2 to 64; got 7": lambda: show_rotary(turned, d_model=7),
    "d_model must be even, from 2 to 64; got 0": lambda: show_rotary(turned, d_model=0),
    "d_model must be even, from 2 to 64; got 66": lambda: show_rotary(turned, d_model=66),
    "positions must be from 2 to 512; got 1": lambda: show_rotary(turned, 4, positions=1),
    "positions must be from 2 to 512; got 513": lambda: show_rotary(turned, 4, positions=513),
    "the result of rotate must be (64, 8), as it is given; got (64, 4)": lambda: show_rotary(
        turned, d_model=8
    ),
    "the result of rotate must be (position, d_model); got (1, 64, 4)": lambda: show_rotary(
        lambda *given, base: turned(*given, base=base)[None], 4
    ),
    "the result of rotate must be (position, d_model); got None": lambda: show_rotary(
        lambda x, positions, base: None  # type: ignore[arg-type]
    ),
    "the result of rotate must be finite numbers": lambda: show_rotary(
        lambda x, positions, base: x / 0
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)


def test_what_the_function_raises_comes_through() -> None:
    def rotate(x: torch.Tensor, positions: torch.Tensor, base: float) -> torch.Tensor:
        raise IndexError("my own mistake")

    with pytest.raises(IndexError, match="my own mistake"):
        show_rotary(rotate)
