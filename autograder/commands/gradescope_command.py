"""The command `gradescope`: a lesson's autograder as the zip that Gradescope takes."""

import argparse
from pathlib import Path

from autograder import paths
from autograder.authoring.lesson import find_lessons, read_lesson
from autograder.commands.class_options import gibibytes, positive
from autograder.commands.terminal import Commands, command, console, say


def add_command(commands: Commands) -> None:
    """Declare it."""
    details = """\
        Upload it in a Programming Assignment, Configure Autograder, with Ubuntu 24.04 as image and
        1 CPU and 1.5 GB or more. Each check becomes a test there, with its points. Students see
          of a check that fails   what it says in their notebook, with misconception and hint
          of a hidden test        what it tests, or nothing (--hidden); never its code or values
        Written answers wait for a person: switch on Manual Grading, and add a question for each
        with the points that are printed here. Their code runs in the sandbox; where Gradescope
        allows no namespaces, Landlock stands in for bubblewrap, and the log, which only you see,
        says so. A file that cannot be graded gets a message and 0 points, until the next try.
        The zip holds hidden tests, but no solutions."""
    added = command(commands, "gradescope", "write an autograder for Gradescope", _write, details)
    added.add_argument(
        "--to", type=Path, metavar="FILE", help="where to (default NN_name.zip, in this folder)"
    )
    added.add_argument(
        "--hidden",
        choices=["name", "nothing"],
        default="name",
        help="what students are told of a hidden test that fails: the name of what it tests "
        "(default), or nothing but that one fails",
    )
    added.add_argument(
        "--timeout",
        type=positive,
        default=60,
        metavar="SECONDS",
        help="how long a cell may compute (default 60)",
    )
    added.add_argument(
        "--memory",
        type=gibibytes,
        default=1.0,
        metavar="GIB",
        help="how much memory a submission may use (default 1)",
    )
    added.add_argument(
        "--minutes",
        type=positive,
        default=10,
        metavar="N",
        help="Gradescope's own limit, in its settings (default 10): grading ends before it",
    )


def _write(options: argparse.Namespace) -> int:
    from autograder.gradebook.grading import Refused
    from autograder.gradescope import package
    from autograder.gradescope.settings import Settings

    lessons = find_lessons(options.lessons)
    if options.to and len(lessons) > 1:
        raise Refused("--to names one file: name one lesson")
    memory = round(options.memory * (1 << 30))
    settings = Settings(options.hidden, options.timeout, memory, options.minutes)
    for path in lessons:
        lesson = read_lesson(path)
        to = options.to or Path(f"{lesson.name}.zip")
        if to.is_dir():
            raise Refused(f"{to} is a folder: name a file")
        with console.status(lesson.name):
            package.write(lesson, settings, to)
        say(f"wrote {paths.display_path(to)} ({to.stat().st_size / 1e6:.1f} MB)")
        checks = sum(cell.points or 0 for cell in lesson.of("check"))
        say(f"on Gradescope: Autograder Points {checks:g}")
        for cell in lesson.of("answer"):
            say(f"  and, in Manual Grading, a question `{cell.name}` of {cell.points:g} points")
    return 0
