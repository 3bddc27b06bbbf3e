"""What is special to `show_hull`: what attention is asked, what is outside, refusals."""

import re

import numpy as np
import pytest
import torch
from transformer_course.checks import numbers
from transformer_course.widgets import show_hull
from transformer_course.widgets.hull import SIDE, hull, outside

from autograder.tests.widgets.examples import attend

KEY, VALUE = numbers(4, 2), numbers(4, 2, seed=1)


def test_attention_is_asked_once_for_a_grid_of_queries_from_the_top_left() -> None:
    asked = []

    def attention(query, key, value):
        asked.append((query, key, value))
        return attend(query, key, value)

    show_hull(attention, KEY, VALUE, reach=2.0)
    ((query, key, value),) = asked
    assert query.shape == (SIDE * SIDE, 2)
    assert query[0].tolist() == [-2.0, 2.0]
    assert query[SIDE - 1].tolist() == [2.0, 2.0]
    assert query[-1].tolist() == [2.0, -2.0]
    assert torch.equal(key, KEY)
    assert torch.equal(value, VALUE)


def test_the_hull_has_the_outer_points_in_order() -> None:
    square = [[0, 0], [2, 0], [2, 2], [0, 2]]
    assert hull(np.array([*square, [1, 1], [2, 1], [0, 0]], dtype=float)).tolist() == square


def test_weights_that_sum_to_one_stay_inside_and_others_do_not() -> None:
    assert "all lie inside the hull" in show_hull(attend, KEY, VALUE).picture.alt
    assert outside(torch.softmax(numbers(9, 4), -1).numpy() @ VALUE.numpy(), VALUE.numpy()) == 0

    def unnormalised(query, key, value):
        weights = (query @ key.T).exp()
        return weights @ value, weights

    alt = show_hull(unnormalised, KEY, VALUE).picture.alt
    assert "all lie inside" not in alt
    assert "lie outside the hull" in alt


def test_the_text_says_the_query_and_its_weights() -> None:
    alt = show_hull(attend, KEY, VALUE, ["a", "b", "c", "d"], reach=2.0).picture.alt
    assert "the query (1, 0.7); its weights: a 0." in alt


REFUSED = {
    "key and value must both be (key, 2), with 2 to 6 keys; got (4, 3) and (4, 2)": (
        lambda: show_hull(attend, numbers(4, 3), VALUE)
    ),
    "key and value must both be (key, 2), with 2 to 6 keys; got (7, 2) and (7, 2)": (
        lambda: show_hull(attend, numbers(7, 2), numbers(7, 2))
    ),
    "words must be 4 names, one for each; got 1": lambda: show_hull(attend, KEY, VALUE, ["a"]),
    "attention must return two tensors, (output, weights)": lambda: show_hull(
        lambda query, key, value: attend(query, key, value)[0], KEY, VALUE
    ),
    "attention's output and weights must be (1681, 2) and (1681, 4); got (1681, 4) and (1681, 2)": (
        lambda: show_hull(lambda *given: attend(*given)[::-1], KEY, VALUE)
    ),
    "attention's output must be finite numbers; some are infinite or NaN": lambda: show_hull(
        lambda *given: tuple(part / 0 for part in attend(*given)), KEY, VALUE
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_shown_is_refused_in_one_line(message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        REFUSED[message]()
