"""Grade again only what changed, and say whose grade would move before anything is recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from autograder.gradebook.classroom import PREVIEW, Classroom, Submission
from autograder.gradebook.recorder import CELL, GRADE, NOTEBOOK, SUBMISSION
from autograder.gradebook.result import Finished
from autograder.gradebook.result_store import kept_beside, marked_answers
from autograder.gradebook.submission import graded_before


@dataclass(frozen=True)
class Move:
    """What one check or answer gives, before and after; None: nothing yet."""

    name: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Change:
    """What recording a result would do to one student's grade, before it is charged for lateness.

    `by_hand` are marks that a person gave, over tests that now say something else; `to_mark` are
    marked answers that were written anew since.
    """

    student: str
    before: float | None  # None: never graded
    after: float
    moves: tuple[Move, ...] = ()
    by_hand: tuple[Move, ...] = ()
    to_mark: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether to report it."""
        return bool(self.moves or self.by_hand or self.to_mark)


def known(submission: Submission) -> Finished | None:
    """What a submission earns by today's tests, if that needs no execution: with its notebook.

    It was previewed, or the same was handed in and ran, and only points or the like changed.
    """
    for step in (PREVIEW, "autograded"):
        path = submission.path(step)
        finished = kept_beside(path)
        if finished is None:
            continue
        finished = replace(finished, notebook=path.read_text(encoding="utf-8"))
        if finished.key == submission.key:
            return finished
        if again := graded_before(submission.read(), submission.released, finished):
            return again
    return None


def changes(classroom: Classroom, lesson: str, results: Iterable[Finished]) -> list[Change]:
    """What recording these results would do, by the student's name."""
    recorded = _recorded(classroom, lesson)
    found = []
    for finished in results:
        path = classroom.path("autograded", lesson, finished.student)
        marked = marked_answers(path, finished)
        found.append(_change(finished, recorded.get(finished.student), marked))
    return sorted(found, key=lambda change: change.student)


def _recorded(classroom: Classroom, lesson: str) -> dict[str, dict[str, Any]]:
    """What the gradebook holds: student -> grade_id -> its row."""
    with classroom.gradebook as gradebook:
        notebook: Any = gradebook.find_notebook(lesson, lesson)
        columns = (GRADE.c.auto_score, GRADE.c.manual_score, GRADE.c.extra_credit)
        rows = (
            select(SUBMISSION.c.student_id, CELL.c.name, *columns)
            .join_from(GRADE, NOTEBOOK, GRADE.c.notebook_id == NOTEBOOK.c.id)
            .join(SUBMISSION, NOTEBOOK.c.assignment_id == SUBMISSION.c.id)
            .join(CELL, GRADE.c.cell_id == CELL.c.id)
            .where(NOTEBOOK.c.notebook_id == notebook.id)
        )
        db: Any = gradebook.db
        found: dict[str, dict[str, Any]] = {}
        for row in db.execute(rows):
            found.setdefault(row.student_id, {})[row.name] = row
    return found


def _change(finished: Finished, rows: Mapping[str, Any] | None, marked: set[str]) -> Change:
    after = sum(_points((rows or {}).get(name), score) for name, score in finished.scores.items())
    if rows is None:
        return Change(finished.student, None, after)
    moves, by_hand, to_mark = [], [], []
    for name, score in finished.scores.items():
        row = rows.get(name)
        before = row.auto_score if row else None
        by_person = row is not None and row.manual_score is not None
        if score is None and by_person and name not in marked:
            to_mark.append(name)
        if score == before:
            continue
        (by_hand if by_person else moves).append(Move(name, before, score))
    before = sum(_points(row, row.auto_score) for row in rows.values())
    return Change(finished.student, before, after, tuple(moves), tuple(by_hand), tuple(to_mark))


def _points(row: Any, score: float | None) -> float:
    """As nbgrader counts them: a person's mark, else the tests', and a bonus."""
    by_hand = row.manual_score if row else None
    extra = row.extra_credit if row else None
    return (score or 0.0 if by_hand is None else by_hand) + (extra or 0.0)
