"""What is special to `show_encoding`: several kinds, a function at its settings, refusals."""

import numpy as np
import pytest
import torch
from transformer_course.checks import numbers
from transformer_course.widgets import show_encoding
from transformer_course.widgets.view import View

from autograder.tests.widgets.examples import waves

SETTINGS = {"length": (5, 3), "d_model": (4, 2), "base": (100.0, 10.0)}


def arrived(view: View, name: str) -> np.ndarray:
    """An array as the page reads it."""
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    size = int(np.prod(about["shape"]))
    steps = np.frombuffer(view.data, np.uint8, size, about["at"]).reshape(about["shape"])
    return about["low"] + steps / 255 * (about["high"] - about["low"])


def test_each_kind_crosses_with_its_own_scale() -> None:
    kinds = {"large": 9 * numbers(7, 4), "small": 0.02 * numbers(7, 4, seed=1).requires_grad_()}
    view = show_encoding(kinds)
    assert view.options["kinds"] == ["large", "small"]
    for name, kind in zip("01", kinds.values(), strict=True):
        table = kind.detach().numpy()
        assert np.abs(arrived(view, name) - table).max() <= np.ptp(table) / 510 + 1e-12


def test_one_array_is_named_by_the_title_and_starts_in_the_middle() -> None:
    view = show_encoding(np.eye(6).tolist(), title="one-hot")
    assert view.options["kinds"] == ["one-hot"]
    assert view.state == {
        "kind": 0, "compare": -1, "position": 3, "dimension": 4, "cosine": False
    }  # fmt: skip
    assert show_encoding(torch.ones(1, 1)).state["dimension"] == 0


def test_a_function_is_asked_once_for_each_setting() -> None:
    asked = []

    def encoding(length: int, d_model: int, base: float) -> torch.Tensor:
        asked.append((length, d_model, base))
        return waves(length, d_model, base)

    view = show_encoding(encoding, **SETTINGS)
    settings = [(n, d, b) for n in (3, 5) for d in (2, 4) for b in (10.0, 100.0)]
    assert asked == view.options["settings"] == settings
    for name, setting in enumerate(settings):
        table = waves(*setting).numpy()
        assert np.abs(arrived(view, str(name)) - table).max() <= np.ptp(table) / 510 + 1e-6
    assert [view.options[name] for name in SETTINGS] == [[3, 5], [2, 4], [10.0, 100.0]]
    assert view.state == {
        "length": 5, "d_model": 4, "base": 100.0, "position": 2, "dimension": 3, "cosine": False
    }  # fmt: skip


def test_a_single_value_needs_no_list() -> None:
    view = show_encoding(waves, length=6, d_model=4, base=10)
    assert view.options["settings"] == [(6, 4, 10.0)]


def test_what_crosses_by_default_stays_small() -> None:
    assert len(show_encoding(waves).data) < 60_000


def test_what_the_function_raises_comes_through() -> None:
    def odd(length: int, d_model: int, base: float) -> torch.Tensor:
        raise IndexError("my own mistake")

    with pytest.raises(IndexError, match="my own mistake"):
        show_encoding(odd)


def test_the_text_says_the_size_and_the_main_dot_products() -> None:
    alt = show_encoding(2 * np.eye(5), title="two-hot").picture.alt
    assert "two-hot: 5 positions by 5 dimensions, values from 0 to 2" in alt
    assert "dot product of position 2: 0 with position 0, 4 with position 2" in alt
    alt = show_encoding(waves, **SETTINGS).picture.alt
    assert "length 5, d_model 4, base 100" in alt
    assert "length 3" not in alt


REFUSED = {
    "one must be (length, d_model); got (3,)": lambda: show_encoding({"one": [1.0, 2.0, 3.0]}),
    "must have the same shape; got a (2, 3), b (3, 2)": lambda: show_encoding(
        {"a": np.ones((2, 3)), "b": np.ones((3, 2))}
    ),
    "encodings must be 1 to 4 kinds; got 5": lambda: show_encoding(
        {str(i): np.ones((2, 2)) for i in range(5)}
    ),
    "encodings must be 1 to 4 kinds; got 0": lambda: show_encoding({}),
    "encodings must be at most 512 by 512; got (513, 2)": lambda: show_encoding(np.ones((513, 2))),
    "a must be finite numbers": lambda: show_encoding({"a": [[1.0, np.nan]]}),
    "the result for (16, 8, base=10) must be (16, 8); got (8, 16)": lambda: show_encoding(
        lambda length, d_model, base: torch.ones(d_model, length)
    ),
    "must be (16, 8); got None: is a return missing?": lambda: show_encoding(
        lambda length, d_model, base: None  # type: ignore[arg-type]
    ),
    "length and d_model must be at most 512; got (600, 64)": lambda: show_encoding(
        waves, length=600
    ),
    "at most 180,000 numbers, over all settings; these have 245,760": lambda: show_encoding(
        waves, length=512
    ),
    "must each have a value": lambda: show_encoding(waves, base=()),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)
