"""Patches: an image split into a grid, each patch a vector, and attention between patches."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import LINES, Picture
from transformer_course.widgets.view import MOST, View, matrix

EXACT = 4096  # larger images are quantised to 256 levels
PIXELS = 256  # of a side
SIZES = 4  # patch sizes in one picture
WIDE = 6  # heads side by side in the picture
NUMBERED = 64  # patches whose numbers fit into the picture
GAP = "#9CC9E8"  # between patches; visible beside white patches
MEAN, ROLLOUT = -1, -2  # choices besides the heads
EDGE = [withStroke(linewidth=2, foreground="black")]  # around white numbers


@dataclass
class Cut:
    """An image from 0 to 1, its patch sizes, the reassembled image, and attention maps."""

    image: np.ndarray
    sizes: list[int]
    back: np.ndarray | None
    maps: dict[str, np.ndarray]
    about_maps: str

    def count(self, size: int) -> int:
        """The number of patches of this size."""
        return self.image[0].size // size**2

    def differ(self) -> int | None:
        """In how many pixels the image reassembled from the student's patches differs."""
        if self.back is None:
            return None
        return int((np.abs(self.back - self.image) > 1 / 255).any(0).sum())


def show_patches(
    image: ArrayLike | Tensor,
    patch_size: int | Sequence[int],
    weights: ArrayLike | Tensor | None = None,
    rollout: ArrayLike | Tensor | None = None,
    patches: ArrayLike | Tensor | None = None,
    title: str = "patches",
) -> View:
    """Show the patches of an image, and the attention on them.

    `image`: (channels, height, width) with 1 or 3 channels, or (height, width), up to 256 × 256.
    `patch_size` divides both sides; several sizes can be compared, without the arrays below.
    `weights`: (layers, heads, n, n), (heads, n, n) or (n, n) with n the number of patches, or one
    more with the class token first. `rollout`: (n, n), attention rolled out through the layers.
    `patches`: (patches, channels · size · size), your patches, reassembled beside the image.
    """
    pixels = _pixels(image)
    sizes = _sizes(patch_size, *pixels.shape[1:])
    if len(sizes) > 1 and any(given is not None for given in (weights, rollout, patches)):
        raise ValueError(f"weights, rollout and patches need one patch_size; got {sizes}")
    arrays = {"image": pixels}
    if patches is not None:
        arrays["back"] = _drawn_back(patches, pixels, sizes[0])
    if weights is not None:
        arrays["weights"] = matrix(weights, "weights", "(layers)", "(heads)", "query", "key")
    if rollout is not None:
        arrays["rollout"] = matrix(rollout, "rollout", "query", "key")
    count = pixels[0].size // sizes[0] ** 2
    class_token = _tokens(arrays, count) == count + 1
    cut = _cut(arrays, sizes, class_token)
    if pixels.size <= EXACT:
        for name in {"image", "back"} & arrays.keys():
            arrays[name] = arrays[name].astype(np.float32)
    layers, heads = arrays["weights"].shape[:2] if weights is not None else (1, 0)
    state: dict[str, Any] = {"size": 0, "row": 0, "column": 0, "layer": layers - 1}
    state |= {"head": {0: ROLLOUT, 1: 0}.get(heads, MEAN), "strength": 0.6}
    state |= {"source": "class token" if class_token else "chosen patch"}
    options = {"title": title, "sizes": sizes, "class_token": class_token, "differ": cut.differ()}
    return View("patches", partial(_picture, cut, title), arrays, options, state)


def _picture(cut: Cut, title: str) -> Picture:
    return Picture(_figure(cut, title), _alt_text(cut, title))


def _pixels(image: ArrayLike | Tensor) -> np.ndarray:
    pixels = matrix(image, "image", "(channels)", "height", "width")
    if pixels.shape[0] not in (1, 3):
        raise ValueError(f"image must have 1 or 3 channels, its first axis; got {pixels.shape}")
    if max(pixels.shape) > PIXELS:
        raise ValueError(f"image must be at most {PIXELS} × {PIXELS}; got {pixels.shape}")
    return pixels


def _sizes(patch_size: int | Sequence[int], height: int, width: int) -> list[int]:
    sizes = np.atleast_1d(patch_size).tolist()
    if not sizes:
        raise ValueError("patch_size must be a size, or several; got none")
    for size in sizes:
        if not isinstance(size, int) or size < 1 or height % size or width % size:
            raise ValueError(f"patch_size must divide {height} and {width}; got {size}")
    return sizes


def _drawn_back(patches: ArrayLike | Tensor, pixels: np.ndarray, size: int) -> np.ndarray:
    """Reassemble the image from its patches, each flattened channel by channel, row by row."""
    rows = matrix(patches, "patches", "patch", "number")
    corners = _corners(pixels, size)
    needed = (len(corners), pixels.size // len(corners))
    if rows.shape != needed:
        raise ValueError(f"patches must be {needed}; got {rows.shape}")
    drawn = np.empty_like(pixels)
    for row, (y, x) in zip(rows, corners, strict=True):
        drawn[:, y : y + size, x : x + size] = row.reshape(-1, size, size)
    return drawn


def _tokens(arrays: dict[str, np.ndarray], count: int) -> int:
    """The number of tokens of the attention maps; of patches if there are none."""
    shapes = {name: arrays[name].shape for name in ("weights", "rollout") if name in arrays}
    for name, shape in shapes.items():
        if shape[-2] != shape[-1] or shape[-1] not in (count, count + 1):
            both = f"{count} patches, or {count + 1} tokens with the class token"
            raise ValueError(f"{name} must be between {both}; got {shape}")
        if count > MOST:
            raise ValueError(f"{name} must be between at most {MOST} patches; got {count}")
    tokens = {shape[-1] for shape in shapes.values()} or {count}
    if len(tokens) > 1:
        raise ValueError(f"weights and rollout must be between the same tokens; got {shapes}")
    return tokens.pop()


def _cut(arrays: dict[str, np.ndarray], sizes: list[int], class_token: bool) -> Cut:
    pixels = arrays["image"]
    low, span = pixels.min(), float(np.ptp(pixels)) or 1.0
    back = np.clip((arrays["back"] - low) / span, 0, 1) if "back" in arrays else None
    heads = enumerate(arrays["weights"][-1] if "weights" in arrays else [])
    maps = {f"head {number}": head for number, head in heads}
    where = f", layer {arrays['weights'].shape[0] - 1}" if maps else ""
    if "rollout" in arrays:
        maps["rollout"] = arrays["rollout"]
    whose = "the class token's attention" if class_token else "the attention each patch receives"
    seen = {name: head[0, 1:] if class_token else head.mean(0) for name, head in maps.items()}
    return Cut((pixels - low) / span, sizes, back, seen, whose + where)


def _corners(pixels: np.ndarray, size: int) -> list[tuple[int, int]]:
    _, height, width = pixels.shape
    return [(y, x) for y in range(0, height, size) for x in range(0, width, size)]


def _figure(cut: Cut, title: str) -> Figure:
    """Draw the image with its grid, the separated patches, and below attention by head."""
    lines = -(-len(cut.maps) // WIDE)
    tops = 1 + len(cut.sizes[:SIZES]) + (cut.back is not None)
    side = 3.1 if tops <= 3 else 2.5
    heights = [side + 0.3, *([1.9 * lines + 0.4] if lines else [])]
    figure = Figure(figsize=(side * tops, sum(heights) + 0.3), layout="constrained")
    parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    first, *rest = parts[0].subplots(1, tops)
    _draw(first, cut.image, "the image" + " under its grid" * (len(cut.sizes) == 1))
    _, height, width = cut.image.shape
    if len(cut.sizes) == 1:
        _grid(first, height, width, cut.sizes[0])
    for axes, size in zip(rest, cut.sizes[:SIZES], strict=False):
        vector = len(cut.image) * size**2
        _apart(axes, cut.image, size, f"{cut.count(size)} patches of {vector} numbers")
    if cut.back is not None:
        _apart(rest[-1], cut.back, cut.sizes[0], "your patches, drawn back")
    if lines:
        parts[1].suptitle(f"{cut.about_maps}; outlined: the most", fontsize=10)
        panels = parts[1].subplots(lines, min(WIDE, len(cut.maps)), squeeze=False).ravel()
        for axes in panels:
            axes.axis("off")
        for axes, (name, values) in zip(panels, cut.maps.items(), strict=False):
            _overlay(axes, cut, values, name)
    figure.suptitle(title, fontsize=11)
    return figure


def _draw(axes: Axes, image: np.ndarray, title: str) -> None:
    _, height, width = image.shape
    colours = np.moveaxis(np.broadcast_to(image, (3, height, width)), 0, -1)
    axes.imshow(colours, extent=(0, width, height, 0), interpolation="nearest")
    axes.set_title(title, fontsize=10)
    axes.axis("off")


def _grid(axes: Axes, height: int, width: int, size: int) -> None:
    lines = {"color": LINES[1], "linewidth": 1}
    axes.hlines(np.arange(0, height + 1, size), 0, width, **lines)
    axes.vlines(np.arange(0, width + 1, size), 0, height, **lines)


def _apart(axes: Axes, image: np.ndarray, size: int, title: str) -> None:
    """Draw the image with gaps along the grid, and the numbers of the patches if they fit."""
    _, height, width = image.shape
    _draw(axes, image, title)
    gap = 0.1 * size + 0.005 * width  # in pixels
    corners = _corners(image, size)
    for number, (y, x) in enumerate(corners):
        if len(corners) <= NUMBERED:
            corner = (x + 0.14 * size, y + 0.14 * size)
            text = {"color": "white", "fontsize": 7, "path_effects": EDGE}
            axes.text(*corner, str(number), ha="left", va="top", **text)
    for y in range(0, height + 1, size):
        axes.axhspan(y - gap / 2, y + gap / 2, color=GAP, linewidth=0)
    for x in range(0, width + 1, size):
        axes.axvspan(x - gap / 2, x + gap / 2, color=GAP, linewidth=0)
    axes.set(xlim=(0, width), ylim=(height, 0))


def _overlay(axes: Axes, cut: Cut, values: np.ndarray, name: str) -> None:
    size = cut.sizes[0]
    _, height, width = cut.image.shape
    most = int(values.argmax())
    _draw(axes, cut.image, f"{name}\n{most}: {100 * values[most]:.0f} %")
    cells = values.reshape(height // size, width // size)
    axes.imshow(cells, cmap="cividis", alpha=0.65, extent=(0, width, height, 0), vmin=0)
    y, x = _corners(cut.image, size)[most]
    outline = {"fill": False, "edgecolor": LINES[1], "linewidth": 2}
    axes.add_patch(Rectangle((x, y), size, size, **outline))


def _alt_text(cut: Cut, title: str) -> str:
    _, height, width = cut.image.shape
    sizes = [
        f"{cut.count(size)} patches of {size} by {size}, {len(cut.image) * size**2} numbers each"
        for size in cut.sizes
    ]
    descriptions = [f"{title}: an image of {height} by {width} in {', or in '.join(sizes)}"]
    if cut.back is not None:
        missed = f"differ from it in {cut.differ()} of {height * width} pixels"
        descriptions.append(
            f"Your patches, drawn back, {missed if cut.differ() else 'give it again'}"
        )
    most = [f"{name} patch {v.argmax()}, {100 * v.max():.0f} %" for name, v in cut.maps.items()]
    if most:
        descriptions.append(f"The most of {cut.about_maps}: {'; '.join(most)}")
    return f"{'. '.join(descriptions)}."
