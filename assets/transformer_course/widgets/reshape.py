"""Splitting into heads and merging: where each number of x goes."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import SupportsInt

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from transformer_course.figures import INK, LINES, ON_LIGHT, Picture
from transformer_course.widgets.view import View, explains_stubs

# light enough for dark text; letters distinguish heads of the same colour
TINTS = ["#9fcdea", "#f6b98f", "#93d8c0", "#e9bfd8", "#f2e394", "#cccccc"]
MOST = {"batch": 3, "length": 12, "d_model": 24}
LEGIBLE = 0.28  # inches; a number fits into a cell of this size


@explains_stubs
def show_reshape(
    split: Callable[..., Tensor],
    merge: Callable[..., Tensor],
    batch: int = 1,
    length: int = 4,
    d_model: int = 6,
    num_heads: int = 3,
) -> View:
    """Show where your functions move each number of x, and whether merging restores x.

    `split`: your function (x, num_heads), from (batch, length, d_model) to (batch, heads, length,
    d_head). `merge`: your function from the result of `split` to (batch, length, d_model).
    At most 3 × 12 × 24 numbers. `ValueError` if a function returns another shape or other numbers.
    """
    for name, size in {"batch": batch, "length": length, "d_model": d_model}.items():
        if not 1 <= size <= MOST[name]:
            raise ValueError(f"{name} must be 1 to {MOST[name]}; got {size}")
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(f"d_model must be a multiple of num_heads; got {d_model} and {num_heads}")
    # distinct numbers, so that each can be found in the results
    x = torch.arange(batch * length * d_model, dtype=torch.float64)
    given = split(x.reshape(batch, length, d_model), num_heads)
    heads = _numbers(given, "split", (batch, num_heads, length, d_model // num_heads))
    merged = _numbers(merge(given), "merge", (batch, length, d_model))
    row, column = length // 2, d_model * 2 // 3
    arrays = {"heads": heads.astype(np.float32), "merged": merged.astype(np.float32)}
    options = {"title": "split into heads, and merged again", "tints": TINTS}
    draw = partial(_picture, heads, merged, row * d_model + column)
    state = {"row": row, "column": column, "as_view": False}
    return View("reshape", draw, arrays, options, state)


def _numbers(result: Tensor, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The result as an array; `ValueError` unless it has this shape and all numbers of x."""
    if not isinstance(result, Tensor):
        raise ValueError(f"{name} must give a tensor; got {type(result).__name__}")
    if result.shape != shape:
        raise ValueError(f"{name} must give {shape}; got {tuple(result.shape)}")
    numbers = result.detach().cpu().double().numpy()
    missing = np.setdiff1d(np.arange(numbers.size), numbers).size
    if missing:
        raise ValueError(f"{name} must give each number of x once; {missing} of them are missing")
    return numbers.astype(int)  # a copy: merge may change it in place


def _picture(heads: np.ndarray, merged: np.ndarray, chosen: int) -> Picture:
    """Draw three stages side by side, with batch entries below each other; a cell is one unit."""
    batch, num_heads, length, d_head = heads.shape
    d_model, apart = num_heads * d_head, length + 0.7
    cell = min(0.45, 15 / (3 * d_model + 0.5 * num_heads + 4.5))
    inch, room = 1 / cell, max(d_model, 1.8 / cell)  # room: the width of a title
    lefts = 0.0, room + 1.5, 2 * room + 0.5 * num_heads + 3
    wide, high = lefts[2] + room, batch * apart + 0.95 * inch
    figure = Figure(figsize=(cell * wide + 0.2, cell * high), layout="constrained")
    axes = figure.subplots()
    stages = {
        lefts[0]: np.arange(merged.size).reshape(merged.shape),
        **{lefts[1] + h * (d_head + 0.5): heads[:, h] for h in range(num_heads)},
        lefts[2]: merged,
    }
    head_of = np.argsort(heads.ravel()) // (length * d_head) % num_heads
    for left, numbers in stages.items():
        for entry, grid in enumerate(numbers):
            _grid(axes, (left, entry * apart), grid, head_of, cell >= LEGIBLE)
    _mark(axes, stages, apart, chosen)
    names = f"x {merged.shape}", f"heads {heads.shape}", f"merged {merged.shape}"
    for left, name in zip(lefts, names, strict=True):
        axes.text(left, -0.4 * inch, name, fontsize=11, fontweight="bold", color=INK)
        axes.text(left, high - inch, "position ↓, feature →", va="top", fontsize=9, color=INK)
    for head, left in enumerate(list(stages)[1:-1]):
        name = f"head {head}: {chr(65 + head)}" if d_head * cell > 0.8 else chr(65 + head)
        axes.text(left + d_head / 2, -0.12 * inch, name, ha="center", fontsize=10, color=INK)
    axes.set(xlim=(-0.1, wide), ylim=(high - 0.8 * inch, -0.6 * inch), aspect="equal")
    axes.axis("off")
    return Picture(figure, _alt_text(heads, merged, chosen))


def _grid(
    axes: Axes, corner: tuple[float, float], grid: np.ndarray, head_of: np.ndarray, named: bool
) -> None:
    """Draw cells in the colours of their heads, with letters, and numbers if they fit."""
    (left, top), of = corner, head_of[grid]
    columns, rows = (np.arange(size + 1) for size in grid.T.shape)
    edges = {"edgecolors": "white", "linewidth": 0.8, "vmin": 0, "vmax": len(TINTS) - 1}
    tints = ListedColormap(TINTS)
    axes.pcolormesh(left + columns, top + rows, of % len(TINTS), cmap=tints, **edges)
    if not named:  # markers draw hundreds of letters faster than texts
        for head in np.unique(of):
            y, x = np.nonzero(of == head)
            mark = rf"$\mathrm{{{chr(65 + head)}}}$"
            axes.plot(
                left + x + 0.5, top + y + 0.5, marker=mark, color=ON_LIGHT, ms=4, mew=0.3, ls=""
            )
        return
    for (row, column), number in np.ndenumerate(grid):
        text = f"{chr(65 + of[row, column])}\n{number}"
        middle = left + column + 0.5, top + row + 0.52
        axes.text(*middle, text, ha="center", va="center", fontsize=8, color=ON_LIGHT)


def _mark(axes: Axes, stages: dict[float, np.ndarray], apart: float, chosen: int) -> None:
    """Frame the chosen number in each stage, and connect the stages by arrows."""
    corners = []
    for left, numbers in stages.items():
        for entry, row, column in np.argwhere(numbers == chosen):
            corners.append((left + column, entry * apart + row))
    for corner in corners:
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=LINES[1], linewidth=3))
    for (x, y), end in pairwise(corners):
        style = {"arrowstyle": "-|>", "color": LINES[1], "linewidth": 1.8}
        # behind the texts
        axes.annotate("", (end[0], end[1] + 0.5), (x + 1, y + 0.5), arrowprops=style, zorder=1.5)


def _alt_text(heads: np.ndarray, merged: np.ndarray, chosen: int) -> str:
    start = np.unravel_index(chosen, merged.shape)
    to, back = (np.argwhere(numbers == chosen)[0] for numbers in (heads, merged))
    names = f"x {merged.shape}, heads {heads.shape}, merged {merged.shape}"
    descriptions = [
        f"{names}. x{_index(start)} goes to heads{_index(to)}, and to merged{_index(back)}"
    ]
    x = np.arange(merged.size).reshape(merged.shape)
    mixed = np.argwhere(heads // merged.shape[-1] != x[:, None, :, :1] // merged.shape[-1])
    if len(mixed):
        entry, head, position, _ = mixed[0]
        descriptions.append(
            f"tokens mixed: heads[{entry}, {head}, {position}] has numbers of another token"
        )
    away = np.argwhere(merged != x)
    more = f" and at {len(away) - 1} more" if len(away) > 1 else ""
    lost = f"merge does not give x back at {_index(away[0])}{more}" if len(away) else ""
    return "; ".join([*descriptions, lost or "merge gives x back"]) + "."


def _index(indices: Iterable[SupportsInt]) -> str:
    return f"[{', '.join(str(int(index)) for index in indices)}]"
