"""The mask painter: what it takes, what it sends, and the mask that comes back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformer_course.checks import numbers
from transformer_course.widgets import show_mask

from autograder.bench.browser import chromium

SCORES = numbers(3, 4)
MASK = [[True, False, True, False], [False] * 4, [True] * 4]


def test_all_pairs_may_look_where_no_mask_is_given() -> None:
    view = show_mask(SCORES)
    assert view.mask.dtype == torch.bool
    assert torch.equal(view.mask, torch.ones(3, 4, dtype=torch.bool))


@pytest.mark.parametrize("taken", [torch.tensor, np.array, list])
def test_the_mask_is_read_as_it_was_given(taken: type) -> None:
    assert show_mask(SCORES.requires_grad_(), taken(MASK)).mask.tolist() == MASK


def test_what_is_painted_is_read() -> None:
    view = show_mask(SCORES, MASK)
    view.widget.state = {**view.state, "mask": ["0001", "0000", "1111"]}
    assert view.mask[0].tolist() == [False, False, False, True]
    assert view.mask.sum() == 5


def test_scores_cross_exactly() -> None:
    view = show_mask(SCORES)
    sent = np.frombuffer(view.data, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(sent, SCORES.detach().numpy().astype(np.float32))


def test_the_picture_tells_the_weights_and_the_empty_query() -> None:
    alt = show_mask([[0.0, 5.0], [1.0, 1.0]], [[1, 1], [0, 0]], ["a", "b"]).picture.alt
    assert "2 of 4 pairs" in alt
    assert "a: a 0.01, b 0.99" in alt
    assert "b: no key, so all its weights are 0" in alt


def test_a_large_picture_tells_how_many_keys_each_query_has() -> None:
    alt = show_mask(numbers(10, 10), torch.ones(10, 10).tril()).picture.alt
    assert "55 of 100 pairs" in alt
    assert "0: 1, 1: 2" in alt


def test_both_sides_share_names_only_where_they_are_as_many() -> None:
    square = show_mask(numbers(2, 2), queries=["a", "b"]).options
    assert square["keys"] == ["a", "b"]
    assert show_mask(numbers(2, 3), queries=["a", "b"]).options["keys"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scores": numbers(3)}, r"scores must be \(query, key\); got \(3,\)"),
        ({"scores": numbers(33, 2)}, r"scores must be at most 32 by 32; got \(33, 2\)"),
        ({"scores": [[0.0, -np.inf]]}, "scores must be finite numbers"),
        ({"mask": [[True] * 3] * 3}, r"mask must be \(3, 4\), as the scores; got \(3, 3\)"),
        ({"mask": [[0.0, -1e9, 0.0, 0.0]] * 3}, r"mask must be True .* got -1e\+09"),
        ({"queries": ["a"]}, "queries must be 3 names"),
        ({"keys": ["a"]}, "keys must be 4 names"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        show_mask(**{"scores": SCORES, **given})


# --- painted in a browser ------------------------------------------------------------------


def by_mouse(page: Any, points: list[tuple[float, float]]) -> None:
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points:
        page.mouse.move(*point)
    page.mouse.up()


def by_finger(page: Any, points: list[tuple[float, float]]) -> None:
    session = page.context.new_cdp_session(page)

    def touch(kind: str, at: list[tuple[float, float]]) -> None:
        spots = [{"x": x, "y": y} for x, y in at]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    touch("touchStart", points[:1])
    for point in points:
        touch("touchMove", [point])
    touch("touchEnd", [])


@pytest.mark.parametrize("stroke", [by_mouse, by_finger])
def test_each_stroke_paints_the_cells_that_it_passes(stroke: Callable, tmp_path: Path) -> None:
    file = tmp_path / "mask.html"
    file.write_text(show_mask(numbers(5, 5)).to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}, has_touch=True) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        page.wait_for_selector(".course-view[data-frames]")
        corner = page.locator(".course-view canvas").first.bounding_box()
        # where mask.js puts the cells of five tokens
        left, top, cell = corner["x"] + 56, corner["y"] + 53, 44
        middle = {i: (i + 0.5) * cell for i in range(5)}
        spots = {(i, j): (left + middle[j], top + middle[i]) for i in middle for j in middle}
        stroke(page, [spots[0, 0], spots[0, 2]])
        stroke(page, [spots[4, 4]])
        page.wait_for_function("document.querySelector('.told').textContent.includes('21 of 25')")
