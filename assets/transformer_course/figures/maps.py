"""Matrices, masks and images as coloured cells."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures.picture import LINES, ON_LIGHT, as_matrix, brief, show


def attention_map(
    weights: ArrayLike | Tensor,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    title: str = "attention weights",
) -> None:
    """Draw a matrix (query, key): a row for each query, a column for each key."""
    steps({title: (weights, "key", keys or queries)}, "query", queries)


def steps(
    stages: Mapping[str, tuple[ArrayLike | Tensor, str, Sequence[str]]],
    rows_are: str,
    rows: Sequence[str],
) -> None:
    """Draw matrices side by side that share their rows.

    A stage is title -> (matrix, what its columns are, the name of each column).
    """
    widths = [max(len(labels), 2) for _, _, labels in stages.values()]
    size = (1.6 + 0.72 * sum(widths) + 0.6 * len(widths), 1.7 + 0.5 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(stages), squeeze=False, width_ratios=widths)[0]
    descriptions = []
    for axes, (title, (values, columns_are, columns)) in zip(grid, stages.items(), strict=True):
        matrix = as_matrix(values, title, len(rows), len(columns))
        heatmap(axes, matrix, columns)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(columns_are)
        lines = "; ".join(f"{row}: {brief(line)}" for row, line in zip(rows, matrix, strict=True))
        descriptions.append(f"{title} ({rows_are} by {columns_are}): {lines}")
    grid[0].set_yticks(range(len(rows)), rows)
    grid[0].set_ylabel(rows_are)
    show(figure, f"{'. '.join(descriptions)}.")


def masks(
    stages: Mapping[str, tuple[ArrayLike | Tensor, str, Sequence[str]]],
    rows_are: str,
    rows: Sequence[str],
) -> None:
    """Draw masks side by side that share their rows: dots are allowed, hatched cells masked.

    A stage is title -> (mask, what its columns are, the name of each column), as in `steps`.
    """
    widths = [max(len(labels), 3) for _, _, labels in stages.values()]
    rotated = max(len(label) for _, _, labels in stages.values() for label in labels) > 3
    size = (
        1.8 + 0.5 * sum(widths) + 0.5 * len(widths),
        (1.9 if rotated else 1.4) + 0.5 * len(rows),
    )
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(stages), squeeze=False, width_ratios=widths)[0]
    descriptions = []
    for axes, (title, (mask, columns_are, columns)) in zip(grid, stages.items(), strict=True):
        allowed = as_matrix(mask, title, len(rows), len(columns)) != 0
        mark_allowed(axes, allowed)
        mark_forbidden(axes, allowed)
        axes.set_xticks(range(len(columns)), columns, rotation=90 if rotated else 0)
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5), yticks=[])
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(columns_are)
        axes.tick_params(which="both", length=0)
        kept = [[c for c, may in zip(columns, line, strict=True) if may] for line in allowed]
        lines = "; ".join(
            f"{row}: {', '.join(names) or 'none'}" for row, names in zip(rows, kept, strict=True)
        )
        about = f"{title} ({rows_are} by {columns_are})"
        descriptions.append(f"{about}, allowed: {lines}")
    grid[0].set_yticks(range(len(rows)), rows)
    grid[0].set_ylabel(rows_are)
    show(figure, f"{'. '.join(descriptions)}.")


def tiles(
    pictures: Sequence[ArrayLike | Tensor],
    names: Sequence[str],
    title: str,
    across: int = 6,
    colours: str = "gray",
) -> None:
    """Draw small images (height, width) in rows with their names, on a shared colour scale."""
    height, width = torch.as_tensor(pictures[0]).shape
    drawn = [as_matrix(p, name, height, width) for p, name in zip(pictures, names, strict=True)]
    lines = -(-len(drawn) // across)
    figure = Figure(figsize=(1.25 * across, 1.25 * height / width * lines + 0.3 * lines + 0.4))
    figure.set_layout_engine("constrained")
    low, high = min(p.min() for p in drawn), max(p.max() for p in drawn)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    for axes in grid:
        axes.axis("off")
    for axes, picture, name in zip(grid, drawn, names, strict=False):
        axes.imshow(picture, cmap=colours, vmin=low, vmax=high)
        axes.set_title(name, fontsize=10)
    figure.suptitle(title, fontsize=11)
    show(figure, f"{title}. {len(drawn)} pictures of {height} by {width}: {', '.join(names)}.")


def heatmap(axes: Axes, matrix: np.ndarray, labels: Sequence[str], numbers: bool = True) -> None:
    """Draw a matrix as coloured cells, with numbers if they fit; NaN stays empty."""
    axes.imshow(matrix, cmap="cividis", aspect="auto")
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(labels)), labels, **(slanted if len(labels) > 6 else {}))
    axes.set_yticks([])
    if not numbers:
        return
    # thin lines separate cells of the same colour
    for row in range(1, matrix.shape[0]):
        axes.axhline(row - 0.5, color="white", linewidth=1)
    for column in range(1, matrix.shape[1]):
        axes.axvline(column - 0.5, color="white", linewidth=1)
    if matrix.size <= 80:
        low = np.nanmin(matrix)
        dark = low + 0.45 * (np.nanmax(matrix) - low)
        drawn = matrix[~np.isnan(matrix)]
        digits = 0 if (drawn == drawn.round()).all() else 2  # 4, not 4.00
        for (row, column), value in np.ndenumerate(matrix):
            if np.isnan(value):
                continue
            colour = "white" if value <= dark else ON_LIGHT
            axes.text(column, row, f"{value:.{digits}f}", ha="center", va="center", color=colour)


def mark_allowed(axes: Axes, allowed: np.ndarray, size: float = 6) -> None:
    """Draw a cell for each pair of a query and a key, with a dot where `allowed` is True."""
    axes.set_facecolor("#E3EEF6")
    axes.plot(*np.argwhere(allowed).T[::-1], "o", color=LINES[0], markersize=size)
    for axis, count in ((axes.yaxis, len(allowed)), (axes.xaxis, allowed.shape[1])):
        axis.set_ticks(np.arange(count + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1)


def mark_forbidden(axes: Axes, allowed: np.ndarray, size: float = 6) -> None:
    """Hatch and cross out the cells where `allowed` is False."""
    cells = [Rectangle((x - 0.5, y - 0.5), 1, 1) for y, x in np.argwhere(~allowed)]
    hatched = PatchCollection(cells, facecolor="#999999", edgecolor="#555555", hatch="//")
    axes.add_collection(hatched, autolim=False)
    axes.plot(*np.argwhere(~allowed).T[::-1], "x", color="black", markersize=size)
