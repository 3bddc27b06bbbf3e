"""The compared views of attention weights: show_attention, interact with matplotlib, bertviz."""

import dataclasses

from autograder import paths

RIVAL = paths.ROOT / ".rival"  # bertviz, and the scripts that it loads from the network
HEADS = 12

WEIGHTS = """
import numpy as np
scores = np.random.default_rng(0).normal(size=({heads}, {tokens}, {tokens}))
weights = np.exp(scores)
weights /= weights.sum(-1, keepdims=True)
"""


@dataclasses.dataclass
class Side:
    """A compared view: its two cells, and how to observe its picture and slider."""

    name: str
    imports: str
    call: str
    ready: str  # JavaScript: true once the picture is shown
    picture: str = ""  # JavaScript: a value that changes with the pixels
    slider: str = ""


OURS = Side(
    "ours",
    "from transformer_course.widgets import show_attention",
    "show_attention(weights)",
    "() => bench.query('.course-view[data-frames]')",
    "() => bench.checksum(bench.query('.course-view'))",
    ".course-view:not([data-old]) input[type=range]",
)
INTERACT = Side(
    "interact",
    """
import matplotlib.pyplot as plt
from ipywidgets import FloatSlider, interact

def draw(temperature):
    heated = weights ** (1 / temperature)
    heated /= heated.sum(-1, keepdims=True)
    figure, grid = plt.subplots(3, 4)
    for number, (axes, head) in enumerate(zip(grid.flat, heated)):
        axes.imshow(head, cmap="cividis")
        axes.set(title=f"head {number}", xticks=[], yticks=[])
    plt.show()
""",
    "interact(draw, temperature=FloatSlider(value=1, min=0.1, max=4, step=0.1));",
    "bench.image",
    "bench.image",
    ".widget-slider .noUi-handle",
)
BERTVIZ = Side(
    "bertviz",
    f"""
import sys, torch
sys.path.append({str(RIVAL)!r})
from bertviz import head_view
attention = [torch.tensor(weights, dtype=torch.float32)[None]]
tokens = [str(number) for number in range(weights.shape[-1])]
""",
    "head_view(attention, tokens)",
    # the last line is the last to get an opacity
    """() => bench.query(
        '.headAttention:last-child .tokenAttention:last-child line:last-child[stroke-opacity]'
    )""",
)
