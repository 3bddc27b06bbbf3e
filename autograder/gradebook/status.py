"""Where each student stands: what was handed in, what of it is graded, and what it earned."""

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.apps.api import NbGraderAPI

from autograder.gradebook.result_store import MARK, kept
from autograder.gradebook.submission import State, Task, key
from autograder.intake.finding import Files, find, there
from autograder.intake.reading import Unreadable
from autograder.intake.released import Released, released
from autograder.intake.repair import repair
from autograder.paths import notebook_path

# nbgrader passes over names that begin with a dot or have two lines, and takes others for another
# student's, or for several students'; what is no UTF-8 no database takes; and no name may turn
# round what stands after it
NO_ID = re.compile(r"^\.|[*?\[\]\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
FIT = "plain text, no * ? [ ], no dot in front, no spaces at the ends"
LINK = "a link in place of a file: ask for the notebook itself"


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
    late: float = 0.0  # seconds after the due date, and an extension
    penalty: float = 0.0  # points that being late costs

    @property
    def score(self) -> float | None:
        """What is left of the points after a penalty for being late."""
        return None if self.points is None else max(0.0, self.points - self.penalty)


def students(api: NbGraderAPI, lesson: str) -> list[str]:
    """Everyone in the gradebook, and everyone who handed this lesson in."""
    with api.gradebook as gradebook:
        known = {str(student.id) for student in gradebook.students}
    return sorted(known | submitted(api, lesson))


def submitted(api: NbGraderAPI, lesson: str) -> set[str]:
    """Who has something where this lesson is handed in, whatever the folder is called.

    nbgrader's own list leaves out names that begin with a dot or have two lines.
    """
    course: Any = api.coursedir
    where = course.format_path(course.submitted_directory, student_id="\0", assignment_id=lesson)
    before, after = where.split("\0", 1)
    found = glob.iglob(f"{glob.escape(before)}*{glob.escape(after)}", include_hidden=True)
    return {path.removeprefix(before).removesuffix(after) for path in found}


def ungraded(api: NbGraderAPI, lesson: str) -> set[str]:
    """Who handed in this lesson, or a newer version of it, and is not graded yet."""
    lesson_as_released = released(api, lesson)
    return {
        student
        for student in submitted(api, lesson)
        if not is_recorded(api, lesson_as_released, student)
    }


def is_recorded(api: NbGraderAPI, released: Released, student: str) -> bool:
    """Whether what lies there now was graded by today's tests, to the end."""
    try:
        mark = notebook_path(api, "autograded", released.lesson, student).with_name(MARK)
        wanted = key(handed_in(api, released, student), released)
        return mark.read_bytes() == wanted.encode()
    except OSError:
        return False


def handed_in(api: NbGraderAPI, released: Released, student: str) -> Task:
    """A submission, and the plain files beside it; `OSError` where there is an `obstacle`."""
    found = find(notebook_path(api, "submitted", released.lesson, student), released)
    return Task(student, found.notebook, found.files, found.note)


def results(
    api: NbGraderAPI, lesson: str, found: Mapping[str, tuple[State, str]] = {}
) -> list[Result]:
    """What became of each student's submission; `found` tells of those that have no points."""
    lesson_as_released = released(api, lesson)
    with api.gradebook as gradebook:
        late = _lateness(gradebook, lesson)
        recorded = {
            row["student"]: row | late[row["student"]] for row in gradebook.submission_dicts(lesson)
        }
    return [
        _result(api, lesson_as_released, student, recorded.get(student), found)
        for student in students(api, lesson)
    ]


def _lateness(gradebook: Any, lesson: str) -> dict[str, dict[str, float]]:
    """By how much each recorded submission is late, and what that costs."""
    return {
        str(submission.student_id): {
            "late": float(submission.total_seconds_late),
            "penalty": float(submission.late_submission_penalty or 0.0),
        }
        for submission in gradebook.assignment_submissions(lesson)
    }


def obstacle(api: NbGraderAPI, lesson: str, student: str) -> tuple[State, str] | None:
    """Why there is nothing to read where a submission should lie, and the mend."""
    path = notebook_path(api, "submitted", lesson, student)
    if student != student.strip() or NO_ID.search(student):
        name = student.encode(errors="replace").decode()
        return State.UNREADABLE, f"rename the folder `{name}`: {FIT}"
    if path.is_symlink() or path.parent.is_symlink():
        # out of an archive, it could stand for anybody's file
        return State.UNREADABLE, LINK
    if path.exists() and not path.is_file() and not path.is_dir():
        return State.UNREADABLE, "no plain file: ask for the notebook itself"
    if path.parent.exists() and not path.parent.is_dir():
        return State.UNREADABLE, f"a file called `{lesson}` in place of a folder"
    files = Files([path.name]) if path.is_file() else there(path.parent)
    try:
        for name in files.notebooks:
            (path.parent / name).open("rb").close()
    except OSError as error:
        return State.UNREADABLE, error.strerror or str(error)
    return None if files.notebooks else _nothing_there(path, files)


def _nothing_there(path: Path, files: Files) -> tuple[State, str]:
    """What there is where no notebook lies."""
    if files.refused:
        return State.UNREADABLE, files.refused[0]
    if path.is_dir():
        return State.UNREADABLE, f"a folder called `{path.name}`, and no notebook in it"
    if files.others:
        names = ", ".join(files.others[:3])
        return State.MISSING, f"no notebook there, but {names}: ask for the .ipynb"
    return State.MISSING, "nothing was handed in"


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
        repair(handed_in(api, released, student).notebook, released)
    except Unreadable as why:
        return Result(student, State.UNREADABLE, str(why))
    return Result(student, State.UNGRADED)


def _standing(api: NbGraderAPI, lesson: str, recorded: Mapping[str, Any]) -> Result:
    """What a graded submission earned."""
    student, to_mark = recorded["student"], bool(recorded["needs_manual_grade"])
    points = recorded["score"], recorded["max_score"]
    late = {name: recorded[name] for name in ("late", "penalty")}
    finished = kept(api, lesson, student)
    if finished is None:
        return Result(student, State.GRADED, "", *points, to_mark=to_mark, **late)
    state = State(finished.state)
    notes = [finished.note] if finished.note else []
    if state == State.GRADED and to_mark:
        state = State.NEEDS_MARKING
    elif to_mark:
        notes.append(State.NEEDS_MARKING)
    notes += [f"repaired: {'; '.join(finished.repairs)}"] if finished.repairs else []
    about = tuple(finished.repairs), finished.seconds
    return Result(student, state, "; ".join(notes), *points, to_mark, *about, **late)
