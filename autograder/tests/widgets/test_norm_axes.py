"""Which entries share a mean: what is taken, what is sent, what the picture tells."""

import numpy as np
import pytest
from transformer_course.checks import numbers
from transformer_course.widgets import show_norm_axes


def test_the_picture_counts_what_shares_and_how_many_means() -> None:
    alt = show_norm_axes(3, 4, 5).picture.alt
    assert "batch norm, 12 numbers share one mean, and there are 5 in all" in alt
    assert "layer norm, 5 numbers share one mean, and there are 12 in all" in alt
    assert "RMS norm, 5 numbers share one mean of squares, and there are 12 in all" in alt
    assert "instance norm, 4 numbers share one mean, and there are 15 in all" in alt


def test_the_picture_leaves_padding_out() -> None:
    alt = show_norm_axes(3, 4, 5, lengths=[2, 4, 3]).picture.alt
    assert "[2, 4, 3] tokens are no padding" in alt
    assert "batch norm, 9 numbers" in alt
    assert "layer norm, 5 numbers share one mean, and there are 9 in all" in alt
    assert "instance norm, 2 numbers" in alt


def test_the_shape_of_x_counts() -> None:
    x = numbers(2, 3, 4).requires_grad_()
    view = show_norm_axes(9, 9, 9, x=x)
    assert view.options["shape"] == [2, 3, 4]
    sent = np.frombuffer(view.data, dtype=np.float32)
    assert np.array_equal(sent, x.detach().numpy().astype(np.float32).ravel())


def test_without_x_only_the_shape_is_sent() -> None:
    view = show_norm_axes(2, 3, 4)
    assert view.options["arrays"] == []
    assert view.options["shape"] == [2, 3, 4]


def test_the_chosen_entry_lies_inside_a_small_block_and_is_no_padding() -> None:
    state = show_norm_axes(1, 2, 1, lengths=[1]).state
    assert (state["sequence"], state["token"], state["channel"]) == (0, 0, 0)


def test_padding_can_be_left_out_only_where_lengths_are_given() -> None:
    assert show_norm_axes(lengths=[4, 4, 4]).options["padded"]
    assert not show_norm_axes().options["padded"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"batch": 7}, "batch must be from 1 to 6; got 7"),
        ({"length": 0}, "length must be from 1 to 10; got 0"),
        ({"channels": 13}, "channels must be from 1 to 12; got 13"),
        ({"lengths": [4, 4]}, r"lengths must be 3 numbers from 1 to 4; got \[4, 4\]"),
        ({"lengths": [4, 5, 1]}, r"lengths must be 3 numbers from 1 to 4; got \[4, 5, 1\]"),
        ({"lengths": [4, 0, 1]}, r"lengths must be 3 numbers from 1 to 4; got \[4, 0, 1\]"),
        ({"x": numbers(3, 4)}, r"x must be \(batch, length, channel\); got \(3, 4\)"),
        ({"x": [[[np.nan]]]}, "x must be finite numbers"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        show_norm_axes(**given)
