"""Rotary embeddings: each pair of dimensions as a dial that rotates with the position."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import DASHES, INK, LINES, Picture
from transformer_course.widgets.view import MOST, View, explains_stubs, matrix

WIDEST = 64  # dimensions: 32 dials
DIALS = 8  # in the picture


@explains_stubs
def show_rotary(
    rotate: Callable[..., ArrayLike | Tensor],
    d_model: int = 8,
    base: float = 10000.0,
    positions: int = 64,
    title: str = "rotary embedding",
) -> View:
    """Show how pairs of dimensions rotate with the position, and what dot products depend on.

    Your `rotate(x, positions, base=base)` is called once: `x`, (position, d_model), is the vector
    [1, 0] for each pair, `positions` are 0, 1, 2, ... It must return the same shape. `d_model` is
    even and at most 64, `positions` from 2 to 512; others, or a wrong shape, are a `ValueError`.
    """
    if d_model % 2 or not 2 <= d_model <= WIDEST:
        raise ValueError(f"d_model must be even, from 2 to {WIDEST}; got {d_model}")
    if not 2 <= positions <= MOST:
        raise ValueError(f"positions must be from 2 to {MOST}; got {positions}")
    turned = _turned(rotate, d_model, base, positions)
    draw = partial(_picture, turned, base, title)
    options = {"title": title, "base": base}
    state = {"position": positions // 4, "offset": min(5, positions // 2), "pair": 0}
    return View("rotary", draw, {"turned": turned.astype(np.float32)}, options, state)


def _turned(
    rotate: Callable[..., ArrayLike | Tensor], d_model: int, base: float, positions: int
) -> np.ndarray:
    given = torch.tensor([1.0, 0.0]).repeat(positions, d_model // 2)
    result = rotate(given, torch.arange(positions), base=base)
    if result is None:
        raise ValueError("the result of rotate must be (position, d_model); got None")
    turned = matrix(result, "the result of rotate", "position", "d_model")
    if turned.shape != given.shape:
        needed = f"({positions}, {d_model}), as it is given"
        raise ValueError(f"the result of rotate must be {needed}; got {turned.shape}")
    return turned


def _picture(turned: np.ndarray, base: float, title: str) -> Picture:
    """Draw dials at three positions, and the dot products of two positions with all others."""
    count, width = turned.shape
    shown = min(width // 2, DIALS)
    figure = Figure(figsize=(max(7.0, 1.3 * shown), 5.4), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1, 1.15])[:, 0]
    positions = sorted({1, max(1, count // 16), max(1, count // 4)})
    reach = max(1.15, 1.1 * float(np.abs(turned[positions]).max()))
    dials = above.subplots(1, shown, squeeze=False)[0]
    for pair, axes in enumerate(dials):
        _dial(axes, turned[:, 2 * pair : 2 * pair + 2], positions)
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"pair {pair}", fontsize=10)
    above.legend(*dials[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    _scores(below.subplots(), turned)
    figure.suptitle(f"{title}, base {base:g}", fontsize=11)
    return Picture(figure, _alt_text(turned, base, title))


def _dial(axes: Axes, pair: np.ndarray, positions: list[int]) -> None:
    around = np.linspace(0, 2 * np.pi, 100)
    axes.plot(np.cos(around), np.sin(around), color=INK, linewidth=0.8, alpha=0.5)
    for position, colour, dash in zip(positions, LINES, DASHES, strict=False):
        across, up = pair[position]
        axes.plot(
            [0, across], [0, up], dash, color=colour, linewidth=2, label=f"position {position}"
        )
        axes.plot(across, up, "o", color=colour, markersize=6)


def _scores(axes: Axes, turned: np.ndarray) -> None:
    count = len(turned)
    one, step = count // 4, min(10, count // 2)
    # the first is wide and pale, so that both are visible where they coincide
    styles = ((one, "-", LINES[0], 5, 0.45), (one + step, "--", LINES[1], 2, 1.0))
    for position, dash, colour, width, alpha in styles:
        style = {"color": colour, "linewidth": width, "alpha": alpha}
        axes.plot(np.arange(count) - position, turned @ turned[position], dash, **style)
        axes.lines[-1].set_label(f"position {position}")
    axes.set(xlabel="offset to the other position", ylabel="dot product")
    axes.grid(alpha=0.3)
    axes.legend(title="from")


def _alt_text(turned: np.ndarray, base: float, title: str) -> str:
    pairs = turned.reshape(len(turned), -1, 2)
    first = np.degrees(np.arctan2(pairs[1, :, 1], pairs[1, :, 0]))
    listed = ", ".join(f"{angle:.3g}°" for angle in first[:DIALS])
    lengths = np.hypot(pairs[..., 0], pairs[..., 1])
    scores = ", ".join(
        f"{turned[0] @ turned[position]:.3g}" for position in (0, 1, len(turned) // 2)
    )
    return (
        f"{title}, base {base:g}: {pairs.shape[1]} pairs at {len(turned)} positions. At position 1 "
        f"the arrows point to {listed}; their lengths are from {lengths.min():.3g} to "
        f"{lengths.max():.3g}. Dot products of position 0 with positions 0, 1 and "
        f"{len(turned) // 2}: {scores}."
    )
