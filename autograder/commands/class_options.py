"""What the instructor's commands take: a class's folder, students, limits."""

import argparse
import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import paths
from autograder.authoring.lesson import find_lessons
from autograder.commands.terminal import say

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI


def add_classroom(added: argparse.ArgumentParser) -> None:
    """Take `--classroom DIR`."""
    added.add_argument(
        "--classroom",
        type=Path,
        default=paths.CLASSROOM,
        metavar="DIR",
        help=f"the class's folder (default {paths.display_path(paths.CLASSROOM)})",
    )


def alone(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """A command that changes the class: two of these do not run at a time."""

    @functools.wraps(run)
    def locked(options: argparse.Namespace) -> int:
        from autograder.gradebook import guard

        with guard.held(options.classroom):
            return run(options)

    return locked


def add_students(added: argparse.ArgumentParser) -> None:
    """Take `--student ID`."""
    added.add_argument(
        "--student",
        action="append",
        default=[],
        metavar="ID",
        help="only this one; may be repeated",
    )


def open_class(options: argparse.Namespace) -> "tuple[NbGraderAPI, list[str]]":
    """The classroom, and which of its released lessons are meant."""
    from autograder.gradebook import grading

    names = [path.stem for path in find_lessons(options.lessons)]
    if not options.classroom.is_dir():
        raise grading.Refused(_not_released(names[0], options))
    api = grading.open_classroom(options.classroom)
    released = [name for name in names if grading.is_released(api, name)]
    for name in names:
        if name not in released and (options.lessons or not released):
            raise grading.Refused(_not_released(name, options))
    return api, released


def _not_released(lesson: str, options: argparse.Namespace) -> str:
    return f"no lesson {lesson[:2]} is released: run `{typed('release', lesson, options)}`"


def chosen_students(students: list[str], options: argparse.Namespace) -> list[str]:
    """Those of these students who are meant."""
    unknown = [student for student in options.student if student not in students]
    if unknown:
        from autograder.gradebook.grading import Refused

        raise Refused(f"no student `{unknown[0]}`; there are {', '.join(students) or 'none'}")
    return [s for s in students if s in options.student] if options.student else students


def say_penalties(lesson: str, changed: list[str]) -> None:
    """Tell whose penalty for being late is another one now."""
    if changed:
        say(f"{lesson}: being late now costs something else for {', '.join(changed)}")


def typed(command: str, lesson: str, options: argparse.Namespace) -> str:
    """The command line that does this in the same classroom."""
    here = options.classroom == paths.CLASSROOM
    folder = [] if here else ["--classroom", str(options.classroom)]
    return shlex.join(["python", "-m", "autograder", command, lesson[:2], *folder])


def positive(text: str) -> int:
    """A number that was typed, of seconds or of things."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above 0")
    return int(text)


def gibibytes(text: str) -> float:
    """An amount of memory that was typed."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0.1 <= amount < 10_000:
        raise argparse.ArgumentTypeError(f"`{text}` is not an amount of memory in GiB, such as 2")
    return amount
