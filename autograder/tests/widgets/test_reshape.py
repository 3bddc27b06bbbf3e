"""Reshape: what is asked of split and merge, and what the view says of where numbers land."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.widgets import show_reshape

from autograder.tests.widgets.examples import merge, split


def view_only(x: Tensor, num_heads: int) -> Tensor:
    """Cuts what lies in memory, and so mixes tokens."""
    batch, length, d_model = x.shape
    return x.reshape(batch, num_heads, length, d_model // num_heads)


def merge_only(heads: Tensor) -> Tensor:
    """Forgets to bring the heads back beside each other."""
    batch, num_heads, length, d_head = heads.shape
    return heads.reshape(batch, length, num_heads * d_head)


def test_the_numbers_cross_exactly_in_the_order_that_the_functions_gave() -> None:
    view = show_reshape(split, merge, batch=3, length=12, d_model=24, num_heads=8)
    heads, merged = (np.frombuffer(half, np.float32) for half in halves(view.data))
    x = torch.arange(3 * 12 * 24).reshape(3, 12, 24)
    assert (heads == split(x, 8).flatten().numpy()).all()
    assert (merged == np.arange(x.numel())).all()
    assert [one["shape"] for one in view.options["arrays"]] == [[3, 8, 12, 3], [3, 12, 24]]


def halves(data: bytes) -> tuple[bytes, bytes]:
    return data[: len(data) // 2], data[len(data) // 2 :]


def test_the_way_of_one_number_is_told() -> None:
    view = show_reshape(split, merge)
    assert view.state == {"row": 2, "column": 4, "as_view": False}
    assert "x[0, 2, 4] goes to heads[0, 2, 2, 0], and to merged[0, 2, 4]" in view.picture.alt
    assert view.picture.alt.endswith("; merge gives x back.")


def test_a_merge_that_does_not_give_x_back_is_named() -> None:
    alt = show_reshape(split, merge_only).picture.alt
    assert "merge does not give x back at [0, 0, 2] and at 19 more." in alt
    assert "tokens mixed" not in alt


def test_a_split_that_mixes_tokens_is_named_even_if_x_comes_back() -> None:
    alt = show_reshape(view_only, merge_only, batch=2).picture.alt
    assert "tokens mixed: heads[0, 0, 1] has numbers of another token" in alt
    assert "merge gives x back" in alt


def test_merge_takes_the_very_tensor_that_split_gave() -> None:
    given = []

    def splits(x: Tensor, num_heads: int) -> Tensor:
        given.append(split(x, num_heads))
        return given[0]

    def merges(heads: Tensor) -> Tensor:
        assert heads is given[0], "its strides matter: merge may have to make it contiguous"
        return merge(heads)

    show_reshape(splits, merges)


def test_a_merge_that_writes_into_the_heads_changes_nothing_that_was_seen() -> None:
    def merges(heads: Tensor) -> Tensor:
        merged = merge(heads).clone()
        heads.zero_()
        return merged

    assert show_reshape(split, merges).data == show_reshape(split, merge).data


@pytest.mark.parametrize(
    ("splits", "said"),
    [
        (
            lambda x, num_heads: split(x, num_heads).transpose(1, 2),
            r"split must give \(1, 3, 4, 2\); got \(1, 4, 3, 2\)",
        ),
        (
            lambda x, num_heads: split(x, num_heads).clamp(max=20),
            "split must give each number of x once; 3 of them are missing",
        ),
        (lambda x, num_heads: split(x, num_heads) / 0, "split must give each number of x once"),
        (lambda x, num_heads: [x], "split must give a tensor; got list"),
    ],
    ids=["shape", "numbers", "infinite", "no tensor"],
)
def test_a_split_is_refused(splits: Callable[..., Tensor], said: str) -> None:
    with pytest.raises(ValueError, match=rf"^{said}[^\n]*$"):
        show_reshape(splits, merge)


def test_a_merge_is_refused() -> None:
    said = r"^merge must give \(1, 4, 6\); got \(1, 6, 4\)$"
    with pytest.raises(ValueError, match=said):
        show_reshape(split, lambda heads: merge(heads).transpose(1, 2))


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"batch": 4}, "batch must be 1 to 3; got 4"),
        ({"length": 13}, "length must be 1 to 12; got 13"),
        ({"d_model": 27}, "d_model must be 1 to 24; got 27"),
        ({"length": 0}, "length must be 1 to 12; got 0"),
        ({"num_heads": 4}, "d_model must be a multiple of num_heads; got 6 and 4"),
        ({"num_heads": 0}, "d_model must be a multiple of num_heads; got 6 and 0"),
    ],
)
def test_sizes_are_refused(sizes: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=rf"^{said}$"):
        show_reshape(split, merge, **sizes)
