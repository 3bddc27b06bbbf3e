"""`show_patches`: what it refuses, what it sends, what its text says."""

import html
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.checks import numbers
from transformer_course.widgets import show_patches

IMAGE = torch.arange(24.0).reshape(4, 6)  # six patches of 2 by 2
COLOURED = torch.arange(72.0).reshape(3, 4, 6)


def rows(image: Tensor, size: int) -> Tensor:
    """Each patch a row, channel after channel and line after line."""
    cut = image.unfold(1, size, size).unfold(2, size, size)
    return cut.permute(1, 2, 0, 3, 4).flatten(2).flatten(0, 1)


def shares(*shape: int) -> Tensor:
    return torch.softmax(numbers(*shape), -1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"image": numbers(2, 4, 6)},
            "image must have 1 or 3 channels, its first axis; got (2, 4, 6)",
        ),
        (
            {"image": numbers(6)},
            "image must be (channels, height, width) or (height, width); got (6,)",
        ),
        ({"image": torch.zeros(1, 2, 258)}, "image must be at most 256 × 256; got (1, 2, 258)"),
        ({"patch_size": 4}, "patch_size must divide 4 and 6; got 4"),
        ({"patch_size": 0}, "patch_size must divide 4 and 6; got 0"),
        ({"patch_size": 2.0}, "patch_size must divide 4 and 6; got 2.0"),
        ({"patch_size": [1, 3]}, "patch_size must divide 4 and 6; got 3"),
        ({"patch_size": []}, "patch_size must be a size, or several; got none"),
        (
            {"patch_size": [1, 2], "weights": shares(6, 6)},
            "weights, rollout and patches need one patch_size; got [1, 2]",
        ),
        (
            {"weights": shares(2, 8, 8)},
            "weights must be between 6 patches, or 7 tokens with the class token; got (1, 2, 8, 8)",
        ),
        (
            {"rollout": shares(6, 7)},
            "rollout must be between 6 patches, or 7 tokens with the class token; got (6, 7)",
        ),
        ({"weights": shares(7, 7), "rollout": shares(6, 6)}, "between the same tokens"),
        ({"patches": numbers(4, 6)}, "patches must be (6, 4); got (4, 6)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_what_does_not_fit_is_refused_in_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        show_patches(**{"image": IMAGE, "patch_size": 2, **given})
    assert said in str(caught.value)


def test_a_small_image_crosses_as_it_is_and_a_large_one_in_bytes() -> None:
    assert np.frombuffer(show_patches(IMAGE, 2).data, np.float32).tolist() == list(range(24))
    photo = torch.rand(3, 128, 128)
    view = show_patches(photo, 16, shares(4, 4, 65, 65), shares(65, 65), rows(photo, 16))
    kinds = {about["name"]: about["kind"] for about in view.options["arrays"]}
    assert kinds == dict.fromkeys(["image", "back", "weights", "rollout"], "uint8")
    assert len(view.data) < 200_000


@pytest.mark.parametrize("image", [IMAGE[None], COLOURED], ids=["grey", "coloured"])
def test_patches_in_the_right_order_give_the_image_again(image: Tensor) -> None:
    view = show_patches(image, 2, patches=rows(image, 2))
    assert view.options["differ"] == 0
    sent = np.frombuffer(view.data, np.float32).reshape(2, -1)
    assert np.array_equal(sent[0], sent[1])
    assert "drawn back, give it again" in view.picture.alt


def test_patches_in_a_wrong_order_are_told() -> None:
    view = show_patches(IMAGE, 2, patches=IMAGE.reshape(6, 4))
    again = np.frombuffer(view.data, np.float32)[24:].reshape(4, 6)
    assert again[0].tolist() == [0, 1, 4, 5, 8, 9]
    assert view.options["differ"] == int((again != IMAGE.numpy()).sum())
    assert f"differ from it in {view.options['differ']} of 24 pixels" in view.picture.alt


def test_the_text_says_where_the_class_token_looks() -> None:
    weights = torch.full((2, 2, 7, 7), 0.1)
    weights[1, 0, 0, 3], weights[1, 1, 0, 0] = 0.4, 0.9  # its own weight is on no patch
    weights[1, 1, 0, 6], weights[0, 0, 0, 1] = 0.3, 0.8  # the first layer is not drawn
    alt = show_patches(IMAGE, 2, weights, rollout=weights[1, 0]).picture.alt
    assert "an image of 4 by 6 in 6 patches of 2 by 2, 4 numbers each" in alt
    assert "The most of the class token's attention, layer 1" in alt
    assert "head 0 patch 2, 40 %; head 1 patch 5, 30 %; rollout patch 2, 40 %" in alt


def test_without_a_class_token_the_text_says_what_a_patch_receives() -> None:
    weights = torch.zeros(6, 6)
    weights[:, 4] = torch.linspace(0, 1, 6)
    alt = show_patches(IMAGE, 2, weights).picture.alt
    assert "The most of the attention each patch receives, layer 0: head 0 patch 4, 50 %" in alt


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({}, {"head": -2, "layer": 0, "source": "chosen patch"}),
        ({"weights": shares(3, 2, 7, 7)}, {"head": -1, "layer": 2, "source": "class token"}),
        ({"weights": shares(1, 6, 6)}, {"head": 0, "layer": 0, "source": "chosen patch"}),
        ({"rollout": shares(7, 7)}, {"head": -2, "layer": 0, "source": "class token"}),
    ],
    ids=["nothing", "class token", "one head", "rollout"],
)
def test_the_controls_begin_where_there_is_something(
    given: dict[str, Any], state: dict[str, Any]
) -> None:
    view = show_patches(IMAGE, 2, **given)
    assert state.items() <= view.state.items()
    assert view.state["row"] == view.state["column"] == 0


def test_a_constant_image_and_a_title_with_signs_are_drawn() -> None:
    view = show_patches(torch.ones(4, 4), 2, title="<ones> & more")
    assert view.picture.png.startswith(b"\x89PNG")
    assert html.escape("<ones> & more: an image of 4 by 4") in view.to_html()
