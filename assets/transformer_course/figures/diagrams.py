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


def stations(ways: Mapping[str, Sequence[tuple[Sequence[str], Sequence[str]]]], ends: str) -> None:
    """Draw a residual stream with its branches, for one or more variants of a block.

    A variant is title -> its branches in order, each (boxes on the branch, boxes on the stream
    after the "+" where the branch is added back). `ends` names the input.
    """
    figure = Figure(figsize=(9.5, 2.3 * len(ways)), layout="constrained")
    grid = figure.subplots(len(ways), 1, squeeze=False)[:, 0]
    descriptions = []
    for axes, (title, passed) in zip(grid, ways.items(), strict=True):
        axes.set_title(title, loc="left", fontsize=11)
        _ways(axes, passed, ends)
        parts = [
            f"a detour through {', '.join(off)} is added back"
            + f", then {', '.join(on)} on the straight way" * bool(on)
            for off, on in passed
        ]
        descriptions.append(f"{title}: from {ends}, {'; '.join(parts)}")
    show(figure, f"{'. '.join(descriptions)}.")


def _ways(axes: Axes, passed: Sequence[tuple[Sequence[str], Sequence[str]]], ends: str) -> None:
    # each box takes 1.75 units, with its arrow
    at, room = 0.9, 1.75
    straight = {"color": LINES[0], "lw": 3.5, "zorder": 1}
    axes.text(0.35, 0, ends, ha="center", va="center", fontsize=12, color=INK)
    first = at - 0.25
    for off, on in passed:
        back = at + 0.35 + room * len(off)
        axes.plot([at, at, back, back], [0, 1.35, 1.35, 0.22], color=INK, lw=1.4, zorder=1)
        for i, name in enumerate(off):
            _box(axes, at + 0.2 + room * (i + 0.5), 1.35, name)
        axes.plot(back, 0, "o", markersize=17, color="white", markeredgecolor=INK, zorder=3)
        axes.text(back, -0.02, "+", ha="center", va="center", fontsize=14, color=ON_LIGHT, zorder=4)
        at = back + 0.45
        for name in on:
            _box(axes, at + room / 2, 0, name)
            at += room + 0.1
    axes.plot([first, at + 0.3], [0, 0], **straight)
    axes.plot(at + 0.3, 0, ">", markersize=11, color=LINES[0])
    axes.set(xlim=(0, 13.9), ylim=(-0.65, 1.9))
    axes.axis("off")


def _box(axes: Axes, x: float, y: float, name: str) -> None:
    colour = "#FBE3CC" if name.startswith("norm") else "#E3EEF6"
    face = Rectangle((x - 0.72, y - 0.36), 1.44, 0.72, facecolor=colour, edgecolor=INK, zorder=3)
    axes.add_patch(face)
    axes.text(x, y, name, ha="center", va="center", fontsize=10, color=ON_LIGHT, zorder=4)


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
