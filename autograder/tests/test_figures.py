"""The pictures: a text for each, the same bytes each time, and one clear line for a wrong shape."""

import io
import sys

import pytest
import torch
from matplotlib import colors, image
from transformer_course import figures
from transformer_course.figures import picture

DRAWN = {
    "arrows": lambda: figures.arrows({"bank": [1, 1], "river": [2, 0]}, ("water", "money")),
    "attention_map": lambda: figures.attention_map(torch.eye(2), ["a", "b"]),
    "steps": lambda: figures.steps(
        {"scores": (torch.ones(2, 3), "key", "xyz"), "out": ([[1.0], [2.0]], "feature", ["f"])},
        "query",
        ["a", "b"],
    ),
    "masks": lambda: figures.masks(
        {"causal": ([[True, False], [True, True]], "key", ["a", "b"])}, "query", ["a", "b"]
    ),
    "stations": lambda: figures.stations(
        {"pre": [(["norm1", "attention"], [])], "post": [(["attention"], ["norm1"])]}, "x"
    ),
    "stations_with_an_input": lambda: figures.stations(
        {"layer": [(["norm", "cross-\nattention"], [])]}, "x", {"cross-\nattention": "memory"}
    ),
    "stream": lambda: figures.stream(
        {"pre": [1.0, 0.7, 1.22, 1.22, 0.7, 1.41, 1.41], "post": [1.0, 0.7, 1.22, 1.0]},
        ["norm", ""],
    ),
    "word_links": lambda: figures.word_links({"tired": (["the", "cat"], 0, [0.25, 0.75])}),
    "curves": lambda: figures.curves(
        [1, 4],
        {"root": [1.0, 2.0]},
        "d_k",
        "spread",
        "It grows",
        logarithmic="xy",
        dots={"measured": [1.1, 1.9]},
        marked={"guess": (4, 1.0)},
    ),
    "curves_of_runs": lambda: figures.curves(
        [1, 4], {"pre-norm": [[1.0, 2.0], [3.0, 6.0]]}, "depth", "loss", "It grows", "xy"
    ),
    "curves_that_turn": lambda: figures.curves(
        [0, 2, 4, 8],
        {"both": [2.0, 1.0, 4.0, 3.0], "runs": [[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]]},
        "offset",
        "bias",
        "It turns",
        dots={"peak": [0.0, 0.5, 2.5, 0.0], "flat": [1.0, 0.9999, 1.0001, 1.0]},
    ),
    "runs": lambda: figures.runs({"one head": [0.5, 0.7], "two": [1.0]}, "accuracy", "Heads"),
    "linked_runs": lambda: figures.runs(
        {"one head": [0.5, 0.7], "two": [0.6, 0.9]}, "accuracy", "Heads", linked=True, bottom=0
    ),
    "tiles": lambda: figures.tiles([torch.eye(2), torch.ones(2, 2)], ["a", "b"], "two"),
}
TOLD = {
    "arrows": "bank [1, 1], river [2, 0]",
    "attention_map": "attention weights (query by key): a: [1, 0]; b: [0, 1]",
    "steps": "out (query by feature): a: [1]; b: [2]",
    "masks": "causal (query by key), allowed: a: a; b: a, b",
    "stations": "post: from x, a detour through attention is added back, then norm1 on",
    "stations_with_an_input": "a detour through norm, cross-attention is added back; "
    "into cross-attention comes memory.",
    "stream": "pre: from 1.00; a branch of 0.70 makes 1.22; a branch of 0.70 makes 1.41. "
    "post: from 1.00; a branch of 0.70 makes 1.22, then 1.00 after a norm.",
    "word_links": "from “the”, the largest weights go to cat 0.75, the 0.25",
    "curves": "spread for d_k from 1 to 4: root from 1 to 2; measured from 1.1 to 1.9",
    "curves_of_runs": "loss for depth from 1 to 4: pre-norm from 2 to 4",
    "curves_that_turn": "both from 2 to 3, lowest 1 at 2, highest 4 at 4; "
    "runs from 1 to 1, lowest 0 at 4; peak from 0 to 0, highest 2.5 at 4; flat from 1 to 1.",
    "runs": "accuracy of each run. one head: 0.5, 0.7, mean 0.6; two: 1, mean 1",
    "linked_runs": "one head: 0.5, 0.7, mean 0.6; two: 0.6, 0.9, mean 0.75",
    "tiles": "two. 2 pictures of 2 by 2: a, b.",
}


@pytest.fixture
def shown(monkeypatch):
    pictures: list[figures.Picture] = []
    monkeypatch.setattr(picture, "display", pictures.append)
    return pictures


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_has_its_text_and_repeats_byte_for_byte(shown, name):
    DRAWN[name]()
    DRAWN[name]()
    first, second = shown
    assert TOLD[name] in first.alt
    assert first.png == second.png
    assert first.png.startswith(b"\x89PNG")
    assert (
        f'<img alt="{first.alt.replace("<", "&lt;")}" src="data:image/png;' in first._repr_html_()
    )
    assert first.alt in repr(first)


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_suits_a_light_page_and_a_dark_one(shown, name):
    DRAWN[name]()
    pixels = image.imread(io.BytesIO(shown[0].png))  # (height, width, RGBA), 0 to 1
    assert pixels[[0, 0, -1, -1], [0, -1, 0, -1], 3].tolist() == [0, 0, 0, 0]
    for page in (1.0, 0x11 / 255):
        assert contrast(colors.to_rgb(figures.INK), (page,) * 3) > 4


@pytest.mark.parametrize(("low", "high"), [(0.098, 0.109), (0.0, 0.0), (2.0, 3.76)])
@pytest.mark.parametrize(
    "draw",
    [
        lambda low, high: figures.runs({"one": [low, high]}, "share", "Runs", bottom=0.0),
        lambda low, high: figures.curves([1, 2], {"one": [low, high]}, "x", "y", "t", bottom=0.0),
    ],
    ids=["runs", "curves"],
)
def test_no_dot_is_cut_at_the_upper_edge(monkeypatch, draw, low, high):
    drawn = []
    drawn_by = sys.modules[figures.runs.__module__]
    monkeypatch.setattr(drawn_by, "show", lambda figure, alt: drawn.append(figure))
    draw(low, high)
    lowest, highest = drawn[0].axes[0].get_ylim()
    assert lowest == 0
    assert highest >= high + 0.04 * (highest - lowest)


def test_black_is_kept_for_light_cells(shown):
    DRAWN["steps"]()
    pixels = image.imread(io.BytesIO(shown[0].png))
    opaque = pixels[pixels[..., 3] == 1]
    assert (opaque[:, :3].max(1) < 0.14).any()  # the numbers in yellow cells
    DRAWN["curves"]()
    axes = image.imread(io.BytesIO(shown[1].png))
    assert axes[axes[..., 3] > 0.9][:, :3].max(1).min() > 0.4


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The contrast of two colours as WCAG 2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.attention_map(torch.ones(2, 3), ["a", "b"]), r"\(2, 2\); got \(2, 3\)"),
        (
            lambda: figures.curves([1], {name: [1] for name in "abcdefg"}, "x", "y", "z"),
            "most 6 .* 7",
        ),
        (lambda: figures.attention_map(torch.ones(2), ["a", "b"]), r"\(2, 2\); got \(2,\)"),
        (lambda: figures.arrows({"x": [1, 2, 3]}, ("a", "b")), r"each vector .* got \(1, 3\)"),
        (lambda: figures.stream({"t": [1.0, 2.0]}, [""]), r"t must have 1 \+ 3 · blocks .* got 2"),
        (lambda: figures.word_links({"t": (["a", "b"], 0, [1.0])}), r"t must .* \(1, 2\)"),
    ],
)
def test_a_wrong_shape_is_refused_in_one_line(shown, draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
    assert shown == []
