"""Causal against cached: the positions that each call computes, without and with a cache."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from transformer_course.figures import LINES, Picture
from transformer_course.widgets.view import MOST, View, visible

CALLS = 256  # that are shown
# what a call does with a position
ABSENT, FIRST, AGAIN, READ = range(4)
NAMES = ("not there yet", "computed for the first time", "computed again", "read from the cache")
TITLE = "what each call computes, without and with a cache"

Calls = Sequence[tuple[int, int]]


def show_cached(
    calls: Calls, cached_calls: Calls, tokens: Sequence[str], title: str | None = None
) -> View:
    """Show which positions are computed again at each step, without and with a cache.

    `calls` and `cached_calls`: (start, stop) for each call of the model, in order: it computed the
    positions start, ..., stop − 1. `tokens`: the name of each position. Of more than 256 calls, the
    first 256 are shown, of at most 512 positions; `ValueError` for more, and for other calls.
    """
    names = [visible(str(token)) for token in tokens]
    given = {"calls": calls, "cached_calls": cached_calls}
    pairs = {name: _pairs(value, name, len(names)) for name, value in given.items()}
    most = max(len(value) for value in pairs.values())
    pairs = {name: value[:CALLS] for name, value in pairs.items()}
    count = int(max(value.max() for value in pairs.values()))
    if count > MOST:
        raise ValueError(f"tokens must be at most {MOST} positions; the calls reach {count}")
    states = {
        "without": _states(pairs["calls"], count, cache=False),
        "with": _states(pairs["cached_calls"], count, cache=True),
    }
    cut = f", the first {CALLS} of {most} calls" if most > CALLS else ""
    absent = f"{NAMES[0]}, or left out" if any(map(_left_out, states.values())) else NAMES[0]
    options = {"title": (title or TITLE) + cut, "tokens": names[:count]}
    options |= {"names": [absent, *NAMES[1:]]}
    last = max(len(part) for part in states.values()) - 1
    draw = partial(_picture, states, names[:count], options["title"])
    return View("cached", draw, states, options, {"step": last, "position": 0})


def _pairs(calls: Any, name: str, positions: int) -> np.ndarray:
    """(call, 2): start and stop of each call; `ValueError` for what is no range of positions."""
    try:
        array = np.array([[int(start), int(stop)] for start, stop in calls])
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a list of pairs of integers, (start, stop)") from None
    if not len(array):
        raise ValueError(f"{name} must hold a call or more; got none")
    for number, (start, stop) in enumerate(array):
        if not 0 <= start < stop <= positions:
            needed = f"{name} must be (start, stop) within the {positions} tokens"
            raise ValueError(f"{needed}; call {number} is ({start}, {stop})")
    return array


def _states(calls: np.ndarray, positions: int, cache: bool) -> np.ndarray:
    """(call, position): what each call does with each position."""
    states = np.full((len(calls), positions), ABSENT, dtype=np.uint8)
    computed = np.zeros(positions, dtype=bool)
    for row, (start, stop) in zip(states, calls, strict=True):
        if cache:
            row[:start][computed[:start]] = READ
        row[start:stop] = np.where(computed[start:stop], AGAIN, FIRST)
        computed[start:stop] = True
    return states


def _left_out(states: np.ndarray) -> bool:
    """Whether a call neither computes nor reads a position that an earlier call computed."""
    known = np.maximum.accumulate(states != ABSENT)
    return bool((known & (states == ABSENT)).any())


def _computed(states: np.ndarray) -> int:
    return int(((states == FIRST) | (states == AGAIN)).sum())


def _picture(states: dict[str, np.ndarray], tokens: list[str], title: str) -> Picture:
    """Draw both grids, with all their calls."""
    most = max(len(part) for part in states.values())
    high = min(6.0, max(1.2, 0.24 * most))
    figure = Figure(figsize=(10.0, 2.2 + high), layout="constrained")
    descriptions = []
    for axes, (name, part) in zip(figure.subplots(1, 2), states.items(), strict=True):
        _grid(axes, part, tokens, most)
        axes.set_title(f"{name} a cache: {_computed(part)} positions computed", fontsize=11)
        descriptions.append(_alt_text(name, part))
    styles = zip(NAMES[1:], _styles(), strict=True)
    handles = [Patch(label=label, **style) for label, style in styles]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, fontsize=11)
    return Picture(figure, f"{title}, {len(tokens)} positions. {'. '.join(descriptions)}.")


def _alt_text(name: str, states: np.ndarray) -> str:
    total, again = _computed(states), int((states == AGAIN).sum())
    last, read = _computed(states[-1]), int((states[-1] == READ).sum())
    return (
        f"{name.capitalize()} a cache, {len(states)} calls compute {total} positions, {again} of "
        f"them again; the last call computes {last} and reads {read}"
    )


def _styles() -> list[dict[str, Any]]:
    """The colours of a position: computed first, computed again, read."""
    blue, orange = LINES[:2]
    again = {"facecolor": f"{orange}55", "edgecolor": orange, "hatch": "//////", "linewidth": 0.6}
    first, read = ({"facecolor": colour, "edgecolor": colour} for colour in (orange, blue))
    return [first, again, read]


def _grid(axes: Axes, states: np.ndarray, tokens: list[str], most: int) -> None:
    rows, columns = states.shape
    for code, style in zip((FIRST, AGAIN, READ), _styles(), strict=True):
        patches = []
        for row, line in enumerate(states == code):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], line, [0]]))).reshape(-1, 2)
            patches += [Rectangle((a - 0.5, row - 0.4), b - a, 0.8) for a, b in edges]
        axes.add_collection(PatchCollection(patches, **style))
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(most - 0.5, -0.5), ylabel="call")
    if columns <= 32:
        named = [name.replace("$", r"\$") for name in tokens]
        flat = max(map(len, tokens)) <= 2
        axes.set_xticks(range(columns), named, rotation=0 if flat else 90)
    axes.set_xlabel("position")
    every = -(-rows // 16)
    axes.set_yticks(range(0, rows, every), [str(row + 1) for row in range(0, rows, every)])
    axes.tick_params(which="both", length=0, labelsize=8)
