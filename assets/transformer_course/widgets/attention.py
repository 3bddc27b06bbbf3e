"""Attention maps: an overview of all heads, one of them enlarged."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import Picture, brief, heatmap, mark_forbidden
from transformer_course.widgets.view import MOST, View, labels, matrix

SHOWN = 12  # heads in the picture
NAMED = 16  # tokens whose names fit into the picture of one or two heads
NAMED_SMALL = 12  # and into that of several, at its left and lower edge


def show_attention(
    weights: ArrayLike | Tensor,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    mask: ArrayLike | Tensor | None = None,
    title: str = "attention weights",
) -> View:
    """Show which query attends to which key, head by head.

    `weights`: (query, key), (heads, query, key) or (layers, heads, query, key). `queries` and
    `keys` name the tokens; without `keys`, both sides share their names. `mask`: (query, key),
    True where a query may attend. Of more than 512 tokens, the first 512 are shown.
    """
    values = matrix(weights, "weights", "(layers)", "(heads)", "query", "key")
    layers, heads, rows, columns = values.shape
    shared = keys is None and rows == columns
    names = [
        labels(queries, "queries", rows),
        labels(queries if shared else keys, "keys", columns),
    ]
    allowed = None if mask is None else _allowed(mask, rows, columns)
    # with one head per layer, compare the layers
    part = "layer" if layers > heads == 1 else "head"
    parts = values[:, 0] if heads == 1 else values[0]
    several = layers > 1 and heads > 1
    draw = partial(_picture, parts, part, names, allowed, title + ", layer 0" * several)
    cut = f", the first {MOST} tokens of a side" if max(rows, columns) > MOST else ""
    values = values[..., :MOST, :MOST]
    arrays = {"weights": values, "row_sums": values.sum(-1), "column_sums": values.sum(-2)}
    if allowed is not None:
        arrays["mask"] = allowed[:MOST, :MOST]
    options = {"title": title + cut, "queries": names[0][:MOST], "keys": names[1][:MOST]}
    state: dict[str, Any] = {"layer": 0, "head": 0, "compare": -1}
    state |= {"row": 0, "column": 0, "temperature": 1.0}
    return View("attention", draw, arrays, options, state)


def _allowed(mask: ArrayLike | Tensor, rows: int, columns: int) -> np.ndarray:
    allowed = matrix(mask, "mask", "query", "key") != 0
    if allowed.shape != (rows, columns):
        raise ValueError(f"mask must be ({rows}, {columns}), as the weights; got {allowed.shape}")
    return allowed


def _picture(
    parts: np.ndarray, part: str, names: list[list[str]], allowed: np.ndarray | None, title: str
) -> Picture:
    """Draw the heads of the first layer, or the layers, side by side."""
    shown = parts[:SHOWN]
    wide, high = min(len(shown), 4), -(-len(shown) // 4)
    queries, keys = names
    few = max(len(queries), len(keys)) <= NAMED
    large = few and len(shown) <= 2
    edges = max(len(queries), len(keys)) <= NAMED_SMALL  # names at the left and the lower edge
    side = 1.3 + 0.5 / len(shown) * len(keys) + 0.1 * len(keys) if large else 2.2
    figure = Figure(figsize=(max(side * wide, 3.4), max(side * high, 2.4)), layout="constrained")
    grid = figure.subplots(high, wide, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.axis("off")
    for number, (axes, values) in enumerate(zip(grid.flat, shown, strict=False)):
        cells = values if allowed is None else np.where(allowed, values, np.nan)
        axes.set_facecolor("#888888")  # for masked cells that are too many to be hatched
        below = keys if large or (edges and number + wide >= len(shown)) else []
        heatmap(axes, cells, below, numbers=len(shown) == 1)
        beside = queries if large or (edges and number % wide == 0) else []
        axes.set_yticks(range(len(beside)), beside)
        axes.tick_params(labelsize=10 if large else 8)
        if few and allowed is not None:
            mark_forbidden(axes, allowed, size=6 if large else 2)
        axes.set_xlabel("key")
        axes.set_ylabel("query")
        if len(shown) > 1:
            axes.set_title(f"{part} {number}", fontsize=10)
    figure.suptitle(title, fontsize=11)
    return Picture(figure, _alt_text(parts, part, names, title))


def _alt_text(parts: np.ndarray, part: str, names: list[list[str]], title: str) -> str:
    queries, keys = names
    if len(parts) == 1 and parts[0].size <= 64:
        rows = zip(queries, parts[0], strict=True)
        lines = "; ".join(f"{query}: {brief(row)}" for query, row in rows)
        return f"{title}, a row for each query, over the keys {', '.join(keys)}. {lines}."
    most = [
        f"{part} {number}: {100 * float(weights.max(-1).mean()):.0f} %"
        for number, weights in enumerate(parts[:SHOWN])
    ]
    size = f"{len(parts)} {part}(s) of {len(queries)} queries by {len(keys)} keys"
    return f"{title}, {size}. A query's largest weight, on average: {', '.join(most)}."
