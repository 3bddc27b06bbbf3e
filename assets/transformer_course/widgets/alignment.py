"""Alignments: which source position each output token attends to, as lines and as a matrix."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import INK, LINES, Picture, heatmap
from transformer_course.widgets.view import View, labels, matrix, visible

MOST = 64  # tokens of a side
PAIRS = 64  # pairs of sequences
EXACT = 32_768  # more weights are quantised to 256 levels
NAMED = 24  # tokens of a side whose names fit into the picture
TITLE = "which source position each output token attends to"

Weights = ArrayLike | Tensor
Pair = tuple[np.ndarray, list[str], list[str]]


def show_alignment(
    weights: Weights | Sequence[Weights],
    outputs: Sequence[str] | Sequence[Sequence[str]],
    sources: Sequence[str] | Sequence[Sequence[str]],
    title: str | None = None,
) -> View:
    """Show which source position each output token attends to, by lines and as a matrix.

    `weights`: (output, source), (heads, output, source) or (layers, heads, output, source);
    `outputs` and `sources` are the tokens. Or lists of these, an entry for each pair of sequences,
    with as many layers and heads in each. Of more than 64 tokens, or pairs, the first 64 are shown.
    """
    pairs = _pairs(weights, outputs, sources)
    shown = [(one[..., :MOST, :MOST], out[:MOST], source[:MOST]) for one, out, source in pairs]
    exact = sum(one.size for one, *_ in shown[:PAIRS]) <= EXACT
    arrays = {
        str(number): one.astype(np.float32) if exact else one
        for number, (one, *_) in enumerate(shown[:PAIRS])
    }
    heading = title or TITLE
    options: dict[str, Any] = {
        "title": heading + _cut(pairs),
        "outputs": [out for _, out, _ in shown[:PAIRS]],
        "sources": [source for *_, source in shown[:PAIRS]],
    }
    state = {"pair": 0, "layer": 0, "head": 0, "row": 0, "all": True}
    state["column"] = int(shown[0][0][0, 0, 0].argmax())
    return View("alignment", partial(_picture, shown, heading), arrays, options, state)


def _pairs(weights: Any, outputs: Any, sources: Any) -> list[Pair]:
    """Each pair of sequences: weights (layers, heads, output, source), outputs, sources."""
    several = [bool(len(names)) and not isinstance(names[0], str) for names in (outputs, sources)]
    if not any(several):
        return [_pair(weights, outputs, sources)]
    counts = [len(weights), len(outputs), len(sources)]
    if not all(several) or len(set(counts)) > 1:
        needed = "for several pairs, weights, outputs and sources must be lists of the same length"
        found = f"got {counts[0]}, {counts[1]} and {counts[2]}"
        raise ValueError(
            f"{needed}; {found if all(several) else 'outputs or sources is a list of str'}"
        )
    entries = zip(weights, outputs, sources, strict=True)
    pairs = [_pair(*entry, f" of pair {number}") for number, entry in enumerate(entries)]
    for number, (one, *_) in enumerate(pairs):
        if one.shape[:2] != (first := pairs[0][0].shape[:2]):
            said = f"pair {number} has {one.shape[:2]}, pair 0 {first}"
            raise ValueError(f"all pairs must have the same (layers, heads); {said}")
    return pairs


def _pair(weights: Weights, outputs: Sequence[str], sources: Sequence[str], of: str = "") -> Pair:
    if isinstance(weights, list | tuple) and any(getattr(one, "ndim", 0) > 1 for one in weights):
        raise ValueError(
            "weights is a list of arrays: outputs and sources must then be lists of lists of str"
        )
    values = matrix(weights, f"weights{of}", "(layers)", "(heads)", "output", "source")
    rows, columns = values.shape[-2:]
    if (len(outputs), len(sources)) == (columns, rows) and rows != columns:
        raise ValueError(
            f"weights{of} must be (output, source), here ({columns}, {rows}); got {(rows, columns)}"
        )
    rows_are = labels(outputs, f"outputs{of}", rows)
    columns_are = labels(sources, f"sources{of}", columns)
    return values, [visible(name) for name in rows_are], [visible(name) for name in columns_are]


def _cut(pairs: list[Pair]) -> str:
    """What is left out, for the title."""
    left_out = []
    if max(len(names) for _, *sides in pairs for names in sides) > MOST:
        left_out.append(f"the first {MOST} tokens of a side")
    if len(pairs) > PAIRS:
        left_out.append(f"the first {PAIRS} of {len(pairs)} pairs")
    return f" ({', '.join(left_out)})" if left_out else ""


def _picture(pairs: list[Pair], title: str) -> Picture:
    """Draw the first pair, by the first head of the first layer: lines, and the matrix."""
    values, outputs, sources = pairs[0]
    weights = values[0, 0]
    few = max(weights.shape) <= NAMED
    high = 1.5 + 0.24 * max(weights.shape) if few else 6.0
    across = 1.5 + (0.3 * len(sources) if few else 4.0)
    figure = Figure(figsize=(4.2 + across, high), layout="constrained")
    lines, cells = figure.subplots(1, 2, width_ratios=[3.4, across])
    _lines(lines, weights, outputs if few else [], sources if few else [])
    heatmap(cells, weights, [], numbers=False)
    cells.images[0].set_clim(0, 1)
    figure.colorbar(cells.images[0], ax=cells, label="weight", shrink=0.7)
    if few:
        cells.set_xticks(range(len(sources)), sources, rotation=90)
        cells.set_yticks(range(len(outputs)), outputs)
    cells.set(xlabel="source", ylabel="output", aspect="equal")
    layers, heads = values.shape[:2]
    which = _which(len(pairs), layers, heads)
    figure.suptitle(title + (f"\n{which}" if which else ""), fontsize=11)
    return Picture(figure, _alt_text(weights, outputs, sources, f"{title}{which and ': ' + which}"))


def _which(pairs: int, layers: int, heads: int) -> str:
    """Which of several maps is in the picture."""
    counts = {"pair": pairs, "layer": layers, "head": heads}
    return ", ".join(f"first {name} of {count}" for name, count in counts.items() if count > 1)


def _lines(axes: Axes, weights: np.ndarray, outputs: list[str], sources: list[str]) -> None:
    rows, columns = weights.shape
    size = max(rows, columns)
    left, right = ((size - count) / 2 + np.arange(count) for count in (columns, rows))
    for (row, column), weight in np.ndenumerate(weights):
        share = float(np.clip(weight, 0, 1))
        ends = [left[column], right[row]]
        if share > 0.02:
            axes.plot([0, 1], ends, color=LINES[0], linewidth=0.4 + 4 * share, alpha=share)
    for across, places, names, side in ((0, left, sources, "right"), (1, right, outputs, "left")):
        for place, name in zip(places, names, strict=False):
            shift = -0.04 if across == 0 else 0.04
            axes.text(across + shift, place, name, ha=side, va="center", color=INK)
    axes.text(0, -1, "source", ha="right", va="center", color=INK, style="italic")
    axes.text(1, -1, "output", ha="left", va="center", color=INK, style="italic")
    axes.set(xlim=(-0.45, 1.45), ylim=(size - 0.4, -1.5))
    axes.axis("off")


def _alt_text(weights: np.ndarray, outputs: list[str], sources: list[str], title: str) -> str:
    most = [
        f"“{output}” to “{sources[row.argmax()]}” {row.max():.2f}"
        for output, row in zip(outputs, weights, strict=True)
    ]
    size = f"{len(outputs)} output tokens by {len(sources)} source tokens"
    return f"{title}. {size}. Each output token's largest weight: {', '.join(most)}."
