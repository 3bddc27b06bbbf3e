"""A class in its folder, and what its students handed in: both read once, then passed around."""

import glob
import logging
import os
import shutil
import sysconfig
import warnings
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import rmtree
from sqlalchemy.exc import SAWarning
from traitlets.config.loader import PyFileConfigLoader

from autograder import paths
from autograder.gradebook import guard
from autograder.gradebook.obstacle import obstacle
from autograder.gradebook.released import read_released
from autograder.gradebook.result import Finished, State, Task, key
from autograder.gradebook.result_store import MARK, MARKED, RESULT, kept_beside
from autograder.intake.finding import find
from autograder.intake.released import Released

SETTINGS = "nbgrader_config.py"
LOG = "grade.log"
PREVIEW = "preview"  # beside nbgrader's folders: what ran, and is not recorded
HELD = 256 << 20  # bytes of submissions that are held; what is over is read again


class Classroom:
    """A class: its folder, nbgrader's API on it, and the lessons that were released to it."""

    def __init__(self, folder: Path, api: NbGraderAPI) -> None:
        self.folder, self.api = folder, api
        self.room = HELD
        self._released: dict[str, Released] = {}

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The class in `folder`, with the settings that lie there; a new one, if there is none."""
        # nbgrader changes the working directory while it converts
        folder = folder.resolve()
        settings = folder / SETTINGS
        if not settings.exists():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(paths.CLASSROOM / SETTINGS, settings)
            # a class in a checkout: what students hand in and earn is never committed
            paths.write(folder / ".gitignore", "*\n")
        config = PyFileConfigLoader(SETTINGS, str(folder)).load_config()
        if not config.HTMLExporter.get("preprocessors"):
            new, old = paths.display_path(paths.CLASSROOM / SETTINGS), paths.display_path(settings)
            raise guard.Refused(
                f"{old} is from before formgrader was made safe to open",
                f"copy {new} there, and then put your own changes back",
            )
        # nbgrader makes a new gradebook by calling `alembic`, which lies beside this Python
        programs = sysconfig.get_path("scripts")
        if programs not in os.environ["PATH"].split(os.pathsep):
            os.environ["PATH"] = os.pathsep.join([programs, os.environ["PATH"]])
        # nbgrader's own queries cause it; it means nothing to who grades
        warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")
        log = _log(folder / LOG)
        course = CourseDirectory(config=config, log=log)
        # nbgrader copies what else lies in a folder to the next step's
        course.ignore = [*course.ignore, MARK, MARKED, RESULT]
        api = NbGraderAPI(course, config=config, log=log)
        guard.check_gradebook(api, folder)
        return cls(folder, api)

    @property
    def gradebook(self) -> AbstractContextManager[Gradebook]:
        """The gradebook; `Refused` if another program holds it, or its disk is full."""
        return guard.opened(self.api)

    def path(self, step: str, lesson: str, student: str = ".") -> Path:
        """Where a lesson's notebook lies after a step, nbgrader's (source, …) or our own."""
        course: Any = self.api.coursedir
        directory = getattr(course, f"{step}_directory", step)
        return Path(course.format_path(directory, student, lesson), f"{lesson}.ipynb")

    def released(self, lesson: str) -> Released:
        """A lesson as it was released, read once; `MissingEntry` if it is not."""
        if lesson not in self._released:
            path = self.path("release", lesson)
            with self.gradebook as gradebook:
                self._released[lesson] = read_released(self.api, gradebook, lesson, path)
        return self._released[lesson]

    def release_changed(self, lesson: str) -> None:
        """Read a lesson anew when it is asked for next."""
        self._released.pop(lesson, None)

    def is_released(self, lesson: str) -> bool:
        """Whether students can have this lesson, and nbgrader knows how to grade it."""
        if not self.path("release", lesson).exists():
            return False
        with self.gradebook as gradebook:
            return any(assignment.name == lesson for assignment in gradebook.assignments)

    def students(self, lesson: str) -> list[str]:
        """Everyone in the gradebook, and everyone who handed this lesson in."""
        with self.gradebook as gradebook:
            known = {str(student.id) for student in gradebook.students}
        return sorted(known | self.submitted(lesson))

    def submitted(self, lesson: str) -> set[str]:
        """Who has something where this lesson is handed in, whatever the folder is called.

        nbgrader's own list leaves out names that begin with a dot or have two lines.
        """
        course: Any = self.api.coursedir
        where = course.format_path(
            course.submitted_directory, student_id="\0", assignment_id=lesson
        )
        before, after = where.split("\0", 1)
        found = glob.iglob(f"{glob.escape(before)}*{glob.escape(after)}", include_hidden=True)
        return {path.removeprefix(before).removesuffix(after) for path in found}

    def submission(self, lesson: str, student: str) -> "Submission":
        """One student's work on a lesson."""
        return Submission(self, lesson, student)

    def submissions(self, lesson: str) -> "list[Submission]":
        """Everyone's work on a lesson, that of who handed nothing in too."""
        return [Submission(self, lesson, student) for student in self.students(lesson)]


class Submission:
    """One student's work on a lesson: what was handed in, read and hashed once; what it earned."""

    def __init__(self, classroom: Classroom, lesson: str, student: str) -> None:
        self.classroom, self.lesson, self.student = classroom, lesson, student
        self._held: Task | None = None

    def path(self, step: str = "submitted") -> Path:
        """Where its notebook lies after a step."""
        return self.classroom.path(step, self.lesson, self.student)

    @property
    def released(self) -> Released:
        """The lesson as it was released."""
        return self.classroom.released(self.lesson)

    @cached_property
    def obstacle(self) -> tuple[State, str] | None:
        """Why there is nothing to read where it should lie, and the fix."""
        return obstacle(self.path(), self.student)

    def read(self) -> Task:
        """The notebook and the plain files beside it; `OSError` where there is an `obstacle`.

        They are held until they are taken, as long as the class has room for them.
        """
        if self._held:
            return self._held
        found = find(self.path(), self.released)
        task = Task(self.student, found.notebook, found.files, found.note)
        if task.size <= self.classroom.room:
            self.classroom.room -= task.size
            self._held = task
        return task

    def take(self) -> Task:
        """The same, and let go of it."""
        task = self.read()
        self.let_go()
        return task

    def let_go(self) -> None:
        """Hold what was read no longer."""
        if self._held:
            self.classroom.room += self._held.size
            self._held = None

    @cached_property
    def key(self) -> str:
        """What is graded, and by which tests: see `result.key`."""
        return key(self.read(), self.released)

    @property
    def is_recorded(self) -> bool:
        """Whether what lies there now was graded by today's tests, to the end."""
        try:
            mark = self.path("autograded").with_name(MARK).read_bytes()
            recorded = mark == self.key.encode()
        except OSError:
            return False
        if recorded:
            self.let_go()  # it will not be read again
        return recorded

    @property
    def kept(self) -> Finished | None:
        """What it earned, as it lies on the disk, but for the notebook's text."""
        return kept_beside(self.path("autograded"))

    def forget(self) -> None:
        """Make it an ungraded one; marks and comments given by hand stay."""
        if self.obstacle:
            return
        path = self.path("autograded")
        # the executed notebook stays until there is a new one
        path.with_name(MARK).unlink(missing_ok=True)
        path.with_name(RESULT).unlink(missing_ok=True)
        self.discard_preview()

    def discard_preview(self) -> None:
        """Remove a preview: it is recorded, or no longer what would be."""
        folder = self.path(PREVIEW).parent
        if folder.exists():
            rmtree(str(folder))


def _log(path: Path) -> logging.Logger:
    """What nbgrader has to say goes into a file; `OSError` if that cannot be opened."""
    # a disk that is full later shows in what is graded: no pages about the log itself
    logging.raiseExceptions = False
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.Logger(f"class in {path.parent}", logging.INFO)
    log.addHandler(handler)
    return log
