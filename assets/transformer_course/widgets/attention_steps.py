"""Attention step by step: from queries and keys to the student's weights and output."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import Picture, brief, heatmap
from transformer_course.widgets.view import View, explains_stubs, labels, matrix

SIDE = 16  # tokens or features whose numbers fit

Values = ArrayLike | Tensor


@explains_stubs
def show_attention_steps(
    attention: Callable[..., Any],
    query: Values,
    key: Values,
    value: Values,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    mask: Values | None = None,
) -> View:
    """Show how scores become weights and an output, as `attention` returns them.

    `attention(query, key, value)`, with `mask` as a fourth argument if one is given, returns
    (output, weights). `query`: (query, d_k), `key`: (key, d_k), `value`: (key, d_v), at most 16 of
    each; `mask`: (query, key), True where a query may attend. `queries` and `keys` name the
    tokens; without `keys`, both sides share their names. `ValueError` for other shapes, here or
    returned.
    """
    arrays = _given(query, key, value)
    rows, columns = len(arrays["query"]), len(arrays["key"])
    shared = keys is None and rows == columns
    names = (
        labels(queries, "queries", rows),
        labels(queries if shared else keys, "keys", columns),
    )
    inputs = [_floating(part) for part in (query, key, value)]
    if mask is not None:
        arrays["mask"] = _sized(mask, "mask", query=rows, key=columns) != 0
        inputs.append(torch.as_tensor(mask).detach().clone())
    arrays |= _returned(attention(*inputs), rows, columns, arrays["value"].shape[1])
    draw = partial(_picture, arrays, *names)
    title = "attention, step by step"
    state = {"step": 1, "row": 0, "column": 0, "feature": 0, "scaled": True}
    options = {"title": title, "queries": names[0], "keys": names[1]}
    return View("attention_steps", draw, arrays, options, state)


def _given(query: Values, key: Values, value: Values) -> dict[str, np.ndarray]:
    queries = matrix(query, "query", "query", "d_k")
    count = len(matrix(key, "key", "key", "d_k"))
    keys = _sized(key, "key", key=count, d_k=queries.shape[1])
    values = _sized(value, "value", key=count, d_v=matrix(value, "value", "key", "d_v").shape[1])
    found = {"query": queries, "key": keys, "value": values}
    for name, array in found.items():
        if max(array.shape) > SIDE:
            raise ValueError(
                f"{name} may have at most {SIDE} tokens and {SIDE} features; got {array.shape}"
            )
    return {name: array.astype(np.float32) for name, array in found.items()}


def _returned(result: Any, rows: int, columns: int, features: int) -> dict[str, np.ndarray]:
    """The returned output and weights; `ValueError` unless their shapes are right."""
    pair = isinstance(result, tuple | list) and len(result) == 2
    if not pair or not all(isinstance(part, Tensor) for part in result):
        got = f"({', '.join(map(_kind, result))})" if isinstance(result, tuple) else _kind(result)
        raise ValueError(f"attention must return two tensors, (output, weights); got {got}")
    output = _sized(result[0], "attention's output", query=rows, d_v=features)
    weights = _sized(result[1], "attention's weights", query=rows, key=columns)
    return {"output": output.astype(np.float32), "weights": weights.astype(np.float32)}


def _kind(value: object) -> str:
    return type(value).__name__


def _sized(values: Values, name: str, **sizes: int) -> np.ndarray:
    array = matrix(values, name, *sizes)
    expected = tuple(sizes.values())
    if array.shape != expected:
        raise ValueError(f"{name} must be ({', '.join(sizes)}) = {expected}; got {array.shape}")
    return array


def _floating(values: Values) -> Tensor:
    # a copy, since the function may change its inputs
    tensor = torch.as_tensor(values).detach().clone()
    return tensor if tensor.is_floating_point() else tensor.float()


def _picture(arrays: dict[str, np.ndarray], queries: list[str], keys: list[str]) -> Picture:
    """Draw each product below its right factor and to the right of its left factor."""
    width, depth = arrays["query"].shape[1], arrays["value"].shape[1]
    weights, above = arrays["weights"], max(width, len(keys))
    if "mask" in arrays:  # show weights on masked keys that should be 0
        weights = np.where(arrays["mask"] | (weights > 0.001), weights, np.nan)
    size = (2.2 + 0.56 * (width + len(keys) + depth), 1.7 + 0.42 * (above + len(queries)))
    figure = Figure(figsize=(max(size[0], 5.0), max(size[1], 3.6)), layout="constrained")
    wide, high = [width, len(keys), depth], [above, len(queries)]
    grid = figure.subplots(2, 3, squeeze=False, width_ratios=wide, height_ratios=high)
    grid[0, 0].axis("off")
    features, values = [str(i) for i in range(width)], [str(i) for i in range(depth)]
    _cells(grid[0, 1], arrays["key"].T, "key, transposed", ("feature", features), keys)
    _cells(grid[0, 2], arrays["value"], "value", ("key", keys), values)
    _cells(grid[1, 0], arrays["query"], "query", ("query", queries), features, "feature")
    _cells(grid[1, 1], weights, "your weights", ("query", queries), keys, "key")
    _cells(grid[1, 2], arrays["output"], "your output", ("query", queries), values, "feature")
    return Picture(figure, _alt_text(arrays, queries, keys))


def _alt_text(arrays: dict[str, np.ndarray], queries: list[str], keys: list[str]) -> str:
    weights, output = arrays["weights"], arrays["output"]
    title = f"Attention step by step, from each query to the keys {', '.join(keys)}"
    if weights.size > 64:
        rows = zip(queries, weights, strict=True)
        most = [f"{name}: {keys[int(row.argmax())]} {row.max():.2f}" for name, row in rows]
        return f"{title}. The largest weight of each: {'; '.join(most)}."
    rows = zip(queries, weights, output, strict=True)
    each = [f"{name}: weights {brief(row)}, output {brief(out)}" for name, row, out in rows]
    return f"{title}. {'; '.join(each)}."


def _cells(
    axes: Axes,
    values: np.ndarray,
    title: str,
    rows: tuple[str, list[str]],
    columns: list[str],
    across: str = "",
) -> None:
    axes.patch.set(facecolor="#888888", hatch="////", edgecolor="#444444")  # shows in masked cells
    heatmap(axes, values, columns)
    axes.set_title(title, fontsize=11)
    axes.set_ylabel(rows[0])
    axes.set_yticks(range(len(rows[1])), rows[1])
    axes.set_xlabel(across)
