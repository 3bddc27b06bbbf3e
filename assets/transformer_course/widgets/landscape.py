"""A slice of a loss landscape: a ball makes steps of gradient descent on it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from transformer_course.figures import DASHES, INK, LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, matrix

POINTS = (5, 61)  # of a side
TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # on the colour bar


@explains_stubs
def show_landscape(
    surface: Callable[..., Any],
    model: nn.Module,
    criterion: Callable[..., Tensor],
    inputs: Tensor,
    targets: Tensor,
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    curvature: float,
    reach: float = 1.0,
    points: int = 21,
    title: str = "gradient descent on a slice",
) -> View:
    """Show a slice of a model's loss, and the steps of gradient descent on it.

    Your `surface(model, criterion, inputs, targets, first, second, alphas, betas)` is called once,
    with `points` values from -reach to reach on both axes; it must return losses (alphas, betas).
    `curvature` is the largest eigenvalue λ at the centre, which the learning rate is measured by.
    `points` is odd, from 5 to 61. Others, a wrong shape, and a curvature or reach that is not
    positive are a `ValueError`.
    """
    if points % 2 == 0 or not POINTS[0] <= points <= POINTS[1]:
        raise ValueError(f"points must be odd, from {POINTS[0]} to {POINTS[1]}; got {points}")
    for name, value in (("curvature", curvature), ("reach", reach)):
        if not value > 0:
            raise ValueError(f"{name} must be positive; got {value:g}")
    weights = next(model.parameters())
    steps = torch.linspace(-reach, reach, points, dtype=weights.dtype)
    losses = _losses(
        surface(model, criterion, inputs, targets, first, second, steps, steps), points
    )
    draw = partial(_picture, losses, float(curvature), float(reach), title)
    options = {"title": title, "curvature": float(curvature), "reach": float(reach)}
    state = {"row": points // 4, "column": points // 4, "rate": 1.0}
    return View("landscape", draw, {"losses": losses.astype(np.float32)}, options, state)


def _losses(result: Any, points: int) -> np.ndarray:
    needed = f"({points}, {points}), (alphas, betas)"
    if result is None:
        raise ValueError(f"the result of surface must be {needed}; got None")
    losses = matrix(result, "the result of surface", "alphas", "betas")
    if losses.shape != (points, points):
        raise ValueError(f"the result of surface must be {needed}; got {losses.shape}")
    return losses


def _picture(losses: np.ndarray, curvature: float, reach: float, title: str) -> Picture:
    """Draw the slice, and its two lines through the centre beside the parabola of λ."""
    figure = Figure(figsize=(9.2, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    _map(figure, left, losses, reach)
    _lines(right, losses, curvature, reach)
    figure.suptitle(f"{title}, λ = {curvature:.3g}", fontsize=11)
    return Picture(figure, _alt_text(losses, curvature, reach, title))


def _map(figure: Figure, axes: Axes, losses: np.ndarray, reach: float) -> None:
    shades = np.log10(np.maximum(losses, TICKS[0]))
    extent = (-reach, reach, -reach, reach)
    image = axes.imshow(shades, cmap="cividis", origin="lower", extent=extent)
    steps = np.linspace(-reach, reach, len(losses))
    if np.ptp(shades) > 0:
        axes.contour(steps, steps, shades, levels=8, colors="white", linewidths=0.7)
    axes.plot(0, 0, "*", color=LINES[1], markersize=11)
    axes.set(xlabel="β", ylabel="α")
    bar = figure.colorbar(image, ax=axes, label="loss")
    ticks = [tick for tick in TICKS if shades.min() <= np.log10(tick) <= shades.max()]
    bar.set_ticks([float(np.log10(tick)) for tick in ticks], labels=[f"{tick:g}" for tick in ticks])


def _lines(axes: Axes, losses: np.ndarray, curvature: float, reach: float) -> None:
    middle, steps = len(losses) // 2, np.linspace(-reach, reach, len(losses))
    parabola = losses[middle, middle] + curvature / 2 * steps**2
    lines = {"along α": losses[:, middle], "along β": losses[middle], "parabola of λ": parabola}
    for (name, values), dash, colour in zip(lines.items(), DASHES, (*LINES[:2], INK), strict=False):
        axes.plot(steps, values, dash, color=colour, label=name)
    top = max(float(losses[:, middle].max()), float(losses[middle].max()))
    axes.set(xlabel="α or β", ylabel="loss", ylim=(0, 1.1 * top))
    axes.grid(alpha=0.3)
    axes.legend()


def _alt_text(losses: np.ndarray, curvature: float, reach: float, title: str) -> str:
    middle = len(losses) // 2
    ends = [losses[0, middle], losses[-1, middle], losses[middle, 0], losses[middle, -1]]
    told = ", ".join(f"{end:.3g}" for end in ends)
    return (
        f"{title}: losses from {losses.min():.3g} to {losses.max():.3g} for α and β from "
        f"{-reach:g} to {reach:g}; {losses[middle, middle]:.3g} at the centre. At the lower and "
        f"upper end of α, then of β: {told}. The curvature λ is {curvature:.3g}."
    )
