"""README's animation shows what the course says and does today, and is small enough for a page."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from PIL import Image

from autograder.authoring.answer_bank import read_answers
from autograder.authoring.lesson import read_lesson
from autograder.paths import COURSE, ROOT
from autograder.site import animation

LEAST_FRAMES = 20
LONGEST = 16  # seconds
LARGEST = 1_500_000  # bytes
LESSON = read_lesson(COURSE.solutions / f"{animation.LESSON}.py")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with animation.browser_page() as page:
        yield page


def test_the_check_names_the_mistake_and_accepts_the_repaired_code() -> None:
    right = animation.solution(LESSON)
    assert animation.SCALED in right
    failure = animation.told(LESSON, right.replace(animation.SCALED, animation.UNSCALED))
    answers = read_answers(LESSON.bank, LESSON)
    says = {one.name: one.says for one in answers if one.exercise == animation.EXERCISE}
    headline, diagnosis, *_ = failure.split("\n")
    assert headline.startswith(f"✗ {animation.EXERCISE}: ")
    assert says["no_scale"] in " ".join(diagnosis.split())
    assert re.fullmatch(r"(✓ .*\n?)+", animation.told(LESSON, right))


def test_the_first_frames_write_the_code(page: Any) -> None:
    one, two = islice(animation.code_frames(page), 2)
    assert one.picture.size == animation.SIZE
    assert one.picture.tobytes() != two.picture.tobytes()


def test_the_controls_move_the_view(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "HEADS", (0, 1))
    monkeypatch.setattr(animation, "TEMPERATURES", ("0.5",))
    frames = list(islice(animation.view_frames(page), 4))
    box = page.get_by_label("the chosen head's weights").bounding_box()
    corners = (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])
    # of the weights alone: what has the focus changes the picture too
    maps = {frame.picture.crop(corners).tobytes() for frame in frames}
    assert len(maps) == 4  # another head, another temperature, another cell
    cell = page.locator(".course-view .told").inner_text()
    assert cell.startswith("query 1 “cat”, key 0 “the”: ")


def test_the_committed_file_is_an_animation_that_a_page_can_load() -> None:
    assert animation.FILE.stat().st_size < LARGEST
    with Image.open(animation.FILE) as image:
        assert (image.format, image.size, image.info["loop"]) == ("GIF", animation.SIZE, 0)
        stays = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            stays.append(image.info["duration"])
    assert len(stays) >= LEAST_FRAMES
    assert sum(stays) < 1000 * LONGEST


def test_readme_shows_it_first_and_says_what_is_to_be_seen() -> None:
    name = animation.FILE.relative_to(ROOT).as_posix()
    start = README.partition("\n## ")[0]
    (tag,) = re.findall(rf'<img [^>]*src="{name}"[^>]*>', start)
    (alt,) = re.findall(r'alt="([^"]{80,})"', tag)
    assert animation.EXERCISE in alt
    assert f"{animation.weights()[0, animation.IT, animation.CAT]:.2f}" in alt
