"""The lessons' figures; each has an alternative text for screen readers.

The colours suit colour-blind readers: cividis for maps, Okabe and Ito's palette for lines.
All functions accept tensors and arrays, and raise `ValueError` for a wrong shape.
"""

from transformer_course.figures.curves import curves, runs
from transformer_course.figures.diagrams import arrows, stations, stream, word_links
from transformer_course.figures.maps import (
    attention_map,
    heatmap,
    mark_allowed,
    mark_forbidden,
    masks,
    steps,
    tiles,
)
from transformer_course.figures.picture import DASHES, INK, LINES, MARKS, ON_LIGHT, Picture, brief

__all__ = [
    "DASHES",
    "INK",
    "LINES",
    "MARKS",
    "ON_LIGHT",
    "Picture",
    "arrows",
    "attention_map",
    "brief",
    "curves",
    "heatmap",
    "mark_allowed",
    "mark_forbidden",
    "masks",
    "runs",
    "stations",
    "steps",
    "stream",
    "tiles",
    "word_links",
]
