"""Release a lesson to a class by nbgrader, and say when it is due."""

from datetime import datetime
from typing import Any

from autograder import paths
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import as_text, source_notebook
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.guard import Refused
from autograder.gradebook.nbgrader_api import failure


def release(classroom: Classroom, lesson: Lesson, repository: str = "") -> None:
    """Make the student's notebook, which points to `repository`, and the gradebook's entries.

    When nbgrader fails, both notebooks are what they were: the class still works with them.
    """
    source, released = (classroom.path(step, lesson.name) for step in ("source", "release"))
    before = {p: p.read_text(encoding="utf-8") if p.exists() else None for p in (source, released)}
    try:
        paths.write(source, as_text(source_notebook(lesson, repository)))
        if reason := failure(classroom, classroom.api.generate_assignment(lesson.name)):
            raise Refused(_why_not_released(lesson.name, reason))
        classroom.release_changed(lesson.name)
    except BaseException:
        for path, text in before.items():
            if text is None:
                path.unlink(missing_ok=True)
            else:
                paths.write(path, text)
        raise


def set_due(classroom: Classroom, lesson: str, due: datetime | None) -> None:
    """Say when a lesson is due, in UTC as nbgrader stores it; None: never."""
    told: dict[str, Any] = {"duedate": due}
    with classroom.gradebook as gradebook:
        gradebook.update_or_create_assignment(lesson, **told)


def _why_not_released(lesson: str, reason: str) -> str:
    if "Cannot add or remove cells" in reason:
        return (
            f"{lesson} has graded submissions, so its exercises, checks, answers and given cells "
            "must keep their titles: give them back, or release into a new class with --classroom"
        )
    return f"{lesson} is not released: {reason}"
