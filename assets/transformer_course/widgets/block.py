"""A Transformer block as its data flows: what each part reads is found by running the block."""

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor, nn

from transformer_course.figures import INK, LINES, Picture
from transformer_course.widgets.view import View, explains_stubs, labels, matrix

MOST = {"tokens": 8, "features": 32}
CLOSE = 1e-4  # of a tensor's size: the rounding of float32
FEED_FORWARD = "feed-forward"


@dataclass(frozen=True)
class Node:
    """The input, a part of the block, or a sum; `reads` are the indices of the nodes it reads."""

    name: str
    reads: tuple[int, ...]
    on_stream: bool = True


@dataclass(frozen=True)
class Call:
    """A part at work; a pair of linear layers is one."""

    name: str
    last: nn.Module
    read: Tensor
    gave: Tensor


@explains_stubs
def show_block(
    block: nn.Module,
    x: ArrayLike | Tensor,
    words: Sequence[str] | None = None,
    title: str = "your block, as its data flows",
) -> View:
    """Show which part of your block reads what, the tokens at each place, and what a change does.

    `block` maps (1, length, d_model) to the same shape; a copy is run in evaluation, as it is, with
    each part switched off (a norm then passes its input on, other parts give 0), and with each
    token negated. `x`: (length, d_model), 2 to 8 tokens of at most 32 features; `words` name the
    tokens. `ValueError` for other shapes, here or returned.
    """
    if not isinstance(block, nn.Module):
        raise ValueError(f"block must be an nn.Module; got {type(block).__name__}")
    tokens = matrix(x, "x", "length", "d_model")
    if not 2 <= len(tokens) <= MOST["tokens"] or tokens.shape[1] > MOST["features"]:
        needed = "2 to {tokens} tokens of at most {features} features".format(**MOST)
        raise ValueError(f"x must be {needed}; got {tokens.shape}")
    names = labels(words, "words", len(tokens))
    block = copy.deepcopy(block).eval()
    like = next(iter(block.parameters()), torch.zeros(()))
    given = torch.as_tensor(tokens).to(like)[None]  # (1, length, d_model)
    calls, output = _run(block, given)
    nodes = _nodes(given, calls, output)
    parts = [None, *dict.fromkeys(call.name for call in calls)]
    values = np.stack(
        [np.stack([_values(block, nodes, one, part) for one in _negated(given)]) for part in parts]
    )  # (part switched off, token negated, node, token, feature)
    off = ["nothing", *(part for part in parts if part)]
    options = {"title": title, "words": names, "off": off, "nodes": [asdict(n) for n in nodes]}
    state = {"off": 0, "negated": 0, "node": 0, "token": 0}
    draw = partial(_picture, nodes, values[0, 0], names, title)
    return View("block", draw, {"values": values.astype(np.float32)}, options, state)


def _negated(x: Tensor) -> list[Tensor]:
    """x, then x with each of its tokens negated."""
    signs = 1 - 2 * torch.eye(x.shape[1]).to(x)
    return [x, *(x * row[:, None] for row in signs)]


def _run(block: nn.Module, x: Tensor, off: str | None = None) -> tuple[list[Call], Tensor]:
    """The calls of the block's parts in order, and its output; `off` is switched off."""
    calls: list[Call] = []
    opened: list[tuple[Any, Tensor]] = []  # the first of two linear layers

    def heard(name: str, part: nn.Module, args: tuple, kwargs: dict, result: Any) -> Any:
        read = args[0] if args else next(iter(kwargs.values()))
        gave = result[0] if isinstance(result, tuple) else result
        if isinstance(part, nn.Linear):
            if not opened:
                opened.append((part, read))
                return None
            name, read = FEED_FORWARD, opened.pop()[1]
        if gave.shape != x.shape or read.shape != x.shape or torch.equal(gave, read):
            return None  # a step within a part, or dropout, which passes its input on
        if name == off:
            gave = read.clone() if isinstance(part, nn.LayerNorm) else torch.zeros_like(gave)
        calls.append(Call(name, part, read, gave))
        return (gave, *result[1:]) if isinstance(result, tuple) else gave

    hooks = [
        part.register_forward_hook(partial(heard, name), with_kwargs=True)
        for name, part in block.named_children()
    ]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            output = block(x)
    finally:
        for hook in hooks:
            hook.remove()
    if not isinstance(output, Tensor) or output.shape != x.shape:
        got = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(f"block must give {tuple(x.shape)}, as x; got {got}")
    return calls, output


def _nodes(x: Tensor, calls: list[Call], output: Tensor) -> list[Node]:
    """The nodes of the diagram: x, the parts, and the sums that the parts or the output read."""
    nodes, known = [Node("x", ())], [x]

    def place(read: Tensor) -> tuple[int, ...]:
        for count in (1, 2, 3):
            for chosen in combinations(range(len(known) - 1, -1, -1), count):
                total = sum((known[i] for i in chosen), torch.zeros_like(read))
                if torch.dist(total, read) <= CLOSE * read.norm():
                    if count == 1:
                        return chosen
                    nodes.append(Node("+", tuple(sorted(chosen))))
                    known.append(read)
                    return (len(nodes) - 1,)
        return ()

    for call in calls:
        nodes.append(Node(call.name, place(call.read)))
        known.append(call.gave)
    if place(output) == ():
        nodes.append(Node("output", ()))
    skipped = {i for j, node in enumerate(nodes) for read in node.reads for i in range(read + 1, j)}
    return [Node(n.name, n.reads, i not in skipped) for i, n in enumerate(nodes)]


def _values(block: nn.Module, nodes: list[Node], x: Tensor, off: str | None) -> np.ndarray:
    """What stands at each node: (node, token, feature)."""
    calls, output = _run(block, x, off)
    gave = {"x": [x], "output": [output]}
    for call in calls:
        gave.setdefault(call.name, []).append(call.gave)
    values: list[Tensor] = []
    for node in nodes:
        total = sum((values[i] for i in node.reads), torch.zeros_like(x))
        values.append(total if node.name == "+" else gave[node.name].pop(0))
    return torch.cat(values).double().numpy()


def sizes(values: np.ndarray) -> np.ndarray:
    """The root mean square of tokens: (…, feature) -> (…)."""
    return np.sqrt((values**2).mean(-1))


def _named(nodes: list[Node], i: int) -> str:
    """A node's name; sums are counted."""
    if nodes[i].name != "+":
        return nodes[i].name
    return f"sum {[node.name for node in nodes[: i + 1]].count('+')}"


def _told(nodes: list[Node]) -> str:
    told = []
    for i, node in enumerate(nodes[1:], 1):
        read = " and ".join(_named(nodes, j) for j in node.reads)
        verb = "adds" if node.name == "+" else "reads"
        told.append(f"{_named(nodes, i)} {verb} {read or 'something that no part gave'}")
    return "; ".join(told)


def _picture(nodes: list[Node], values: np.ndarray, words: list[str], title: str) -> Picture:
    """Draw the nodes as maps (token by feature) on the stream or on a branch above it."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    axes = figure.subplots()
    limit = float(np.abs(values).max()) or 1.0
    for i, (node, value) in enumerate(zip(nodes, values, strict=True)):
        left, bottom = _corner(i, node)
        extent = (left, left + 1, bottom, bottom + 1)
        axes.imshow(value, "cividis", aspect="auto", extent=extent, vmin=-limit, vmax=limit)
        # below the stream, where no arrow comes down
        above = bottom + 1.06 if bottom else bottom - 0.3
        style = {"ha": "center", "fontsize": 9, "color": INK}
        axes.text(left + 0.5, above, _named(nodes, i), weight="bold", **style)
        axes.text(left + 0.5, bottom - 0.15, f"size {sizes(value).mean():.2f}", **style)
    for i, node in enumerate(nodes):
        for read in node.reads:
            _arrow(axes, _corner(read, nodes[read]), _corner(i, node))
    steps = (np.arange(len(words)) + 0.5) / len(words)
    axes.set_yticks(1 - steps, words, fontsize=8)
    axes.set(xlim=(-0.1, 1.5 * len(nodes) - 0.4), ylim=(-0.4, 3.1), xticks=[], title=title)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    mappable = axes.images[0]
    figure.colorbar(mappable, ax=axes, label="value", shrink=0.7)
    means = ", ".join(
        f"{_named(nodes, i)} {sizes(value).mean():.2f}" for i, value in enumerate(values)
    )
    return Picture(figure, f"{title}: {_told(nodes)}. Sizes (root mean square): {means}.")


def _corner(i: int, node: Node) -> tuple[float, float]:
    return 1.5 * i, 0.0 if node.on_stream else 1.75


def _arrow(axes: Axes, tail: tuple[float, float], head: tuple[float, float]) -> None:
    """An arrow between two boxes: straight on a level, else by a right angle."""
    (x, y), (to_x, to_y) = tail, head
    if y == to_y:
        start, end, bend = (x + 1, y + 0.5), (to_x, to_y + 0.5), "arc3,rad=0"
    elif y < to_y:
        start, end, bend = (x + 0.9, y + 1), (to_x, to_y + 0.5), "angle,angleA=90,angleB=0,rad=0"
    else:
        start, end, bend = (x + 1, y + 0.5), (to_x + 0.3, to_y + 1), "angle,angleA=0,angleB=90"
    style = {"arrowstyle": "-|>", "color": LINES[0], "lw": 1.6, "connectionstyle": bend}
    axes.annotate("", end, start, arrowprops=style | {"shrinkA": 0, "shrinkB": 0})
