"""Dropout: what is asked of the student's function, and which mistakes the view names."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.widgets import show_dropout
from transformer_course.widgets.view import View

Drop = Callable[..., Tensor]


def drops(scale: bool = True, swapped: bool = False, always: bool = False) -> Drop:
    """A student's dropout, right or with a mistake."""

    def dropout(
        x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
    ) -> Tensor:
        if not (training or always):
            return x
        drawn = torch.rand(x.shape, generator=generator)
        kept = drawn < p if swapped else drawn >= p
        return x * kept / (1 - p if scale else 1)

    return dropout


def sent(view: View, name: str) -> np.ndarray:
    """An array as it crosses to the live view."""
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    kind, shape = np.dtype(about["kind"]), about["shape"]
    return np.frombuffer(view.data, kind, math.prod(shape), about["at"]).reshape(shape)


def test_masks_are_what_is_left_of_x_and_counts_are_all_samples() -> None:
    view = show_dropout(drops(), samples=200)
    results, masks = sent(view, "results"), sent(view, "masks")
    assert results.shape == masks.shape == (10, 30, 12)
    assert (masks == (results != 0)).all()
    assert masks[0].all(), "nothing is dropped at p = 0"
    kept = np.broadcast_to(sent(view, "x"), results[5].shape)[masks[5] == 1]
    assert np.allclose(results[5][masks[5] == 1], 2 * kept)
    assert (sent(view, "counts").sum(-1) == 200).all()
    assert np.allclose(sent(view, "evaluation"), 3.0)
    assert np.abs(sent(view, "means") - 3.0).max() < 0.5
    assert view.state == {"p": 0.5, "sample": 0}


def test_what_is_sent_stays_small() -> None:
    view = show_dropout(drops(), torch.ones(24), samples=500)
    assert len(view.data) < 60_000
    assert len(json.dumps(view.options)) < 5_000


def test_a_right_dropout_has_no_warning_and_the_picture_says_its_means() -> None:
    view = show_dropout(drops())
    assert view.options["warnings"] == [""] * 10
    assert view.picture.alt.count("in evaluation 3.00") == 3
    assert "gap" not in view.picture.alt


@pytest.mark.parametrize(
    ("dropout", "said"),
    [
        (drops(scale=False), "A gap: the mean in training is"),
        (drops(swapped=True), "Of all units, 80 % are dropped, not 20 %."),
        (drops(always=True), "In evaluation, units are dropped too."),
    ],
    ids=["no rescaling", "p and 1 - p swapped", "in evaluation too"],
)
def test_a_mistake_is_named(dropout: Drop, said: str) -> None:
    view = show_dropout(dropout)
    assert said in view.options["warnings"][2]
    assert "A gap" in view.picture.alt or said in view.picture.alt


def test_without_rescaling_there_is_a_gap_at_each_p_but_0() -> None:
    warnings = show_dropout(drops(scale=False)).options["warnings"]
    assert ["gap" in warning for warning in warnings] == [False] + 9 * [True]


def test_a_generator_is_given_where_one_is_taken() -> None:
    given = []

    def takes(
        x: Tensor, p: float, training: bool, generator: torch.Generator | None = None
    ) -> Tensor:
        given.append(generator)
        return x

    show_dropout(takes, samples=100)
    assert len(given) == 10 * (100 + 30)
    assert len({id(one) for one in given}) == 1
    assert isinstance(given[0], torch.Generator)


@pytest.mark.parametrize("dropout", [drops(), torch.nn.functional.dropout], ids=["own", "torch's"])
def test_each_time_the_same_and_nobody_elses_chance_is_used(dropout: Drop) -> None:
    before = torch.get_rng_state()
    first = show_dropout(dropout)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    assert show_dropout(dropout).data == first.data


def test_a_function_that_writes_into_x_does_no_harm() -> None:
    def inplace(x: Tensor, p: float, training: bool) -> Tensor:
        if training:
            x *= (torch.rand(x.shape) >= p) / (1 - p)
        return x

    view = show_dropout(inplace)
    assert view.options["warnings"] == [""] * 10


@pytest.mark.parametrize(
    ("x", "samples", "said"),
    [
        ([1.0], 400, "x must be 2 to 24 numbers; got 1"),
        (torch.ones(25), 400, "x must be 2 to 24 numbers; got 25"),
        (torch.ones(2, 3), 400, r"x must be \(unit\); got \(2, 3\)"),
        ([1.0, float("nan")], 400, "x must be finite numbers"),
        ([1.0, 0.0], 400, "x must have no 0"),
        ([1.0, 2.0], 99, "samples must be 100 to 5000; got 99"),
    ],
)
def test_an_input_is_refused(x: list[float] | Tensor, samples: int, said: str) -> None:
    with pytest.raises(ValueError, match=rf"^{said}[^\n]*$"):
        show_dropout(drops(), x, samples)


@pytest.mark.parametrize(
    ("dropout", "said"),
    [
        (lambda x, p, training: x[1:], r"dropout must give \(12,\), as x; got \(11,\)"),
        (lambda x, p, training: None, "dropout must give a tensor; got NoneType"),
        (lambda x, p, training: x / 0, "what dropout gives must be finite numbers"),
        (torch.ones(2), "dropout must be a function"),
    ],
    ids=["shape", "nothing", "infinite", "no function"],
)
def test_a_function_is_refused(dropout: Drop, said: str) -> None:
    with pytest.raises(ValueError, match=rf"^{said}[^\n]*$"):
        show_dropout(dropout)
