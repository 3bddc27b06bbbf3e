"""Training curves: losses and accuracies, drawn while a training loop runs."""

import time
import uuid
from types import TracebackType
from typing import Any

import numpy as np
from IPython.core.getipython import get_ipython
from IPython.display import display, update_display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_course.figures import DASHES, LINES, MARKS, Picture
from transformer_course.widgets.view import View, packed, show_live

POINTS = 300  # drawn of a series
PAUSE = 0.1  # seconds between two updates
MARKED = 10  # marks along a line


class TrainingPlot:
    """Curves that grow with each `add`; a picture remains when the loop ends.

    `with show_training(total=300) as plot:` shows the curves, and the picture however the loop
    ends; without `with`, call `plot.show()` and `plot.close()`. In a notebook, the end of the cell
    closes the plot too.
    """

    def __init__(self, total: int | None, title: str, step: str) -> None:
        self.total, self.title, self.step = total, title, step
        self.steps = 0
        self.series: dict[str, tuple[list[int], list[float]]] = {}
        self._shell: Any = None  # IPython, once shown
        self._live: Any = None  # the widget, where a kernel runs
        self._started = self._watching = False
        self._pictured = 0  # number of steps in the picture
        self._display_id = uuid.uuid4().hex  # of the picture
        self._next = 0.0  # earliest time of the next update

    def add(self, **values: Any) -> None:
        """Add a step: one number for each series, such as `loss=` and `accuracy=`.

        A series may miss steps; NaN and infinity leave a gap. `ValueError` for anything but single
        numbers, and for more than 4 series.
        """
        if not self._started:
            self.show()
        self.steps += 1
        for name, value in values.items():
            steps, numbers = self.series.get(name) or self._new(name)
            numbers.append(_number(name, value))
            steps.append(self.steps)
        if self._live is None:
            return
        self._watch()
        if time.monotonic() >= self._next:
            self._send_update()

    def show(self) -> None:
        """Show the curves so far; with a kernel, they continue to grow."""
        self._started = True
        self._shell = get_ipython()
        if getattr(self._shell, "kernel", None) is None:
            if self.steps:
                self.view.show()
            return
        view = self.view
        if self._live is None:
            self._live = view.widget
        self._send(view.options, view.data)
        display(view.bundle(), raw=True, display_id=self._display_id)
        show_live(self._live)
        self._watch()

    def close(self) -> None:
        """Show the final picture."""
        self._finish()

    def __enter__(self) -> "TrainingPlot":
        self.show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _ipython_display_(self) -> None:
        self.show()

    def __repr__(self) -> str:
        return f"[training: {self._alt_text()}]"

    @property
    def view(self) -> View:
        """The steps so far, as a view that no longer grows."""
        state = {"series": 0, "at": 0, "logarithmic": False}
        return View("training", self._picture, self._arrays(), self._options(), state)

    def _picture(self) -> Picture:
        return Picture(self._figure(), self._alt_text())

    # --- the live view -------------------------------------------------------------------

    def _watch(self) -> None:
        """Show the final picture when the cell ends, even by an exception."""
        if not self._watching:
            self._watching = True
            self._shell.events.register("post_run_cell", self._finish)

    def _finish(self, *_: Any) -> None:
        if self._watching:
            self._watching = False
            self._shell.events.unregister("post_run_cell", self._finish)
        if self._pictured == self.steps:
            return
        self._pictured = self.steps
        view = self.view
        if self._live is None:
            view.show()
            return
        # update the live view first: it hides the picture that follows
        self._send(view.options, view.data)
        update_display(view.bundle(), raw=True, display_id=self._display_id)

    def _send_update(self) -> None:
        described, data = packed(self._arrays())
        self._send({**self._live.options, **self._options(), "arrays": described}, data)
        self._next = time.monotonic() + PAUSE

    def _send(self, options: dict[str, Any], data: bytes) -> None:
        with self._live.hold_sync():  # in one message
            self._live.options, self._live.data = options, data

    def _options(self) -> dict[str, Any]:
        panels = [{"name": name, "series": series} for name, series in self._panels().items()]
        about = {"title": self.title, "total": self.total, "step": self.step}
        return {**about, "steps": self.steps, "names": self._names(), "panels": panels}

    def _arrays(self) -> dict[str, np.ndarray]:
        found = {}
        for index, (steps, numbers) in enumerate(map(_thinned, self.series.values())):
            found |= {f"steps {index}": steps, f"values {index}": numbers}
        return found

    # --- the series ----------------------------------------------------------------------

    def _new(self, name: str) -> tuple[list[int], list[float]]:
        if len(self.series) == len(LINES):
            names = ", ".join(self.series)
            raise ValueError(f"a plot has at most {len(LINES)} series; got {names} and {name}")
        return self.series.setdefault(name, ([], []))

    def _names(self) -> list[str]:
        return [name.replace("_", " ") for name in self.series]

    def _panels(self) -> dict[str, list[int]]:
        """The indices of the series in each panel; accuracies have their own panel."""
        series = dict(enumerate(self._names()))
        shares = [index for index, name in series.items() if "acc" in name]
        others = [index for index in series if index not in shares]
        names = [series[index] for index in others]
        loss = "loss" if all("loss" in name for name in names) else ", ".join(names)
        panels = {loss: others, "accuracy": shares}
        return {title: found for title, found in panels.items() if found} or {"loss": []}

    # --- the picture ---------------------------------------------------------------------

    def _figure(self) -> Figure:
        panels = self._panels()
        figure = Figure(figsize=(max(5.2, 4.4 * len(panels)), 3.3), layout="constrained")
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, indices) in zip(grid, panels.items(), strict=True):
            for index in indices:
                self._line(axes, index)
            end = max(self.total or 0, self.steps, 1)
            axes.set(xlabel=self.step, ylabel=title, xlim=(0, end))
            low, high = axes.get_ylim()
            axes.set_ylim(min(0, low), max(1.02, high) if title == "accuracy" else high)
            axes.grid(alpha=0.3)
            if indices:
                axes.legend()
        figure.suptitle(self.title, fontsize=11)
        return figure

    def _line(self, axes: Axes, index: int) -> None:
        name = self._names()[index]
        steps, numbers = _thinned(list(self.series.values())[index])
        every = 1 if len(steps) <= 4 * MARKED else len(steps) // MARKED
        (line,) = axes.plot(steps, numbers, DASHES[index], color=LINES[index], label=name)
        line.set(marker=MARKS[index], markersize=5, markevery=every)

    def _alt_text(self) -> str:
        of = f" of {self.total}" if self.total not in (None, self.steps) else ""
        descriptions = [f"{self.title}, after {self.steps}{of} {self.step}s"]
        for name, (steps, numbers) in zip(self._names(), self.series.values(), strict=True):
            known = [(n, s) for s, n in zip(steps, numbers, strict=True) if np.isfinite(n)]
            if not known:
                descriptions.append(f"{name}: no finite number")
                continue
            best, at = max(known, key=lambda point: point[0]) if "acc" in name else min(known)
            ends = f"{name} from {known[0][0]:.3g} to {known[-1][0]:.3g}"
            gaps = len(numbers) - len(known)
            extreme = "highest" if "acc" in name else "lowest"
            text = f"{ends}, {extreme} {best:.3g} at {self.step} {at}"
            descriptions.append(f"{text}, {gaps} not finite" if gaps else text)
        return f"{'; '.join(descriptions)}."


def show_training(
    total: int | None = None, title: str = "training", step: str = "step"
) -> TrainingPlot:
    """Show losses and accuracies while a training loop runs.

    `total`: the number of steps, if known. `step` names them, such as "epoch". Series with "acc" in
    their names share a panel from 0 to 1, all others the first panel.

    with show_training(total=300) as plot:
        for batch in batches:
            plot.add(loss=..., accuracy=...)
    """
    return TrainingPlot(total, title, step)


def _number(name: str, value: Any) -> float:
    try:
        # item(), since converting a tensor that requires gradients to float warns
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, RuntimeError):
        shape = getattr(value, "shape", None)
        got = repr(value) if shape is None else f"the shape {tuple(shape)}"
        raise ValueError(f"{name} must be one number; got {got}") from None


def _thinned(series: tuple[list[int], list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """At most 300 points, thinned by powers of two so that remaining points do not move."""
    stride = 1
    while -(-len(series[0]) // stride) >= POINTS:
        stride *= 2
    with np.errstate(over="ignore"):
        steps, numbers = (np.array([*kept[:-1:stride], *kept[-1:]], np.float32) for kept in series)
    numbers[~np.isfinite(numbers)] = np.nan
    return steps, numbers
