"""The status of each submission: handed in, graded, and its points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.result import State
from autograder.intake.reading import Unreadable
from autograder.intake.repair import repair


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


def results(
    classroom: Classroom,
    lesson: str,
    submissions: Sequence[Submission] | None = None,
    found: Mapping[str, tuple[State, str]] = {},
) -> list[Result]:
    """What became of each submission, by default of all; `found` tells of those without points."""
    with classroom.gradebook as gradebook:
        late = _lateness(gradebook, lesson)
        recorded = {
            row["student"]: row | late[row["student"]] for row in gradebook.submission_dicts(lesson)
        }
    if submissions is None:
        submissions = classroom.submissions(lesson)
    return [_result(each, recorded.get(each.student), found) for each in submissions]


def _lateness(gradebook: Any, lesson: str) -> dict[str, dict[str, float]]:
    """By how much each recorded submission is late, and what that costs."""
    return {
        str(submission.student_id): {
            "late": float(submission.total_seconds_late),
            "penalty": float(submission.late_submission_penalty or 0.0),
        }
        for submission in gradebook.assignment_submissions(lesson)
    }


def _result(
    submission: Submission,
    recorded: Mapping[str, Any] | None,
    found: Mapping[str, tuple[State, str]],
) -> Result:
    student = submission.student
    stuck = submission.obstacle or found.get(student)
    if stuck:
        return Result(student, *stuck)
    if recorded and submission.is_recorded:
        return _standing(submission, recorded)
    try:
        repair(submission.take().notebook, submission.released)
    except Unreadable as why:
        return Result(student, State.UNREADABLE, str(why))
    return Result(student, State.UNGRADED)


def _standing(submission: Submission, recorded: Mapping[str, Any]) -> Result:
    """What a graded submission earned."""
    student, to_mark = recorded["student"], bool(recorded["needs_manual_grade"])
    points = recorded["score"], recorded["max_score"]
    late = {name: recorded[name] for name in ("late", "penalty")}
    finished = submission.kept
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
