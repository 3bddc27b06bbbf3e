"""A Vision Transformer that computes in the page: the reader draws, the model answers."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor, nn

from transformer_course.figures import INK, LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, labels, matrix
from transformer_course.widgets.vit_model import Answer, Parts, matched, parameters_of, rollout

MOST = {"images": 12, "pixels of a side": 32}
LEVELS = 16  # a drawn pixel is a count of 4 × 4 finer pixels
DRAWN = -1  # instead of an image's number: the reader's drawing
READER = -1  # instead of a patch's number: what the classifier reads


@explains_stubs
def show_vit(
    model: nn.Module,
    images: ArrayLike | Tensor,
    names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    targets: Sequence[int] | Tensor | None = None,
    margin: int = 2,
    title: str = "draw a digit: your Vision Transformer reads it",
) -> View:
    """Let the reader draw an image, and compute in the page what your model makes of it.

    `model`: images (batch, 1, height, width) from 0 to 1 -> logits (batch, classes), a Vision
    Transformer as lesson 8 builds it; its parts may have any names. A copy is run in evaluation.
    `images`: (count, 1, height, width) or (count, height, width) to start from, at most 12, whose
    `names` are shown; `classes` names the classes; `targets` are the images' true classes, by
    which an answer is right or wrong. `margin`: pixels at each side that stay 0; in the rest, each
    pixel is a count of 4 × 4 drawn ones. `ValueError` for a model that the page cannot compute.
    """
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be an nn.Module; got {type(model).__name__}")
    pixels = _pixels(images, margin)
    probes = torch.cat([torch.as_tensor(pixels), _random(pixels.shape[1:])])[:, None].float()
    with torch.no_grad():
        parts, answer = matched(model, probes)
    labelled = labels(names, "names", len(pixels))
    classes = labels(classes, "classes", parts.head.out_features)
    shape = {**parts.shape(*pixels.shape[1:]), "margin": margin}
    arrays = {"images": pixels.astype(np.float32), "weights": _sent(parts, shape)}
    options = {"title": title, "names": labelled, "classes": classes, "shape": shape}
    options["targets"] = _targets(targets, len(pixels), len(classes))
    high, wide = (2 * (side - 2 * margin) for side in pixels.shape[1:])  # the sheet's middle
    state: dict[str, Any] = {"picture": DRAWN, "drawing": "", "fit": True, "brush": "draw"}
    state |= {"pen": 4, "y": high, "x": wide, "row": 0, "column": 0, "source": READER, "off": []}
    state |= {"block": len(parts.blocks) - 1, "head": 0}
    draw = partial(_picture, pixels[0], parts, answer, [labelled[0], *classes], title)
    return View("vit", draw, arrays, options, state)


def _targets(targets: Sequence[int] | Tensor | None, images: int, classes: int) -> list[int] | None:
    """The true class of each image."""
    if targets is None:
        return None
    found = torch.as_tensor(targets).flatten().tolist()
    if len(found) != images or not all(one in range(classes) for one in found):
        wanted = f"{images} numbers from 0 to {classes - 1}, one for each image"
        raise ValueError(f"targets must be {wanted}; got {found}")
    return found


def _pixels(images: ArrayLike | Tensor, margin: int) -> np.ndarray:
    """The images (count, height, width)."""
    given = torch.as_tensor(images)
    if given.dim() == 4 and given.shape[1] == 1:
        given = given[:, 0]
    pixels = matrix(given, "images", "count", "height", "width")
    if len(pixels) > MOST["images"] or max(pixels.shape[1:]) > MOST["pixels of a side"]:
        most = "{images} images of {pixels of a side} by {pixels of a side}".format(**MOST)
        raise ValueError(f"images must be at most {most}; got {pixels.shape}")
    if pixels.min() < 0 or pixels.max() > 1:
        between = f"{pixels.min():g} to {pixels.max():g}"
        raise ValueError(f"images must have pixels from 0 to 1; got {between}")
    if not 0 <= 2 * margin < min(pixels.shape[1:]):
        raise ValueError(f"margin must leave pixels to draw on; got {margin}")
    return pixels


def _random(size: tuple[int, ...]) -> Tensor:
    """Three images that could be drawn, (3, height, width)."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, LEVELS + 1, (3, *size), generator=generator).double() / LEVELS


def _sent(parts: Parts, shape: dict[str, Any]) -> np.ndarray:
    """The weights as float32: float16 would change probabilities by more than 0.001."""
    flat = torch.cat([part.detach().flatten() for part in parts.weights()]).numpy()
    assert flat.size == parameters_of(shape), "the page would misread them"
    return flat


def _received(parts: Parts, weights: Tensor) -> np.ndarray:
    """What of each patch reaches what the head reads: (n, n) -> (patches,)."""
    rows = weights[:1] if parts.pool == "cls" else weights[parts.classes :]
    return rows.mean(0)[parts.classes :].double().cpu().numpy()


def _picture(
    image: np.ndarray, parts: Parts, answer: Answer, names: list[str], title: str
) -> Picture:
    """Draw the first image, the last block's attention on it, the rollout and the probabilities."""
    weights = answer.weights[0]
    heads = {f"head {number}": head for number, head in enumerate(weights[-1][:6])}
    maps = {name: _received(parts, one) for name, one in heads.items()}
    maps["rollout"] = _received(parts, rollout(weights))
    values = answer.logits[0, -1].double().softmax(-1).cpu().numpy()
    figure = Figure(figsize=(1.7 * (1 + len(maps)) + 3, 2.7), layout="constrained")
    ratios = [1.0] * (1 + len(maps)) + [1.8]
    *panels, bars = figure.subplots(1, 2 + len(maps), width_ratios=ratios)
    for axes, (name, shares) in zip(panels, {names[0]: None, **maps}.items(), strict=True):
        _draw(axes, image, parts.patch, shares)
        axes.set_title(name, fontsize=10)
    bars.bar(range(len(values)), values, color=LINES[0])
    turned = 90 if max(map(len, names[1:])) > 3 else 0
    bars.set_xticks(range(len(values)), names[1:], rotation=turned)
    bars.set(ylim=(0, 1), ylabel="probability")
    figure.suptitle(title, fontsize=11, color=INK)
    best = int(values.argmax())
    told = f"for “{names[0]}” it answers {names[1 + best]} with probability {values[best]:.2f}"
    most = [f"{name} patch {v.argmax()}, {100 * v.max():.0f} %" for name, v in maps.items()]
    where = f"Most of the last block's attention: {'; '.join(most)}"
    return Picture(figure, f"{title}. On its first image, {told}. {where}.")


def _draw(axes: Axes, image: np.ndarray, patch: int, shares: np.ndarray | None) -> None:
    height, width = image.shape
    box = (0, width, height, 0)
    axes.imshow(image, "gray", extent=box, vmin=0, vmax=1)
    if shares is not None:
        cells = shares.reshape(height // patch, width // patch)
        axes.imshow(cells, "cividis", extent=box, alpha=0.65, vmin=0)
    lines = {"color": LINES[1], "linewidth": 0.7}
    axes.hlines(np.arange(0, height + 1, patch), 0, width, **lines)
    axes.vlines(np.arange(0, width + 1, patch), 0, height, **lines)
    axes.axis("off")
