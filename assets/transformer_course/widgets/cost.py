"""The cost of a Transformer block by part: FLOPs under length, width and window; parameters."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_course.figures import DASHES, LINES, MARKS, Picture
from transformer_course.widgets.view import View, explains_stubs

LENGTHS = tuple(2**power for power in range(4, 15))  # 16 to 16,384 tokens
WIDTHS = (64, 128, 256, 512, 1024)
WINDOWS = (0, 16, 49, 256)  # 0: all keys
PARTS = ("projections", "scores and weighted sum", "feed-forward")
SHOWN = 256  # the width of the picture


@explains_stubs
def show_cost(flops: Callable[..., Any], title: str = "cost of a block by part") -> View:
    """Show the FLOPs of a Transformer block by part, beside its parameters.

    Your `flops(length, d_model, d_ff, window)` is called with d_ff = 4 · d_model, with d_ff = 0,
    and with windows of 1 and 2 keys: the parts are differences. Anything but finite numbers is a
    `ValueError`; parts below zero are shown as they are found.
    """
    parts = np.array(
        [
            [[_parts(flops, length, width, window) for length in LENGTHS] for width in WIDTHS]
            for window in WINDOWS
        ]
    )  # (windows, widths, lengths, parts)
    draw = partial(_picture, parts, title)
    options = {
        "title": title,
        "lengths": LENGTHS,
        "widths": WIDTHS,
        "windows": WINDOWS,
        "parts": PARTS,
    }
    state = {"length": 256, "width": SHOWN, "window": 0}
    return View("cost", draw, {"flops": parts.astype(np.float32)}, options, state)


def _parts(flops: Callable[..., Any], length: int, width: int, window: int) -> list[float]:
    """The FLOPs of the projections, of scores and weighted sum, of the feed-forward network."""

    def counted(d_ff: int, keys: int | None) -> float:
        found = flops(length, width, d_ff, keys)
        value = np.asarray(np.nan if found is None else found, dtype=float)
        if value.ndim or not np.isfinite(value):
            raise ValueError(f"flops must return one finite number; got {found!r}")
        return float(value)

    keys = window or None
    # one key fewer than one: what is left without keys
    projections = 2 * counted(0, 1) - counted(0, 2)
    attention = counted(0, keys) - projections
    return [projections, attention, counted(4 * width, keys) - counted(0, keys)]


def parameters(width: int) -> list[int]:
    """The weights of each part, without biases and norms."""
    return [4 * width**2, 0, 8 * width**2]


def _picture(parts: np.ndarray, title: str) -> Picture:
    """Draw the parts over the length, and the parameters beside them."""
    figure = Figure(figsize=(9.2, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
    of_width = parts[0, WIDTHS.index(SHOWN)]
    _over_length(left, of_width)
    owned = parameters(SHOWN)
    right.barh(range(3), owned, color=LINES[:3])
    right.set_yticks(range(3), [name.replace(" and ", "\nand ") for name in PARTS])
    right.invert_yaxis()
    right.set(xlabel="parameters", title="parameters, at every length")
    right.set_xticks([0, 200_000, 400_000], ["0", "200,000", "400,000"])
    figure.suptitle(f"{title}: width {SHOWN}, all keys", fontsize=11)
    at = [LENGTHS.index(256), len(LENGTHS) - 1]
    told = "; ".join(
        f"{LENGTHS[i]} tokens: "
        + ", ".join(f"{n} {v:.3g}" for n, v in zip(PARTS, of_width[i], strict=True))
        for i in at
    )
    owned_text = ", ".join(f"{name} {count:,}" for name, count in zip(PARTS, owned, strict=True))
    return Picture(figure, f"{title}, width {SHOWN}. FLOPs at {told}. Parameters: {owned_text}.")


def _over_length(axes: Axes, of_width: np.ndarray) -> None:
    drawn = np.where(of_width > 0, of_width, np.nan)  # a logarithmic axis has no zero
    for i, name in enumerate(PARTS):
        (line,) = axes.plot(LENGTHS, drawn[:, i], DASHES[i], color=LINES[i], label=name)
        line.set_marker(MARKS[i])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(LENGTHS[::2], [f"{length:,}" for length in LENGTHS[::2]])
    axes.set(xlabel="length in tokens", ylabel="FLOPs", title="FLOPs")
    axes.grid(alpha=0.3)
    axes.legend()
