"""Dropout: one sample, and the distribution of a linear unit's output over many samples."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import INK, LINES, ON_LIGHT, Picture
from transformer_course.widgets.view import View, explains_stubs, matrix

RATES = tuple(tenth / 10 for tenth in range(10))
UNITS = (0.6, 1.4, 0.9, 1.1, 0.5, 1.5, 0.8, 1.2, 0.7, 1.3, 1.0, 1.0)
WEIGHTS = (
    0.4,
    0.3,
    0.3,
    0.3,
    0.1,
    0.2,
    0.3,
    0.2,
    0.4,
    0.1,
    0.2,
    0.3,
)  # positive, so that no sum is 0
STORED = 30  # samples per p in the live view
BINS = 40
SIGNIFICANT = 5  # standard errors
PICTURED = (1, 5, 8)  # indices of RATES in the picture


@dataclass(frozen=True)
class Measured:
    """Results of the student's function, (p, sample, unit), in training and in evaluation."""

    x: np.ndarray
    weights: np.ndarray
    results: np.ndarray
    evaluation: np.ndarray

    @property
    def outputs(self) -> np.ndarray:
        """Outputs of the linear unit in training: (p, sample)."""
        return self.results @ self.weights

    @property
    def evaluated(self) -> np.ndarray:
        """Outputs of the linear unit in evaluation: (p,)."""
        return self.evaluation[:, 0] @ self.weights


@explains_stubs
def show_dropout(
    dropout: Callable[..., Tensor], x: ArrayLike | Tensor | None = None, samples: int = 400
) -> View:
    """Show what your dropout drops, and the output of a linear unit over many samples.

    `dropout`: your function (x, p, training, generator=None) -> a tensor like x. `x`: (unit,), 2 to
    24 numbers, none of them 0. `samples`: 100 to 5000 for each p. `ValueError` for others, and for
    a function that gives another shape, infinite numbers or NaN.
    """
    measured = _measured(dropout, _units(x), _count(samples))
    outputs, evaluated = measured.outputs, measured.evaluated
    stored = measured.results[:, :STORED]
    low = float(min(outputs.min(), evaluated.min(), 0.0))
    high = float(max(outputs.max(), evaluated.max(), 0.0))
    counts = [np.histogram(row, BINS, (low, high))[0] for row in outputs]
    exact = {
        "x": measured.x,
        "weights": measured.weights,
        "results": stored,
        "counts": np.array(counts),
        "means": outputs.mean(-1),
        "evaluation": evaluated,
    }
    arrays = {name: array.astype(np.float32) for name, array in exact.items()}
    arrays["masks"] = stored != 0
    warnings = [_warning(measured, tenth) for tenth in range(len(RATES))]
    options = {"title": "dropout in training and in evaluation", "samples": samples}
    options |= {"low": low, "high": high, "warnings": warnings}
    draw = partial(_picture, measured, warnings)
    return View("dropout", draw, arrays, options, {"p": 0.5, "sample": 0})


def _units(x: ArrayLike | Tensor | None) -> np.ndarray:
    units = matrix(UNITS if x is None else x, "x", "unit")
    if not 2 <= len(units) <= 24:
        raise ValueError(f"x must be 2 to 24 numbers; got {len(units)}")
    if not units.all():
        raise ValueError("x must have no 0: it would look like a number that was dropped")
    return units


def _count(samples: int) -> int:
    if not 100 <= samples <= 5000:
        raise ValueError(f"samples must be 100 to 5000; got {samples}")
    return samples


def _measured(dropout: Callable[..., Tensor], x: np.ndarray, samples: int) -> Measured:
    """Call the function with seeded generators, and leave the global one unchanged."""
    if not callable(dropout):
        kind = type(dropout).__name__
        raise ValueError(f"dropout must be a function dropout(x, p, training); got a {kind}")
    given = torch.tensor(x, dtype=torch.float32)
    try:
        seeded = "generator" in inspect.signature(dropout).parameters
    except ValueError:  # a built-in without a signature
        seeded = False
    more = {"generator": torch.Generator().manual_seed(0)} if seeded else {}

    def call(p: float, training: bool) -> Tensor:
        result = dropout(given.clone(), p, training, **more)
        if not isinstance(result, Tensor):
            raise ValueError(f"dropout must give a tensor; got {type(result).__name__}")
        if result.shape != given.shape:
            shapes = tuple(given.shape), tuple(result.shape)
            raise ValueError(f"dropout must give {shapes[0]}, as x; got {shapes[1]}")
        return result.cpu().double()

    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        results = [torch.stack([call(p, True) for _ in range(samples)]) for p in RATES]
        # several calls: a function that wrongly drops here may drop nothing by chance
        evaluation = [torch.stack([call(p, False) for _ in range(STORED)]) for p in RATES]
    return Measured(
        x,
        np.resize(WEIGHTS, len(x)),
        matrix(torch.stack(results), "what dropout gives", "p", "sample", "unit"),
        matrix(torch.stack(evaluation), "what dropout gives in evaluation", "p", "sample", "unit"),
    )


def _warning(measured: Measured, tenth: int) -> str:
    """Describe significant deviations from correct dropout at this p; empty if there are none."""
    p, results, outputs = RATES[tenth], measured.results[tenth], measured.outputs[tenth]
    warnings = []
    dropped = float((results == 0).mean())
    if abs(dropped - p) > SIGNIFICANT * (p * (1 - p) / results.size) ** 0.5 + 1e-9:
        warnings.append(f"Of all units, {100 * dropped:.0f} % are dropped, not {100 * p:.0f} %.")
    if not measured.evaluation[tenth].all():
        warnings.append("In evaluation, units are dropped too.")
        return " ".join(warnings)
    gap = float(outputs.mean() - measured.evaluated[tenth])
    noise = SIGNIFICANT * float(outputs.std()) / len(outputs) ** 0.5
    if abs(gap) > noise + 1e-5 * (1 + abs(float(measured.evaluated[tenth]))):
        side = "below" if gap < 0 else "above"
        warnings.append(f"A gap: the mean in training is {abs(gap):.2f} {side} evaluation.")
    return " ".join(warnings)


def _picture(measured: Measured, warnings: list[str]) -> Picture:
    figure = Figure(figsize=(9.2, 5.4), layout="constrained")
    network, *rows = figure.subplot_mosaic([["net", str(p)] for p in PICTURED]).values()
    shown = np.append(measured.outputs[list(PICTURED)], (0.0, *measured.evaluated))
    edge = 0.02 * float(np.ptp(shown))
    ends = float(shown.min()) - edge, float(shown.max()) + edge
    samples, descriptions = measured.outputs.shape[1], []
    for axes, tenth in zip(rows, PICTURED, strict=True):
        mean, evaluated = measured.outputs[tenth].mean(), measured.evaluated[tenth]
        axes.hist(measured.outputs[tenth], bins=BINS, range=ends, color=LINES[0])
        axes.axvline(evaluated, color=LINES[2], linewidth=9, label="in evaluation")
        axes.axvline(mean, color="white", linewidth=4)
        axes.axvline(mean, color=LINES[1], linewidth=2.5, linestyle="--", label="mean of samples")
        means = f"mean {mean:.2f}, in evaluation {evaluated:.2f}"
        gap = f", gap {mean - evaluated:.2f}" if "gap" in warnings[tenth] else ""
        axes.set_title(f"p = {RATES[tenth]}: {means}{gap}", fontsize=11)
        axes.set(ylabel="samples", xlim=ends)
        descriptions.append(
            f"p = {RATES[tenth]}, {samples} samples: {means}. {warnings[tenth]}".strip()
        )
    rows[-1].set_xlabel("output of the linear unit")
    marks, _ = rows[0].get_legend_handles_labels()
    figure.legend(handles=marks, loc="outside lower right", ncols=2)
    dropped = _network(network, measured)
    alt = f"Dropout of {len(measured.x)} units, read by one linear unit. {' '.join(descriptions)}"
    return Picture(figure, f"{alt} A sample at p = 0.5 drops {dropped} of {len(measured.x)}.")


def _network(axes: Axes, measured: Measured) -> int:
    """Draw the first sample at p = 0.5, with crosses on dropped units; return their number."""
    result, middle = measured.results[5, 0], (len(measured.x) - 1) / 2
    for row, (before, after) in enumerate(zip(measured.x, result, strict=True)):
        label = f"{before:.2f} → {after:.2f}" if after else f"{before:.2f} → 0"
        axes.text(-0.12, row, label, ha="right", va="center", color=INK)
        if after == 0:
            axes.plot(0, row, "o", markersize=12, markerfacecolor="white", color=INK)
            axes.plot(0, row, "x", markersize=9, markeredgewidth=2.5, color=LINES[1])
            continue
        axes.plot([0, 1], [row, middle], color=LINES[0], linewidth=9 * measured.weights[row])
        axes.plot(0, row, "o", markersize=12, color=LINES[0])
    axes.plot(1, middle, "s", markersize=44, markerfacecolor="white", color=INK)
    unit = f"linear\nunit\n{measured.outputs[5, 0]:.2f}"
    axes.text(1, middle, unit, ha="center", va="center", color=ON_LIGHT)
    axes.set(xlim=(-0.75, 1.25), ylim=(len(measured.x) - 0.4, -0.6))
    axes.set_title("a sample at p = 0.5: x → after dropout", fontsize=11)
    axes.axis("off")
    return int((result == 0).sum())
