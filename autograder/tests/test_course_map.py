"""README's course map: every lesson, its minutes and points, and what it builds on."""

import re
from itertools import pairwise

import networkx as nx

from autograder.authoring.lesson import Lesson, all_lessons, read_lesson
from autograder.paths import COURSE, ROOT

ROW = re.compile(
    r"^\| \[(\d+) · .*?\]\(notebooks/(\w+)\.ipynb\) .*\| (\d+) \| (\d+) \|$", re.MULTILINE
)
NUMBERS = re.compile(r"[Ll]essons? (\d+(?:(?:, | and | to )\d+)*)")
LESSONS = [read_lesson(path) for path in all_lessons(COURSE)]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def number(lesson: Lesson) -> int:
    return int(lesson.name.split("_")[0])


def says(lesson: Lesson, label: str) -> str:
    """What a lesson's first cell says after a label in bold."""
    found = re.search(rf"\*\*{label}\*\*:? (.*)", lesson.cells[0].source)
    assert found, f"{lesson.name} does not say {label!r}"
    return found[1]


def needs(lesson: Lesson) -> set[int]:
    """The lessons that a lesson says it needs; what only helps is not one of them."""
    text = re.sub(r"[^.]* help\.", "", says(lesson, "You need"))
    found: set[int] = set()
    for numbers in NUMBERS.findall(text):
        for part in re.split(r", | and ", numbers):
            first, _, last = part.partition(" to ")
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_each_lesson_has_its_row_with_its_minutes_and_points() -> None:
    rows = {name: (int(minutes), int(points)) for _, name, minutes, points in ROW.findall(README)}
    truth = {}
    for lesson in LESSONS:
        minutes = re.search(r"about (\d+) minutes", says(lesson, "Time"))
        assert minutes, lesson.name
        truth[lesson.name] = (int(minutes[1]), sum(cell.points or 0 for cell in lesson.cells))
    assert rows == truth


def test_a_lesson_needs_only_earlier_ones() -> None:
    assert {n.name: bad for n in LESSONS if (bad := {m for m in needs(n) if m >= number(n)})} == {}


def test_the_map_is_what_the_lessons_say_without_what_follows_from_it() -> None:
    needed = nx.DiGraph([(before, number(n)) for n in LESSONS for before in needs(n)])
    drawn = re.search(r"flowchart LR\n(.*?)```", README, re.DOTALL)
    assert drawn
    chains = [list(map(int, line.split(" --> "))) for line in drawn[1].strip().splitlines()]
    arrows = {arrow for chain in chains for arrow in pairwise(chain)}
    assert arrows == set(nx.transitive_reduction(needed).edges)
