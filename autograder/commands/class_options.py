"""Options shared by the instructor's commands: classroom, students and limits."""

import argparse
import functools
import shlex
from collections.abc import Callable
from pathlib import Path

from autograder import paths
from autograder.authoring.lesson import find_lessons
from autograder.commands.terminal import say
from autograder.errors import CourseError
from autograder.gradebook import guard
from autograder.gradebook.classroom import Classroom


def add_classroom(added: argparse.ArgumentParser) -> None:
    """Add `--classroom DIR`."""
    added.add_argument(
        "--classroom",
        type=Path,
        default=paths.CLASSROOM,
        metavar="DIR",
        help=f"the class's folder (default {paths.display_path(paths.CLASSROOM)})",
    )


def alone(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Decorate a command that changes the class, so that only one runs at a time."""

    @functools.wraps(run)
    def locked(options: argparse.Namespace) -> int:
        with guard.held(options.classroom):
            return run(options)

    return locked


def add_students(added: argparse.ArgumentParser) -> None:
    """Add `--student ID`."""
    added.add_argument(
        "--student",
        action="append",
        default=[],
        metavar="ID",
        help="only this student; may be repeated",
    )


def open_class(options: argparse.Namespace) -> tuple[Classroom, list[str]]:
    """The classroom, and which of its released lessons are meant."""
    names = [path.stem for path in find_lessons(options.lessons, options.course)]
    if not options.classroom.is_dir():
        raise _not_released(names[0], options)
    classroom = Classroom.open(options.classroom)
    released = [name for name in names if classroom.is_released(name)]
    for name in names:
        if name not in released and (options.lessons or not released):
            raise _not_released(name, options)
    return classroom, released


def _not_released(lesson: str, options: argparse.Namespace) -> CourseError:
    fix = f"run `{typed('release', lesson, options)}`"
    return CourseError(f"no lesson {lesson[:2]} is released", fix)


def chosen_students(students: list[str], options: argparse.Namespace) -> list[str]:
    """Filter by --student."""
    unknown = [student for student in options.student if student not in students]
    if unknown:
        raise CourseError(f"no student `{unknown[0]}`; there are {', '.join(students) or 'none'}")
    return [s for s in students if s in options.student] if options.student else students


def say_penalties(lesson: str, changed: list[str]) -> None:
    """Print whose late penalty changed."""
    if changed:
        say(f"{lesson}: the late penalty changed for {', '.join(changed)}")


def typed(command: str, lesson: str, options: argparse.Namespace) -> str:
    """The command line of another command for the same classroom."""
    is_default = options.classroom == paths.CLASSROOM
    folder = [] if is_default else ["--classroom", str(options.classroom)]
    return shlex.join(["python", "-m", "autograder", command, lesson[:2], *folder])


def positive(text: str) -> int:
    """Parse a positive whole number."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a positive whole number")
    return int(text)


def gibibytes(text: str) -> float:
    """Parse an amount of memory."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0.1 <= amount < 10_000:
        raise argparse.ArgumentTypeError(f"`{text}` is not an amount of memory in GiB, such as 2")
    return amount
