"""Captions: what a captioner attends to at each word, and what it writes with a cell covered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, labels, matrix

SCENES = 8  # in one view
CELLS = 256  # of a grid
EXACT = 65_536  # more weights are quantised to 256 levels
ACROSS = 5  # words in a line of the picture
TITLE = "what the captioner attends to"

Captions = Callable[[Tensor], tuple[Tensor, Tensor]]


@dataclass
class Scene:
    """An image from 0 to 1; for no cover, then for each: tokens, how many count, and weights."""

    pixels: np.ndarray
    tokens: np.ndarray
    counts: np.ndarray
    weights: np.ndarray  # (covers, words, rows, columns)

    def words(self, names: list[str], cover: int) -> list[str]:
        """The caption without a cover (0) or with cell `cover - 1` covered."""
        return [names[token] for token in self.tokens[cover, : self.counts[cover]]]


@explains_stubs
def show_caption(
    captioner: Captions,
    images: ArrayLike | Tensor,
    words: Sequence[str],
    size: int,
    end: int | None = None,
    fill: float = 0.0,
    title: str = TITLE,
) -> View:
    """Show what a captioner attends to at each word, and what it writes when a cell is covered.

    `captioner(images (n, channels, height, width))` -> tokens (n, words) and weights (n, words,
    cells), each image by itself; it is called once for each of `images`, with every cover.
    `images`: (scenes, channels, height, width) or one of them, up to 8, with 1 or 3 channels; drawn
    with numbers from 0 to 1.
    `words`: the names of the tokens. `size`: the pixels of a cell's side. After the token `end`,
    a caption is over. A covered cell has the value `fill` in all its pixels.
    """
    pictures = _pictures(images)
    grid = _grid(size, *pictures.shape[2:])
    if end is not None and not 0 <= end < len(words):
        raise ValueError(f"end must be a token, 0 to {len(words) - 1}; got {end}")
    names = labels(words, "words", len(words))
    with torch.no_grad():
        shown = [_scene(captioner, one, size, grid, fill, len(names), end) for one in pictures]
    steps = {scene.tokens.shape[1] for scene in shown}
    if len(steps) > 1:
        raise ValueError(f"captioner must give equally many words for all; got {sorted(steps)}")
    weights = np.stack([scene.weights for scene in shown])
    arrays = {
        "images": np.stack([scene.pixels for scene in shown]).astype(np.float32),
        "tokens": np.stack([scene.tokens for scene in shown]).astype(np.float32),
        "counts": np.stack([scene.counts for scene in shown]).astype(np.float32),
        "weights": weights.astype(np.float32) if weights.size <= EXACT else weights,
    }
    options = {"title": title, "words": names, "size": size}
    state: dict[str, Any] = {"scene": 0, "line": 0, "word": 0, "row": 0, "column": 0, "covered": -1}
    state["strength"] = 0.7
    draw = partial(_picture, shown[0], names, title)
    return View("caption", draw, arrays, options, state)


def _pictures(images: ArrayLike | Tensor) -> np.ndarray:
    pictures = matrix(images, "images", "(scenes)", "channels", "height", "width")
    if pictures.shape[1] not in (1, 3):
        raise ValueError(f"images must have 1 or 3 channels; got {pictures.shape[1]}")
    if len(pictures) > SCENES:
        raise ValueError(f"images must be at most {SCENES} scenes; got {len(pictures)}")
    return pictures


def _grid(size: int, height: int, width: int) -> tuple[int, int]:
    """The rows and columns of cells."""
    if not isinstance(size, int) or size < 1 or height % size or width % size:
        raise ValueError(f"size must divide {height} and {width}; got {size}")
    rows = height // size
    columns = width // size
    if rows * columns > CELLS:
        raise ValueError(f"the grid must have at most {CELLS} cells; got {rows} × {columns}")
    return rows, columns


def _scene(
    captioner: Captions,
    pixels: np.ndarray,
    size: int,
    grid: tuple[int, int],
    fill: float,
    vocab: int,
    end: int | None,
) -> Scene:
    """Call the captioner with the image, and with each of its cells covered."""
    rows, columns = grid
    batch = torch.as_tensor(pixels, dtype=torch.get_default_dtype()).repeat(
        1 + rows * columns, 1, 1, 1
    )
    for cell in range(rows * columns):
        y, x = size * (cell // columns), size * (cell % columns)
        batch[1 + cell, :, y : y + size, x : x + size] = fill
    tokens, weights = _answer(captioner(batch), len(batch), rows * columns, vocab)
    over = tokens == end if end is not None else np.zeros_like(tokens, dtype=bool)
    counts = np.where(over.any(1), over.argmax(1), tokens.shape[1])
    maps = weights.reshape(*weights.shape[:2], rows, columns)
    return Scene(np.clip(pixels, 0, 1), tokens, counts, maps)


def _answer(result: Any, batch: int, cells: int, vocab: int) -> tuple[np.ndarray, np.ndarray]:
    """The tokens and the weights that a captioner gives, if they are what they should be."""
    if not (isinstance(result, tuple | list) and len(result) == 2):
        raise ValueError(f"captioner must return (tokens, weights); got {type(result).__name__}")
    tokens = torch.as_tensor(result[0]).detach().cpu().numpy()
    weights = matrix(result[1], "weights", "image", "word", "cell")
    if tokens.ndim != 2 or len(tokens) != batch or tokens.dtype.kind not in "iu":
        wanted = f"tokens must be whole numbers ({batch}, words)"
        raise ValueError(f"{wanted}; got {tokens.dtype} {tokens.shape}")
    if weights.shape != (*tokens.shape, cells):
        raise ValueError(f"weights must be {(*tokens.shape, cells)}; got {weights.shape}")
    if tokens.min() < 0 or tokens.max() >= vocab:
        raise ValueError(f"tokens must be 0 to {vocab - 1}; got {tokens.min()} to {tokens.max()}")
    return tokens, weights


def _picture(scene: Scene, names: list[str], title: str) -> Picture:
    """Draw the scene, then a map for each word."""
    words = scene.words(names, 0)
    panels = 1 + len(words)
    across = min(panels, ACROSS)
    lines = -(-panels // across)
    _, height, width = scene.pixels.shape
    size = (2.0 * across, (2.0 * height / width + 0.35) * lines + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    for axes in grid:
        axes.axis("off")
    _draw(grid[0], scene.pixels, None, "the scene")
    for axes, word, weights in zip(grid[1:], words, scene.weights[0], strict=False):
        _draw(axes, scene.pixels, weights, f"“{word}” {100 * weights.max():.0f} %")
    figure.suptitle(title, fontsize=11)
    return Picture(figure, _alt_text(scene, names, title))


def _draw(axes: Axes, pixels: np.ndarray, weights: np.ndarray | None, name: str) -> None:
    """Draw an image, the darker the smaller the weight; the largest is outlined."""
    _, height, width = pixels.shape
    box = (0, width, height, 0)
    axes.imshow(np.moveaxis(np.broadcast_to(pixels, (3, height, width)), 0, -1), extent=box)
    axes.set_title(name, fontsize=9)
    if weights is None:
        return
    share = np.clip(weights / (weights.max() or 1.0), 0, 1)[..., None]
    # white under the large weights, so that they are seen on a dark ground too; black over the rest
    for tone, strength in ((1.0, 0.25 * share), (0.0, 0.75 * (1 - share))):
        axes.imshow(np.concatenate([np.full((*weights.shape, 3), tone), strength], 2), extent=box)
    rows, columns = weights.shape
    row, column = divmod(int(weights.argmax()), columns)
    wide, high = width / columns, height / rows
    outline = {"fill": False, "edgecolor": LINES[1], "linewidth": 2}
    axes.add_patch(Rectangle((column * wide, row * high), wide, high, **outline))


def _alt_text(scene: Scene, names: list[str], title: str) -> str:
    words, columns = scene.words(names, 0), scene.weights.shape[-1]
    told = []
    for word, weights in zip(words, scene.weights[0], strict=False):
        row, column = divmod(int(weights.argmax()), columns)
        told.append(f"“{word}” row {row}, column {column}, {100 * weights.max():.0f} %")
    others = sum(scene.words(names, cover) != words for cover in range(1, len(scene.tokens)))
    changed = f"covering one cell changes the caption for {others} of {len(scene.tokens) - 1} cells"
    caption = f"The caption is “{' '.join(words)}”"
    return f"{title}. {caption}. Each word's largest weight: {'; '.join(told)}; {changed}."
