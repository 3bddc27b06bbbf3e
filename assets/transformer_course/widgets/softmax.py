"""Softmax saturation: the effect of the temperature and of the width d_k."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.checks import numbers
from transformer_course.figures import DASHES, LINES, MARKS, Picture, brief
from transformer_course.widgets.view import View, explains_stubs, matrix
from transformer_course.widgets.view import labels as named

TEMPERATURES = 10.0 ** np.linspace(-1, 1, 41)  # the middle one is 1
PICTURED = (8, 20, 32)  # indices in the picture: about 1/4, 1 and 4
WIDTHS = 2 ** np.arange(10)  # d_k from 1 to 512
QUERIES, KEYS = 64, 10  # of the d_k experiment
SHOWN = 56  # the query whose weights are shown; it is close to the mean
MOST_SCORES = 24


@explains_stubs
def show_softmax(
    softmax: Callable[..., Any],
    scores: ArrayLike | Tensor,
    labels: Sequence[str] | None = None,
) -> View:
    """Show when softmax saturates: by temperature and by width d_k.

    `softmax(scores, dim)` is called with (setting, score) and dim=-1: a row for each setting.
    `scores`: (score,), 2 to 24 numbers; `labels` name them. `ValueError` for other shapes, and if
    the returned weights have another shape or are infinite or NaN.
    """
    values = matrix(scores, "scores", "score")
    if not 2 <= len(values) <= MOST_SCORES:
        raise ValueError(f"scores must be 2 to {MOST_SCORES} numbers; got {len(values)}")
    names = named(labels, "labels", len(values))
    heated = values / TEMPERATURES[:, None]
    weights = _weights(softmax, heated)
    dots = _dot_products()
    found = _weights(softmax, dots.reshape(-1, KEYS)).reshape(dots.shape)
    arrays = {
        "scores": heated,
        "weights": weights,
        "dots": dots[SHOWN],
        "dot_weights": found[SHOWN],
        "largest": found.max(-1).mean(0),
        "gradient": (found * (1 - found)).max(-1).mean(0),
    }
    draw = partial(_picture, arrays, names)
    title = "softmax: temperature and d_k"
    state = {"experiment": "temperature", "log10_temperature": 0.0}
    state |= {"log2_d_k": 6, "divided": False}
    small = {name: array.astype(np.float32) for name, array in arrays.items()}
    return View("softmax", draw, small, {"title": title, "labels": names}, state)


def _dot_products() -> np.ndarray:
    """(query, scale, d_k, key): dot products of random vectors, plain and ÷ √d_k."""
    most = int(WIDTHS[-1])
    queries, keys = numbers(QUERIES, 1, most).numpy(), numbers(QUERIES, KEYS, most, seed=1).numpy()
    # wider vectors extend the narrower ones by further features
    plain = (queries * keys).cumsum(-1)[..., WIDTHS - 1].swapaxes(-2, -1)
    return np.stack([plain, plain / np.sqrt(WIDTHS)[:, None]], axis=1)


def _weights(softmax: Callable[..., Any], scores: np.ndarray) -> np.ndarray:
    found = softmax(torch.tensor(scores), -1)
    if not isinstance(found, Tensor) or found.shape != scores.shape:
        got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(f"softmax must keep the scores' shape {scores.shape}; got {got}")
    if not found.isfinite().all():
        most = np.abs(scores).max()
        raise ValueError(f"softmax gives infinite or NaN weights for scores up to ±{most:.4g}")
    return matrix(found, "softmax's weights", "setting", "score")


def _picture(arrays: dict[str, np.ndarray], names: list[str]) -> Picture:
    """Draw the weights at three temperatures, and the largest weight against d_k."""
    figure = Figure(figsize=(10.0, 3.4 + 0.12 * max(0, len(names) - 8)), layout="constrained")
    *bars, curve = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.7])
    descriptions = []
    for axes, at in zip(bars, PICTURED, strict=True):
        weights, temperature = arrays["weights"][at], TEMPERATURES[at]
        _bars(axes, weights, names if axes is bars[0] else [""] * len(names))
        off = "" if abs(weights.sum() - 1) < 0.005 else f"\nsum {weights.sum():.2f}, not 1"
        axes.set_title(f"temperature {temperature:.2g}{off}", fontsize=11)
        most = f"the largest {weights.max():.2f}, of “{names[int(weights.argmax())]}”"
        each = brief(weights) if len(names) <= 8 else most
        descriptions.append(f"at temperature {temperature:.2g} {each}")
    bars[0].set_ylabel("score")
    largest = arrays["largest"]
    styles = zip(("q·k", "q·k / √d_k"), largest, LINES, DASHES, MARKS, strict=False)
    for name, values, colour, dash, mark in styles:
        curve.plot(WIDTHS, values, dash, color=colour, marker=mark, label=name)
    curve.set_xscale("log", base=2)
    curve.set_xticks(WIDTHS[::3], [str(width) for width in WIDTHS[::3]])
    curve.set(xlabel="d_k, the width of query and keys", ylim=(0, 1.05))
    curve.set_ylabel(f"largest of {KEYS} weights, mean")
    curve.set_title("random queries and keys", fontsize=11)
    curve.grid(alpha=0.3)
    curve.legend()
    ends = f"{largest[0, -1]:.2f} for q·k and {largest[1, -1]:.2f} for q·k / √d_k, on average"
    alt = f"Softmax over {', '.join(names)}: {'; '.join(descriptions)}. Random queries, {KEYS} "
    return Picture(figure, f"{alt}random keys: at d_k = {WIDTHS[-1]} the largest weight is {ends}.")


def _bars(axes: Axes, weights: np.ndarray, names: list[str]) -> None:
    positions = range(len(weights))
    axes.barh(positions, weights, color=LINES[0])
    for position, weight in zip(positions, weights, strict=True):
        axes.text(max(weight, 0) + 0.02, position, f"{weight:.2f}", va="center", fontsize=8)
    axes.set_yticks(positions, names)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.25), xlabel="weight")
    axes.set_xticks([0, 0.5, 1])
