"""The lessons' figures; each has an alternative text for screen readers.

The colours suit colour-blind readers: cividis for maps, Okabe and Ito's palette for lines.
All functions accept tensors and arrays, and raise `ValueError` for a wrong shape.
"""

import base64
import html
import io
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.text import Text
from numpy.typing import ArrayLike
from torch import Tensor

# On the page, white or nearly black behind a transparent ground: 4.5 : 1 and 4.2 : 1.
INK = "#767676"
ON_LIGHT = "#222222"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
DASHES = ("-", "--", ":", "-.")
MARKS = ("o", "s", "^", "D")
DPI = 110


class Picture:
    """A rendered figure: an image in HTML, its alternative text elsewhere."""

    def __init__(self, figure: Figure, alt: str) -> None:
        _suit_any_page(figure)
        file = io.BytesIO()
        # without matplotlib's version, so that equal figures have equal bytes
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
        self.png, self.alt = file.getvalue(), alt

    def __repr__(self) -> str:
        return f"[picture: {self.alt}]"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode()
        alt = html.escape(self.alt, quote=True)
        return f'<img alt="{alt}" src="data:image/png;base64,{data}" style="max-width:100%">'


def arrows(vectors: Mapping[str, ArrayLike], axes: tuple[str, str]) -> None:
    """Draw two-dimensional vectors as arrows from the origin, with names and coordinates."""
    points = {
        name: _matrix(torch.as_tensor(vector)[None], "each vector", 1, 2)[0]
        for name, vector in vectors.items()
    }
    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    plane = figure.subplots()
    reach = max(float(np.abs(point).max()) for point in points.values()) * 1.6
    for (name, point), colour in zip(points.items(), LINES, strict=False):
        plane.annotate(
            "", point, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2}
        )
        label = f"{name} {brief(point)}"
        plane.annotate(label, point, (4, 6), textcoords="offset points", color=colour, fontsize=11)
    low = min(0.0, *(float(point.min()) for point in points.values())) * 1.35 - 0.25
    plane.set(xlim=(low, reach), ylim=(low, reach), xlabel=axes[0], ylabel=axes[1], aspect="equal")
    plane.grid(alpha=0.3)
    listed = ", ".join(f"{name} {brief(point)}" for name, point in points.items())
    _show(figure, f"Arrows from the origin, {axes[0]} across and {axes[1]} up: {listed}.")


def attention_map(
    weights: ArrayLike | Tensor,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    title: str = "attention weights",
) -> None:
    """Draw a matrix (query, key): a row for each query, a column for each key."""
    steps({title: (weights, "key", keys or queries)}, "query", queries)


def steps(
    stages: Mapping[str, tuple[ArrayLike | Tensor, str, Sequence[str]]],
    rows_are: str,
    rows: Sequence[str],
) -> None:
    """Draw matrices side by side that share their rows.

    A stage is title -> (matrix, what its columns are, the name of each column).
    """
    widths = [max(len(labels), 2) for _, _, labels in stages.values()]
    size = (1.6 + 0.72 * sum(widths) + 0.6 * len(widths), 1.7 + 0.5 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(stages), squeeze=False, width_ratios=widths)[0]
    descriptions = []
    for axes, (title, (values, columns_are, columns)) in zip(grid, stages.items(), strict=True):
        matrix = _matrix(values, title, len(rows), len(columns))
        heatmap(axes, matrix, columns)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(columns_are)
        lines = "; ".join(f"{row}: {brief(line)}" for row, line in zip(rows, matrix, strict=True))
        descriptions.append(f"{title} ({rows_are} by {columns_are}): {lines}")
    grid[0].set_yticks(range(len(rows)), rows)
    grid[0].set_ylabel(rows_are)
    _show(figure, f"{'. '.join(descriptions)}.")


def masks(
    stages: Mapping[str, tuple[ArrayLike | Tensor, str, Sequence[str]]],
    rows_are: str,
    rows: Sequence[str],
) -> None:
    """Draw masks side by side that share their rows: dots are allowed, hatched cells masked.

    A stage is title -> (mask, what its columns are, the name of each column), as in `steps`.
    """
    widths = [max(len(labels), 3) for _, _, labels in stages.values()]
    rotated = max(len(label) for _, _, labels in stages.values() for label in labels) > 3
    size = (
        1.8 + 0.5 * sum(widths) + 0.5 * len(widths),
        (1.9 if rotated else 1.4) + 0.5 * len(rows),
    )
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(stages), squeeze=False, width_ratios=widths)[0]
    descriptions = []
    for axes, (title, (mask, columns_are, columns)) in zip(grid, stages.items(), strict=True):
        allowed = _matrix(mask, title, len(rows), len(columns)) != 0
        mark_allowed(axes, allowed)
        mark_forbidden(axes, allowed)
        axes.set_xticks(range(len(columns)), columns, rotation=90 if rotated else 0)
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5), yticks=[])
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(columns_are)
        axes.tick_params(which="both", length=0)
        kept = [[c for c, may in zip(columns, line, strict=True) if may] for line in allowed]
        lines = "; ".join(
            f"{row}: {', '.join(names) or 'none'}" for row, names in zip(rows, kept, strict=True)
        )
        about = f"{title} ({rows_are} by {columns_are})"
        descriptions.append(f"{about}, the keys that each query may attend to: {lines}")
    grid[0].set_yticks(range(len(rows)), rows)
    grid[0].set_ylabel(rows_are)
    _show(figure, f"{'. '.join(descriptions)}.")


def word_links(sentences: Mapping[str, tuple[Sequence[str], int, ArrayLike | Tensor]]) -> None:
    """Draw what a word attends to: title -> (words, its position, its weight on each word)."""
    figure = Figure(figsize=(9.5, 2.3 * len(sentences)), layout="constrained")
    grid = figure.subplots(len(sentences), 1, squeeze=False)[:, 0]
    descriptions = []
    for axes, (title, (words, position, weights)) in zip(grid, sentences.items(), strict=True):
        row = _matrix(torch.as_tensor(weights)[None], title, 1, len(words))[0]
        _links(axes, words, position, row)
        axes.set_title(title, loc="left", fontsize=11)
        ranked = sorted(zip(row, words, strict=True), reverse=True)[:3]
        most = ", ".join(f"{word} {weight:.2f}" for weight, word in ranked)
        descriptions.append(f"{title}: from “{words[position]}”, the largest weights go to {most}")
    _show(figure, f"{'. '.join(descriptions)}.")


def curves(
    across: Sequence[float],
    lines: Mapping[str, Sequence[float] | Sequence[Sequence[float]]],
    x: str,
    y: str,
    title: str,
    logarithmic: str = "",
    dots: Mapping[str, Sequence[float]] | None = None,
    marked: Mapping[str, tuple[float, float]] | None = None,
    bottom: float | None = None,
    legend_columns: int = 1,
) -> None:
    """Draw lines over a shared axis, with measured values as `dots`.

    A line is its values, or several runs of them, (runs, values): then it is their mean, in a band
    from the lowest to the highest.
    `logarithmic` names the axes with a scale to base 2 ("x", "xy"; base 10 for a y axis that spans
    a ratio of more than 4096), `marked` single points.
    """
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    styles = zip(LINES, DASHES, MARKS, strict=True)
    for (name, values), (colour, dash, mark) in zip(lines.items(), styles, strict=False):
        runs = np.atleast_2d(np.asarray(values, dtype=float))
        axes.fill_between(across, runs.min(0), runs.max(0), color=colour, alpha=0.25, linewidth=0)
        axes.plot(across, runs.mean(0), dash, color=colour, marker="" if dots else mark, label=name)
    for (name, values), mark in zip((dots or {}).items(), MARKS, strict=False):
        axes.plot(across, values, mark, color=INK, label=name)
    for name, point in (marked or {}).items():
        axes.plot(*point, "*", color=LINES[1], markersize=16, label=name)
    if "x" in logarithmic:
        axes.set_xscale("log", base=2)
        axes.set_xticks(across, [f"{value:g}" for value in across])
    if "y" in logarithmic:
        drawn = [np.asarray(series).ravel() for series in (*lines.values(), *(dots or {}).values())]
        lowest, highest = np.concatenate(drawn).min(), np.concatenate(drawn).max()
        wide = highest > 2**12 * lowest  # too many ticks to base 2
        axes.set_yscale("log", base=10 if wide else 2)
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.set_ylim(bottom=bottom)
    axes.grid(alpha=0.3)
    axes.legend(ncols=legend_columns)
    series = {name: np.atleast_2d(v).mean(0) for name, v in {**lines, **(dots or {})}.items()}
    ends = "; ".join(f"{name} from {v[0]:.3g} to {v[-1]:.3g}" for name, v in series.items())
    _show(figure, f"{title}. {y} for {x} from {across[0]:g} to {across[-1]:g}: {ends}.")


def runs(measured: Mapping[str, Sequence[float]], y: str, title: str) -> None:
    """Draw a dot for each run, a column for each setting, and a line at its mean."""
    figure = Figure(figsize=(1.6 + 1.3 * len(measured), 3.6), layout="constrained")
    axes = figure.subplots()
    descriptions = []
    for column, (name, values) in enumerate(measured.items()):
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else [0.0]
        axes.plot(column + np.asarray(spread), values, "o", color=LINES[0], markersize=7, alpha=0.8)
        mean = float(np.mean(values))
        axes.plot([column - 0.25, column + 0.25], [mean, mean], color=LINES[1], linewidth=2)
        descriptions.append(f"{name}: {', '.join(f'{v:.3g}' for v in values)}, mean {mean:.3g}")
    axes.set_xticks(range(len(measured)), [name.replace(", ", ",\n") for name in measured])
    axes.set(xlim=(-0.5, len(measured) - 0.5), ylabel=y, title=title)
    axes.grid(axis="y", alpha=0.3)
    _show(figure, f"{title}. {y} of each run. {'; '.join(descriptions)}.")


def tiles(
    pictures: Sequence[ArrayLike | Tensor],
    names: Sequence[str],
    title: str,
    across: int = 6,
    colours: str = "gray",
) -> None:
    """Draw small images (height, width) in rows with their names, on a shared colour scale."""
    height, width = torch.as_tensor(pictures[0]).shape
    drawn = [_matrix(p, name, height, width) for p, name in zip(pictures, names, strict=True)]
    lines = -(-len(drawn) // across)
    figure = Figure(figsize=(1.25 * across, 1.25 * height / width * lines + 0.3 * lines + 0.4))
    figure.set_layout_engine("constrained")
    low, high = min(p.min() for p in drawn), max(p.max() for p in drawn)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    for axes in grid:
        axes.axis("off")
    for axes, picture, name in zip(grid, drawn, names, strict=False):
        axes.imshow(picture, cmap=colours, vmin=low, vmax=high)
        axes.set_title(name, fontsize=10)
    figure.suptitle(title, fontsize=11)
    _show(figure, f"{title}. {len(drawn)} pictures of {height} by {width}: {', '.join(names)}.")


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
    _show(figure, f"{'. '.join(descriptions)}.")


def _show(figure: Figure, alt: str) -> None:
    display(Picture(figure, alt))


def _suit_any_page(figure: Figure) -> None:
    """Make white ground transparent and black ink grey: a page may be light or dark."""
    figure.patch.set_alpha(0)
    for axes in figure.axes:
        axes.tick_params(which="both", color=INK, labelcolor=INK)
        for spine in axes.spines.values():
            spine.set_edgecolor(INK)
        if to_hex(axes.get_facecolor()) == "#ffffff":
            axes.patch.set_alpha(0)
        if legend := axes.get_legend():
            legend.get_frame().set_alpha(0)
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text.get_color() == "black":
            text.set_color(INK)


def heatmap(axes: Axes, matrix: np.ndarray, labels: Sequence[str], numbers: bool = True) -> None:
    """Draw a matrix as coloured cells, with numbers if they fit; NaN stays empty."""
    axes.imshow(matrix, cmap="cividis", aspect="auto")
    axes.set_xticks(range(len(labels)), labels, rotation=45 if len(labels) > 6 else 0)
    axes.set_yticks([])
    if not numbers:
        return
    # thin lines separate cells of the same colour
    for row in range(1, matrix.shape[0]):
        axes.axhline(row - 0.5, color="white", linewidth=1)
    for column in range(1, matrix.shape[1]):
        axes.axvline(column - 0.5, color="white", linewidth=1)
    if matrix.size <= 80:
        low = np.nanmin(matrix)
        dark = low + 0.45 * (np.nanmax(matrix) - low)
        for (row, column), value in np.ndenumerate(matrix):
            if np.isnan(value):
                continue
            colour = "white" if value <= dark else ON_LIGHT
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)


def mark_allowed(axes: Axes, allowed: np.ndarray, size: float = 6) -> None:
    """Draw a cell for each pair of a query and a key, with a dot where `allowed` is True."""
    axes.set_facecolor("#E3EEF6")
    axes.plot(*np.argwhere(allowed).T[::-1], "o", color=LINES[0], markersize=size)
    for axis, count in ((axes.yaxis, len(allowed)), (axes.xaxis, allowed.shape[1])):
        axis.set_ticks(np.arange(count + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1)


def mark_forbidden(axes: Axes, allowed: np.ndarray, size: float = 6) -> None:
    """Hatch and cross out the cells where `allowed` is False."""
    cells = [Rectangle((x - 0.5, y - 0.5), 1, 1) for y, x in np.argwhere(~allowed)]
    hatched = PatchCollection(cells, facecolor="#999999", edgecolor="#555555", hatch="//")
    axes.add_collection(hatched, autolim=False)
    axes.plot(*np.argwhere(~allowed).T[::-1], "x", color="black", markersize=size)


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


def _matrix(values: ArrayLike | Tensor, name: str, height: int, width: int) -> np.ndarray:
    matrix = torch.as_tensor(values).detach().cpu().double().numpy()
    if matrix.shape != (height, width):
        raise ValueError(f"{name} must have the shape {(height, width)}; got {matrix.shape}")
    return matrix


def brief(numbers: np.ndarray) -> str:
    """Format a row of numbers for a text."""
    return f"[{', '.join(f'{number:.2f}'.rstrip('0').rstrip('.') for number in numbers)}]"
