"""Generated scenes: one to three coloured shapes, a caption, and where each word's object is.

A caption names the shapes from left to right: "red circle and blue cross". Each shape is 7 × 7
pixels at most, anywhere in the image, and no two share a column. Its colour varies in brightness,
and each pixel has noise of its own.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

COLOURS = {"red": (1.0, 0.2, 0.2), "green": (0.2, 0.8, 0.2), "blue": (0.3, 0.4, 1.0)}
COLOURS["yellow"] = (0.9, 0.8, 0.1)
SHAPES = {
    "circle": ("..###..", ".#####.", "#######", "#######", "#######", ".#####.", "..###.."),
    "square": ("#######",) * 7,
    "cross": ("##...##", "###.###", ".#####.", "..###..", ".#####.", "###.###", "##...##"),
    "triangle": ("...#...", "...#...", "..###..", "..###..", ".#####.", ".#####.", "#######"),
}
BEGIN = 0  # begins each caption, and fills it up after its end
WORDS = ("<begin>", *COLOURS, *SHAPES, "and", "<end>")
AND, END = WORDS.index("and"), WORDS.index("<end>")
HEIGHT, WIDTH, SIZE, MOST = 16, 32, 7, 3
NOISE = 0.08


@dataclass(frozen=True)
class Scenes:
    """Images with their captions.

    images: (scenes, 3, 16, 32), float32. captions: (scenes, words), the numbers of WORDS, then END,
    then BEGIN up to the end. lengths: (scenes,), how many words, END among them. masks: (scenes,
    words, 16, 32), the pixels of the object that a colour or a shape names; False for all others.
    """

    images: Tensor
    captions: Tensor
    lengths: Tensor
    masks: Tensor

    def __len__(self) -> int:
        return len(self.images)


def scenes(count: int, seed: int, least: int = 1, most: int = MOST) -> Scenes:
    """Draw scenes of `least` to `most` shapes; equal seeds give equal scenes."""
    if not 1 <= least <= most <= MOST:
        raise ValueError(f"a scene has 1 to {MOST} shapes; got least={least}, most={most}")
    draw = torch.Generator()
    draw.manual_seed(seed)
    shapes = torch.randint(least, most + 1, (count,), generator=draw)
    colour = torch.randint(len(COLOURS), (count, most), generator=draw)
    form = torch.randint(len(SHAPES), (count, most), generator=draw)
    there = torch.arange(most) < shapes[:, None]
    objects = _objects(form, there, shapes, draw)
    captions = _captions(colour, form, shapes)
    # word 3 i is the colour of object i, word 3 i + 1 its shape, word 3 i + 2 "and" or the end
    masks = objects.repeat_interleave(3, 1)
    masks[:, 2::3] = False
    return Scenes(_images(objects, colour, draw), captions, 3 * shapes, masks)


def caption(words: Tensor) -> str:
    """The words of a caption as a text, up to its end."""
    text = [WORDS[word] for word in words.tolist()]
    return " ".join(text[: text.index("<end>")] if "<end>" in text else text)


def _objects(form: Tensor, there: Tensor, shapes: Tensor, draw: torch.Generator) -> Tensor:
    """The pixels of each object: bool (scenes, objects, height, width)."""
    count, most = form.shape
    rows = [[[pixel == "#" for pixel in row] for row in shape] for shape in SHAPES.values()]
    patterns = torch.tensor(rows)
    top = torch.randint(HEIGHT - SIZE + 1, (count, most), generator=draw)
    # what is free is divided at random: into gaps before, between and after the objects
    free = WIDTH - SIZE * shapes[:, None]
    ends = torch.rand(count, most, generator=draw).masked_fill(~there, 1.0).sort(1).values
    left = (ends * (free + 1)).long().clamp(max=free) + SIZE * torch.arange(most)
    left = left.clamp(max=WIDTH - SIZE)
    inside = torch.arange(SIZE)
    scene, which = torch.arange(count)[:, None, None, None], torch.arange(most)[:, None, None]
    y = (top[..., None] + inside)[..., None]
    x = (left[..., None] + inside)[:, :, None]
    objects = torch.zeros(count, most, HEIGHT, WIDTH, dtype=torch.bool)
    objects[scene, which, y, x] = patterns[form] & there[..., None, None]
    return objects


def _captions(colour: Tensor, form: Tensor, shapes: Tensor) -> Tensor:
    count, most = colour.shape
    words = torch.stack([1 + colour, 1 + len(COLOURS) + form, torch.full_like(form, AND)], 2)
    words = words.flatten(1)  # (scenes, 3 · most)
    words[torch.arange(count), 3 * shapes - 1] = END
    return words.masked_fill(torch.arange(3 * most) >= 3 * shapes[:, None], BEGIN)


def _images(objects: Tensor, colour: Tensor, draw: torch.Generator) -> Tensor:
    """Paint the objects on a dark ground; brightness differs by object, noise by pixel."""
    count, most = colour.shape
    bright = 0.6 + 0.4 * torch.rand(count, most, 1, generator=draw)
    paint = torch.tensor([*COLOURS.values()])[colour] * bright  # (scenes, objects, 3)
    images = torch.einsum("sohw,soc->schw", objects.float(), paint)
    return images + NOISE * torch.randn(images.shape, generator=draw)
