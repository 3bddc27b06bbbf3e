"""Attention step by step: the student's weights and output, and what is refused."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.checks import numbers
from transformer_course.widgets import show_attention_steps
from transformer_course.widgets.view import View

QUERY, KEY, VALUE = numbers(2, 4), numbers(3, 4, seed=1), numbers(3, 5, seed=2)


def even(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.full((len(query), len(key)), 1 / len(key)).to(value)
    return weights @ value, weights


def sent(view: View, name: str) -> np.ndarray:
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    count = int(np.prod(about["shape"]))
    assert about["kind"] == "float32"
    return np.frombuffer(view.data, np.float32, count, about["at"]).reshape(about["shape"])


def test_what_the_function_returns_is_what_is_sent() -> None:
    view = show_attention_steps(even, QUERY, KEY, VALUE)
    np.testing.assert_allclose(sent(view, "weights"), 1 / 3, rtol=1e-6)
    np.testing.assert_allclose(sent(view, "output"), VALUE.mean(0).expand(2, 5), rtol=1e-5)


def test_the_inputs_are_sent_as_they_were_given() -> None:
    def spoiling(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        query.zero_()
        return even(query, key, value)

    query = QUERY.clone()
    view = show_attention_steps(spoiling, query, KEY, VALUE)
    assert torch.equal(query, QUERY)
    np.testing.assert_allclose(sent(view, "query"), QUERY, rtol=1e-6)


def test_a_mask_is_the_fourth_argument_only_if_given() -> None:
    seen = []

    def recording(*inputs: Tensor) -> tuple[Tensor, Tensor]:
        seen.append(inputs)
        return even(*inputs[:3])

    mask = torch.ones(2, 3, dtype=torch.bool)
    show_attention_steps(recording, QUERY, KEY, VALUE)
    show_attention_steps(recording, QUERY, KEY, VALUE, mask=mask)
    assert [len(inputs) for inputs in seen] == [3, 4]
    assert seen[1][3].dtype == torch.bool


def test_whole_numbers_in_lists_become_float() -> None:
    def asking(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        assert all(part.is_floating_point() for part in (query, key, value))
        return even(query, key, value)

    show_attention_steps(asking, [[1, 0]], [[1, 0], [0, 1]], [[1], [2]])


def test_both_sides_share_names_only_if_they_are_as_many() -> None:
    assert show_attention_steps(even, KEY, KEY, VALUE, "abc").options["keys"] == ["a", "b", "c"]
    view = show_attention_steps(even, QUERY, KEY, VALUE, "ab")
    assert view.options["keys"] == ["0", "1", "2"]


def test_the_text_names_weights_and_output() -> None:
    alt = show_attention_steps(even, QUERY, KEY, VALUE[:, :1], "ab", "xyz").picture.alt
    mean = f"{float(VALUE[:, 0].mean()):.2f}"
    assert f"keys x, y, z. a: weights [0.33, 0.33, 0.33], output [{mean}]" in alt


def test_a_stub_is_told_in_one_line() -> None:
    def empty(*_: Tensor) -> None:
        raise NotImplementedError("YOUR CODE HERE")

    with pytest.raises(NotImplementedError, match="YOUR CODE HERE") as stopped:
        show_attention_steps(empty, QUERY, KEY, VALUE)
    (line,) = stopped.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`empty` is still a stub" in line


def test_an_operation_that_torch_does_not_have_keeps_its_traceback() -> None:
    with pytest.raises(NotImplementedError) as stopped:
        show_attention_steps(lambda *_: torch.empty(2, device="meta").tolist(), QUERY, KEY, VALUE)
    assert not hasattr(stopped.value, "_render_traceback_")


@pytest.mark.parametrize(
    ("attention", "line"),
    [
        (
            lambda q, k, v: even(q, k, v)[0],
            "attention must return two tensors, (output, weights); got Tensor",
        ),
        (
            lambda q, k, v: (v, None),
            "attention must return two tensors, (output, weights); got (Tensor, NoneType)",
        ),
        (
            lambda q, k, v: even(q, k, v)[::-1],
            "attention's output must be (query, d_v) = (2, 5); got (2, 3)",
        ),
        (
            lambda q, k, v: (even(q, k, v)[0], even(q, k, v)[1].T),
            "attention's weights must be (query, key) = (2, 3); got (3, 2)",
        ),
        (
            lambda q, k, v: tuple(part / 0 for part in even(q, k, v)),
            "attention's output must be finite numbers; some are infinite or NaN",
        ),
    ],
)
def test_a_function_that_returns_something_else_is_refused(
    attention: Callable[..., Any], line: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        show_attention_steps(attention, QUERY, KEY, VALUE)


@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        ((QUERY, KEY[:, :3], VALUE), "key must be (key, d_k) = (3, 4); got (3, 3)"),
        ((QUERY, KEY, VALUE[:2]), "value must be (key, d_v) = (3, 5); got (2, 5)"),
        ((QUERY[0], KEY, VALUE), "query must be (query, d_k); got (4,)"),
        (
            (numbers(17, 4), KEY, VALUE),
            "query may have at most 16 tokens and 16 features; got (17, 4)",
        ),
    ],
)
def test_other_shapes_are_refused(inputs: tuple[Tensor, Tensor, Tensor], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        show_attention_steps(even, *inputs)


def test_a_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^mask must be \(query, key\) = \(2, 3\); got \(3, 2\)$"):
        show_attention_steps(even, QUERY, KEY, VALUE, mask=torch.ones(3, 2))
