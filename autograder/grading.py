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
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import nbformat
from nbformat.reader import NotJSONError
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

SETTINGS = "nbgrader_config.py"
LOG = "grade.log"


class Refused(SystemExit):
    """Why nothing was done, and the mend, in one line."""


class State(StrEnum):
    """What became of a submission."""

    GRADED = "graded"
    NEEDS_MARKING = "needs marking"  # graded, but for what a person must mark
    TIMED_OUT = "timed-out"  # graded, but a cell was stopped
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
    return NbGraderAPI(CourseDirectory(config=config, log=log), config=config, log=log)


def release(api: NbGraderAPI, lesson: Lesson) -> bool:
    """Make the student's notebook and the gradebook's entries; say whether the lesson changed."""
    source = place(api, "source", lesson.name)
    before = source.read_text(encoding="utf-8") if source.exists() else None
    changed = places.write(source, as_text(source_notebook(lesson)))
    outcome = api.generate_assignment(lesson.name)
    if not outcome["success"]:
        if before is not None:
            # nbgrader has removed the earlier release, with which the class still works
            places.write(source, before)
            api.generate_assignment(lesson.name)
        raise Refused(_why_not_released(lesson.name, outcome))
    return changed


def is_released(api: NbGraderAPI, lesson: str) -> bool:
    """Whether students can have this lesson, and nbgrader knows how to grade it."""
    if not place(api, "release", lesson).exists():
        return False
    with api.gradebook as gradebook:
        return any(assignment.name == lesson for assignment in gradebook.assignments)


def students(api: NbGraderAPI, lesson: str) -> list[str]:
    """Everyone in the gradebook, and everyone who handed this lesson in."""
    with api.gradebook as gradebook:
        known = {str(student.id) for student in gradebook.students}
    return sorted(known | api.get_submitted_students(lesson))


def ungraded(api: NbGraderAPI, lesson: str) -> set[str]:
    """Who handed in this lesson, or a newer version of it, and is not graded yet."""
    graded = api.get_autograded_students(lesson)
    # a grader that was killed leaves what looks like a graded submission, without any score
    return api.get_submitted_students(lesson) - (graded & set(_scored(api, lesson)))


def forget(api: NbGraderAPI, lesson: str, student: str) -> None:
    """Make a graded submission an ungraded one; marks and comments given by hand stay."""
    graded = place(api, "autograded", lesson, student)
    if graded.exists() and place(api, "submitted", lesson, student).exists():
        rmtree(str(graded.parent))


def grade(api: NbGraderAPI, lesson: str, student: str) -> str:
    """Grade one submission and record it; return why the grader failed, empty if it did not.

    What is wrong with the submission is no failure: `results` tells it.
    """
    if _obstacle(api, lesson, student):
        return ""
    outcome = api.autograde(lesson, student)
    _pass_on_interruption(outcome)
    return "" if outcome["success"] else _reason(outcome)


def results(api: NbGraderAPI, lesson: str, failures: Mapping[str, str]) -> list[Result]:
    """What became of each student's submission, and what the gradebook has of it."""
    waiting, scored = ungraded(api, lesson), _scored(api, lesson)
    found = []
    for student in students(api, lesson):
        obstacle = _obstacle(api, lesson, student)
        if obstacle:
            found.append(Result(student, *obstacle))
        elif student in failures:
            found.append(Result(student, State.FAILED, failures[student]))
        elif student in waiting:
            found.append(Result(student, State.UNGRADED))
        else:
            points = scored[student]["score"], scored[student]["max_score"]
            found.append(Result(student, *_standing(api, lesson, scored[student]), *points))
    return found


def feedback(api: NbGraderAPI, lesson: str, student: str) -> Path:
    """Write one student's feedback as HTML; `Refused` if nbgrader cannot."""
    outcome = api.generate_feedback(lesson, student)
    _pass_on_interruption(outcome)
    if not outcome["success"]:
        raise Refused(f"no feedback on {lesson}: {_reason(outcome)}")
    return place(api, "feedback", lesson, student).with_suffix(".html")


def export(api: NbGraderAPI, lessons: list[str], to: Path) -> None:
    """Write the grades of these lessons as CSV, whole or not at all."""
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f".{to.name}.part")
    plugin = CsvExportPlugin(parent=api)
    plugin.to, plugin.assignment = str(part), lessons
    with api.gradebook as gradebook:
        plugin.export(gradebook)
    os.replace(part, to)


def place(api: NbGraderAPI, step: str, lesson: str, student: str = ".") -> Path:
    """Where a lesson's notebook lies after a step of nbgrader's: source, release, submitted, …"""
    course: Any = api.coursedir
    directory = getattr(course, f"{step}_directory")
    return Path(course.format_path(directory, student, lesson), f"{lesson}.ipynb")


def _scored(api: NbGraderAPI, lesson: str) -> dict[str, dict]:
    """The submissions that have a score in the gradebook, by student."""
    with api.gradebook as gradebook:
        return {
            str(submission.student.id): submission.to_dict()
            for submission in gradebook.assignment_submissions(lesson)
            for notebook in submission.notebooks
            if any(g.auto_score is not None or g.manual_score is not None for g in notebook.grades)
        }


def _obstacle(api: NbGraderAPI, lesson: str, student: str) -> tuple[State, str] | None:
    """Why nbgrader can make nothing of what was handed in, and the mend."""
    path = place(api, "submitted", lesson, student)
    if not path.exists():
        others = ", ".join(f"`{other.name}`" for other in sorted(path.parent.glob("*.ipynb")))
        note = f"rename {others} to `{path.name}`" if others else "nothing was handed in"
        return State.MISSING, note
    try:
        cells = nbformat.read(path, as_version=4).cells
        ids = Counter(cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells)
    except (NotJSONError, UnicodeDecodeError):
        return State.UNREADABLE, "no JSON, or cut short: ask for the file again, as .ipynb"
    except Exception:  # JSON can hold anything, and nbformat raises anything
        return State.UNREADABLE, "JSON, but no sound notebook: ask for the file again, as .ipynb"
    del ids[None]
    twice = ", ".join(f"`{name}`" for name, count in ids.items() if count > 1)
    if twice:
        return (
            State.UNREADABLE,
            f"{twice} stands more than once: delete the copies in {places.shown(path)}",
        )
    if not ids:
        return State.UNREADABLE, "none of the lesson's cells: ask for the lesson's own notebook"
    return None


def _standing(api: NbGraderAPI, lesson: str, submission: dict) -> tuple[State, str]:
    """The state of a graded submission."""
    path = place(api, "autograded", lesson, submission["student"])
    stopped = [
        cell.metadata.get("nbgrader", {}).get("grade_id", "a cell that is no exercise")
        for cell in nbformat.read(path, as_version=4).cells
        if any(output.get("ename") == "CellTimeoutError" for output in cell.get("outputs", []))
    ]
    to_mark = submission["needs_manual_grade"]
    if stopped:
        also = f"; {State.NEEDS_MARKING}" if to_mark else ""
        return State.TIMED_OUT, f"stopped by the time limit: {', '.join(stopped)}{also}"
    return (State.NEEDS_MARKING if to_mark else State.GRADED), ""


def _pass_on_interruption(outcome: dict) -> None:
    # nbgrader's API catches Ctrl-C like any error
    if "KeyboardInterrupt" in outcome.get("error", "").strip().split("\n")[-1]:
        raise KeyboardInterrupt


def _reason(outcome: dict) -> str:
    """The error that nbgrader's log ends with, in one line."""
    lines = [line.strip() for line in outcome.get("log", outcome["error"]).split("\n")]
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return (errors or lines)[-1]


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
    """What nbgrader has to say goes into a file."""
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.Logger(f"class in {path.parent}", logging.INFO)
    log.addHandler(handler)
    return log
