"""What a lesson's first cell says of the lesson: what it builds, needs and gives, and how long."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.authoring.lesson import AuthoringError, Lesson

NUMBERS = re.compile(r"[Ll]essons? (\d+(?:(?:,? and |, | to )\d+)*)")


@dataclass(frozen=True)
class Overview:
    """A lesson at a glance."""

    number: int
    name: str  # of its file: `03_multi_head_attention`
    title: str  # without its number
    builds: str  # what follows "You build", in the lesson's Markdown
    takes_away: str  # what follows "You take away"
    minutes: int
    points: float  # of all its checks and answers
    needs: frozenset[int]  # the numbers of the lessons that it says it needs


def overview(lesson: Lesson) -> Overview:
    """Read a lesson's first cell; raise `AuthoringError` for what the cell does not say."""
    number, needs = int(lesson.name.split("_")[0]), _lessons(_says(lesson, "You need"))
    if later := [one for one in sorted(needs) if one >= number]:
        what = f"the first cell says that it needs lesson {later[0]}, which does not come before it"
        fix = "name earlier lessons alone after **You need**"
        raise AuthoringError(lesson.path, lesson.cells[0].line, what, fix)
    minutes = re.search(r"about (\d+) minutes", _says(lesson, "Time"))
    if minutes is None:
        raise _unsaid(lesson, "about N minutes")
    return Overview(
        number=number,
        name=lesson.name,
        title=lesson.title.rpartition(" · ")[2],
        builds=_says(lesson, "You build"),
        takes_away=_says(lesson, "You take away"),
        minutes=int(minutes[1]),
        points=sum(cell.points or 0 for cell in lesson.cells),
        needs=needs,
    )


def direct_needs(overviews: Sequence[Overview]) -> dict[int, list[int]]:
    """What each lesson needs, without what follows from it: the transitive reduction.

    Lessons that are not among `overviews` are left out.
    """
    known = {one.number: one.needs for one in overviews}
    before: dict[int, frozenset[int]] = {}  # lesson -> all that it needs, directly or not
    direct = {}
    for number in sorted(known):
        needs = known[number] & known.keys()
        implied = {earlier for need in needs for earlier in before[need]}
        before[number] = needs | implied
        direct[number] = sorted(needs - implied)
    return direct


def _says(lesson: Lesson, label: str) -> str:
    """What the first cell says after a label in bold, up to the end of the line."""
    found = re.search(rf"\*\*{label}\*\*:? (.*)", lesson.cells[0].source)
    if found is None:
        raise _unsaid(lesson, f"**{label}**")
    return found[1]


def _lessons(text: str) -> frozenset[int]:
    """The lessons that a text names; one that only helps is not needed."""
    needed = re.sub(r"[^.]* help\.", "", text)
    found: set[int] = set()
    for numbers in NUMBERS.findall(needed):
        for part in re.split(r",? and |, ", numbers):
            first, _, last = part.partition(" to ")
            found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _unsaid(lesson: Lesson, text: str) -> AuthoringError:
    fix = f"write `{text}` there, as in the other lessons"
    line = lesson.cells[0].line
    return AuthoringError(lesson.path, line, f"the first cell does not say `{text}`", fix)
