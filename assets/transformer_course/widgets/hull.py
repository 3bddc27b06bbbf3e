"""Attention in the plane: wherever a query points, its output stays between the values."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import INK, LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, labels, matrix

SIDE = 41  # queries along each axis: SIDE² are asked for at once
MOST_KEYS = 6  # whose weights and names can be told apart
NEAR = 1e-3  # of the values' size: the rounding of float32

Attention = Callable[..., Any]


@explains_stubs
def show_hull(
    attention: Attention,
    key: ArrayLike | Tensor,
    value: ArrayLike | Tensor,
    words: Sequence[str] | None = None,
    reach: float = 4.0,
    title: str = "a query, and where its output lies",
) -> View:
    """Show the output of `attention` for a query that you move, and the hull of the values.

    `attention(query, key, value)` returns (output, weights); it is called once, with queries on a
    grid from -reach to reach. `key` and `value`: (key, 2), 2 to 6 of each, in float32 or float64;
    `words` name them. `ValueError` for other shapes, here or returned.
    """
    keys, values = matrix(key, "key", "key", "2"), matrix(value, "value", "key", "2")
    if keys.shape != values.shape or keys.shape[1] != 2 or not 2 <= len(keys) <= MOST_KEYS:
        needed = f"key and value must both be (key, 2), with 2 to {MOST_KEYS} keys"
        raise ValueError(f"{needed}; got {keys.shape} and {values.shape}")
    names = labels(words, "words", len(keys))
    output, weights = _asked(attention, keys, values, reach)
    arrays = {"key": keys, "value": values, "output": output, "weights": weights}
    state = {"row": SIDE // 3, "column": 3 * SIDE // 4}  # of the query, from the top left
    draw = partial(_picture, arrays, names, reach, title, state)
    small = {name: array.astype(np.float32) for name, array in arrays.items()}
    return View("hull", draw, small, {"title": title, "words": names, "reach": reach}, state)


def _asked(
    attention: Attention, keys: np.ndarray, values: np.ndarray, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs and weights of the queries on the grid, row by row from the top."""
    along = torch.linspace(-reach, reach, SIDE, dtype=torch.float64)
    up, across = torch.meshgrid(along.flip(0), along, indexing="ij")
    query = torch.stack([across, up], -1).reshape(-1, 2)
    result = attention(query, torch.as_tensor(keys), torch.as_tensor(values))
    pair = isinstance(result, tuple | list) and len(result) == 2
    if not pair or not all(isinstance(part, Tensor) for part in result):
        raise ValueError("attention must return two tensors, (output, weights)")
    output = matrix(result[0], "attention's output", "query", "2")
    weights = matrix(result[1], "attention's weights", "query", "key")
    needed = (len(query), 2), (len(query), len(keys))
    if (output.shape, weights.shape) != needed:
        raise ValueError(
            f"attention's output and weights must be {needed[0]} and {needed[1]}; "
            f"got {output.shape} and {weights.shape}"
        )
    return output, weights


def hull(points: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points (n, 2), counterclockwise (Andrew's chain, 1979)."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered)

    def chain(through: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for x, y in through:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], (x, y)) <= 0:
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _turn(
    one: tuple[float, float], other: tuple[float, float], third: tuple[float, float]
) -> float:
    """Positive if the way over these three points turns left."""
    ahead = (other[0] - one[0], other[1] - one[1])
    return ahead[0] * (third[1] - one[1]) - ahead[1] * (third[0] - one[0])


def outside(output: np.ndarray, values: np.ndarray) -> int:
    """How many of the outputs (n, 2) lie clearly outside the hull of the values."""
    corners, size = hull(values), np.abs(values).max()
    if len(corners) < 3:
        return 0  # the values lie on a line or a point: nothing to see
    edges = np.roll(corners, -1, axis=0) - corners
    lengths = np.hypot(*edges.T)
    away = output[:, None] - corners
    # the distance to the left of each edge: negative outside
    left = (edges[:, 0] * away[..., 1] - edges[:, 1] * away[..., 0]) / lengths
    return int((left.min(axis=1) < -NEAR * size).sum())


def _picture(
    arrays: dict[str, np.ndarray],
    words: list[str],
    reach: float,
    title: str,
    state: dict[str, int],
) -> Picture:
    """Draw the keys and a query beside the values, their hull and the outputs of all queries."""
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    along = np.linspace(-reach, reach, SIDE)
    query = float(along[state["column"]]), float(along[SIDE - 1 - state["row"]])
    at = state["row"] * SIDE + state["column"]
    _keys(left, arrays["key"], words, query)
    left.set(xlim=(-reach, reach), ylim=(-reach, reach))
    _values(right, arrays, words, at)
    figure.suptitle(title, fontsize=11)
    far = outside(arrays["output"], arrays["value"])
    weights = ", ".join(
        f"{word} {weight:.2f}" for word, weight in zip(words, arrays["weights"][at], strict=True)
    )
    said = "all lie inside the hull of the values" if not far else f"{far} lie outside the hull"
    return Picture(
        figure,
        f"{title}. Left, the keys as arrows and the query ({query[0]:.2g}, {query[1]:.2g}); its "
        f"weights: {weights}. Right, the values, and the outputs of {SIDE * SIDE} queries: {said}.",
    )


def _keys(axes: Axes, keys: np.ndarray, words: list[str], query: tuple[float, float]) -> None:
    for (x, y), word in zip(keys, words, strict=True):
        axes.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": LINES[0]})
        axes.annotate(word, (x, y), (3, 4), textcoords="offset points", color=LINES[0])
    axes.plot(*query, "D", color=LINES[1], markersize=9)
    axes.annotate("query", query, (8, -4), textcoords="offset points", color=LINES[1])
    axes.set(title="keys, and a query to move", xlabel="feature 0", ylabel="feature 1")
    axes.set_aspect("equal")
    axes.grid(alpha=0.3)


def _values(axes: Axes, arrays: dict[str, np.ndarray], words: list[str], at: int) -> None:
    corners = hull(arrays["value"])
    axes.fill(*corners.T, facecolor="#E3EEF6", edgecolor=LINES[0], alpha=0.6)
    axes.plot(*arrays["output"].T, ".", color=INK, markersize=1.5, alpha=0.5)
    axes.plot(*arrays["value"].T, "o", color=LINES[0], markersize=8)
    for (x, y), word in zip(arrays["value"], words, strict=True):
        axes.annotate(word, (x, y), (6, 6), textcoords="offset points", color=LINES[0])
    axes.plot(*arrays["output"][at], "D", color=LINES[1], markersize=9)
    axes.set(title="values, their hull, the output", xlabel="feature 0", ylabel="feature 1")
    axes.margins(0.18)
    axes.grid(alpha=0.3)
