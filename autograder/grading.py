"""Grade a class with nbgrader: thin layers over its own API, on one classroom folder.

nbgrader keeps the format, the gradebook, the formgrader and the feedback; `EXECUTOR`, the step
that runs a submission's cells, is the one thing here that is meant to be replaced.
"""

import logging
import os
import re
import shutil
import sysconfig
import warnings
from pathlib import Path

from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import CsvExportPlugin
from nbgrader.preprocessors import Execute
from nbgrader.utils import rmtree
from sqlalchemy.exc import SAWarning
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import places
from autograder.lesson import Lesson
from autograder.notebook import as_text, source_notebook
from autograder.standing import CRASH, MARK, Result, fingerprint, mark, obstacle, place, results

SETTINGS = "nbgrader_config.py"
LOG = "grade.log"
LOCKED = "another program holds the gradebook: close the formgrader, then run it again"


class Refused(SystemExit):
    """Why nothing was done, and the mend, in one line."""


# what runs a submission's cells: a preprocessor that leaves their outputs in the notebook
EXECUTOR = Execute


def open_classroom(folder: Path, timeout: int | None = None) -> NbGraderAPI:
    """nbgrader's API on the class in `folder`, with the settings that lie there."""
    # nbgrader changes the working directory while it converts
    folder = folder.resolve()
    settings = folder / SETTINGS
    if not settings.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(places.CLASSROOM / SETTINGS, settings)
    config = PyFileConfigLoader(SETTINGS, str(folder)).load_config()
    _choose_executor(config)
    if timeout is not None:
        config.Execute.timeout = timeout
    # nbgrader makes a new gradebook by calling `alembic`, which lies beside this Python
    programs = sysconfig.get_path("scripts")
    if programs not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([programs, os.environ["PATH"]])
    # nbgrader's own queries cause it; it means nothing to who grades
    warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")
    log = _log(folder / LOG)
    course = CourseDirectory(config=config, log=log)
    # nbgrader copies what else lies in a folder to the next step's
    course.ignore = [*course.ignore, MARK]
    return NbGraderAPI(course, config=config, log=log)


def release(api: NbGraderAPI, lesson: Lesson) -> bool:
    """Make the student's notebook and the gradebook's entries; say whether the lesson changed.

    When nbgrader fails, both notebooks are what they were: the class still works with them.
    """
    source, released = (place(api, step, lesson.name) for step in ("source", "release"))
    before = {p: p.read_text(encoding="utf-8") if p.exists() else None for p in (source, released)}
    try:
        changed = places.write(source, as_text(source_notebook(lesson)))
        outcome = api.generate_assignment(lesson.name)
        _pass_on_interruption(outcome)
        if not outcome["success"]:
            raise Refused(_why_not_released(lesson.name, outcome))
    except BaseException:
        for path, text in before.items():
            if text is None:
                path.unlink(missing_ok=True)
            else:
                places.write(path, text)
        raise
    return changed


def is_released(api: NbGraderAPI, lesson: str) -> bool:
    """Whether students can have this lesson, and nbgrader knows how to grade it."""
    if not place(api, "release", lesson).exists():
        return False
    with api.gradebook as gradebook:
        return any(assignment.name == lesson for assignment in gradebook.assignments)


def forget(api: NbGraderAPI, lesson: str, student: str) -> None:
    """Make a graded submission an ungraded one; marks and comments given by hand stay."""
    graded = place(api, "autograded", lesson, student).parent
    if graded.exists() and place(api, "submitted", lesson, student).exists():
        rmtree(str(graded))


def grade(api: NbGraderAPI, lesson: str, student: str) -> str:
    """Grade one submission and record it; return why that failed, empty if it did not.

    What is wrong with the submission is no failure: `results` tells it.
    """
    if obstacle(api, lesson, student):
        return ""
    submitted = fingerprint(api, lesson, student)
    forget(api, lesson, student)
    outcome = api.autograde(lesson, student)
    _pass_on_interruption(outcome)
    # nbgrader may succeed at doing nothing
    if not outcome["success"] or not place(api, "autograded", lesson, student).exists():
        return _reason(outcome)
    mark(api, lesson, student, submitted)
    return ""


def feedback(api: NbGraderAPI, lesson: str, student: str) -> Path:
    """Write one student's feedback as HTML; `Refused` if nbgrader cannot."""
    outcome = api.generate_feedback(lesson, student)
    _pass_on_interruption(outcome)
    if not outcome["success"]:
        raise Refused(f"no feedback on {lesson}: {_reason(outcome)}")
    return place(api, "feedback", lesson, student).with_suffix(".html")


def export(api: NbGraderAPI, lessons: list[str], to: Path) -> dict[str, list[Result]]:
    """Write the grades of these lessons as CSV, whole or not at all; return all results.

    nbgrader's 0 for who could not be graded is left out.
    """
    if to.is_dir():
        raise Refused(f"{to} is a folder: name a file")
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f".{to.name}.part")
    everyone = {lesson: results(api, lesson, {}) for lesson in lessons}
    try:
        rows = ""
        for lesson, found in everyone.items():
            heading, of_lesson = _exported(api, lesson, found, part)
            rows = (rows or heading) + of_lesson
        part.write_text(rows, encoding="utf-8")
        os.replace(part, to)
    finally:
        part.unlink(missing_ok=True)
    return everyone


def _exported(api: NbGraderAPI, lesson: str, found: list[Result], part: Path) -> tuple[str, str]:
    """nbgrader's CSV of who has points: the heading, and the rows."""
    plugin = CsvExportPlugin(parent=api)
    plugin.to, plugin.assignment = str(part), [lesson]
    # to nbgrader, an empty list means everyone
    plugin.student = [result.student for result in found if result.points is not None] or [""]
    with api.gradebook as gradebook:
        plugin.export(gradebook)
    # nbgrader writes in the system's encoding
    heading, *rows = part.read_text().splitlines(keepends=True)
    return heading, "".join(rows)


def _pass_on_interruption(outcome: dict) -> None:
    # nbgrader's API catches Ctrl-C like any error
    if "KeyboardInterrupt" in outcome.get("error", "").strip().split("\n")[-1]:
        raise KeyboardInterrupt


def _reason(outcome: dict) -> str:
    """The error that nbgrader ends with, in one line: of its traceback, or else of its log."""
    text = outcome.get("log") or outcome.get("error", "")
    lines = [line.strip() for line in text.split("\n")]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    logged = re.findall(r"(?ms)^\[(?:ERROR|CRITICAL)\] (.*?)(?=^\[[A-Z]+\] |\Z)", text)
    last = (errors or logged or ["nbgrader graded nothing, and does not say why"])[-1]
    if "database is locked" in text + outcome.get("error", ""):
        return LOCKED
    return CRASH if "DeadKernelError" in last else " ".join(last.split())


def _why_not_released(lesson: str, outcome: dict) -> str:
    reason = _reason(outcome)
    if "Cannot add or remove cells" in reason:
        return (
            f"{lesson} has graded submissions, so its exercises, checks, answers and given cells "
            "must keep their titles: give them back, or release into a new class with --classroom"
        )
    return f"{lesson} is not released: {reason}"


def _choose_executor(config: Config) -> None:
    if "autograde_preprocessors" not in config.Autograde:
        steps = Autograde.class_traits()["autograde_preprocessors"].default() or []
        config.Autograde.autograde_preprocessors = [
            EXECUTOR if step is Execute else step for step in steps
        ]


def _log(path: Path) -> logging.Logger:
    """What nbgrader has to say goes into a file; `OSError` if that cannot be opened."""
    # a disk that is full later shows in what is graded: no pages about the log itself
    logging.raiseExceptions = False
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.Logger(f"class in {path.parent}", logging.INFO)
    log.addHandler(handler)
    return log
