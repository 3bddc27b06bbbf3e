"""What is special to `show_windows` and `show_reach`: what crosses, counts, refusals."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.image import imread
from transformer_course.widgets import show_reach, show_windows
from transformer_course.widgets.view import View

from autograder.bench.browser import chromium
from autograder.tests.widgets.examples import cut, smeared, unwrapped


def sent(view: View) -> dict[str, np.ndarray]:
    """The arrays, as they cross."""
    found = {}
    for about in view.options["arrays"]:
        count = int(np.prod(about["shape"]))
        data = np.frombuffer(view.data[about["at"] :], about["kind"], count)
        found[about["name"]] = data.reshape(about["shape"])
    return found


def test_windows_and_masks_cross_for_every_size_and_shift() -> None:
    arrays = sent(show_windows(cut, unwrapped, side=4, window_sizes=(2, 4)))
    assert [*arrays] == [
        f"{kind} {size} {shift}"
        for size in (2, 4)
        for shift in range(size)
        for kind in ("windows", "mask")
    ]
    assert arrays["windows 2 1"].tolist() == [
        [5, 6, 9, 10],
        [7, 4, 11, 8],
        [13, 14, 1, 2],
        [15, 12, 3, 0],
    ]
    assert np.array_equal(arrays["mask 2 1"], unwrapped(4, 4, 2, 1).numpy())


def test_a_merged_pixel_is_connected_with_what_it_depends_on() -> None:
    def first_two(x: torch.Tensor) -> torch.Tensor:
        return x[:, ::2, ::2] + x[:, ::2, 1::2]

    merged = sent(show_windows(cut, unwrapped, first_two, side=4, window_sizes=(2,)))["merged"]
    assert [np.flatnonzero(row).tolist() for row in merged] == [[0, 1], [2, 3], [8, 9], [10, 11]]


def test_the_picture_shows_the_pixel_of_the_merged_map() -> None:
    def four(x: torch.Tensor) -> torch.Tensor:
        return x[:, ::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, ::2] + x[:, 1::2, 1::2]

    def never(x: torch.Tensor) -> torch.Tensor:
        return 0 * x[:, ::2, ::2]

    without = show_windows(cut, unwrapped, side=8, pixel=(1, 3)).picture
    shown = {}
    for merge, said in ((four, "(0, 1)"), (never, "no pixel")):
        picture = show_windows(cut, unwrapped, merge, side=8, pixel=(1, 3)).picture
        assert picture.alt == f"{without.alt} It goes into {said} of the merged map."
        shown[said] = imread(BytesIO(picture.png))
        assert shown[said].shape[1] > imread(BytesIO(without.png)).shape[1]
    assert not np.array_equal(*shown.values())


def test_the_picture_tells_the_cost() -> None:
    alt = show_windows(cut, unwrapped, side=8, window_sizes=(2, 4, 8), pixel=(0, 0)).picture.alt
    assert "shift 2. Pixel (0, 0) is in window 3, and may attend to 4 of its 16 pixels" in alt
    assert "1,024 pairs in windows, 576 of them allowed, 4,096 over all pixels" in alt


def test_dependences_are_found_by_gradients_block_by_block() -> None:
    view = show_reach({"two": [smeared, smeared], "one": [smeared]}, side=4, window_size=2)
    two, one = sent(view)["0"], sent(view)["1"]
    assert [np.flatnonzero(two[block, 4]).tolist() for block in (0, 1)] == [[4, 5], [4, 5, 6]]
    assert np.flatnonzero(one[0, 7]).tolist() == [7]
    assert "two: 2, 3; one: 2" in view.picture.alt


def test_a_stub_is_told_in_one_line() -> None:
    def partition(x: torch.Tensor, size: int) -> torch.Tensor:
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        show_windows(partition, unwrapped)


REFUSED = {
    "side must be 2 to 16; got 32": lambda: show_windows(cut, unwrapped, side=32),
    "window_sizes must divide the side of 8; got [3]": lambda: show_windows(
        cut, unwrapped, window_sizes=[3]
    ),
    "pixel must be a row and a column from 0 to 7; got (0, 8)": lambda: show_windows(
        cut, unwrapped, pixel=(0, 8)
    ),
    "partition must return a tensor (1, 16, 4, 1); got (16, 4, 1)": lambda: show_windows(
        lambda x, size: cut(x, size)[0], unwrapped
    ),
    "partition must return each pixel once": lambda: show_windows(
        lambda x, size: 0 * cut(x, size), unwrapped
    ),
    "mask must return a tensor (16, 4, 4); got (3,)": lambda: show_windows(
        cut, lambda *_: torch.ones(3)
    ),
    "merge must return a tensor": lambda: show_windows(cut, unwrapped, lambda x: x),
    "side must be a multiple of 4, up to 16; got 6": lambda: show_reach({"a": [smeared]}, side=6),
    "at most 6 paths of 1 to 6 blocks; got [0]": lambda: show_reach({"a": []}),
    "block 2 of a must return a tensor (64, 8, 8, 8)": lambda: show_reach(
        {"a": [smeared, lambda x: x[:, 1:]]}
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_told_in_one_line(said: str) -> None:
    with pytest.raises(ValueError, match=r"\A.+\Z") as caught:
        REFUSED[said]()
    assert said in str(caught.value)


def test_size_and_shift_and_pixel_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "windows.html"
    view = show_windows(cut, unwrapped, side=8, window_sizes=(2, 4, 8))
    file.write_text(view.to_html(), encoding="utf-8")
    with chromium(viewport={"width": 1000, "height": 800}) as context:
        page = context.pages[0]
        page.goto(file.as_uri())
        told, first = page.locator(".course-view .told"), page.locator(".course-view canvas").first
        size, shift = page.get_by_label("window size M"), page.get_by_label("shift s")
        for control, key, said in (
            (first, "ArrowUp", "Pixel (0, 3) is at (6, 1) of the rolled map, in window 2"),
            (first, "Home", "Pixel (0, 0) is at (6, 6) of the rolled map, in window 3"),
            (shift, "ArrowRight", "may attend to 9 of 16 pixels"),
            (size, "ArrowLeft", "may attend to 1 of 4 pixels"),
            (size, "End", "4,096 pairs in windows"),
        ):
            control.press(key)
            told.filter(has_text=said).wait_for(timeout=5000)
