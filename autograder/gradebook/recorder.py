"""Record results in the gradebook, exactly once, whatever happens in between.

The gradebook ends as nbgrader's own autograding (`Autograde.init_assignment`, `SaveAutoGrades` and
`AssignLatePenalties`) would leave it: marks, comments and extensions given by hand stay. nbgrader
commits dozens of times for each submission; here a batch is one transaction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from sqlalchemy import Boolean, and_, bindparam, func, insert, or_, select, update

from autograder.gradebook.classroom import Classroom
from autograder.gradebook.result import Finished
from autograder.gradebook.result_store import MARK, MARKED, marked_answers, write

NO_RESPONSE = "No response."  # nbgrader's comment on a cell that the student left as it was
# the tables themselves: nbgrader's classes would compute sums for each row that is loaded
STUDENT: Any = Student.__table__
SUBMISSION: Any = SubmittedAssignment.__table__
NOTEBOOK: Any = SubmittedNotebook.__table__
GRADE: Any = Grade.__table__
COMMENT: Any = Comment.__table__
CELL: Any = BaseCell.__table__


class Recorder:
    """Writes results into the gradebook, which it opens once."""

    def __init__(self, classroom: Classroom, lesson: str) -> None:
        self._classroom, self._lesson = classroom, lesson
        self._penalties = AssignLatePenalties(parent=classroom.api)
        self._penalties.init_plugin()

    def __enter__(self) -> Self:
        self._opened = self._classroom.gradebook
        self._gradebook = self._opened.__enter__()
        self._db = self._gradebook.db
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._opened.__exit__(kind, error, at)

    def record(self, batch: Sequence[Finished]) -> None:
        """Record results that are kept, all or none; then mark each as recorded.

        `sqlalchemy.exc.OperationalError` if the gradebook is locked or its disk is full; whoever
        leaves the recorder by it, leaves by `Refused`.
        """
        # of a student's several results the last one counts
        results = {finished.student: finished for finished in batch}
        try:
            self._record(results)
            self._db.commit()
        except BaseException:
            self._db.rollback()
            raise
        for finished in results.values():
            path = self._path("autograded", finished.student)
            # without it, a person is asked to look at the marks once more
            if finished.answers:
                write(path.with_name(MARKED), json.dumps(finished.answers), to_disk=False)
            # a mark that a power cut takes, or spoils, only means that this is recorded again
            write(path.with_name(MARK), finished.key, to_disk=False)

    def _path(self, step: str, student: str) -> Path:
        return self._classroom.path(step, self._lesson, student)

    def _record(self, results: Mapping[str, Finished]) -> None:
        notebook: Any = self._gradebook.find_notebook(self._lesson, self._lesson)
        assignment = notebook.assignment
        self._add_students(results)
        submissions = self._submissions(assignment, results)
        notebooks = self._notebooks(notebook.id, submissions)
        cells = self._db.execute(
            select(CELL.c.id, CELL.c.name, CELL.c.type).where(CELL.c.notebook_id == notebook.id)
        ).all()
        by_notebook = {notebooks[student]: result for student, result in results.items()}
        self._save_scores(cells, by_notebook)
        self._save_comments(cells, by_notebook)
        self._save_penalties(assignment, notebooks)

    # --- what must be there before something can be recorded ---------------------------------

    def _add_students(self, students: Iterable[str]) -> None:
        wanted = set(students)
        there = self._db.scalars(select(STUDENT.c.id).where(STUDENT.c.id.in_(wanted)))
        self._insert(STUDENT, [{"id": student} for student in sorted(wanted - set(there))])

    def _submissions(self, assignment: Any, students: Iterable[str]) -> dict[str, str]:
        """Each student's submission, with its time; student -> id."""
        rows = select(SUBMISSION.c.student_id, SUBMISSION.c.id).where(
            SUBMISSION.c.assignment_id == assignment.id, SUBMISSION.c.student_id.in_(students)
        )
        there = dict(self._db.execute(rows).all())
        new = {student: new_uuid() for student in students if student not in there}
        self._insert(
            SUBMISSION,
            [
                {"id": row, "assignment_id": assignment.id, "student_id": student}
                for student, row in new.items()
            ],
        )
        ids = there | new
        times = {student: self._handed_in(student) for student in students}
        changed = update(SUBMISSION).where(SUBMISSION.c.id == bindparam("row"))
        self._update(
            changed.values(timestamp=bindparam("time")),
            [{"row": ids[student], "time": time} for student, time in times.items() if time],
        )
        return ids

    def _notebooks(self, notebook: str, submissions: Mapping[str, str]) -> dict[str, str]:
        """Each student's notebook; student -> id."""
        rows = select(NOTEBOOK.c.assignment_id, NOTEBOOK.c.id).where(
            NOTEBOOK.c.notebook_id == notebook, NOTEBOOK.c.assignment_id.in_(submissions.values())
        )
        there = dict(self._db.execute(rows).all())
        new = {row: new_uuid() for row in submissions.values() if row not in there}
        self._insert(
            NOTEBOOK,
            [
                {"id": row, "notebook_id": notebook, "assignment_id": submission}
                for submission, row in new.items()
            ],
        )
        ids = there | new
        return {student: ids[submission] for student, submission in submissions.items()}

    def _handed_in(self, student: str) -> datetime | None:
        """The time in the file that nbgrader's collecting leaves beside a submission, in UTC."""
        path = self._path("submitted", student).with_name("timestamp.txt")
        try:
            return parse_utc(path.read_text(encoding="utf-8").strip())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, OverflowError) as error:
            # nbgrader would stop here: one broken file must not end the run
            self._classroom.api.log.warning("no time in %s: %s", path, error)
            return None

    # --- what is recorded ---------------------------------------------------------------------

    def _save_scores(self, cells: Sequence[Any], results: Mapping[str, Finished]) -> None:
        """As `SaveAutoGrades._add_score`; what has no score yet waits for a person.

        A manual grade is kept, and needs no review, while the answer is the same.
        """
        graded = [cell for cell in cells if cell.type in ("GradeCell", "TaskCell")]
        self._add_missing(GRADE, graded, results, {"needs_manual_grade": True})
        ids = {cell.name: cell.id for cell in graded}
        same = {
            row: marked_answers(self._path("autograded", finished.student), finished)
            for row, finished in results.items()
        }
        rows = [
            {
                "of": row,
                "cell": ids[name],
                "score": score,
                "unknown": score is None,
                "same": score is None and name in same[row],
            }
            for row, finished in results.items()
            for name, score in finished.scores.items()
        ]
        # looked up by the database: a person may be marking at this moment
        marked = GRADE.c.manual_score.is_not(None)
        anew = or_(~bindparam("same", type_=Boolean), ~marked, GRADE.c.needs_manual_grade)
        waits = and_(or_(marked, bindparam("unknown", type_=Boolean)), anew)
        changed = update(GRADE).where(GRADE.c.notebook_id == bindparam("of"))
        changed = changed.where(GRADE.c.cell_id == bindparam("cell"))
        self._update(changed.values(auto_score=bindparam("score"), needs_manual_grade=waits), rows)

    def _save_comments(self, cells: Sequence[Any], results: Mapping[str, Finished]) -> None:
        """As `SaveAutoGrades._add_comment`."""
        commented = [cell for cell in cells if cell.type in ("SolutionCell", "TaskCell")]
        self._add_missing(COMMENT, commented, results, {})
        rows = [
            {
                "of": row,
                "cell": cell.id,
                "text": NO_RESPONSE
                if cell.type == "SolutionCell" and cell.name in finished.untouched
                else None,
            }
            for row, finished in results.items()
            for cell in commented
        ]
        changed = update(COMMENT).where(COMMENT.c.notebook_id == bindparam("of"))
        changed = changed.where(COMMENT.c.cell_id == bindparam("cell"))
        self._update(changed.values(auto_comment=bindparam("text")), rows)

    def penalize(self) -> list[str]:
        """Charge lateness anew, by today's due date, policy and marks; return whose changed."""
        notebook: Any = self._gradebook.find_notebook(self._lesson, self._lesson)
        of_lesson = (
            select(SUBMISSION.c.student_id, NOTEBOOK.c.id, NOTEBOOK.c.late_submission_penalty)
            .join_from(NOTEBOOK, SUBMISSION, NOTEBOOK.c.assignment_id == SUBMISSION.c.id)
            .where(NOTEBOOK.c.notebook_id == notebook.id)
        )
        rows = self._db.execute(of_lesson).all()
        notebooks = {student: row for student, row, _ in rows}
        wanted = self._penalties_of(notebook.assignment, notebooks)
        changed = [s for s, row, charged in rows if (charged or 0) != (wanted[row] or 0)]
        if changed:
            self._save_penalties(notebook.assignment, {s: notebooks[s] for s in changed})
            self._db.commit()
        return sorted(changed)

    def _save_penalties(self, assignment: Any, notebooks: Mapping[str, str]) -> None:
        """As `AssignLatePenalties`, by the plugin that the class's settings choose."""
        wanted = self._penalties_of(assignment, notebooks)
        rows = [{"row": row, "penalty": penalty} for row, penalty in wanted.items()]
        changed = update(NOTEBOOK).where(NOTEBOOK.c.id == bindparam("row"))
        self._update(changed.values(late_submission_penalty=bindparam("penalty")), rows)

    def _penalties_of(
        self, assignment: Any, notebooks: Mapping[str, str]
    ) -> dict[str, float | None]:
        """What being late costs each notebook, in points."""
        late = self._seconds_late(assignment, notebooks)
        points = select(Grade.notebook_id, func.sum(Grade.score)).group_by(Grade.notebook_id)
        of_late = points.where(Grade.notebook_id.in_([notebooks[student] for student in late]))
        earned = dict(self._db.execute(of_late).all())
        return {
            row: self._penalty(student, earned.get(row, 0.0), late[student])
            if student in late
            else None
            for student, row in notebooks.items()
        }

    def _penalty(self, student: str, score: float, seconds_late: float) -> float | None:
        plugin: Any = self._penalties.plugin_inst
        penalty = plugin.late_submission_penalty(student, score, seconds_late)
        if penalty is None:
            return None
        notebook: Any = SimpleNamespace(score=score)
        return self._penalties._check_late_penalty(notebook, penalty)

    def _seconds_late(self, assignment: Any, students: Iterable[str]) -> dict[str, float]:
        """Who handed in after the due date and an extension, and by how much."""
        if assignment.duedate is None:
            return {}
        rows = select(SUBMISSION.c.student_id, SUBMISSION.c.timestamp, SUBMISSION.c.extension)
        of_batch = rows.where(
            SUBMISSION.c.assignment_id == assignment.id, SUBMISSION.c.student_id.in_(students)
        )
        late = {
            student: (time - assignment.duedate - (extension or timedelta())).total_seconds()
            for student, time, extension in self._db.execute(of_batch)
            if time is not None
        }
        return {student: seconds for student, seconds in late.items() if seconds > 0}

    # --- rows ---------------------------------------------------------------------------------

    def _add_missing(
        self, table: Any, cells: Sequence[Any], notebooks: Iterable[str], values: dict[str, Any]
    ) -> None:
        """A row for each cell of each notebook that has none yet."""
        rows = select(table.c.notebook_id, table.c.cell_id)
        there = {
            tuple(row) for row in self._db.execute(rows.where(table.c.notebook_id.in_(notebooks)))
        }
        self._insert(
            table,
            [
                {"id": new_uuid(), "notebook_id": notebook, "cell_id": cell.id, **values}
                for notebook in notebooks
                for cell in cells
                if (notebook, cell.id) not in there
            ],
        )

    def _insert(self, table: Any, rows: list[dict[str, Any]]) -> None:
        if rows:
            self._db.execute(insert(table), rows)

    def _update(self, statement: Any, rows: list[dict[str, Any]]) -> None:
        if rows:
            # the connection's own: the session would look for a primary key in each row
            self._db.connection().execute(statement, rows)


def penalize(classroom: Classroom, lesson: str) -> list[str]:
    """Charge lateness by today's due date, policy and marks; return whose penalty changed."""
    with Recorder(classroom, lesson) as recorder:
        return recorder.penalize()
