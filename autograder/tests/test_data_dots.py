"""The pictures of two dots: every pair, every colouring, on the right side of the borders."""

import pytest
import torch
from transformer_course.data.dots import pairs, two_dots


@pytest.mark.parametrize(("side", "window_size"), [(8, 4), (6, 3), (6, 2)])
def test_every_pair_of_neighbours_is_inside_a_window_or_across_a_border(
    side: int, window_size: int
) -> None:
    inside, across = (pairs(which, window_size, side) for which in (False, True))
    assert len(inside) + len(across) == 2 * side * (side - 1)
    assert len(across) == 2 * side * (side // window_size - 1)
    for places, differ in ((inside, False), (across, True)):
        assert ((places[:, 0] - places[:, 1]).abs().sum(-1) == 1).all()
        windows = places // window_size
        assert ((windows[:, 0] != windows[:, 1]).any(-1) == differ).all()


def test_labels_are_what_the_colours_say() -> None:
    pictures, same = two_dots(across=True, window_size=4)
    assert pictures.shape == (64, 2, 8, 8)
    assert (pictures.sum((1, 2, 3)) == 2).all()
    reds = pictures[:, 0].sum((1, 2))
    assert torch.equal(same, (reds != 1).long())
    assert same.float().mean() == 0.5
    assert len(pictures.unique(dim=0)) == 64


def test_every_place_has_a_dot_of_each_colour_equally_often() -> None:
    """So one dot alone says nothing about the label."""
    pictures, same = two_dots(across=True, window_size=4)
    for label in (0, 1):
        reds, blues = pictures[same == label].sum(0)
        assert torch.equal(reds, blues)
