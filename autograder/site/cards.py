"""The pictures that stand for a page where somebody shares its address: 1200 × 630 pixels."""

import io
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path
from PIL import Image

from autograder.authoring.overview import Overview, direct_needs
from autograder.site.layers import Point, layout
from autograder.site.pages import TITLE

WIDTH, HEIGHT = 1200, 630  # pixels, as all lengths here, from the left and the top
MOST_BYTES = 200_000
DPI = 100
LEFT, RIGHT, TOP, BOTTOM = 70, 50, 50, 40
GROUND, PAPER, EDGE = "#eef2f8", "#ffffff", "#c9d2e0"
INK, QUIET, BRAND = "#16202e", "#46546a", "#0b4f9e"
LINE = 1.22  # the height of a line, in its size
SMALL, NUMBER, TEXT = 24, 32, 27
TITLE_SIZES = (60, 54, 48, 42, 36)
BESIDE = 1.5  # a picture up to so many times as wide as high stands beside the text
COLUMN = 540  # of the text beside a picture
MOST_SCALED = 2  # times that a small picture is enlarged
FEWER_COLOURS = (256, 128, 64, 16)

BALL = 27  # the radius of a lesson's circle

Box = tuple[float, float, float, float]  # left, top, width, height


def card(overview: Overview, picture_png: bytes | None) -> bytes:
    """The card of a lesson, with a picture from it if it has one: a PNG of about 200 kB at most."""
    if picture_png is None:
        figure = _blank()
        _lesson_text(figure, overview, WIDTH - LEFT - RIGHT)
        return _png(_pixels(figure))
    picture = Image.open(io.BytesIO(picture_png)).convert("RGBA")
    picture = picture.crop(picture.getbbox())  # without its transparent margin
    beside = picture.width <= BESIDE * picture.height
    width = COLUMN if beside else WIDTH - LEFT - RIGHT
    figure = _blank()
    below = _lesson_text(figure, overview, width)
    left = LEFT + COLUMN + 40 if beside else LEFT
    top = TOP if beside else below + 14
    box = (left, top, WIDTH - RIGHT - left, HEIGHT - BOTTOM - top)
    _panel(figure, box)
    drawn = _pixels(figure)
    _paste(drawn, picture, box)
    return _png(drawn)


def front_card(overviews: Sequence[Overview]) -> bytes:
    """The card of the front page, with the lessons and what each needs, as PNG."""
    figure = _blank()
    _front_text(figure, overviews)
    _graph(figure, overviews, (LEFT, 300, WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - 300))
    return _png(_pixels(figure))


def said_in_a_line(builds: str) -> str:
    """The beginning of what a lesson builds: a clause without parentheses and Markdown."""
    first = builds.split(". ")[0].split(":")[0].rstrip(".")
    first = re.sub(r" ?\([^)]*\)", "", first)
    return f"You build {first}.".replace("`", "").replace("*", "").replace("$", "")


def _blank() -> Figure:
    figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI, facecolor=GROUND)
    figure.add_artist(Rectangle((0, 0), 22 / WIDTH, 1, color=BRAND))
    return figure


def _lesson_text(figure: Figure, one: Overview, width: float) -> float:
    """Course, number, title and what is built; return where they end."""
    at = _write(figure, TITLE, TOP, SMALL, width, QUIET)
    at = _write(figure, f"Lesson {one.number}", at + 20, NUMBER, width, BRAND, bold=True)
    most = 4 if width == COLUMN else 2
    size = _title_size(one.title, width, most)
    at = _write(figure, one.title, at + 6, size, width, INK, bold=True)
    return _write(figure, said_in_a_line(one.builds), at + 14, TEXT, width, QUIET)


def _front_text(figure: Figure, overviews: Sequence[Overview]) -> float:
    width = WIDTH - LEFT - RIGHT
    size = _title_size(TITLE, width, most=2)
    at = _write(figure, TITLE, TOP, size, width, INK, bold=True)
    says = f"{len(overviews)} lessons. You write the code, and are told at once what is wrong."
    return _write(figure, says, at + 14, TEXT, width, QUIET)


def _write(
    figure: Figure, text: str, top: float, size: float, width: float, ink: str, bold: bool = False
) -> float:
    """Write wrapped text from `top` down; return where it ends."""
    font = _font(size, bold)
    for line in _wrapped(text, font, width):
        figure.text(
            *(LEFT / WIDTH, 1 - (top + size) / HEIGHT),
            line,
            color=ink,
            fontproperties=font,
            va="baseline",
            parse_math=False,
        )
        top += LINE * size
    return top


def _font(size: float, bold: bool) -> FontProperties:
    weight = "bold" if bold else "normal"
    return FontProperties(family="DejaVu Sans", size=size * 72 / DPI, weight=weight)


def _wrapped(text: str, font: FontProperties, width: float) -> list[str]:
    """Lines of whole words; only a word that is wider than a line is wider."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _measured(longer, font) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _measured(text: str, font: FontProperties) -> float:
    return RendererAgg(1, 1, DPI).get_text_width_height_descent(text, font, ismath=False)[0]


def _title_size(title: str, width: float, most: int) -> float:
    """The largest size in which a title takes so many lines at most, none too wide."""
    for size in TITLE_SIZES:
        font = _font(size, bold=True)
        lines = _wrapped(title, font, width)
        if len(lines) <= most and all(_measured(line, font) <= width for line in lines):
            return size
    return TITLE_SIZES[-1]


def _panel(figure: Figure, box: Box) -> None:
    """Paper under a picture, whose ground is transparent and whose ink is grey."""
    left, top, width, height = box
    panel = FancyBboxPatch(
        (left, HEIGHT - top - height),
        *(width, height),
        boxstyle="round,pad=0,rounding_size=14",
        facecolor=PAPER,
        edgecolor=EDGE,
        transform=None,
    )
    figure.add_artist(panel)


def _graph(figure: Figure, overviews: Sequence[Overview], box: Box) -> None:
    """The course map from left to right: a circle for each lesson, arrows from what it needs."""
    left, top, width, height = box
    laid = layout(direct_needs(overviews))

    def at(place: Point) -> tuple[float, float]:
        column, layer = place
        x = left + BALL + layer * (width - 2 * BALL) / max(laid.layers - 1, 1)
        return x, HEIGHT - top - column * height / max(laid.columns, 1)

    for way in laid.arrows.values():
        points = [at(place) for place in way]
        figure.add_artist(
            FancyArrowPatch(
                path=_bent(points),
                arrowstyle="-|>,head_length=7,head_width=4",
                color=QUIET,
                linewidth=1.8,
                shrinkA=0,
                shrinkB=0,
                transform=None,
            )
        )
    for number, place in laid.places.items():
        x, y = at(place)
        figure.add_artist(Circle((x, y), BALL, color=BRAND, transform=None))
        font = _font(TEXT, bold=True)
        figure.text(
            *(x / WIDTH, y / HEIGHT),
            str(number),
            color=PAPER,
            fontproperties=font,
            ha="center",
            va="center_baseline",
        )


def _bent(points: Sequence[tuple[float, float]]) -> Path:
    """A way from the right of one circle through gaps to the left of another."""
    corners = [*points]
    corners[0] = (points[0][0] + BALL, points[0][1])
    corners[-1] = (points[-1][0] - BALL - 2, points[-1][1])
    vertices, codes = [corners[0]], [Path.MOVETO]
    for (x, y), (then_x, then_y) in pairwise(corners):
        middle = (x + then_x) / 2
        vertices += [(middle, y), (middle, then_y), (then_x, then_y)]
        codes += [Path.CURVE4] * 3
    return Path(vertices, codes)


def _pixels(figure: Figure) -> Image.Image:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def _paste(drawn: Image.Image, picture: Image.Image, box: Box) -> None:
    """Put a picture in the middle of a box, as large as it fits with a margin."""
    left, top, width, height = box
    margin = 18
    scale = min((width - 2 * margin) / picture.width, (height - 2 * margin) / picture.height)
    scale = min(scale, MOST_SCALED)
    size = (round(picture.width * scale), round(picture.height * scale))
    scaled = picture.resize(size, Image.Resampling.LANCZOS)
    corner = (round(left + (width - size[0]) / 2), round(top + (height - size[1]) / 2))
    drawn.paste(scaled, corner, scaled)


def _png(drawn: Image.Image) -> bytes:
    """A palette PNG, with fewer colours where the card would be too large."""
    data = b""
    for colours in FEWER_COLOURS:
        file = io.BytesIO()
        drawn.quantize(colours).save(file, format="png", optimize=True)
        data = file.getvalue()
        if len(data) <= MOST_BYTES:
            break
    return data
