"""Release, grade, give feedback: thin layers over nbgrader, on one classroom folder.

nbgrader keeps the format, the gradebook, the formgrader and the feedback; executing submissions
and recording what they earn is ours, in `pool` and `recorder`.
"""

import logging
import os
import shutil
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SAWarning
from traitlets.config.loader import PyFileConfigLoader

from autograder import paths
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import as_text, source_notebook
from autograder.execution.executor import GraderError, Limits
from autograder.gradebook import pool, regrade
from autograder.gradebook.guard import Refused, check_gradebook
from autograder.gradebook.nbgrader_api import failure
from autograder.gradebook.recorder import Recorder
from autograder.gradebook.result_store import MARK, MARKED, RESULT, keep, kept
from autograder.gradebook.status import handed_in, obstacle
from autograder.gradebook.submission import Finished, State, Task, key
from autograder.intake.released import Released, released
from autograder.paths import notebook_path

SETTINGS = "nbgrader_config.py"
LOG = "grade.log"


BATCH = 50  # results recorded in one transaction
FAILURES = 5  # of the grader's own, one after another: then it is no one submission's


@dataclass(frozen=True)
class ExecutionConfig:
    """How submissions are executed: where, how many at a time, within which limits."""

    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    scheduler: str = ""  # a Dask cluster's address; empty: on this machine
    sandboxed: bool = True

    def workers(
        self, as_released: Released, stopping: Callable[[], bool]
    ) -> AbstractContextManager[pool.Workers]:
        """Where they are executed."""
        setup = pool.Setup(as_released, self.limits, self.sandboxed)
        if self.scheduler:
            return pool.cluster(setup, self.scheduler)
        return pool.local(setup, self.jobs, stopping)


def open_classroom(folder: Path) -> NbGraderAPI:
    """nbgrader's API on the class in `folder`, with the settings that lie there."""
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
        raise Refused(
            f"{old} is from before formgrader was made safe to open: copy {new} there, and then "
            "put your own changes back"
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
    check_gradebook(api, folder)
    return api


def release(api: NbGraderAPI, lesson: Lesson, repository: str = "") -> None:
    """Make the student's notebook, which points to `repository`, and the gradebook's entries.

    When nbgrader fails, both notebooks are what they were: the class still works with them.
    """
    source, released = (notebook_path(api, step, lesson.name) for step in ("source", "release"))
    before = {p: p.read_text(encoding="utf-8") if p.exists() else None for p in (source, released)}
    try:
        paths.write(source, as_text(source_notebook(lesson, repository)))
        if reason := failure(api.generate_assignment(lesson.name)):
            raise Refused(_why_not_released(lesson.name, reason))
    except BaseException:
        for path, text in before.items():
            if text is None:
                path.unlink(missing_ok=True)
            else:
                paths.write(path, text)
        raise


def is_released(api: NbGraderAPI, lesson: str) -> bool:
    """Whether students can have this lesson, and nbgrader knows how to grade it."""
    if not notebook_path(api, "release", lesson).exists():
        return False
    with api.gradebook as gradebook:
        return any(assignment.name == lesson for assignment in gradebook.assignments)


def forget(api: NbGraderAPI, lesson: str, student: str) -> None:
    """Make a graded submission an ungraded one; marks and comments given by hand stay."""
    path = notebook_path(api, "autograded", lesson, student)
    if not obstacle(api, lesson, student):
        # the executed notebook stays until there is a new one
        path.with_name(MARK).unlink(missing_ok=True)
        path.with_name(RESULT).unlink(missing_ok=True)
        regrade.discard(api, lesson, student)


def grade(
    api: NbGraderAPI,
    lesson: str,
    students: Sequence[str],
    how: ExecutionConfig,
    stopping: Callable[[], bool] = lambda: False,
) -> Iterator[Finished]:
    """Grade these students' submissions and record them; each comes out when it is finished.

    What was executed before, but not recorded, is recorded. Whatever ends this early, what came
    out is on the disk, and the same call goes on with the rest. `GraderError`: the grader's own
    fault; `OSError`: a full disk; nbgrader's for a gradebook that is locked.
    """
    as_released = released(api, lesson)
    with Recorder(api, as_released) as recorder:
        executed = {s: _executed(api, as_released, s) for s in students}
        before = [finished for finished in executed.values() if finished]
        for start in range(0, len(before), BATCH):
            recorder.record(before[start : start + BATCH])
        yield from before
        todo = [student for student, finished in executed.items() if not finished]
        if todo:
            put = partial(_settle, api, lesson)
            yield from _execute(api, as_released, todo, how, put, recorder.record, stopping)


def preview(
    api: NbGraderAPI,
    lesson: str,
    students: Sequence[str],
    how: ExecutionConfig,
    stopping: Callable[[], bool] = lambda: False,
) -> Iterator[Finished]:
    """Execute these students' submissions, and record nothing: `grade` will, and runs no more.

    What is graded stays as it is, on the disk and in the gradebook.
    """
    as_released = released(api, lesson)
    put = partial(keep, api, lesson, step=regrade.PREVIEW)
    todo = []
    for student in students:
        finished = regrade.known(api, as_released, student)
        if finished:
            put(finished)
            yield replace(finished, notebook="")
        else:
            todo.append(student)
    if todo:
        yield from _execute(api, as_released, todo, how, put, lambda batch: None, stopping)


def _executed(api: NbGraderAPI, as_released: Released, student: str) -> Finished | None:
    """What is on the disk of a submission that was executed, as it stands and by today's tests."""
    finished = kept(api, as_released.lesson, student)
    if finished and finished.key == key(handed_in(api, as_released, student), as_released):
        return finished
    finished = regrade.known(api, as_released, student)
    if finished is None:
        return None
    _settle(api, as_released.lesson, finished)
    return replace(finished, notebook="")


def _settle(api: NbGraderAPI, lesson: str, finished: Finished) -> None:
    """Keep a result that is to be recorded; no preview of it is needed any more."""
    keep(api, lesson, finished)
    regrade.discard(api, lesson, finished.student)


def _execute(
    api: NbGraderAPI,
    as_released: Released,
    students: Sequence[str],
    how: ExecutionConfig,
    put: Callable[[Finished], None],
    record: Callable[[list[Finished]], None],
    stopping: Callable[[], bool],
) -> Iterator[Finished]:
    batch: list[Finished] = []
    failures = 0  # one after another
    tasks = (handed_in(api, as_released, student) for student in students)
    with how.workers(as_released, stopping) as workers:
        try:
            for task, future in pool.stream(workers, tasks, stopping):
                finished = _outcome(task, future)
                failures = failures + 1 if finished.state == State.FAILED else 0
                if failures == FAILURES:
                    raise GraderError(finished.note)
                if finished.notebook:
                    put(finished)
                    batch.append(finished)
                if len(batch) == BATCH:
                    # what cannot be recorded now is kept: the next run does it
                    full, batch = batch, []
                    record(full)
                yield finished
        finally:
            record(batch)


def _outcome(task: Task, future: Future[Finished]) -> Finished:
    """What became of a task; what went wrong in the grader itself stops nobody else."""
    try:
        return future.result()
    except CancelledError:
        raise GraderError(pool.GONE) from None
    except Exception as error:
        why = str(error) if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
        return Finished(task.student, "", State.FAILED, " ".join(why.split()))


def set_due(api: NbGraderAPI, lesson: str, due: datetime | None) -> None:
    """Say when a lesson is due, in UTC as nbgrader stores it; None: never."""
    told: dict[str, Any] = {"duedate": due}
    with api.gradebook as gradebook:
        gradebook.update_or_create_assignment(lesson, **told)


def penalize(api: NbGraderAPI, lesson: str) -> list[str]:
    """Charge lateness by today's due date, policy and marks; return whose penalty changed."""
    with Recorder(api, released(api, lesson)) as recorder:
        return recorder.penalize()


def _why_not_released(lesson: str, reason: str) -> str:
    if "Cannot add or remove cells" in reason:
        return (
            f"{lesson} has graded submissions, so its exercises, checks, answers and given cells "
            "must keep their titles: give them back, or release into a new class with --classroom"
        )
    return f"{lesson} is not released: {reason}"


def _log(path: Path) -> logging.Logger:
    """What nbgrader has to say goes into a file; `OSError` if that cannot be opened."""
    # a disk that is full later shows in what is graded: no pages about the log itself
    logging.raiseExceptions = False
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.Logger(f"class in {path.parent}", logging.INFO)
    log.addHandler(handler)
    return log
