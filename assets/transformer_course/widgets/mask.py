"""A mask to paint, and the attention weights that follow from it."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import ON_LIGHT, Picture, heatmap, mark_allowed, mark_forbidden
from transformer_course.widgets.view import View, explains_stubs, labels, matrix

MOST = 32  # tokens of a side, so that cells are large enough to be painted
NAMED = 12  # tokens of a side in a picture with large cells and numbers


class MaskView(View):
    """A view whose mask can be painted and read."""

    @property
    def mask(self) -> Tensor:
        """The painted mask: bool (query, key), True where a query may attend to a key."""
        return torch.tensor([[one == "1" for one in row] for row in self.state["mask"]])


@explains_stubs
def show_mask(
    scores: ArrayLike | Tensor,
    mask: ArrayLike | Tensor | None = None,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    title: str = "mask and attention weights",
) -> MaskView:
    """Let the user paint a mask, and show how the attention weights renormalise.

    `scores`: (query, key), before the softmax, at most 32 by 32. `mask`: (query, key), True where
    a query may attend to a key; by default everywhere. `queries` and `keys` name the tokens;
    without `keys`, both sides share their names. The painted mask is the view's `mask`.
    """
    values = matrix(scores, "scores", "query", "key")
    if max(values.shape) > MOST:
        raise ValueError(f"scores must be at most {MOST} by {MOST}; got {values.shape}")
    rows, columns = values.shape
    allowed = _allowed(mask, rows, columns)
    shared = keys is None and rows == columns
    names = [
        labels(queries, "queries", rows),
        labels(queries if shared else keys, "keys", columns),
    ]
    draw = partial(_picture, values, allowed, names, title)
    options = {"title": title, "queries": names[0], "keys": names[1]}
    lines = ["".join("1" if one else "0" for one in row) for row in allowed]
    state = {"mask": lines, "row": 0, "column": 0, "brush": "forbid"}
    return MaskView("mask", draw, {"scores": values.astype(np.float32)}, options, state)


def _allowed(mask: ArrayLike | Tensor | None, rows: int, columns: int) -> np.ndarray:
    if mask is None:
        return np.ones((rows, columns), dtype=bool)
    values = matrix(mask, "mask", "query", "key")
    if values.shape != (rows, columns):
        raise ValueError(f"mask must be ({rows}, {columns}), as the scores; got {values.shape}")
    other = values[(values != 0) & (values != 1)]
    if other.size:  # such as an additive mask of 0 and -1e9, whose meaning is inverted
        what = "mask must be True where a query may attend, else False"
        raise ValueError(f"{what}; got {other[0]:g}")
    return values == 1


def _picture(
    scores: np.ndarray, allowed: np.ndarray, names: list[list[str]], title: str
) -> Picture:
    """Draw the mask, and the resulting weights beside it."""
    rows, columns = scores.shape
    weights = np.full(scores.shape, np.nan)
    for query, kept in enumerate(allowed):
        weights[query, kept] = torch.softmax(torch.as_tensor(scores[query, kept]), 0).numpy()
    cell, letters = (0.5, 10) if max(rows, columns) <= NAMED else (0.22, 7)
    size = (3.2 + 2 * max(cell * columns, 1.2), 1.9 + max(cell * rows, 0.8))
    figure = Figure(figsize=size, layout="constrained")
    left, right = figure.subplots(1, 2)
    heatmap(right, weights, [], numbers=max(rows, columns) <= NAMED)
    right.images[0].set_clim(0, 1)
    for number in right.texts:  # readable on the colours of 0 to 1
        number.set_color("white" if float(number.get_text()) < 0.5 else ON_LIGHT)
    mark_allowed(left, allowed, size=4)
    for axes, heading in ((left, "who may attend to whom"), (right, "attention weights")):
        mark_forbidden(axes, allowed, size=5)
        turned = 0 if columns <= 6 and max(map(len, names[1])) <= 3 else 90
        axes.set_xticks(range(columns), names[1], rotation=turned)
        axes.set_yticks(range(rows), names[0])
        axes.tick_params(which="both", length=0, labelsize=letters)
        axes.set(xlabel="key", xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal")
        axes.set_title(heading, fontsize=11)
    left.set_ylabel("query")
    figure.colorbar(right.images[0], ax=right, label="weight", shrink=0.8)
    figure.suptitle(title, fontsize=11)
    return Picture(figure, f"{title}. {_alt_text(allowed, weights, names)}")


def _alt_text(allowed: np.ndarray, weights: np.ndarray, names: list[list[str]]) -> str:
    queries, keys = names
    descriptions = [f"{allowed.sum()} of {allowed.size} pairs of a query and a key are allowed"]
    if allowed.size > 64:
        counts = ", ".join(f"{q}: {n}" for q, n in zip(queries, allowed.sum(1), strict=True))
        return f"{descriptions[0]}. Keys that a query may attend to: {counts}."
    for query, row in zip(queries, weights, strict=True):
        seen = [f"{key} {one:.2f}" for key, one in zip(keys, row, strict=True) if one == one]
        descriptions.append(f"{query}: {', '.join(seen) or 'no key, so all its weights are 0'}")
    return f"{descriptions[0]}. Weights of each query: {'; '.join(descriptions[1:])}."
