"""The cards of the site: their size, their bytes, and texts that stand whole within them."""

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from autograder.authoring.lesson import all_lessons, read_lesson
from autograder.authoring.overview import Overview, overview
from autograder.paths import COURSE
from autograder.site import cards
from autograder.site.cards import HEIGHT, MOST_BYTES, WIDTH, card, front_card, said_in_a_line

OVERVIEWS = [overview(read_lesson(path)) for path in all_lessons(COURSE)]
EACH = pytest.mark.parametrize("one", OVERVIEWS, ids=lambda one: one.name)
LONG = replace(
    OVERVIEWS[0],
    title="Encoder-decoder transformers, transcription and internationalisation, at length",
)
RED = (255, 0, 0)


def picture(width: int, height: int, margin: int = 0) -> bytes:
    """A red picture, which has a transparent margin."""
    image = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    image.paste((*RED, 255), (margin, margin, width - margin, height - margin))
    return as_png(image)


def as_png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, format="png")
    return file.getvalue()


def opened(data: bytes) -> Image.Image:
    """A card, of the size and the bytes that it must have."""
    assert len(data) <= MOST_BYTES
    image = Image.open(io.BytesIO(data))
    assert (image.format, image.size) == ("PNG", (1200, 630))
    return image.convert("RGB")


def red(image: Image.Image) -> tuple[int, int, int, int]:
    """Where a card is red: left, top, right, bottom."""
    pixels = np.asarray(image).astype(int)
    rows, columns = np.nonzero(np.abs(pixels - RED).sum(axis=2) < 90)
    return columns.min(), rows.min(), columns.max(), rows.max()


def written(one: Overview, width: float) -> tuple[Figure, float]:
    """A lesson's text on an empty card, and where it ends."""
    figure = cards._blank()
    return figure, cards._lesson_text(figure, one, width)


@EACH
def test_a_card_has_its_size_and_shows_its_picture(one: Overview) -> None:
    for width, height in ((1400, 500), (700, 700)):
        left, top, right, bottom = red(opened(card(one, picture(width, height))))
        shape = (right - left) / (bottom - top)
        assert abs(shape / (width / height) - 1) < 0.05
        assert (right - left) * (bottom - top) > 0.08 * WIDTH * HEIGHT


@EACH
@pytest.mark.parametrize("width", [cards.COLUMN, WIDTH - cards.LEFT - cards.RIGHT])
def test_texts_stand_whole_in_their_column_and_apart(one: Overview, width: float) -> None:
    figure, end = written(one, width)
    texts = [text for text in figure.texts if isinstance(text, Text)]
    boxes = [text.get_window_extent() for text in texts]
    assert all(box.x0 >= cards.LEFT - 2 for box in boxes)
    assert all(box.x1 <= cards.LEFT + width + 2 for box in boxes)
    assert all(lower.y1 <= upper.y0 + 1 for upper, lower in pairwise(boxes))
    assert min(box.y0 for box in boxes) >= HEIGHT - end - 1
    assert end <= HEIGHT - cards.BOTTOM
    said = " ".join(text.get_text() for text in texts)
    title = f"Lesson {one.number} {one.title}"
    assert said == f"{cards.TITLE} {title} {said_in_a_line(one.builds)}"


def test_a_long_title_is_set_smaller_and_not_cut() -> None:
    figure, _ = written(LONG, cards.COLUMN)
    lines = [text for text in figure.texts if text.get_fontweight() == "bold"][1:]
    assert " ".join(line.get_text() for line in lines) == LONG.title
    assert all(line.get_window_extent().x1 <= cards.LEFT + cards.COLUMN for line in lines)


def test_a_transparent_margin_takes_no_room() -> None:
    plain = red(opened(card(OVERVIEWS[0], picture(700, 700))))
    assert red(opened(card(OVERVIEWS[0], picture(900, 900, margin=100)))) == plain


def test_grey_ink_on_a_transparent_ground_stands_on_paper() -> None:
    image = Image.new("RGBA", (600, 600), (0, 0, 0, 0))
    image.paste((118, 118, 118, 255), (0, 0, 600, 60))
    image.paste((118, 118, 118, 255), (0, 540, 600, 600))
    shown = opened(card(OVERVIEWS[0], as_png(image)))
    paper = shown.getpixel((900, 315))
    assert isinstance(paper, tuple)
    assert min(paper) > 245


def test_a_picture_of_noise_stays_small() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (760, 700, 3), dtype=np.uint8)
    opened(card(OVERVIEWS[0], as_png(Image.fromarray(noise))))


def test_the_front_card_shows_each_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    blank = cards._blank
    monkeypatch.setattr(cards, "_blank", lambda: drawn.append(blank()) or drawn[-1])
    opened(front_card(OVERVIEWS))
    texts = {text.get_text(): text.get_window_extent() for text in drawn[0].texts}
    assert {str(one.number) for one in OVERVIEWS} <= texts.keys()
    assert " ".join(texts).startswith(f"{cards.TITLE} {len(OVERVIEWS)} lessons.")
    for box in texts.values():
        assert 0 < box.x0 < box.x1 < WIDTH
        assert 0 < box.y0 < box.y1 < HEIGHT


@pytest.mark.parametrize(
    ("builds", "line"),
    [
        ("a GPT: a causal block, sampling.", "You build a GPT."),
        ("the stack (part 3), trained. Then more.", "You build the stack, trained."),
        ("`encode`, *twice*", "You build encode, twice."),
        ("the norm $x$ of PyTorch 2.5.", "You build the norm x of PyTorch 2.5."),
    ],
)
def test_what_is_built_is_said_in_a_clause(builds: str, line: str) -> None:
    assert said_in_a_line(builds) == line
