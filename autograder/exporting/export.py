"""The grades of a class as CSV: as nbgrader exports them, or for Canvas or Moodle."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder import paths
from autograder.errors import CourseError
from autograder.exporting.gradesheet import Column, Score
from autograder.exporting.sheet import safe
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.collect import read_known
from autograder.gradebook.status import Result, results
from autograder.intake.naming import Owner
from autograder.intake.submitted import CollectedRecord

# nbgrader's `CsvExportPlugin`, which puts no quotes around a name with a comma
NBGRADER = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


@dataclass(frozen=True)
class Graded:
    """What a student gets for a lesson, and what the gradebook tells besides; times in UTC."""

    owner: Owner
    result: Result
    max_points: float
    duedate: datetime | None = None
    timestamp: datetime | None = None


def grades(classroom: Classroom, lesson: str) -> list[Graded]:
    """Everyone's, as the gradebook has them."""
    found = results(classroom, lesson)
    known = read_known(classroom, lesson)
    with classroom.gradebook as gradebook:
        assignment: Any = gradebook.find_assignment(lesson)
        students = {str(student.id): student for student in gradebook.students}
        times: dict[str, Any] = {
            str(submission.student_id): submission.timestamp
            for submission in gradebook.assignment_submissions(lesson)
        }
        due, most = assignment.duedate, float(assignment.max_score)
        owners = [_owner(result.student, known, students) for result in found]
        return [
            Graded(owner, result, most, due, times.get(result.student))
            for owner, result in zip(owners, found, strict=True)
        ]


def _owner(
    student: str, known: Mapping[str, CollectedRecord], students: Mapping[str, Any]
) -> Owner:
    key = known[student].key if student in known else ""
    about = students.get(student)
    if about is None:
        return Owner(student, key, "")
    names = about.last_name or "", about.first_name or ""
    return Owner(student, key, "", *names, about.email or "", about.lms_user_id or "")


def as_nbgrader(lessons: Mapping[str, Sequence[Graded]]) -> str:
    """One row for each student and lesson; who has no points has none."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(NBGRADER)
    for lesson, rows in lessons.items():
        for row in rows:
            if row.result.points is not None:
                writer.writerow([lesson, *_of_nbgrader(row)])
    return written.getvalue()


def _of_nbgrader(row: Graded) -> list[str]:
    owner = row.owner
    texts = (owner.student, owner.last_name, owner.first_name, owner.email)
    times = ("" if time is None else str(time) for time in (row.duedate, row.timestamp))
    numbers = (row.result.points, row.result.penalty, row.result.score, row.max_points)
    return [*times, *(safe(each) for each in texts), *(str(each) for each in numbers)]


def column(name: str, rows: Sequence[Graded]) -> Column:
    """A lesson's scores, as an LMS is to have them."""
    scores = tuple(Score(row.owner.student, row.result.score, _keys(row.owner)) for row in rows)
    return Column(name, rows[0].max_points if rows else 0.0, scores)


def _keys(owner: Owner) -> tuple[str, ...]:
    """What the LMS may call a student, what is surest first; a number may be typed by students."""
    return owner.key, owner.student, owner.email, owner.lms_user_id


def write(to: Path, text: str) -> None:
    """Write a file whole or not at all; `CourseError` if a folder is there."""
    if to.is_dir():
        raise CourseError(f"{to} is a folder", "name a file")
    with paths.atomic_write(to) as part:
        # as it is: line ends are part of the format
        part.write_text(text, encoding="utf-8", errors="replace", newline="")
