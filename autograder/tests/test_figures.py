"""The pictures: a text for each, the same bytes each time, and one clear line for a wrong shape."""

import pytest
import torch
from transformer_course import figures

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
    "tiles": lambda: figures.tiles([torch.eye(2), torch.ones(2, 2)], ["a", "b"], "two"),
}
TOLD = {
    "arrows": "bank [1, 1], river [2, 0]",
    "attention_map": "attention weights (query by key): a: [1, 0]; b: [0, 1]",
    "steps": "out (query by feature): a: [1]; b: [2]",
    "masks": "causal (query by key), who may look at whom: a: a; b: a, b",
    "stations": "post: from x, a detour through attention is added back, then norm1 on",
    "word_links": "from “the”, the largest weights go to cat 0.75, the 0.25",
    "curves": "spread for d_k from 1 to 4: root from 1 to 2; measured from 1.1 to 1.9",
    "tiles": "two. 2 pictures of 2 by 2: a, b.",
}


@pytest.fixture
def shown(monkeypatch):
    pictures: list[figures.Picture] = []
    monkeypatch.setattr(figures, "display", pictures.append)
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


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.attention_map(torch.ones(2, 3), ["a", "b"]), r"\(2, 2\); got \(2, 3\)"),
        (lambda: figures.attention_map(torch.ones(2), ["a", "b"]), r"\(2, 2\); got \(2,\)"),
        (lambda: figures.arrows({"x": [1, 2, 3]}, ("a", "b")), r"each vector .* got \(1, 3\)"),
        (lambda: figures.word_links({"t": (["a", "b"], 0, [1.0])}), r"t must .* \(1, 2\)"),
    ],
)
def test_a_wrong_shape_is_refused_in_one_line(shown, draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
    assert shown == []
