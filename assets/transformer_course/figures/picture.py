"""What all figures share: colours, the picture with its alternative text, and what they accept."""

import base64
import html
import io

import numpy as np
import torch
from IPython.display import display
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
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


def show(figure: Figure, alt: str) -> None:
    """Display a figure with its alternative text."""
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


def as_matrix(values: ArrayLike | Tensor, name: str, height: int, width: int) -> np.ndarray:
    """The values as an array (height, width); `ValueError` that names another shape."""
    matrix = torch.as_tensor(values).detach().cpu().double().numpy()
    if matrix.shape != (height, width):
        raise ValueError(f"{name} must have the shape {(height, width)}; got {matrix.shape}")
    return matrix


def brief(numbers: np.ndarray) -> str:
    """Format a row of numbers for a text."""
    return f"[{', '.join(f'{number:.2f}'.rstrip('0').rstrip('.') for number in numbers)}]"
