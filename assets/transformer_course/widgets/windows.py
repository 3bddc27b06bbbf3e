"""Windows: where a pixel goes by partition, shift and mask, and what it depends on after blocks."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from transformer_course.figures import INK, LINES, ON_LIGHT, Picture
from transformer_course.widgets.view import View, explains_stubs

# light enough for dark text
TINTS = ["#cfe5f5", "#fbdcc4", "#c9ebdf", "#f0d7e6", "#f7efc0", "#dddddd", "#d3d9f2", "#e6e9c9"]
REACHED = "#f6b98f"
MOST = 16  # pixels of a side
BLOCKS = 6
PATHS = 6
TITLE = "windows: partition, shift and mask"
REACH = "which pixels of the input a pixel depends on"

Setting = tuple[np.ndarray, np.ndarray]
Depth = tuple[str, np.ndarray]


@explains_stubs
def show_windows(
    partition: Callable[..., Tensor],
    mask: Callable[..., Tensor],
    merge: Callable[[Tensor], Tensor] | None = None,
    side: int = 8,
    window_sizes: Sequence[int] = (2, 4, 8),
    pixel: tuple[int, int] = (1, 3),
) -> View:
    """Follow a pixel through the windows that your functions make, for each size and each shift.

    `partition`: your function (x, window_size), from (batch, height, width, channels) to (batch,
    windows, window_size², channels). `mask`: your function (height, width, window_size, shift) to
    bool (windows, window_size², window_size²). `merge`: a module from (batch, height, width, 4) to
    a map of half the sides. At most 16 × 16 pixels. `ValueError` if a result has another shape.
    """
    if not 2 <= side <= MOST:
        raise ValueError(f"side must be 2 to {MOST}; got {side}")
    wrong = [size for size in window_sizes if size < 1 or side % size]
    if wrong or not window_sizes:
        raise ValueError(f"window_sizes must divide the side of {side}; got {[*window_sizes]}")
    settings = {
        (size, shift): _setting(partition, mask, side, size, shift)
        for size in window_sizes
        for shift in range(size)
    }
    arrays = {}
    for (size, shift), (windows, allowed) in settings.items():
        arrays[f"windows {size} {shift}"] = windows.astype(np.float32)
        arrays[f"mask {size} {shift}"] = allowed
    merged = None if merge is None else _merged(merge, side)
    if merged is not None:
        arrays["merged"] = merged
    size = sorted(window_sizes)[len(window_sizes) // 2]
    row, column = _within(pixel, side)
    state = {"size": size, "shift": size // 2, "row": row, "column": column}
    options = {"mode": "windows", "title": TITLE, "side": side, "sizes": [*window_sizes]}
    setting = settings[size, size // 2]
    draw = partial(_picture, setting, side, size, size // 2, (row, column), merged)
    return View("windows", draw, arrays, {**options, "tints": TINTS}, state)


@explains_stubs
def show_reach(
    paths: Mapping[str, Sequence[Callable[[Tensor], Tensor]]],
    side: int = 8,
    d_model: int = 8,
    window_size: int = 4,
    pixel: tuple[int, int] = (0, 0),
) -> View:
    """Show which pixels of the input each pixel depends on, block by block, by gradients.

    `paths`: name -> blocks, which follow one another; each takes and returns maps (batch, side,
    side, d_model) in float64. Borders of windows of `window_size` are drawn. At most 6 blocks of 6
    paths, 16 × 16 pixels. `ValueError` if a block returns another shape.
    """
    if not 2 <= side <= MOST or side % window_size:
        raise ValueError(f"side must be a multiple of {window_size}, up to {MOST}; got {side}")
    longest = max((len(blocks) for blocks in paths.values()), default=0)
    if not 1 <= longest <= BLOCKS or not all(paths.values()) or len(paths) > PATHS:
        said = f"at most {PATHS} paths of 1 to {BLOCKS} blocks"
        raise ValueError(f"{said}; got {[len(blocks) for blocks in paths.values()]}")
    found = [(name, _reach(name, blocks, side, d_model)) for name, blocks in paths.items()]
    row, column = _within(pixel, side)
    state = {"path": 0, "row": row, "column": column, "counts": False}
    options = {"mode": "reach", "title": REACH, "side": side, "size": window_size}
    options |= {"paths": [name for name, _ in found], "reached": REACHED}
    arrays = {str(number): depths for number, (_, depths) in enumerate(found)}
    draw = partial(_reach_picture, found, side, window_size, (row, column))
    return View("windows", draw, arrays, options, state)


def _within(pixel: tuple[int, int], side: int) -> tuple[int, int]:
    row, column = pixel
    if not (0 <= row < side and 0 <= column < side):
        raise ValueError(f"pixel must be a row and a column from 0 to {side - 1}; got {pixel}")
    return row, column


def _setting(
    partition: Callable[..., Tensor], mask: Callable[..., Tensor], side: int, size: int, shift: int
) -> Setting:
    """The pixels of each window of the rolled map, (windows, M²), and who may attend."""
    pixels = torch.arange(float(side * side), dtype=torch.float64).reshape(1, side, side, 1)
    count = (side // size) ** 2
    windows = partition(pixels.roll((-shift, -shift), (1, 2)), size)
    _fits(windows, "partition", (1, count, size**2, 1))
    allowed = mask(side, side, size, shift)
    _fits(allowed, "mask", (count, size**2, size**2))
    found = windows[0, ..., 0].detach().round().long()
    if found.flatten().sort().values.tolist() != list(range(side * side)):
        raise ValueError("partition must return each pixel once")
    return found.numpy(), (allowed != 0).numpy()


def _fits(result: Any, name: str, shape: tuple[int, ...]) -> None:
    if not isinstance(result, Tensor) or tuple(result.shape) != shape:
        got = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise ValueError(f"{name} must return a tensor {shape}; got {got}")


def _dependence(y: Tensor, x: Tensor) -> np.ndarray:
    """Which pixels of x the pixels of y depend on, for copy i of the batch its pixel i."""
    own = y.flatten(1, 2)[torch.arange(len(y)), torch.arange(len(y))]
    (slope,) = torch.autograd.grad(own.square().sum(), x, retain_graph=True)
    return (slope.flatten(1, 2).abs().sum(-1) > 0).numpy()


def _input(side: int, channels: int, copies: int) -> Tensor:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(1, side, side, channels, generator=draw, dtype=torch.float64)
    return x.repeat(copies, 1, 1, 1).requires_grad_()


def _merged(merge: Callable[[Tensor], Tensor], side: int) -> np.ndarray:
    """Which pixels each merged pixel depends on: (merged pixels, pixels)."""
    if isinstance(merge, torch.nn.Module):
        merge = merge.double()
    x = _input(side, 4, (side // 2) ** 2)
    y = merge(x)
    _fits(y, "merge", (len(x), side // 2, side // 2, y.shape[-1] if y.dim() else 0))
    return _dependence(y, x)


def _reach(
    name: str, blocks: Sequence[Callable[[Tensor], Tensor]], side: int, d_model: int
) -> np.ndarray:
    """Which pixels each pixel depends on, after each block: (blocks, pixels, pixels)."""
    x = _input(side, d_model, side * side)
    y, depths = x, []
    for number, block in enumerate(blocks):
        y = block(y)
        _fits(y, f"block {number + 1} of {name}", tuple(x.shape))
        depths.append(_dependence(y, x))
    return np.stack(depths)


def _picture(
    setting: Setting,
    side: int,
    size: int,
    shift: int,
    pixel: tuple[int, int],
    merged: np.ndarray | None,
) -> Picture:
    """Draw the map, the rolled map, the mask of the pixel's window, and the merged map."""
    windows, allowed = setting
    of = np.empty(side * side, dtype=int)
    for number, members in enumerate(windows):
        of[members] = number
    chosen = pixel[0] * side + pixel[1]
    window = of[chosen]
    place = int(np.flatnonzero(windows[window] == chosen)[0])
    keys = set(windows[window][allowed[window, place]].tolist())
    rolled = np.roll(np.arange(side * side).reshape(side, side), (-shift, -shift), (0, 1))
    panels = 3 if merged is None else 4
    figure = Figure(figsize=(3.4 * panels, 3.7), layout="constrained")
    left, middle, right, *last = figure.subplots(1, panels)
    _cells(left, np.arange(side * side).reshape(side, side), of, keys, chosen)
    _cells(middle, rolled, of, keys, chosen)
    _borders(middle, side, size)
    right.imshow(allowed[window], cmap="cividis", vmin=0, vmax=1)
    right.axhline(place - 0.5, color=LINES[1], linewidth=2)
    right.axhline(place + 0.5, color=LINES[1], linewidth=2)
    right.set(xlabel="key", ylabel="query", xticks=[], yticks=[])
    for axes, title in ((left, "map: ● may be attended to"), (middle, f"rolled by −{shift}, cut")):
        axes.set_title(title, fontsize=11)
    right.set_title(f"mask of window {window} (yellow: may attend)", fontsize=11)
    pairs = windows.size * size**2
    said = (
        f"windows of {size} by {size} on a map of {side} by {side}, shift {shift}. Pixel {pixel} "
        f"is in window {window}, and may attend to {len(keys)} of its {size**2} pixels"
    )
    cost = f"{pairs:,} pairs in windows, {int(allowed.sum()):,} of them allowed"
    full = f"{(side * side) ** 2:,} over all pixels"
    figure.suptitle(f"M = {size}, shift {shift}: {cost}; {full}", fontsize=11)
    goes = "" if merged is None else f" {_merged_cells(last[0], merged[:, chosen], side // 2)}"
    return Picture(figure, f"{TITLE}: {said}; {cost}, {full}.{goes}")


def _merged_cells(axes: Axes, depends: np.ndarray, half: int) -> str:
    """Draw the merged map, filled where it depends on the chosen pixel, and say where."""
    for (row, column), is_reached in np.ndenumerate(depends.reshape(half, half)):
        tint = LINES[1] if is_reached else "#dddddd"
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fc=tint, ec="white", lw=0.8))
    # cells as large as those of the maps beside it
    axes.set(xlim=(-0.5, 2 * half - 0.5), ylim=(2 * half - 0.5, -0.5), aspect="equal")
    axes.axis("off")
    axes.set_title("merged map:\nwhat the pixel goes into", fontsize=11, loc="left")
    found = [divmod(int(place), half) for place in np.flatnonzero(depends)]
    return f"It goes into {', '.join(map(str, found)) or 'no pixel'} of the merged map."


def _cells(axes: Axes, pixels: np.ndarray, of: np.ndarray, keys: set[int], chosen: int) -> None:
    """Draw pixels in the colours of their windows; dots on those that may be attended to."""
    side = len(pixels)
    for (row, column), pixel in np.ndenumerate(pixels):
        tint = TINTS[of[pixel] % len(TINTS)]
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fc=tint, ec="white", lw=0.8))
        if pixel in keys:
            axes.plot(column, row, "o", color=ON_LIGHT, markersize=5)
        elif of[pixel] == of[chosen]:
            axes.plot(column, row, "x", color=ON_LIGHT, markersize=6)
        if pixel == chosen:
            box = Rectangle(
                (column - 0.5, row - 0.5), 1, 1, fill=False, ec=LINES[1], lw=3, zorder=4
            )
            axes.add_patch(box)
    axes.set(xlim=(-0.5, side - 0.5), ylim=(side - 0.5, -0.5), xticks=[], yticks=[])
    axes.set_aspect("equal")


def _borders(axes: Axes, side: int, size: int) -> None:
    for at in range(0, side + 1, size):
        axes.axhline(at - 0.5, color=INK, linewidth=2.5)
        axes.axvline(at - 0.5, color=INK, linewidth=2.5)


def _reach_picture(found: list[Depth], side: int, size: int, pixel: tuple[int, int]) -> Picture:
    """Draw, for each path and after each block, what the pixel depends on."""
    across = max(len(depths) for _, depths in found)
    figure = Figure(figsize=(1.6 + 1.9 * across, 2.15 * len(found) + 0.3), layout="constrained")
    grid = figure.subplots(len(found), across, squeeze=False)
    told = []
    for line, (name, depths) in zip(grid, found, strict=True):
        counts = []
        for number, axes in enumerate(line):
            axes.axis("off")
            if number >= len(depths):
                continue
            reached = depths[number, pixel[0] * side + pixel[1]].reshape(side, side)
            counts.append(int(reached.sum()))
            for (row, column), is_reached in np.ndenumerate(reached):
                tint = REACHED if is_reached else "#eeeeee"
                axes.add_patch(Rectangle((column, row), 1, 1, fc=tint, ec="white", lw=0.6))
            for at in range(0, side + 1, size):
                axes.plot([at, at], [0, side], color=INK, linewidth=1.8)
                axes.plot([0, side], [at, at], color=INK, linewidth=1.8)
            place = (pixel[1], pixel[0])
            axes.add_patch(Rectangle(place, 1, 1, fill=False, ec=LINES[0], lw=2.5, zorder=3))
            axes.set(xlim=(-0.1, side + 0.1), ylim=(side + 0.1, -0.1), aspect="equal")
            axes.set_title(f"block {number + 1}: {counts[-1]} pixels", fontsize=10)
        line[0].text(-0.6, side / 2, _in_lines(name), ha="right", va="center", color=INK)
        told.append(f"{name}: {', '.join(map(str, counts))}")
    said = f"Pixel {pixel} depends on this many of {side * side} pixels, block by block"
    return Picture(figure, f"{said}: {'; '.join(told)}.")


def _in_lines(name: str) -> str:
    """A name in lines of some 14 characters."""
    lines = [""]
    for word in name.split():
        if len(lines[-1]) + len(word) > 14 and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
