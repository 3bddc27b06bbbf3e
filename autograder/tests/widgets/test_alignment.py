"""What is special to `show_alignment`: one pair or several, what crosses, refusals."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformer_course.checks import numbers
from transformer_course.widgets import show_alignment

from autograder.bench.browser import chromium

WEIGHTS = torch.softmax(numbers(3, 4, 2, 5), -1).float()
OUTPUTS, SOURCES = ["le", "chat"], ["the", " ", "cat", "is", "here"]


def sent(view: object) -> list[np.ndarray]:
    """Each pair's weights, as they cross."""
    found = []
    for about in view.options["arrays"]:  # type: ignore[attr-defined]
        data = view.data[about["at"] :]  # type: ignore[attr-defined]
        count = int(np.prod(about["shape"]))
        found.append(np.frombuffer(data, about["kind"], count).reshape(about["shape"]))
    return found


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_weights_cross_exactly_with_an_axis_for_layers_and_heads(axes: int) -> None:
    given = WEIGHTS[(0,) * (4 - axes)]
    (weights,) = sent(show_alignment(given, OUTPUTS, SOURCES))
    assert weights.shape == (1,) * (4 - axes) + tuple(given.shape)
    assert np.array_equal(weights.reshape(given.shape), given.numpy())


def test_several_pairs_may_differ_in_length() -> None:
    pairs = [WEIGHTS, torch.softmax(numbers(3, 4, 1, 2), -1).float()]
    view = show_alignment(pairs, [OUTPUTS, ["no"]], [SOURCES, ["a", "b"]])
    assert [one.shape for one in sent(view)] == [(3, 4, 2, 5), (3, 4, 1, 2)]
    assert np.array_equal(sent(view)[1], pairs[1].numpy())
    assert view.options["outputs"] == [OUTPUTS, ["no"]]
    assert "first pair of 2, first layer of 3, first head of 4" in view.picture.alt


def test_white_space_is_made_visible() -> None:
    (names,) = show_alignment(WEIGHTS, OUTPUTS, SOURCES).options["sources"]
    assert names == ["the", "␣", "cat", "is", "here"]


def test_the_cursor_begins_at_the_largest_weight_of_the_first_token() -> None:
    state = show_alignment([[0.1, 0.7, 0.2], [1, 0, 0]], ["a", "b"], ["x", "y", "z"]).state
    first = {"pair": 0, "layer": 0, "head": 0, "row": 0, "column": 1, "all": True}
    assert state == first


def test_the_text_says_what_each_output_token_attends_to_most() -> None:
    alt = show_alignment([[0.1, 0.7, 0.2], [1, 0, 0]], ["a", "b"], ["x", "y", "z"]).picture.alt
    assert "2 output tokens by 3 source tokens" in alt
    assert "“a” to “y” 0.70, “b” to “x” 1.00" in alt
    assert "head" not in alt


def test_of_many_tokens_and_pairs_the_first_are_shown_and_the_title_says_so() -> None:
    names = [str(number) for number in range(70)]
    view = show_alignment(torch.rand(70, 3), names, "abc", title="mine")
    assert view.options["title"] == "mine (the first 64 tokens of a side)"
    assert sent(view)[0].shape == (1, 1, 64, 3)
    view = show_alignment([[[1.0]]] * 70, [["a"]] * 70, [["b"]] * 70, title="mine")
    assert view.options["title"] == "mine (the first 64 of 70 pairs)"
    assert len(sent(view)) == len(view.options["outputs"]) == 64


def test_many_weights_cross_as_a_byte_each() -> None:
    view = show_alignment(torch.softmax(numbers(4, 4, 60, 60), -1), ["a"] * 60, ["b"] * 60)
    assert len(view.data) == 4 * 4 * 60 * 60


REFUSED = {
    "weights must be (layers, heads, output, source) or (heads, output, source) or (output, "
    "source); got (5,)": lambda: show_alignment(WEIGHTS[0, 0, 0], OUTPUTS, SOURCES),
    "outputs must be 2 names, one for each; got 1": lambda: show_alignment(
        WEIGHTS, ["le"], SOURCES
    ),
    "weights must be (output, source), here (5, 2); got (2, 5)": lambda: show_alignment(
        WEIGHTS, SOURCES, OUTPUTS
    ),
    "weights must be finite numbers": lambda: show_alignment(WEIGHTS / 0, OUTPUTS, SOURCES),
    "sources of pair 1 must be 5 names, one for each; got 2": lambda: show_alignment(
        [WEIGHTS, WEIGHTS], [OUTPUTS, OUTPUTS], [SOURCES, SOURCES[:2]]
    ),
    "must be lists of the same length; got 1, 2 and 2": lambda: show_alignment(
        [WEIGHTS], [OUTPUTS, OUTPUTS], [SOURCES, SOURCES]
    ),
    "must be lists of the same length; outputs or sources is a list of str": lambda: show_alignment(
        [WEIGHTS, WEIGHTS], OUTPUTS, [SOURCES, SOURCES]
    ),
    "outputs and sources must then be lists of lists of str": lambda: show_alignment(
        [WEIGHTS, WEIGHTS], OUTPUTS, SOURCES
    ),
    "all pairs must have the same (layers, heads); pair 1 has (1, 4), pair 0 (3, 4)": lambda: (
        show_alignment([WEIGHTS, WEIGHTS[0]], [OUTPUTS, OUTPUTS], [SOURCES, SOURCES])
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)


def test_the_cursor_stays_in_the_matrix_of_a_smaller_pair(tmp_path: Path) -> None:
    file = tmp_path / "alignment.html"
    pairs = [WEIGHTS[:, :, [0, 1, 0, 1]], WEIGHTS[..., :2]]
    names = [[*OUTPUTS, *OUTPUTS], OUTPUTS], [SOURCES, SOURCES[:2]]
    file.write_text(show_alignment(pairs, *names).to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        told, lines = page.locator(".course-view .told"), page.locator(".course-view canvas").first
        for control, key, said in (
            (lines, "ArrowDown", "output 1 “chat”"),
            (lines, "ArrowDown", "output 2 “le”"),
            (lines, "ArrowDown", "output 3 “chat”"),
            (page.get_by_label("pair"), "ArrowDown", "output 1 “chat”"),
            (lines, "ArrowUp", "output 0 “le”"),
        ):
            control.press(key)
            told.filter(has_text=said).wait_for(timeout=5000)
