"""A Vision Transformer that computes in the page: the reader draws, the model answers."""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor, nn

from transformer_course.figures import INK, LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, labels, matrix

Block = nn.TransformerEncoderLayer

MOST = {"images": 12, "pixels of a side": 32, "patches": 256, "weights": 250_000}
LEVELS = 16  # a drawn pixel is a count of 4 × 4 finer pixels
EQUAL = 1e-3  # logits
EPS = 1e-5  # of the page's layer norms
PAGE = (
    "a Vision Transformer of pre-norm nn.TransformerEncoderLayer blocks with GELU or ReLU, a final "
    "LayerNorm, and a linear head on the class token or on the mean of the patches"
)


@dataclass(frozen=True)
class Parts:
    """The parts of a model; `first` (tokens, d_model) enters block 1 if all pixels are 0."""

    embedding: Tensor  # (d_model, patch²)
    first: Tensor
    blocks: list[Block]
    norm: nn.LayerNorm
    head: nn.Linear
    classes: int  # class tokens: 0 or 1
    pool: str = "cls"
    activation: str = "gelu"

    @property
    def patch(self) -> int:
        """Pixels of a patch's side."""
        return math.isqrt(self.embedding.shape[1])

    def shape(self, height: int, width: int) -> dict[str, int | str]:
        """The sizes that the page needs, for images of so many pixels."""
        return {
            "rows": height // self.patch,
            "columns": width // self.patch,
            "patch": self.patch,
            "width": self.first.shape[1],
            "hidden": self.blocks[0].linear1.out_features,
            "heads": self.blocks[0].self_attn.num_heads,
            "blocks": len(self.blocks),
            "classes": self.head.out_features,
            "classToken": self.classes,
            "pool": self.pool,
            "activation": self.activation,
        }

    def weights(self) -> Iterator[Tensor]:
        """What the page computes with, in the order in which it reads it."""
        yield from (self.embedding, self.first)
        for block in self.blocks:
            attention = block.self_attn
            yield from block.norm1.parameters()
            yield from (attention.in_proj_weight, attention.in_proj_bias)
            for part in (attention.out_proj, block.norm2, block.linear1, block.linear2):
                yield from part.parameters()
        yield from (*self.norm.parameters(), *self.head.parameters())


@dataclass(frozen=True)
class Answer:
    """Logits after each block (images, blocks, classes), and attention weights."""

    logits: Tensor
    weights: Tensor  # (images, blocks, heads, tokens, tokens)


@explains_stubs
def show_vit(
    model: nn.Module,
    images: ArrayLike | Tensor,
    names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    margin: int = 2,
    title: str = "draw a digit: your Vision Transformer reads it",
) -> View:
    """Let the reader draw an image, and compute in the page what your model makes of it.

    `model`: images (batch, 1, height, width) from 0 to 1 -> logits (batch, classes), a Vision
    Transformer as lesson 8 builds it; its parts may have any names. A copy is run in evaluation.
    `images`: (count, 1, height, width) or (count, height, width) to start from, at most 12, whose
    `names` are shown; `classes` names the classes. `margin`: pixels at each side that stay 0; in
    the rest, each pixel is a count of 4 × 4 drawn ones. `ValueError` for a model that the page
    cannot compute.
    """
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be an nn.Module; got {type(model).__name__}")
    pixels = _pixels(images, margin)
    twin = copy.deepcopy(model).eval()
    like = next(twin.parameters(), torch.zeros(()))
    probes = torch.cat([torch.as_tensor(pixels), _random(pixels.shape[1:])])[:, None].to(like)
    with torch.no_grad():
        parts = _matched(twin, probes)
        shown = compute(parts, probes[: len(pixels)])
        weights = _sent(parts)
    labelled = labels(names, "names", len(pixels))
    classes = labels(classes, "classes", parts.head.out_features)
    shape = {**parts.shape(*pixels.shape[1:]), "margin": margin}
    arrays = {"images": pixels.astype(np.float32), "weights": weights}
    options = {"title": title, "names": labelled, "classes": classes, "shape": shape}
    state: dict[str, Any] = {"picture": 0, "drawing": "", "fit": True, "brush": "draw", "pen": 4}
    state |= {"y": 0, "x": 0, "row": 0, "column": 0, "source": "answer", "off": []}
    state |= {"block": len(parts.blocks) - 1, "head": 0}
    draw = partial(_picture, pixels[0], parts, shown, [labelled[0], *classes], title)
    return View("vit", draw, arrays, options, state)


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


def _matched(model: nn.Module, images: Tensor) -> Parts:
    """The model's parts, if the logits computed with them are the model's."""
    parts = _found(model, images)
    expected, classes = model(images), parts.head.out_features
    if expected.shape != (len(images), classes):
        wanted = f"logits (batch, {classes}), here ({len(images)}, {classes})"
        raise ValueError(f"model must give {wanted}; got {tuple(expected.shape)}")
    pools = ["cls"] * parts.classes + ["mean", "mean, then norm"]
    tried = [replace(parts, pool=p, activation=a) for p in pools for a in ("gelu", "relu")]
    far = [(compute(one, images).logits[:, -1] - expected).abs().max().item() for one in tried]
    best = min(range(len(far)), key=far.__getitem__)
    if not far[best] <= EQUAL:
        raise ValueError(f"the page computes {PAGE}; so computed, logits differ by {far[best]:.2g}")
    return tried[best]


def _found(model: nn.Module, images: Tensor) -> Parts:
    """The parts by their types and the order in which they are called for a black image."""
    blocks = [part for part in model.modules() if isinstance(part, Block)]
    inside = {part for block in blocks for part in block.modules()}
    called: list[tuple[nn.Module, Tensor]] = []

    def note(part: nn.Module, given: tuple[Tensor, ...], named: dict[str, Tensor]) -> None:
        called.append((part, [*given, *named.values()][0]))

    around = (nn.Linear, nn.Conv2d, nn.LayerNorm)
    parts = [p for p in model.modules() if isinstance(p, around) and p not in inside]
    hooks = [part.register_forward_pre_hook(note, with_kwargs=True) for part in (*parts, *blocks)]
    model(torch.zeros_like(images[:1]))
    for hook in hooks:
        hook.remove()
    order = [part for part, _ in called]
    run = [part for part in order if isinstance(part, Block)]
    ends = [type(part).__name__ for part in (*order[:1], *order[-2:])]
    kinds = (["Linear", "LayerNorm", "Linear"], ["Conv2d", "LayerNorm", "Linear"])
    if not run or ends not in kinds or order[1:-2] != run:
        got = ", ".join(type(part).__name__ for part in order) or "no such part"
        raise ValueError(f"the page computes {PAGE}; this model calls {got}")
    first = called[1][1].reshape(-1, called[1][1].shape[-1])
    found: list[Any] = order
    norm, head = found[-2:]
    return _counted(Parts(found[0].weight.flatten(1), first, run, norm, head, 0), images[0])


def _counted(parts: Parts, image: Tensor) -> Parts:
    """The parts with the number of class tokens; `ValueError` for other sizes than the page's."""
    across, tokens = parts.embedding.shape[1], len(parts.first)
    sizes = {(p.self_attn.num_heads, p.linear1.out_features) for p in parts.blocks}
    biases = [parts.norm.bias, parts.head.bias, *(p.linear1.bias for p in parts.blocks)]
    if across != parts.patch**2 or len(sizes) > 1 or any(bias is None for bias in biases):
        wanted = "square patches of one channel, and blocks of one size, with biases"
        raise ValueError(f"the page computes {wanted}; got patches of {across}, blocks of {sizes}")
    patches = image.numel() // across
    if not 0 <= tokens - patches <= 1 or patches > MOST["patches"]:
        wanted = f"at most {MOST['patches']} patches and at most one class token"
        raise ValueError(f"the page computes {wanted}; got {tokens} tokens")
    return replace(parts, classes=tokens - patches)


def compute(parts: Parts, images: Tensor) -> Answer:
    """What the page computes, for images (n, 1, height, width)."""
    patches = F.unfold(images, parts.patch, stride=parts.patch).mT  # (n, patches, patch²)
    tokens = F.linear(patches, parts.embedding)
    x = parts.first + F.pad(tokens, (0, 0, parts.classes, 0))
    bent = {"gelu": F.gelu, "relu": F.relu}[parts.activation]
    logits, attended = [], []
    for block in parts.blocks:
        mixed, weights = _attention(block.self_attn, _normed(block.norm1, x))
        x = x + mixed
        x = x + block.linear2(bent(block.linear1(_normed(block.norm2, x))))
        logits.append(parts.head(_pooled(parts, x)))
        attended.append(weights)
    return Answer(torch.stack(logits, 1), torch.stack(attended, 1))


def _normed(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, EPS)


def _attention(attention: nn.MultiheadAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    joint = F.linear(x, attention.in_proj_weight, attention.in_proj_bias)
    query, key, value = joint.unflatten(-1, (3, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)
    return attention.out_proj((weights @ value).transpose(1, 2).flatten(2)), weights


def _pooled(parts: Parts, x: Tensor) -> Tensor:
    if parts.pool == "cls":
        return _normed(parts.norm, x[:, 0])
    if parts.pool == "mean":
        return _normed(parts.norm, x[:, parts.classes :]).mean(1)
    return _normed(parts.norm, x[:, parts.classes :].mean(1))


def rollout(weights: Tensor) -> Tensor:
    """Attention rolled out through the blocks: (blocks, heads, n, n) -> (n, n)."""
    whole = torch.eye(weights.shape[-1]).to(weights)
    steps = (weights.mean(1) + whole) / 2
    for step in steps:
        whole = step @ whole
    return whole


def _sent(parts: Parts) -> np.ndarray:
    """The weights as float32: float16 would change probabilities by more than 0.001."""
    flat = torch.cat([part.flatten() for part in parts.weights()]).float().cpu().numpy()
    if flat.size > MOST["weights"]:
        raise ValueError(f"model must have at most {MOST['weights']} weights; got {flat.size}")
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
