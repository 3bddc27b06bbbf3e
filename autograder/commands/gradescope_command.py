"""The `gradescope` command: write a lesson's autograder as a zip for Gradescope."""

import argparse
from pathlib import Path

from autograder import paths
from autograder.authoring.lesson import find_lessons, read_lesson
from autograder.commands.class_options import gibibytes, positive
from autograder.commands.terminal import add_lessons, console, say
from autograder.errors import CourseError
from autograder.gradescope import package
from autograder.gradescope.settings import Settings

DETAILS = """\
    Upload the zip in a Programming Assignment under Configure Autograder, with Ubuntu 24.04 as
    image and at least 1 CPU and 1.5 GB. Each check becomes a test with its points. Students see
      for a failed check         its message, as in their notebook, with misconception and hint
      for a failed hidden test   what it tests, or nothing (--hidden); never code or values
    Written answers are marked by a person: enable Manual Grading, and add a question for each,
    with the points printed here. Students' code runs in the sandbox; where Gradescope forbids
    namespaces, Landlock replaces bubblewrap, which the log (visible only to you) reports. A
    file that cannot be graded gets a message and 0 points until the next submission.
    The zip contains hidden tests, but no solutions."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    added.add_argument(
        "--to", type=Path, metavar="FILE", help="file to write (default NN_name.zip in this folder)"
    )
    added.add_argument(
        "--hidden",
        choices=["name", "nothing"],
        default="name",
        help="what students see of a failed hidden test: the name of what it tests (default), or "
        "only that one failed",
    )
    added.add_argument(
        "--timeout",
        type=positive,
        default=60,
        metavar="SECONDS",
        help="CPU time limit of a cell (default 60)",
    )
    added.add_argument(
        "--memory",
        type=gibibytes,
        default=1.0,
        metavar="GIB",
        help="memory limit of a submission (default 1)",
    )
    added.add_argument(
        "--minutes",
        type=positive,
        default=10,
        metavar="N",
        help="the time limit in Gradescope's settings (default 10), before which grading ends",
    )


def run(options: argparse.Namespace) -> int:
    """Write a zip for each lesson."""
    lessons = find_lessons(options.lessons, options.course)
    if options.to and len(lessons) > 1:
        raise CourseError("--to names one file", "name one lesson")
    memory = round(options.memory * (1 << 30))
    settings = Settings(options.hidden, options.timeout, memory, options.minutes)
    for path in lessons:
        lesson = read_lesson(path)
        to = options.to or Path(f"{lesson.name}.zip")
        if to.is_dir():
            raise CourseError(f"{to} is a folder", "name a file")
        with console.status(lesson.name):
            package.write(lesson, settings, to)
        say(f"wrote {paths.display_path(to)} ({to.stat().st_size / 1e6:.1f} MB)")
        checks = sum(cell.points or 0 for cell in lesson.of("check"))
        say(f"on Gradescope: Autograder Points {checks:g}")
        for cell in lesson.of("answer"):
            say(f"  and, in Manual Grading, a question `{cell.name}` of {cell.points:g} points")
    return 0
