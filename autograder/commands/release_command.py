"""The command `release`: the gradebook's entries, and what students get."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import paths
from autograder.authoring import publish
from autograder.authoring.lesson import Lesson, find_lessons, read_lesson
from autograder.commands.class_options import add_classroom, alone, say_penalties, typed
from autograder.commands.terminal import Commands, command, console, say

if TYPE_CHECKING:
    from datetime import datetime

    from nbgrader.apps.api import NbGraderAPI

DETAILS = """\
    In the classroom are made
      source/./NN_name/NN_name.ipynb    the lesson with solutions and hidden tests
      release/./NN_name/NN_name.ipynb   what students get, the same as notebooks/NN_name.ipynb
      gradebook.db                      the lesson's graded cells
      published/                        all that students need: README, notebooks, kit
    A lesson can be released again after a change, as long as its titles stay as they are or
    nothing is graded yet. When its checks changed, `grade` grades everyone again, and
    `grade --preview` says first whose grade that would move.

    published/ is for a class whose solutions stay private: make an empty repository on GitHub,
    name it with --repository, which is remembered, and push the folder there. Each file is
    searched for lines of solutions, hidden tests and the answers bank; with one of them, nothing
    is written. Colab opens notebooks from public repositories. Without one, hand out the folder
    as a zip.

    After the due date (--due) a submission is late. What that costs is said in
    CLASSROOM/nbgrader_config.py; without a word there, nothing."""


def add_command(commands: Commands) -> None:
    """Declare it."""
    added = command(commands, "release", "prepare lessons for grading", _release, DETAILS)
    add_classroom(added)
    added.add_argument(
        "--due",
        metavar="WHEN",
        help="when to hand in, such as '2027-01-15 23:59 Europe/Paris' or '2027-01-15 23:59 +0100' "
        "(without a zone: this computer's); none: at any time (default: as it was)",
    )
    added.add_argument(
        "--repository",
        type=_address,
        metavar="URL",
        help="where you host published/, such as https://github.com/YOU/CLASS: badges and setup "
        "cells point there (default: as it was, at first the course's own)",
    )


def _address(typed: str) -> str:
    address = typed.rstrip("/").removesuffix(".git")
    if not publish.ADDRESS.fullmatch(address):
        wanted = "https://github.com/YOU/CLASS, from where Colab can open notebooks"
        raise argparse.ArgumentTypeError(f"`{typed}` is no address such as {wanted}")
    return address


@alone
def _release(options: argparse.Namespace) -> int:
    from autograder.gradebook import grading

    due = _due(options)
    lessons = [read_lesson(path) for path in find_lessons(options.lessons)]
    repository = options.repository or publish.address(options.classroom)
    try:
        publish.tree(lessons, repository)  # before anything is written
    except publish.Leak as leak:
        raise grading.Refused(str(leak)) from None
    api = grading.open_classroom(options.classroom)
    for lesson in lessons:
        with console.status(lesson.name):
            grading.release(api, lesson, repository)
        say(f"released {paths.display_path(paths.notebook_path(api, 'release', lesson.name))}")
        if due:
            _set_due(api, lesson.name, *due)
        _say_again(api, lesson.name, options)
    _publish(api, lessons, repository, options.classroom)
    return 0


def _say_again(api: "NbGraderAPI", lesson: str, options: argparse.Namespace) -> None:
    """Say how many graded submissions are to be graded again."""
    from autograder.gradebook import status
    from autograder.gradebook.result_store import kept

    graded = [s for s in status.ungraded(api, lesson) if kept(api, lesson, s)]
    if graded:
        counted = "submission is" if len(graded) == 1 else "submissions are"
        again = typed("grade", lesson, options)
        say(f"{len(graded)} graded {counted} to be graded again: `{again}`")
        say(f"whose grade that would move: `{again} --preview`")


def _publish(api: "NbGraderAPI", new: list[Lesson], repository: str, classroom: Path) -> None:
    """Write what students get of all lessons that are released, these among them."""
    from autograder.gradebook import grading

    names = {lesson.name for lesson in new}
    others = [path for path in find_lessons([]) if path.stem not in names]
    before = [read_lesson(path) for path in others if grading.is_released(api, path.stem)]
    lessons = sorted([*before, *new], key=lambda lesson: lesson.name)
    folder = classroom / publish.FOLDER
    publish.write(publish.tree(lessons, repository), folder)
    secret = sum(len(publish.secrets(lesson)) for lesson in lessons)
    counted = "1 lesson" if len(lessons) == 1 else f"{len(lessons)} lessons"
    where = paths.display_path(folder)
    say(f"published {counted} in {where}, without any of {secret:,} secret lines")
    if repository == publish.repository_address():
        say("its badges open the course's own repository, where solutions stand: --repository URL")
    else:
        say(f"host it: push that folder to {repository}")


def _due(options: argparse.Namespace) -> "tuple[datetime | None] | None":
    """The due date that was typed; none at all, if nothing was."""
    from autograder.gradebook import grading, late

    if options.due is None:
        return None
    try:
        return (late.due(options.due),)
    except late.NoTime as why:
        raise grading.Refused(str(why)) from None


def _set_due(api: "NbGraderAPI", lesson: str, due: "datetime | None") -> None:
    from autograder.gradebook import grading, late

    grading.set_due(api, lesson, late.in_utc(due) if due else None)
    if due:
        say(f"{lesson} is due {due:%A, %Y-%m-%d %H:%M %Z} ({late.in_utc(due):%Y-%m-%d %H:%M} UTC)")
    else:
        say(f"{lesson} is never late")
    say_penalties(lesson, grading.penalize(api, lesson))
