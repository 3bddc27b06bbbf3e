"""A beam search as a tree: what each step of it keeps, what it drops, and at which score."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from transformer_course.figures import INK, LINES, Picture
from transformer_course.widgets.beam_trace import (
    ENDED,
    OPEN,
    Settings,
    Step,
    Tokens,
    Trace,
    final_scores,
    signed,
    trace_beam,
)
from transformer_course.widgets.view import View, explains_stubs, visible

WIDEST = 12  # hypotheses
LONGEST = 64  # steps
DRAWN = 9  # steps in the picture
FATES = ("dropped", OPEN, ENDED)
LETTERS = 11  # of a name in the picture


@explains_stubs
def show_beam(
    beam_search: Callable[..., tuple[Any, Any]],
    step: Step,
    begin: int,
    end: int,
    width: int,
    max_length: int,
    names: Sequence[str],
    alpha: float = 0.0,
    title: str | None = None,
) -> View:
    """Show what your beam search keeps and drops, step by step, as a tree.

    `beam_search(step, begin, end, width, max_length, alpha=alpha)`, yours, is called once, for one
    source. It calls `step` with its open hypotheses, int64 (rows, so far), `begin` first, all at
    once or row by row, and gets their logits (rows, vocab). It returns `(tokens, score)`. `names`:
    a str for each token of the vocabulary. What is in the next call was kept; no call shows what
    ended, or the last step: there the `width` likeliest count as kept. `width` is at most 12,
    `max_length` at most 64; others, and calls and results that are no such search's, are a
    `ValueError`. Exceptions of your function propagate.
    """
    _refuse_sizes(begin, end, width, max_length, len(names))
    shown = [visible(str(name)) for name in names]
    settings = Settings(begin, end, width, max_length, float(alpha), shown)
    trace = trace_beam(beam_search, step, settings)
    tree, order = _tree(trace, settings)
    heading = title or f"beam search of width {width}"
    options = {
        "title": heading,
        "names": [shown[one[-1] if one else begin] for one in order],
        "end": shown[end],
        "width": width,
        "vocab": len(shown),
        "alpha": settings.alpha,
        "max_length": max_length,
        "faults": trace.faults,
    }
    state = {"step": len(trace.levels), "dropped": True, "column": len(trace.levels), "row": 0}
    draw = partial(_picture, tree, order, trace, settings, heading)
    return View("beam", draw, {"nodes": tree.astype(np.float32)}, options, state)


def _refuse_sizes(begin: int, end: int, width: int, max_length: int, vocab: int) -> None:
    for name, value, most in (("width", width, WIDEST), ("max_length", max_length, LONGEST)):
        if not 1 <= value <= most:
            raise ValueError(f"{name} must be from 1 to {most}; got {value}")
    for name, token in (("begin", begin), ("end", end)):
        if not 0 <= token < vocab:
            raise ValueError(f"{name} must be one of the {vocab} tokens in names; got {token}")


def _tree(trace: Trace, settings: Settings) -> tuple[np.ndarray, list[Tokens]]:
    """A row for each node, and its tokens.

    A row: step, parent, log-probability, score, index in FATES, whether it is on the path that is
    returned. Within a step, siblings stand together, the likeliest first, so that no edges cross.
    """
    order: list[Tokens] = [()]
    rows: list[list[float]] = [[0, -1, 0.0, 0.0, FATES.index(OPEN), 1]]
    at: dict[Tokens, int] = {(): 0}
    for number, level in enumerate(trace.levels, 1):
        fates = dict.fromkeys(level.dropped, FATES[0]) | level.kept
        sums = trace.log_probabilities
        for one in sorted(fates, key=lambda one: (at[one[:-1]], -sums[one])):
            at[one] = len(order)
            order.append(one)
            path = trace.returned[:number] == one
            row = [number, at[one[:-1]], sums[one], settings.score(sums[one], number)]
            rows.append([*row, FATES.index(fates[one]), path])
    return np.array(rows, dtype=np.float64), order


def _picture(
    tree: np.ndarray, order: list[Tokens], trace: Trace, settings: Settings, title: str
) -> Picture:
    """Draw the whole tree, or its first steps."""
    shown = tree[tree[:, 0] <= DRAWN]
    steps = int(shown[:, 0].max())
    counts = [int((shown[:, 0] == number).sum()) for number in range(steps + 1)]
    figure = Figure(figsize=(1.1 + 1.05 * steps, 0.9 + 0.44 * max(counts)), layout="constrained")
    axes = figure.subplots()
    # the nodes of a step around the same height
    heights = np.concatenate([(count - 1) / 2 - np.arange(count) for count in counts])
    for number, (row, height) in enumerate(zip(shown, heights, strict=True)):
        name = settings.names[order[number][-1] if number else settings.begin]
        _node(axes, row, height, name, heights)
    for number, label in enumerate(["", *(f"step {number}" for number in range(1, steps + 1))]):
        axes.text(number, max(counts) / 2 + 0.35, label, ha="center", color=INK, fontsize=9)
    axes.set(xlim=(-0.5, steps + 0.5), ylim=(-max(counts) / 2 - 0.2, max(counts) / 2 + 0.7))
    axes.axis("off")
    cut = f", the first {DRAWN} of {len(trace.levels)} steps" if len(trace.levels) > DRAWN else ""
    heading = f"{title}{cut}\nthick: returned; blue: kept; filled: kept, ended; dashed: dropped"
    figure.suptitle(heading, fontsize=10)
    return Picture(figure, _alt_text(trace, settings, title))


def _node(axes: Axes, row: np.ndarray, height: float, name: str, heights: np.ndarray) -> None:
    number, parent, log_probability, _, fate, path = row
    dropped = FATES[int(fate)] == "dropped"
    colour = LINES[1] if path else INK if dropped else LINES[0]
    line = {"linestyle": "--" if dropped else "-", "linewidth": 2.5 if path else 1.0}
    if parent >= 0:
        ends = [number - 1 + 0.41, number - 0.41], [heights[int(parent)], height]
        axes.plot(*ends, color=colour, **line)
    ended = FATES[int(fate)] == ENDED
    style = f"round,pad=0,rounding_size={0.25 if ended else 0.06}"
    corner = number - 0.41, height - 0.38
    face = f"{LINES[0]}40" if ended else "none"  # a light blue
    box = FancyBboxPatch(corner, 0.82, 0.76, style, facecolor=face, edgecolor=colour, **line)
    axes.add_patch(box)
    short = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"
    text = f"{short}\n{signed(log_probability)}" if parent >= 0 else short
    axes.text(number, height, text, ha="center", va="center", fontsize=8, color=INK)


def _alt_text(trace: Trace, settings: Settings, title: str) -> str:
    sums = trace.log_probabilities

    def listed(several: Sequence[Tokens]) -> str:
        ranked = sorted(several, key=lambda one: -sums[one])
        return ", ".join(f"{settings.written(one)} {signed(sums[one])}" for one in ranked)

    steps = []
    for number, level in enumerate(trace.levels[:DRAWN], 1):
        dropped = f"; drops {listed(level.dropped)}" if level.dropped else ""
        steps.append(f"Step {number} keeps {listed(list(level.kept))}{dropped}.")
    scores = final_scores(trace, settings)
    score = f", score {signed(scores[trace.returned])}" if trace.returned in scores else ""
    result = f"Returned: {settings.written(trace.returned)}{score}."
    faults = "".join(f" Careful: {fault}." for fault in trace.faults)
    return f"{title}, with log-probabilities. {' '.join(steps)} {result}{faults}"
