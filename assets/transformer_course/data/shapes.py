"""Generated pictures of shapes, with the class of every pixel: what segmentation learns from.

Each picture has one to three shapes, which may overlap: the later one lies in front. All shapes are
drawn in a random brightness, so that a single pixel does not tell its class: only the outline does.
"""

import torch
from torch import Tensor

CLASSES = ("background", "disc", "square", "ring", "cross")
SIDE = 32
NOISE = 0.15


def drawn_shapes(count: int, seed: int, side: int = SIDE, most: int = 3) -> tuple[Tensor, Tensor]:
    """Draw pictures (count, 1, side, side) and their labels (count, side, side), 0 to 4.

    Equal seeds give equal pictures. Brightness is centred at 0, with noise in every pixel.
    """
    draw = torch.Generator()
    draw.manual_seed(seed)
    how_many = torch.randint(1, most + 1, (count,), generator=draw)
    pictures = torch.zeros(count, side, side)
    labels = torch.zeros(count, side, side, dtype=torch.long)
    for number in range(most):
        kind = torch.randint(1, len(CLASSES), (count, 1, 1), generator=draw)
        radius = 3.5 + (side / 5 - 3.5) * torch.rand(count, 1, 1, generator=draw)
        middle = radius + (side - 1 - 2 * radius) * torch.rand(2, count, 1, 1, generator=draw)
        bright = 0.5 + 0.5 * torch.rand(count, 1, 1, generator=draw)
        there = (how_many > number)[:, None, None] & _inside(kind, radius, middle, side)
        pictures = torch.where(there, bright, pictures)
        labels = torch.where(there, kind, labels)
    noisy = pictures + NOISE * torch.randn(count, side, side, generator=draw)
    return noisy[:, None] - 0.25, labels


def _inside(kind: Tensor, radius: Tensor, middle: Tensor, side: int) -> Tensor:
    """Tell which pixels a shape covers: bool (count, side, side)."""
    down = (torch.arange(side)[:, None] - middle[0]).abs()
    right = (torch.arange(side)[None, :] - middle[1]).abs()
    distance = (down.square() + right.square()).sqrt()
    largest, smallest = torch.maximum(down, right), torch.minimum(down, right)
    covered = (
        distance <= radius,
        largest <= 0.9 * radius,
        (distance <= radius) & (distance > 0.5 * radius),
        (largest <= radius) & (smallest <= 0.35 * radius),
    )
    return torch.stack(covered)[kind[:, 0, 0] - 1, torch.arange(len(kind))]
