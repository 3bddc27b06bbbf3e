"""Where each student stands: what was handed in, what of it is graded, and what it earned."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbgrader.apps.api import NbGraderAPI

from autograder.places import place
from autograder.recorder import MARK, kept
from autograder.repair import Released, Unreadable, released, repair
from autograder.submission import State, Task, key

BESIDE = 10 << 20  # bytes of other files that may lie beside a notebook


@dataclass(frozen=True)
class Result:
    """What became of one student's submission; no points means that none are recorded."""

    student: str
    state: State
    note: str = ""
    points: float | None = None
    max_points: float | None = None
    to_mark: bool = False  # a person must mark some of it
    repairs: tuple[str, ...] = ()
    seconds: float = 0.0  # that it took to execute


def students(api: NbGraderAPI, lesson: str) -> list[str]:
    """Everyone in the gradebook, and everyone who handed this lesson in."""
    with api.gradebook as gradebook:
        known = {str(student.id) for student in gradebook.students}
    return sorted(known | api.get_submitted_students(lesson))


def ungraded(api: NbGraderAPI, lesson: str) -> set[str]:
    """Who handed in this lesson, or a newer version of it, and is not graded yet."""
    lesson_as_released = released(api, lesson)
    return {
        student
        for student in api.get_submitted_students(lesson)
        if not is_recorded(api, lesson_as_released, student)
    }


def is_recorded(api: NbGraderAPI, released: Released, student: str) -> bool:
    """Whether what lies there now was graded by today's tests, to the end."""
    try:
        mark = place(api, "autograded", released.lesson, student).with_name(MARK)
        wanted = key(handed_in(api, released.lesson, student), released)
        return mark.read_bytes() == wanted.encode()
    except OSError:
        return False


def handed_in(api: NbGraderAPI, lesson: str, student: str) -> Task:
    """A submission, and the plain files beside it that its code may open or import."""
    path = place(api, "submitted", lesson, student)
    files, room = {}, BESIDE
    for other in sorted(path.parent.rglob("*")):
        if other == path or other.is_symlink() or not other.is_file():
            continue
        # a link among the folders could lead to anybody's files
        if not other.resolve().is_relative_to(path.parent.resolve()):
            continue
        room -= other.stat().st_size
        if room < 0:
            break
        files[str(other.relative_to(path.parent))] = other.read_bytes()
    return Task(student, path.read_bytes(), files)


def results(
    api: NbGraderAPI, lesson: str, found: Mapping[str, tuple[State, str]] = {}
) -> list[Result]:
    """What became of each student's submission; `found` tells of those that have no points."""
    lesson_as_released = released(api, lesson)
    with api.gradebook as gradebook:
        recorded = {row["student"]: row for row in gradebook.submission_dicts(lesson)}
    return [
        _result(api, lesson_as_released, student, recorded.get(student), found)
        for student in students(api, lesson)
    ]


def obstacle(api: NbGraderAPI, lesson: str, student: str) -> tuple[State, str] | None:
    """Why there is nothing to read where a submission should lie, and the mend."""
    path = place(api, "submitted", lesson, student)
    if student != student.strip() or re.search(r"[*?\[\]\ud800-\udfff]", student):
        # nbgrader would take it for another student's, or for several students'; what is no
        # UTF-8 no database takes
        name = student.encode(errors="replace").decode()
        return State.UNREADABLE, f"rename the folder `{name}`: plain text, no * ? [ ] or end spaces"
    if path.is_symlink() or path.parent.is_symlink():
        # out of an archive, it could stand for anybody's file
        return State.UNREADABLE, "a link in place of a file: ask for the notebook itself"
    try:
        with path.open("rb"):
            return None
    except FileNotFoundError:
        pass
    except OSError as error:
        return State.UNREADABLE, error.strerror or str(error)
    others = ", ".join(f"`{other.name}`" for other in sorted(path.parent.glob("*.ipynb")))
    note = f"rename {others} to `{path.name}`" if others else "nothing was handed in"
    return State.MISSING, note


def _result(
    api: NbGraderAPI,
    released: Released,
    student: str,
    recorded: Mapping[str, Any] | None,
    found: Mapping[str, tuple[State, str]],
) -> Result:
    stuck = obstacle(api, released.lesson, student) or found.get(student)
    if stuck:
        return Result(student, *stuck)
    if recorded and is_recorded(api, released, student):
        return _standing(api, released.lesson, recorded)
    try:
        repair(place(api, "submitted", released.lesson, student).read_bytes(), released)
    except Unreadable as why:
        return Result(student, State.UNREADABLE, str(why))
    return Result(student, State.UNGRADED)


def _standing(api: NbGraderAPI, lesson: str, recorded: Mapping[str, Any]) -> Result:
    """What a graded submission earned."""
    student, to_mark = recorded["student"], bool(recorded["needs_manual_grade"])
    points = recorded["score"], recorded["max_score"]
    finished = kept(api, lesson, student)
    if finished is None:
        return Result(student, State.GRADED, "", *points, to_mark=to_mark)
    state = State(finished.state)
    notes = [finished.note] if finished.note else []
    if state == State.GRADED and to_mark:
        state = State.NEEDS_MARKING
    elif to_mark:
        notes.append(State.NEEDS_MARKING)
    notes += [f"repaired: {'; '.join(finished.repairs)}"] if finished.repairs else []
    about = tuple(finished.repairs), finished.seconds
    return Result(student, state, "; ".join(notes), *points, to_mark, *about)
