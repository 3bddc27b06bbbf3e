"""Positional encodings: as a map, as waves, and the similarity of a position to all others."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import LINES, Picture
from transformer_course.widgets.view import MOST, View, explains_stubs, matrix

Encoding = ArrayLike | Tensor
Setting = tuple[int, int, float]
KINDS = 4  # encodings side by side
NUMBERS = 180_000  # of all settings together; each is sent as one byte


@explains_stubs
def show_encoding(
    encodings: Encoding | Mapping[str, Encoding] | Callable[..., Encoding],
    title: str = "positional encoding",
    *,
    length: int | Sequence[int] = (16, 32, 64),
    d_model: int | Sequence[int] = (8, 16, 32, 64),
    base: float | Sequence[float] = (10.0, 100.0, 1000.0, 10000.0),
) -> View:
    """Show the values of each dimension by position, and how similar two positions are.

    `encodings`: one array (length, d_model), or name -> array for up to 4 of the same shape, each
    at most 512 by 512. Or your function: `encodings(length, d_model, base=base)` is called once
    for each combination of these values, among which the sliders choose. Exceptions of your
    function propagate; a wrong shape is a `ValueError`.
    """
    if callable(encodings):
        values = _several(length), _several(d_model), [float(one) for one in _several(base)]
        return _of_settings(encodings, title, *values)
    return _of_kinds(encodings, title)


def _of_kinds(encodings: Encoding | Mapping[str, Encoding], title: str) -> View:
    given = encodings if isinstance(encodings, Mapping) else {title: encodings}
    if not 1 <= len(given) <= KINDS:
        raise ValueError(f"encodings must be 1 to {KINDS} kinds; got {len(given)}")
    kinds = {str(name): matrix(one, str(name), "length", "d_model") for name, one in given.items()}
    shapes = {array.shape for array in kinds.values()}
    if len(shapes) > 1:
        listed = ", ".join(f"{name} {array.shape}" for name, array in kinds.items())
        raise ValueError(f"encodings must have the same shape; got {listed}")
    if max(rows_columns := shapes.pop()) > MOST:
        raise ValueError(f"encodings must be at most {MOST} by {MOST}; got {rows_columns}")
    options = {"title": title, "kinds": list(kinds), "settings": []}
    return _view(kinds, list(kinds), options, {"kind": 0, "compare": -1})


def _of_settings(
    function: Callable[..., Encoding],
    title: str,
    lengths: list[int],
    widths: list[int],
    bases: list[float],
) -> View:
    largest = max(lengths), max(widths)
    if max(largest) > MOST:
        raise ValueError(f"length and d_model must be at most {MOST}; got {largest}")
    count = sum(lengths) * sum(widths) * len(bases)
    if count > NUMBERS:
        raise ValueError(f"at most {NUMBERS:,} numbers, over all settings; these have {count:,}")
    settings = list(product(lengths, widths, bases))
    tables = {_named(one): _called(function, one) for one in settings}
    first = *largest, max(bases)
    options = {"title": title, "kinds": list(tables), "settings": settings}
    options |= {"length": lengths, "d_model": widths, "base": bases}
    state: dict[str, Any] = {"length": first[0], "d_model": first[1], "base": first[2]}
    return _view(tables, [_named(first)], options, state)


def _several(values: Any) -> list[Any]:
    """The distinct values in ascending order, for a slider."""
    several = sorted(set(values)) if isinstance(values, Sequence) else [values]
    if not several:
        raise ValueError("length, d_model and base must each have a value; one has none")
    return several


def _named(setting: Setting) -> str:
    length, d_model, base = setting
    return f"length {length}, d_model {d_model}, base {base:g}"


def _called(function: Callable[..., Encoding], setting: Setting) -> np.ndarray:
    length, d_model, base = setting
    call = f"the result for ({length}, {d_model}, base={base:g})"
    result = function(length, d_model, base=base)
    if result is None:
        raise ValueError(f"{call} must be ({length}, {d_model}); got None: is a return missing?")
    table = matrix(result, call, "length", "d_model")
    if table.shape != (length, d_model):
        raise ValueError(f"{call} must be ({length}, {d_model}); got {table.shape}")
    return table


def _view(
    tables: Mapping[str, np.ndarray],
    drawn: Sequence[str],
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
) -> View:
    draw = partial(_picture, {name: tables[name] for name in drawn}, options["title"])
    arrays = {str(number): table for number, table in enumerate(tables.values())}
    rows, columns = tables[drawn[0]].shape
    state = {**chosen, "position": rows // 2, "dimension": min(4, columns - 1), "cosine": False}
    return View("encoding", draw, arrays, options, state)


def _picture(kinds: Mapping[str, np.ndarray], title: str) -> Picture:
    """Draw a row for each kind: its map, and the dot products of the middle position."""
    figure = Figure(figsize=(9.0, 0.5 + 2.8 * len(kinds)), layout="constrained")
    grid = figure.subplots(len(kinds), 2, squeeze=False, width_ratios=[1, 1])
    descriptions = []
    for (across, curve), (name, table) in zip(grid, kinds.items(), strict=True):
        most = float(np.abs(table).max()) or 1.0
        image = across.imshow(table, cmap="cividis", aspect="auto", vmin=-most, vmax=most)
        figure.colorbar(image, ax=across, label="value")
        across.set(xlabel="dimension", ylabel="position", title=name)
        middle = len(table) // 2
        similarity = table @ table[middle]
        mark = "o" if len(table) <= 64 else ""
        curve.plot(similarity, color=LINES[0], marker=mark, markersize=3)
        curve.plot(middle, similarity[middle], "s", color=LINES[1])
        curve.set(xlabel="position", ylabel="dot product", title=f"similarity to position {middle}")
        curve.grid(alpha=0.3)
        descriptions.append(_alt_text(name, table, similarity, middle))
    figure.suptitle(title, fontsize=11)
    return Picture(figure, f"{title}. {' '.join(descriptions)}")


def _alt_text(name: str, table: np.ndarray, similarity: np.ndarray, middle: int) -> str:
    positions = sorted({middle, min(middle + 1, len(table) - 1), 0, len(table) - 1})
    listed = ", ".join(
        f"{similarity[position]:.3g} with position {position}" for position in positions
    )
    return (
        f"{name}: {table.shape[0]} positions by {table.shape[1]} dimensions, values from "
        f"{table.min():.3g} to {table.max():.3g}; dot product of position {middle}: {listed}."
    )
