"""Measurements: lines over an axis, and runs beside each other."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from transformer_course.figures.picture import DASHES, INK, LINES, MARKS, show

# colour, dashes and marks of up to six lines
STYLES = (
    *zip(LINES, DASHES, MARKS, strict=True),
    ("#56B4E9", (0, (6, 1)), "v"),
    ("#E69F00", (0, (3, 1, 1, 1)), "P"),
)


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
    if max(len(lines), len(dots or {})) > len(STYLES):
        raise ValueError(f"at most {len(STYLES)} lines are told apart; got {len(lines)}")
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for (name, values), (colour, dash, mark) in zip(lines.items(), STYLES, strict=False):
        runs = np.atleast_2d(np.asarray(values, dtype=float))
        axes.fill_between(across, runs.min(0), runs.max(0), color=colour, alpha=0.25, linewidth=0)
        style = {"linestyle": dash, "color": colour, "marker": "" if dots else mark}
        axes.plot(across, runs.mean(0), label=name, **style)
    for (name, values), (_, _, mark) in zip((dots or {}).items(), STYLES, strict=False):
        axes.plot(across, values, mark, color=INK, label=name)
    for name, point in (marked or {}).items():
        axes.plot(*point, "*", color=LINES[1], markersize=16, label=name)
    if all(float(value).is_integer() for value in across):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
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
    _begin_at(axes, bottom)
    axes.grid(alpha=0.3)
    axes.legend(ncols=legend_columns)
    series = {name: np.atleast_2d(v).mean(0) for name, v in {**lines, **(dots or {})}.items()}
    told = "; ".join(f"{name} {_course(across, values)}" for name, values in series.items())
    show(figure, f"{title}. {y} for {x} from {across[0]:g} to {across[-1]:g}: {told}.")


def _course(across: Sequence[float], values: np.ndarray) -> str:
    """Describe a line: its ends, and where it is lowest and highest if that is between them."""
    first, last = f"{values[0]:.3g}", f"{values[-1]:.3g}"
    text = f"from {first} to {last}"
    for name, at in (("lowest", int(values.argmin())), ("highest", int(values.argmax()))):
        extreme = f"{values[at]:.3g}"
        if extreme not in (first, last):
            text += f", {name} {extreme} at {across[at]:g}"
    return text


def runs(
    measured: Mapping[str, Sequence[float]],
    y: str,
    title: str,
    linked: bool = False,
    bottom: float | None = None,
) -> None:
    """Draw a dot for each run, a column for each setting, and a line at its mean.

    `linked` joins the runs of one seed: the first of each setting, the second, and so on.
    """
    figure = Figure(figsize=(1.6 + 1.3 * len(measured), 3.6), layout="constrained")
    axes = figure.subplots()
    descriptions = []
    if linked:
        table = np.array([*measured.values()])  # (settings, seeds)
        across = np.arange(len(table))[:, None] + np.linspace(-0.12, 0.12, table.shape[1])
        axes.plot(across, table, color=INK, linewidth=1, alpha=0.7, zorder=1)
    for column, (name, values) in enumerate(measured.items()):
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else [0.0]
        axes.plot(column + np.asarray(spread), values, "o", color=LINES[0], markersize=7, alpha=0.8)
        mean = float(np.mean(values))
        axes.plot([column - 0.25, column + 0.25], [mean, mean], color=LINES[1], linewidth=2)
        descriptions.append(f"{name}: {', '.join(f'{v:.3g}' for v in values)}, mean {mean:.3g}")
    axes.set_xticks(range(len(measured)), [name.replace(", ", ",\n") for name in measured])
    axes.set(xlim=(-0.5, len(measured) - 0.5), ylabel=y, title=title)
    _begin_at(axes, bottom)
    axes.grid(axis="y", alpha=0.3)
    show(figure, f"{title}. {y} of each run. {'; '.join(descriptions)}.")


def _begin_at(axes: Axes, bottom: float | None) -> None:
    """Let the y axis begin there, with room for the highest dot."""
    if bottom is not None:
        axes.update_datalim([(0.0, bottom)], updatex=False)
        axes.autoscale_view(scalex=False)
        axes.set_ylim(bottom=bottom)
