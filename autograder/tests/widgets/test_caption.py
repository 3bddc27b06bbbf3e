"""What is special to `show_caption`: how the captioner is called, what crosses, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformer_course.checks import numbers
from transformer_course.widgets import show_caption

from autograder.bench.browser import chromium

WORDS = ["<begin>", "dark", "bright", "<end>"]
IMAGES = numbers(2, 3, 4, 6).abs().float()


def describe(images: Tensor) -> tuple[Tensor, Tensor]:
    """Two words and an end: is the left, is the right half bright? Weights by brightness."""
    halves = torch.stack([half.mean((1, 2, 3)) for half in images.split(3, dim=3)], 1)
    tokens = torch.cat([1 + (halves > 0.6).long(), torch.full((len(images), 2), 3)], 1)
    cells = torch.nn.functional.avg_pool2d(images.mean(1), 2).flatten(1)
    return tokens, torch.stack([(cells * (1 + word)).softmax(-1) for word in range(4)], 1)


def sent(view: Any, name: str) -> np.ndarray:
    about = next(one for one in view.options["arrays"] if one["name"] == name)
    count = int(np.prod(about["shape"]))
    found = np.frombuffer(view.data[about["at"] :], about["kind"], count)
    return found.reshape(about["shape"])


def test_the_captioner_gets_the_image_and_each_cover_alone() -> None:
    calls = []

    def noted(images: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(images.clone())
        return describe(images)

    show_caption(noted, IMAGES, WORDS, 2, end=3, fill=0.5)
    assert [tuple(call.shape) for call in calls] == [(7, 3, 4, 6)] * 2
    assert torch.allclose(calls[0][0], IMAGES[0])
    expected = IMAGES[0].clone()
    expected[:, 2:, 2:4] = 0.5  # cell 4: row 1, column 1
    assert torch.allclose(calls[0][5], expected)


def test_tokens_lengths_and_weights_cross_for_every_cover() -> None:
    view = show_caption(describe, IMAGES, WORDS, 2, end=3)
    tokens, weights = describe(IMAGES)
    assert np.array_equal(sent(view, "tokens")[:, 0], tokens.numpy())
    assert sent(view, "tokens").shape == (2, 7, 4)
    assert sent(view, "counts").tolist() == [[2.0] * 7] * 2
    assert sent(view, "weights").shape == (2, 7, 4, 2, 3)
    assert np.allclose(sent(view, "weights")[:, 0].reshape(2, 4, 6), weights.numpy(), atol=1e-6)


def test_without_an_end_all_words_count() -> None:
    view = show_caption(describe, IMAGES[0], WORDS, 2)
    assert sent(view, "counts").tolist() == [[4.0] * 7]


def test_the_text_names_the_caption_and_what_covers_change() -> None:
    alt = show_caption(describe, IMAGES[0], WORDS, 2, end=3, title="mine").picture.alt
    assert alt.startswith("mine. The caption is “")
    assert "Each word's largest weight: “" in alt
    assert "of 6 cells" in alt


def test_many_weights_cross_as_a_byte_each() -> None:
    def long(images: Tensor) -> tuple[Tensor, Tensor]:
        words = torch.ones(len(images), 60, dtype=torch.long)
        return words, torch.full((len(images), 60, 64), 1 / 64)

    view = show_caption(long, torch.zeros(1, 8, 8), WORDS, 1)
    assert sent(view, "weights").dtype == np.uint8


def stub(images: Tensor) -> tuple[Tensor, Tensor]:
    """Describe images."""
    raise NotImplementedError


def test_a_stub_is_said_to_be_one() -> None:
    with pytest.raises(NotImplementedError) as caught:
        show_caption(stub, IMAGES, WORDS, 2)
    (line,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "`stub` is still a stub" in line


REFUSED = {
    "images must have 1 or 3 channels; got 2": lambda: show_caption(
        describe, torch.zeros(2, 4, 6), WORDS, 2
    ),
    "images must be at most 8 scenes; got 9": lambda: show_caption(
        describe, torch.zeros(9, 3, 4, 6), WORDS, 2
    ),
    "size must divide 4 and 6; got 4": lambda: show_caption(describe, IMAGES, WORDS, 4),
    "end must be a token, 0 to 3; got 4": lambda: show_caption(describe, IMAGES, WORDS, 2, end=4),
    "captioner must return (tokens, weights); got Tensor": lambda: show_caption(
        lambda images: describe(images)[0],  # type: ignore[arg-type]
        IMAGES,
        WORDS,
        2,
    ),
    "tokens must be whole numbers (7, words); got float32 (7, 4)": lambda: show_caption(
        lambda images: (describe(images)[0].float(), describe(images)[1]), IMAGES, WORDS, 2
    ),
    "tokens must be 0 to 1; got 1 to 3": lambda: show_caption(describe, IMAGES, WORDS[:2], 2),
    "weights must be (7, 4, 6); got (7, 4, 5)": lambda: show_caption(
        lambda images: (describe(images)[0], describe(images)[1][..., 1:]), IMAGES, WORDS, 2
    ),
    "the grid must have at most 256 cells; got 32 × 32": lambda: show_caption(
        describe, torch.zeros(1, 32, 32), WORDS, 1
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)


def test_a_cell_is_covered_by_a_key_and_the_caption_changes(tmp_path: Path) -> None:
    bright = torch.zeros(1, 3, 4, 6)
    bright[:, :, :2, :2] = 3.0  # all the light of the left half is in cell 0
    file = tmp_path / "caption.html"
    file.write_text(show_caption(describe, bright, WORDS, 2, end=3).to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        told, scene = page.locator(".course-view .told"), page.locator(".course-view canvas").first
        for key, said in (
            ("ArrowRight", "cell in row 0, column 1"),
            ("Enter", "row 0, column 1 is covered: the caption stays"),
            ("ArrowLeft", "cell in row 0, column 0"),
            ("Enter", "row 0, column 0 is covered: the caption becomes “dark dark”"),
            ("Enter", "press Enter, to cover it"),
        ):
            scene.press(key)
            told.filter(has_text=said).wait_for(timeout=5000)
        page.get_by_role("button", name="dark").first.focus()
        told.filter(has_text="weight of “dark”").wait_for(timeout=5000)
