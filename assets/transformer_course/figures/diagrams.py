"""Arrows, links between words, and the residual stream of a block."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures.picture import INK, LINES, ON_LIGHT, as_matrix, brief, show


def arrows(vectors: Mapping[str, ArrayLike], axes: tuple[str, str]) -> None:
    """Draw two-dimensional vectors as arrows from the origin, with names and coordinates."""
    points = {
        name: as_matrix(torch.as_tensor(vector)[None], "each vector", 1, 2)[0]
        for name, vector in vectors.items()
    }
    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    plane = figure.subplots()
    reach = max(float(np.abs(point).max()) for point in points.values()) * 1.6
    for (name, point), colour in zip(points.items(), LINES, strict=False):
        plane.annotate(
            "", point, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2}
        )
        # towards the middle, so that it stays within the frame
        right, up = point[0] > 0.4 * reach, point[1] >= 0
        plane.annotate(
            f"{name} {brief(point)}",
            point,
            (-4 if right else 4, 6 if up else -6),
            textcoords="offset points",
            color=colour,
            fontsize=11,
            ha="right" if right else "left",
            va="bottom" if up else "top",
        )
    low = min(0.0, *(float(point.min()) for point in points.values())) * 1.35 - 0.25
    plane.set(xlim=(low, reach), ylim=(low, reach), xlabel=axes[0], ylabel=axes[1], aspect="equal")
    plane.grid(alpha=0.3)
    listed = ", ".join(f"{name} {brief(point)}" for name, point in points.items())
    show(figure, f"Arrows from the origin, {axes[0]} across and {axes[1]} up: {listed}.")


def word_links(sentences: Mapping[str, tuple[Sequence[str], int, ArrayLike | Tensor]]) -> None:
    """Draw what a word attends to: title -> (words, its position, its weight on each word)."""
    figure = Figure(figsize=(9.5, 2.3 * len(sentences)), layout="constrained")
    grid = figure.subplots(len(sentences), 1, squeeze=False)[:, 0]
    descriptions = []
    for axes, (title, (words, position, weights)) in zip(grid, sentences.items(), strict=True):
        row = as_matrix(torch.as_tensor(weights)[None], title, 1, len(words))[0]
        _links(axes, words, position, row)
        axes.set_title(title, loc="left", fontsize=11)
        ranked = sorted(zip(row, words, strict=True), reverse=True)[:3]
        most = ", ".join(f"{word} {weight:.2f}" for weight, word in ranked)
        descriptions.append(f"{title}: from “{words[position]}”, the largest weights go to {most}")
    show(figure, f"{'. '.join(descriptions)}.")


def stations(
    ways: Mapping[str, Sequence[tuple[Sequence[str], Sequence[str]]]],
    ends: str,
    inputs: Mapping[str, str] | None = None,
) -> None:
    """Draw a residual stream with its branches, for one or more variants of a block.

    A variant is title -> its branches in order, each (boxes on the branch, boxes on the stream
    after the "+" where the branch is added back). `ends` names the input. `inputs` says what else
    enters a box on a branch, from outside the block: name of the box -> what enters.
    """
    inputs = inputs or {}
    height = 2.9 if inputs else 2.3
    figure = Figure(figsize=(9.5, height * len(ways)), layout="constrained")
    grid = figure.subplots(len(ways), 1, squeeze=False)[:, 0]
    descriptions = []
    for axes, (title, passed) in zip(grid, ways.items(), strict=True):
        axes.set_title(title, loc="left", fontsize=11)
        _ways(axes, passed, ends, inputs)
        parts = [
            f"a detour through {', '.join(off)} is added back"
            + f", then {', '.join(on)} on the straight way" * bool(on)
            for off, on in passed
        ]
        drawn = [name for off, _ in passed for name in off if name in inputs]
        parts += [f"into {name} comes {inputs[name]}" for name in drawn]
        descriptions.append(f"{title}: from {ends}, {'; '.join(parts)}".replace("-\n", "-"))
    show(figure, f"{'. '.join(descriptions)}.")


def stream(ways: Mapping[str, Sequence[float]], on_branch: Sequence[str]) -> None:
    """Draw residual streams to scale: the thickness of a stream, or a branch, is its size.

    A way is title -> sizes: the stream at the start, then for each block that of the branch, of
    the sum and of the stream that leaves the block. Where the last two differ, a norm stands on
    the stream. `on_branch` holds for each way the box before the sublayer, or "".
    """
    for title, sizes in ways.items():
        if len(sizes) % 3 != 1:
            raise ValueError(f"{title} must have 1 + 3 · blocks sizes; got {len(sizes)}")
    figure = Figure(figsize=(9.5, 2.3 * len(ways)), layout="constrained")
    grid = figure.subplots(len(ways), 1, squeeze=False)[:, 0]
    unit = 0.9 / max(max(sizes) for sizes in ways.values())
    descriptions = []
    for axes, (title, sizes), before in zip(grid, ways.items(), on_branch, strict=True):
        axes.set_title(title, loc="left", fontsize=11)
        blocks = [tuple(sizes[i : i + 3]) for i in range(1, len(sizes), 3)]
        _stream(axes, sizes[0], blocks, unit, before)
        told = [f"a branch of {branch:.2f} makes {total:.2f}" for branch, total, _ in blocks]
        for i, (_, total, out) in enumerate(blocks):
            told[i] += f", then {out:.2f} after a norm" * _is_rescaled(total, out)
        descriptions.append(f"{title}: from {sizes[0]:.2f}; {'; '.join(told)}")
    show(figure, f"Sizes along the stream. {'. '.join(descriptions)}.")


def _is_rescaled(total: float, out: float) -> bool:
    return abs(total - out) > 1e-4 * total


def _stream(
    axes: Axes, start: float, blocks: Sequence[tuple[float, ...]], unit: float, before: str
) -> None:
    # each block is 2 wide: the branch leaves at 0.3 and is back at 1.3; a norm stands at 1.5
    lane, size, edge = 1.4, start, [(0.0, start)]
    boxes = [before, "sublayer"] if before else ["sublayer"]
    under = {"ha": "center", "va": "top", "fontsize": 10, "color": INK}
    for i, (branch, total, out) in enumerate(blocks):
        at, half = 2.0 * i, branch * unit / 2
        rise = {"arrowstyle": "-|>", "color": INK, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
        foot = lane - 0.2 - 0.4 * (len(boxes) - 1)
        axes.annotate("", (at + 0.4, foot), (at + 0.4, size * unit / 2), arrowprops=rise)
        for level, name in enumerate(reversed(boxes)):
            _box(axes, at + 0.5, lane - 0.4 * level, name, 0.94, 0.4)
        right = at + 1.0 + 2 * half
        elbow = [(at + 0.97, lane + half), (right, lane + half), (right, total * unit / 2)]
        elbow += [(at + 1.0, size * unit / 2), (at + 1.0, lane - half), (at + 0.97, lane - half)]
        axes.fill(*zip(*elbow, strict=True), color=LINES[1], lw=0, zorder=2)
        axes.text(right + 0.06, lane, f"+{branch:.2f}", va="center", fontsize=9, color=INK)
        edge += [(at + 1.0, size), (right, total), (at + 1.5, total), (at + 1.7, out)]
        if _is_rescaled(total, out):
            _box(axes, at + 1.6, 0, "norm", 0.22, total * unit + 0.3, rotation=90)
        axes.text(at + 1.15, -total * unit / 2 - 0.08, f"{total:.2f}", **under)
        size = out
    end = 2.0 * len(blocks)
    at, sizes = zip(*edge, (end, size), strict=True)  # all corners
    half = np.array(sizes) * unit / 2
    axes.fill_between(at, -half, half, color=LINES[0], lw=0, zorder=1)
    axes.plot(end + 0.02, 0, ">", markersize=11, color=LINES[0])
    axes.text(-0.1, 0, f"{start:.2f}", ha="right", va="center", fontsize=10, color=INK)
    axes.text(end + 0.22, 0, f"{size:.2f}", ha="left", va="center", fontsize=10, color=INK)
    axes.set(xlim=(-0.6, end + 0.8), ylim=(-0.8, lane + 0.45), aspect="equal")
    axes.axis("off")


def _ways(
    axes: Axes,
    passed: Sequence[tuple[Sequence[str], Sequence[str]]],
    ends: str,
    inputs: Mapping[str, str],
) -> None:
    # each box takes 1.75 units, with its arrow
    at, room = 0.9, 1.75
    straight = {"color": LINES[0], "lw": 3.5, "zorder": 1}
    axes.text(0.35, 0, ends, ha="center", va="center", fontsize=12, color=INK)
    first = at - 0.25
    for off, on in passed:
        back = at + 0.35 + room * len(off)
        axes.plot([at, at, back, back], [0, 1.35, 1.35, 0.22], color=INK, lw=1.4, zorder=1)
        for i, name in enumerate(off):
            middle = at + 0.2 + room * (i + 0.5)
            _box(axes, middle, 1.35, name)
            if name in inputs:
                enters = {"arrowstyle": "-|>", "color": LINES[1], "lw": 2, "shrinkA": 0}
                axes.annotate("", (middle, 1.71), (middle, 2.3), arrowprops=enters | {"shrinkB": 0})
                written = {"ha": "center", "va": "bottom", "fontsize": 11, "color": LINES[1]}
                axes.text(middle, 2.36, inputs[name], **written)
        axes.plot(back, 0, "o", markersize=17, color="white", markeredgecolor=INK, zorder=3)
        axes.text(back, -0.02, "+", ha="center", va="center", fontsize=14, color=ON_LIGHT, zorder=4)
        at = back + 0.45
        for name in on:
            _box(axes, at + room / 2, 0, name)
            at += room + 0.1
    axes.plot([first, at + 0.3], [0, 0], **straight)
    axes.plot(at + 0.3, 0, ">", markersize=11, color=LINES[0])
    axes.set(xlim=(0, max(13.9, at + 0.8)), ylim=(-0.65, 2.8 if inputs else 1.9))
    axes.axis("off")


def _box(
    axes: Axes,
    x: float,
    y: float,
    name: str,
    width: float = 1.44,
    height: float = 0.72,
    rotation: float = 0,
) -> None:
    colour = "#FBE3CC" if name.startswith("norm") else "#E3EEF6"
    corner = x - width / 2, y - height / 2
    axes.add_patch(Rectangle(corner, width, height, facecolor=colour, edgecolor=INK, zorder=3))
    written = {"ha": "center", "va": "center", "fontsize": 10 if width > 1 else 9}
    axes.text(x, y, name, color=ON_LIGHT, rotation=rotation, zorder=4, **written)


def _links(axes: Axes, words: Sequence[str], position: int, weights: np.ndarray) -> None:
    # words side by side, with a width proportional to their length
    starts = np.cumsum([0.0, *(len(word) + 2.0 for word in words)])
    middles = (starts[:-1] + starts[1:]) / 2
    for i, (word, middle, weight) in enumerate(zip(words, middles, weights, strict=True)):
        heavy = "bold" if i == position else "normal"
        axes.text(middle, 0, word, ha="center", va="top", fontsize=12, fontweight=heavy, color=INK)
        axes.text(middle, -1.1, f"{weight:.2f}", ha="center", va="top", fontsize=9, color=INK)
        if i != position and weight > 0.01:
            bend = 0.32 if middle < middles[position] else -0.32
            arc = FancyArrowPatch(
                (middles[position], 0.15),
                (middle, 0.15),
                connectionstyle=f"arc3,rad={bend}",
                arrowstyle="-",
                linewidth=0.6 + 7 * weight,
                color=LINES[0],
                alpha=float(0.25 + 0.75 * weight),
            )
            axes.add_patch(arc)
    axes.set(xlim=(starts[0], starts[-1]), ylim=(-2.2, 6))
    axes.axis("off")
