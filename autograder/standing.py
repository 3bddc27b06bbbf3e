"""Where each student stands: what was handed in, what of it is graded, and what it earned."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import nbformat
from nbformat.reader import NotJSONError
from nbgrader.apps.api import NbGraderAPI

from autograder import places

# beside a graded notebook, written last: the fingerprint of the file that was graded
MARK = ".graded"


class State(StrEnum):
    """What became of a submission."""

    GRADED = "graded"
    NEEDS_MARKING = "needs marking"  # graded, but for what a person must mark
    TIMED_OUT = "timed-out"  # graded, but a cell was stopped
    CRASHED = "crashed"  # the student's code ended its own Python
    UNREADABLE = "unreadable"
    MISSING = "missing"
    UNGRADED = "not graded yet"
    FAILED = "failed"  # the grader's fault, not the student's


@dataclass(frozen=True)
class Result:
    """What became of one student's submission; no points means that none are recorded."""

    student: str
    state: State
    note: str = ""
    points: float | None = None
    max_points: float | None = None
    to_mark: bool = False  # a person must mark some of it


# why grading failed, when it was the student's doing
CRASH = (
    "a cell ended Python itself (os._exit, or out of memory): "
    "ask the student to run it from top to bottom"
)


def students(api: NbGraderAPI, lesson: str) -> list[str]:
    """Everyone in the gradebook, and everyone who handed this lesson in."""
    with api.gradebook as gradebook:
        known = {str(student.id) for student in gradebook.students}
    return sorted(known | api.get_submitted_students(lesson))


def ungraded(api: NbGraderAPI, lesson: str) -> set[str]:
    """Who handed in this lesson, or a newer version of it, and is not graded yet."""
    recorded = _recorded(api, lesson)
    return {
        student
        for student in api.get_submitted_students(lesson)
        if student not in recorded or not _is_marked(api, lesson, student)
    }


def mark(api: NbGraderAPI, lesson: str, student: str, graded: str) -> None:
    """Note, once all is recorded, the fingerprint of what was graded.

    nbgrader removes it, with the folder that it lies in, before it grades the submission again.
    """
    places.write(place(api, "autograded", lesson, student).with_name(MARK), graded)


def fingerprint(api: NbGraderAPI, lesson: str, student: str) -> str:
    """What tells this student's submission from an earlier one; empty if it cannot be read."""
    try:
        data = place(api, "submitted", lesson, student).read_bytes()
    except OSError:
        return ""
    return hashlib.sha256(data).hexdigest()


def results(api: NbGraderAPI, lesson: str, failures: Mapping[str, str]) -> list[Result]:
    """What became of each student's submission, and what the gradebook has of it."""
    waiting, recorded = ungraded(api, lesson), _recorded(api, lesson)
    found = []
    for student in students(api, lesson):
        stuck = obstacle(api, lesson, student)
        if stuck:
            found.append(Result(student, *stuck))
        elif student in failures:
            state = State.CRASHED if failures[student] == CRASH else State.FAILED
            found.append(Result(student, state, failures[student]))
        elif student in waiting:
            found.append(Result(student, State.UNGRADED))
        else:
            found.append(_standing(api, lesson, recorded[student]))
    return found


def place(api: NbGraderAPI, step: str, lesson: str, student: str = ".") -> Path:
    """Where a lesson's notebook lies after a step of nbgrader's: source, release, submitted, …"""
    course: Any = api.coursedir
    directory = getattr(course, f"{step}_directory")
    return Path(course.format_path(directory, student, lesson), f"{lesson}.ipynb")


def obstacle(api: NbGraderAPI, lesson: str, student: str) -> tuple[State, str] | None:
    """Why nbgrader can make nothing of what was handed in, and the mend."""
    path = place(api, "submitted", lesson, student)
    if student != student.strip() or re.search(r"[*?\[\]]", student):
        # nbgrader would take it for another student's, or for several students'
        return State.UNREADABLE, f"rename the folder `{student}`: no * ? [ ], no space at an end"
    if not path.exists():
        others = ", ".join(f"`{other.name}`" for other in sorted(path.parent.glob("*.ipynb")))
        note = f"rename {others} to `{path.name}`" if others else "nothing was handed in"
        return State.MISSING, note
    try:
        ids = _grade_ids(path)
    except OSError as error:
        return State.UNREADABLE, error.strerror or str(error)
    except (NotJSONError, UnicodeDecodeError):
        return State.UNREADABLE, "no JSON, or cut short: ask for the file again, as .ipynb"
    except Exception:  # JSON can hold anything, and nbformat raises anything
        return State.UNREADABLE, "JSON, but no sound notebook: ask for the file again, as .ipynb"
    twice = ", ".join(f"`{name}`" for name, count in ids.items() if count > 1)
    if twice:
        return (
            State.UNREADABLE,
            f"{twice} stands more than once: delete the copies in {places.shown(path)}",
        )
    source = place(api, "source", lesson)
    if not (ids.keys() & _grade_ids(source).keys() if source.exists() else ids):
        return State.UNREADABLE, "none of the lesson's cells: ask for the lesson's own notebook"
    return None


def _grade_ids(path: Path) -> Counter[str]:
    """nbgrader's names for a notebook's cells, and how often each stands there."""
    cells = nbformat.read(path, as_version=4).cells
    ids = Counter(cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells)
    del ids[None]
    return ids


def _recorded(api: NbGraderAPI, lesson: str) -> dict[str, dict]:
    """What the gradebook has of this lesson, by student."""
    with api.gradebook as gradebook:
        return {
            str(submission.student.id): submission.to_dict()
            for submission in gradebook.assignment_submissions(lesson)
        }


def _is_marked(api: NbGraderAPI, lesson: str, student: str) -> bool:
    """Whether what lies there now was graded to the end."""
    path = place(api, "autograded", lesson, student).with_name(MARK)
    submitted = fingerprint(api, lesson, student)
    return bool(submitted) and path.is_file() and path.read_bytes() == submitted.encode()


def _standing(api: NbGraderAPI, lesson: str, submission: dict) -> Result:
    """What a graded submission earned."""
    student, to_mark = submission["student"], submission["needs_manual_grade"]
    path = place(api, "autograded", lesson, student)
    stopped = [
        cell.metadata.get("nbgrader", {}).get("grade_id", "a cell that is no exercise")
        for cell in nbformat.read(path, as_version=4).cells
        if any(output.get("ename") == "CellTimeoutError" for output in cell.get("outputs", []))
    ]
    state, note = (State.NEEDS_MARKING if to_mark else State.GRADED), ""
    if stopped:
        also = f"; {State.NEEDS_MARKING}" if to_mark else ""
        state, note = State.TIMED_OUT, f"stopped by the time limit: {', '.join(stopped)}{also}"
    points = submission["score"], submission["max_score"]
    return Result(student, state, note, *points, to_mark=to_mark)
