"""Which entries of a batch share a mean: batch, layer, RMS and instance normalisation."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import LINES, ON_LIGHT, Picture
from transformer_course.widgets.view import View, explains_stubs, matrix

LARGEST = (6, 10, 12)  # sequences, tokens and channels with readable cells
# kind -> whether its mean is taken over batch, length and channel
KINDS = {
    "batch norm": (True, True, False),
    "layer norm": (False, False, True),
    "RMS norm": (False, False, True),
    "instance norm": (False, True, False),
}


@explains_stubs
def show_norm_axes(
    batch: int = 3,
    length: int = 4,
    channels: int = 5,
    lengths: Sequence[int] | None = None,
    x: ArrayLike | Tensor | None = None,
    title: str = "which numbers share a mean",
) -> View:
    """Show which entries of a (batch, length, channel) block are normalised together.

    At most 6 sequences of 10 tokens with 12 channels. `lengths`: the number of tokens of
    each sequence without padding. `x`: (batch, length, channel), the numbers to show, whose shape
    replaces the first three arguments.
    """
    values = None if x is None else matrix(x, "x", "batch", "length", "channel")
    shape = (batch, length, channels) if values is None else values.shape
    for name, size, most in zip(("batch", "length", "channels"), shape, LARGEST, strict=True):
        if not 1 <= size <= most:
            raise ValueError(f"{name} must be from 1 to {most}; got {size}")
    kept = _checked(lengths, shape[0], shape[1])
    chosen = (0, min(1, kept[0] - 1), min(2, shape[2] - 1))
    draw = partial(_picture, shape, kept, chosen, values, title)
    options = {"title": title, "shape": list(shape), "lengths": kept, "padded": lengths is not None}
    state = dict(zip(("sequence", "token", "channel"), chosen, strict=True))
    state |= {"kind": "layer norm", "leave_out": True}
    arrays = {} if values is None else {"x": values.astype(np.float32)}
    return View("norm_axes", draw, arrays, options, state)


def _checked(lengths: Sequence[int] | None, batch: int, length: int) -> list[int]:
    if lengths is None:
        return [length] * batch
    kept = [int(one) for one in lengths]
    if len(kept) != batch or not all(1 <= one <= length for one in kept):
        raise ValueError(f"lengths must be {batch} numbers from 1 to {length}; got {kept}")
    return kept


def _shared(
    kind: str, shape: tuple[int, ...], kept: list[int], chosen: tuple[int, ...]
) -> np.ndarray:
    """True where an entry shares its mean with the chosen one; padding is excluded."""
    sequence, token, channel = np.indices(shape)
    same = [
        over | (indices == index)
        for over, indices, index in zip(
            KINDS[kind], (sequence, token, channel), chosen, strict=True
        )
    ]
    return np.logical_and.reduce(same) & (token < np.array(kept)[sequence])


def _means(kind: str, shape: tuple[int, ...], kept: list[int]) -> int:
    over_batch, over_length, over_channels = KINDS[kind]
    tokens = 1 if over_batch else shape[0] if over_length else sum(kept)
    return tokens * (1 if over_channels else shape[2])


def _picture(
    shape: tuple[int, ...],
    kept: list[int],
    chosen: tuple[int, ...],
    values: np.ndarray | None,
    title: str,
) -> Picture:
    """Draw the four kinds, each with a slice for every sequence."""
    batch, length, channels = shape
    columns = 2 if batch * (channels + 1) <= 24 else 1
    unit = min(0.26, 9.4 / columns / (batch * (channels + 1)))
    size = (max(unit * batch * (channels + 1) + 0.7, 3.9), unit * length + 1.15)
    rows = len(KINDS) // columns
    figure = Figure(figsize=(columns * size[0], rows * size[1] + 0.5), layout="constrained")
    descriptions = []
    for axes, kind in zip(figure.subplots(rows, columns).flat, KINDS, strict=True):
        shared = _shared(kind, shape, kept, chosen)
        of = "mean of squares" if kind == "RMS norm" else "mean"
        count, means = int(shared.sum()), _means(kind, shape, kept)
        heading = f"{kind}: {count} numbers share a {of}; {means} in all"
        _slices(axes, shared, kept, chosen, values)
        axes.set_title(heading, fontsize=10)
        descriptions.append(f"{kind}, {count} numbers share one {of}, and there are {means} in all")
    figure.suptitle(title, fontsize=11)
    hatched = "; hatched: padding" if min(kept) < length else ""
    key = f"thick frame: the chosen entry; blue: what shares its mean{hatched}"
    figure.supxlabel(key, fontsize=9)
    where = "sequence {}, token {}, channel {}".format(*chosen)
    block = f"{batch} sequences of {length} tokens with {channels} channels"
    padding = f", of which {kept} tokens are no padding" if min(kept) < length else ""
    return Picture(
        figure, f"{title}, of {block}{padding}. With {where}: {'; '.join(descriptions)}."
    )


def _slices(
    axes: Axes,
    shared: np.ndarray,
    kept: list[int],
    chosen: tuple[int, ...],
    values: np.ndarray | None,
) -> None:
    batch, length, channels = shared.shape
    for (sequence, token, channel), is_shared in np.ndenumerate(shared):
        corner = (sequence * (channels + 1) + channel, token)
        cell = Rectangle(corner, 1, 1, facecolor="#F2F2F2", edgecolor="#AAAAAA")
        axes.add_patch(cell)
        if is_shared:
            cell.set(facecolor="#8FC3E8", edgecolor=LINES[0], linewidth=1.8, zorder=2)
        if token >= kept[sequence]:
            cell.set(facecolor="#BBBBBB", edgecolor="#666666", hatch="////")
        elif values is not None and batch * (channels + 1) <= 24:
            number = f"{values[sequence, token, channel]:z.1f}"
            style = {"ha": "center", "va": "center", "fontsize": 6.5, "color": ON_LIGHT}
            axes.text(corner[0] + 0.5, token + 0.5, number, **style)
    corner = (chosen[0] * (channels + 1) + chosen[2], chosen[1])
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=LINES[1], linewidth=3, zorder=3))
    middles = [sequence * (channels + 1) + channels / 2 for sequence in range(batch)]
    axes.set_xticks(middles, [f"sequence {sequence}" for sequence in range(batch)], fontsize=8)
    axes.set_yticks(np.arange(length) + 0.5, [str(token) for token in range(length)], fontsize=8)
    axes.set(xlim=(-0.3, batch * (channels + 1) - 0.7), ylim=(length + 0.2, -0.2), aspect="equal")
    axes.set(xlabel="channel →", ylabel="token")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
