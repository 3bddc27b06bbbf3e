"""README's course map: every lesson, its minutes and points, and what it builds on."""

import re
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import pytest

from autograder.authoring.lesson import AuthoringError, Cell, all_lessons, read_lesson
from autograder.authoring.overview import direct_needs, overview
from autograder.paths import COURSE, ROOT

ROW = re.compile(
    r"^\| \[(\d+) · .*?\]\(notebooks/(\w+)\.ipynb\) .*\| (\d+) \| (\d+) \|$", re.MULTILINE
)
LESSONS = [read_lesson(path) for path in all_lessons(COURSE)]
OVERVIEWS = [overview(lesson) for lesson in LESSONS]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_each_lesson_has_its_row_with_its_minutes_and_points() -> None:
    rows = {name: (int(minutes), int(points)) for _, name, minutes, points in ROW.findall(README)}
    assert rows == {one.name: (one.minutes, one.points) for one in OVERVIEWS}


@pytest.mark.parametrize("said", ["lesson 3.", "lessons 1 to 4."])
def test_a_lesson_that_needs_itself_or_a_later_one_is_refused(said: str) -> None:
    first = LESSONS[2].cells[0]
    text = re.sub(r"(\*\*You need\*\*).*", rf"\1 {said}", first.source)
    with pytest.raises(AuthoringError, match=r"03_\w+\.py:1: .* lesson 3,.*\n  fix: name earlier"):
        overview(replace(LESSONS[2], cells=(replace(first, source=text),)))


def test_the_map_is_what_the_lessons_say_without_what_follows_from_it() -> None:
    needed = nx.DiGraph([(before, one.number) for one in OVERVIEWS for before in one.needs])
    reduced = set(nx.transitive_reduction(needed).edges)
    drawn = re.search(r"flowchart LR\n(.*?)```", README, re.DOTALL)
    assert drawn
    chains = [list(map(int, line.split(" --> "))) for line in drawn[1].strip().splitlines()]
    assert {arrow for chain in chains for arrow in pairwise(chain)} == reduced
    direct = direct_needs(OVERVIEWS)
    assert {(before, number) for number, needs in direct.items() for before in needs} == reduced


@pytest.mark.parametrize(
    ("said", "needs"),
    [
        ("Python, and the dot product.", set()),
        ("lessons 1 to 3, mean and variance.", {1, 2, 3}),
        ("lessons 2, 4, and 5.", {2, 4, 5}),
        ("attention (lesson 1), masking (lesson 2) and batch norm (lesson 4).", {1, 2, 4}),
        ("the ideas of lessons 2, 6 and 9: masks. Lessons 10 and 11 help.", {2, 6, 9}),
    ],
)
def test_what_a_lesson_needs_is_read_from_its_sentence(said: str, needs: set[int]) -> None:
    first = LESSONS[-1].cells[0]
    lines = first.source.split("\n")
    lines = [f"**You need** {said}" if "**You need**" in line else line for line in lines]
    changed = replace(first, source="\n".join(lines))
    assert overview(replace(LESSONS[-1], cells=(changed,))).needs == needs


@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        ("**You build**", "**You build**"),
        ("**You take away**", "**You take away**"),
        ("about 235 minutes", "about N minutes"),
    ],
)
def test_a_first_cell_that_does_not_say_it_is_refused(left_out: str, told: str) -> None:
    text = LESSONS[2].cells[0].source
    assert left_out in text
    cell = Cell("markdown", text.replace(left_out, ""), line=1)
    with pytest.raises(AuthoringError) as caught:
        overview(replace(LESSONS[2], cells=(cell,)))
    assert f"03_multi_head_attention.py:1: the first cell does not say `{told}`" in str(
        caught.value
    )
