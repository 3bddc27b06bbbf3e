"""Heads as switches: shut some, and see what the network still gets right."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import Picture, heatmap
from transformer_course.widgets.view import View, explains_stubs, labels

MOST = 10  # heads: 1,024 states
MEASURES = 6
TITLE = "which heads are needed"

Measure = Callable[[Tensor], "Sequence[float] | ArrayLike | Tensor"]


class SwitchesView(View):
    """A view whose switches can be read."""

    @property
    def gates(self) -> Tensor:
        """The gates as they stand: floats (heads,), 1 for an open head and 0 for a shut one."""
        return torch.tensor([float(one) for one in self.state["open"]])


@explains_stubs
def show_switches(
    measure: Measure,
    num_layers: int,
    num_heads: int,
    names: Sequence[str],
    title: str = TITLE,
) -> SwitchesView:
    """Let the user shut heads, and show what is left of some shares, each from 0 to 1.

    `measure(gates)` -> a share for each of `names`; gates: floats (num_layers · num_heads,), layer
    by layer, 1 for an open head and 0 for a shut one. It is called once for every state, so at most
    10 heads. The switches as they stand are the view's `gates`.
    """
    count = num_layers * num_heads
    if not 1 <= count <= MOST:
        raise ValueError(f"at most {MOST} heads in all; got {num_layers} · {num_heads} = {count}")
    if not 1 <= len(names) <= MEASURES:
        raise ValueError(f"names must be 1 to {MEASURES} names; got {len(names)}")
    shares = np.stack([_shares(measure, state, count, len(names)) for state in range(2**count)])
    heads = [f"{head // num_heads}.{head % num_heads}" for head in range(count)]
    told = labels(names, "names", len(names))
    options = {"title": title, "layers": num_layers, "heads": num_heads, "names": told}
    state: dict[str, Any] = {"open": "1" * count, "row": 0, "column": 0}
    draw = partial(_picture, shares, heads, told, title)
    return SwitchesView("switches", draw, {"shares": shares.astype(np.float32)}, options, state)


def gates_of(state: int, count: int) -> Tensor:
    """The gates of a state: bit i of its number says whether head i is open."""
    return torch.tensor([float(state >> head & 1) for head in range(count)])


def _shares(measure: Measure, state: int, count: int, wanted: int) -> np.ndarray:
    result = measure(gates_of(state, count))
    if result is None:
        raise ValueError("measure(gates) must return shares; got None: is a return missing?")
    found = torch.as_tensor(result).detach().cpu().double().numpy()
    if found.shape != (wanted,):
        raise ValueError(f"measure(gates) must give {wanted} shares, one a name; got {found.shape}")
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"measure(gates) must give shares from 0 to 1; got {found.tolist()}")
    return found


def _picture(shares: np.ndarray, heads: list[str], names: list[str], title: str) -> Picture:
    """Draw the shares with all heads open, and without each of them."""
    count = len(heads)
    every = 2**count - 1
    rows = ["all open", *(f"without {head}" for head in heads)]
    table = shares[[every, *(every - 2**head for head in range(count))]]
    figure = Figure(figsize=(1.8 + 1.5 * len(names), 1.3 + 0.32 * len(rows)), layout="constrained")
    axes = figure.subplots()
    heatmap(axes, table, names)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(names)), names, rotation=0, parse_math=False)
    axes.set_title(title, fontsize=11, parse_math=False)
    told = [
        f"{row}: {', '.join(f'{n} {100 * s:.1f} %' for n, s in zip(names, line, strict=True))}"
        for row, line in zip(rows, table, strict=True)
    ]
    return Picture(figure, f"{title}. {'; '.join(told)}.")
