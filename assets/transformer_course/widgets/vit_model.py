"""The parts of a Vision Transformer, found in a model; what the page computes with them."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Block = nn.TransformerEncoderLayer

MOST_PATCHES = 64  # with so many parameters, a forward pass in the page takes about 60 ms
MOST_PARAMETERS = 250_000
EQUAL = 1e-3  # logits
EPS = 1e-5  # of the page's layer norms
PAGE = (
    "a Vision Transformer of pre-norm nn.TransformerEncoderLayer blocks with GELU or ReLU, a final "
    "LayerNorm, and a linear classifier on the class token or on the mean of the patches"
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
        for layer in self.blocks:
            attention = layer.self_attn
            yield from (layer.norm1.weight, layer.norm1.bias)
            yield from (attention.in_proj_weight, attention.in_proj_bias)
            for part in (attention.out_proj, layer.norm2, layer.linear1, layer.linear2):
                yield from (part.weight, part.bias)
        yield from (self.norm.weight, self.norm.bias, self.head.weight, self.head.bias)


def parameters_of(shape: dict[str, Any]) -> int:
    """How many numbers the page reads for a shape."""
    width, hidden, classes = shape["width"], shape["hidden"], shape["classes"]
    tokens = shape["rows"] * shape["columns"] + shape["classToken"]
    attention = 4 * width * (width + 1)
    block = 4 * width + attention + hidden * (width + 1) + width * (hidden + 1)
    ends = (shape["patch"] ** 2 + tokens + 2) * width + classes * (width + 1)
    return ends + shape["blocks"] * block


@dataclass(frozen=True)
class Answer:
    """Logits after each block (images, blocks, classes), and attention weights."""

    logits: Tensor
    weights: Tensor  # (images, blocks, heads, tokens, tokens)


def matched(model: nn.Module, images: Tensor) -> tuple[Parts, Answer]:
    """The model's parts, if the logits computed with them are the model's; their answer.

    `images` (n, 1, height, width) are float32; the model is copied to the CPU, as float32, and the
    copy is run in evaluation. `ValueError` for a model that the page cannot compute.
    """
    try:
        twin = copy.deepcopy(model).float().cpu().eval()
    except RuntimeError as error:
        raise ValueError(f"model must be one that copy.deepcopy copies; got: {error}") from error
    parts = _found(twin, images)
    expected, classes = twin(images), parts.head.out_features
    if expected.shape != (len(images), classes):
        wanted = f"logits (batch, {classes}), here ({len(images)}, {classes})"
        raise ValueError(f"model must give {wanted}; got {tuple(expected.shape)}")
    pools = ["cls"] * parts.classes + ["mean", "mean, then norm"]
    tried = [replace(parts, pool=p, activation=a) for p in pools for a in ("gelu", "relu")]
    answers = [compute(one, images) for one in tried]
    far = [(one.logits[:, -1] - expected).abs().max().item() for one in answers]
    best = min(range(len(far)), key=far.__getitem__)
    if not far[best] <= EQUAL:
        raise ValueError(f"the page computes {PAGE}; so computed, logits differ by {far[best]:.2g}")
    return tried[best], answers[best]


Calls = list[tuple[nn.Module, Tensor]]


def _calls(model: nn.Module, image: Tensor) -> Calls:
    """The blocks, and the layers outside them, as they are called; with what each is given."""
    blocks = [part for part in model.modules() if isinstance(part, Block)]
    inside = {part for block in blocks for part in block.modules()}
    called: Calls = []

    def note(part: nn.Module, given: tuple[Tensor, ...], named: dict[str, Tensor]) -> None:
        called.append((part, [*given, *named.values()][0]))

    around = (nn.Linear, nn.Conv2d, nn.LayerNorm)
    parts = [p for p in model.modules() if isinstance(p, around) and p not in inside]
    hooks = [part.register_forward_pre_hook(note, with_kwargs=True) for part in (*parts, *blocks)]
    try:
        model(image)
    except (RuntimeError, ValueError) as error:
        if isinstance(error, NotImplementedError):
            raise
        size = f"images of {image.shape[2]} by {image.shape[3]}, here {tuple(image.shape)}"
        raise ValueError(f"model must read {size}; it raised: {_first_line(error)}") from error
    for hook in hooks:
        hook.remove()
    return called


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _found(model: nn.Module, images: Tensor) -> Parts:
    """The parts by their types and the order in which they are called."""
    black = torch.zeros_like(images[:1])
    called = _calls(model, black)
    order: list[Any] = [part for part, _ in called]
    run = [part for part in order if isinstance(part, Block)]
    ends = [_kind(part) for part in (*order[:1], *order[-2:])]
    kinds = (["Linear", "LayerNorm", "Linear"], ["Conv2d", "LayerNorm", "Linear"])
    if not run or ends not in kinds or order[1:-2] != run:
        got = ", ".join(_kind(part) for part in order) or "no such part"
        raise ValueError(f"the page computes {PAGE}; this model calls {got}")
    first = called[1][1].reshape(-1, called[1][1].shape[-1])
    parts = Parts(order[0].weight.flatten(1), first, run, order[-2], order[-1], 0)
    parts = _counted(_plain(parts), images[0])
    for image in (black, images[-1:]):
        _, given = _calls(model, image)[0]
        if not torch.allclose(given.flatten().sort()[0], image.flatten().sort()[0], atol=1e-5):
            change = "this model changes its images first (it normalises them?)"
            fix = "train it on pixels from 0 to 1, without that"
            raise ValueError(f"the page gives the first layer the pixels; {change}: {fix}")
    return parts


def _kind(part: nn.Module) -> str:
    """The name of a layer's type, without torch's names for parametrized ones."""
    for kind in (Block, nn.Linear, nn.Conv2d, nn.LayerNorm):
        if isinstance(part, kind):
            return kind.__name__
    return type(part).__name__


def _plain(parts: Parts) -> Parts:
    """The parts, if each layer has weight and bias, and each norm the page's eps."""
    if any(given is None for given in parts.weights()):
        missing = "bias=False or elementwise_affine=False"
        raise ValueError(f"the page computes layers with weight and bias; this model has {missing}")
    norms = [parts.norm, *(norm for block in parts.blocks for norm in (block.norm1, block.norm2))]
    other = [norm.eps for norm in norms if norm.eps != EPS]
    if other:
        raise ValueError(
            f"the page computes LayerNorm with eps {EPS:g}; this model has {other[0]:g}"
        )
    return parts


def _counted(parts: Parts, image: Tensor) -> Parts:
    """The parts with the number of class tokens; `ValueError` for other sizes than the page's."""
    across, tokens, side = parts.embedding.shape[1], len(parts.first), parts.patch
    sizes = {(p.self_attn.num_heads, p.linear1.out_features) for p in parts.blocks}
    if across != side**2 or len(sizes) > 1:
        wanted = "square patches of one channel, and blocks of one size"
        raise ValueError(f"the page computes {wanted}; got patches of {across}, blocks of {sizes}")
    height, width = image.shape[-2:]
    if height % side or width % side:
        wanted = f"whole patches of {side} by {side}"
        raise ValueError(f"images must be cut into {wanted}; got images of {height} by {width}")
    patches = image.numel() // across
    if not 0 <= tokens - patches <= 1 or patches > MOST_PATCHES:
        wanted = f"at most {MOST_PATCHES} patches and at most one class token"
        raise ValueError(f"the page computes {wanted}; got {tokens} tokens for {patches} patches")
    parts = replace(parts, classes=tokens - patches)
    count = parameters_of(parts.shape(height, width))
    if count > MOST_PARAMETERS:
        most = f"at most {MOST_PARAMETERS:,} parameters"
        raise ValueError(f"model must have {most}, so that the page is fast; got {count:,}")
    return parts


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
