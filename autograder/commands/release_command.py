"""The `release` command: create gradebook entries and the students' files."""

import argparse
from datetime import datetime

from autograder import paths
from autograder.authoring import publish
from autograder.authoring.lesson import Lesson, find_lessons, read_lesson
from autograder.commands.class_options import add_classroom, alone, say_penalties, typed
from autograder.commands.terminal import add_lessons, console, say
from autograder.gradebook import late
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.recorder import penalize
from autograder.gradebook.release import release, set_due

DETAILS = """\
    Creates in the classroom
      source/./NN_name/NN_name.ipynb    the lesson with solutions and hidden tests
      release/./NN_name/NN_name.ipynb   what students get, the same as notebooks/NN_name.ipynb
      gradebook.db                      the lesson's graded cells
      published/                        everything students need: README, notebooks, kit
    A lesson can be released again after a change if its titles are unchanged or nothing is graded
    yet. If its checks changed, `grade` grades all submissions again, and `grade --preview` shows
    first whose grade would change.

    published/ is for classes with private solutions: create an empty repository on GitHub, pass
    its address as --repository (it is remembered), and push the folder there. Each file is
    searched for lines of solutions, hidden tests and the answers bank; if one is found, nothing is
    written. Colab opens notebooks from public repositories. Without a repository, distribute the
    folder as a zip.

    After the due date (--due), submissions are late. CLASSROOM/nbgrader_config.py sets the penalty;
    by default, there is none."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    add_classroom(added)
    added.add_argument(
        "--due",
        metavar="WHEN",
        help="due date, such as '2027-01-15 23:59 Europe/Paris' or '2027-01-15 23:59 +0100' "
        "(default zone: this computer's); `none` removes it (default: unchanged)",
    )
    added.add_argument(
        "--repository",
        type=_address,
        metavar="URL",
        help="where you host published/, such as https://github.com/YOU/CLASS, for badges and "
        "setup cells (default: unchanged, at first the course's own)",
    )


def _address(typed: str) -> str:
    address = typed.rstrip("/").removesuffix(".git")
    if not publish.ADDRESS.fullmatch(address):
        wanted = "https://github.com/YOU/CLASS, from which Colab can open notebooks"
        raise argparse.ArgumentTypeError(f"`{typed}` is not an address such as {wanted}")
    return address


@alone
def run(options: argparse.Namespace) -> int:
    """Release the lessons, and publish what students need."""
    due = _due(options)
    lessons = [read_lesson(path) for path in find_lessons(options.lessons, options.course)]
    repository = options.repository or publish.address(options.classroom)
    publish.tree(lessons, repository)  # before anything is written
    classroom = Classroom.open(options.classroom)
    for lesson in lessons:
        with console.status(lesson.name):
            release(classroom, lesson, repository)
        say(f"released {paths.display_path(classroom.path('release', lesson.name))}")
        if due:
            _set_due(classroom, lesson.name, *due)
        _say_again(classroom, lesson.name, options)
    _publish(classroom, lessons, repository, options)
    return 0


def _say_again(classroom: Classroom, lesson: str, options: argparse.Namespace) -> None:
    """Print how many graded submissions must be graded again."""
    submissions = [classroom.submission(lesson, s) for s in classroom.submitted(lesson)]
    graded = [each for each in submissions if each.kept and not each.is_recorded]
    if graded:
        counted = "submission is" if len(graded) == 1 else "submissions are"
        again = typed("grade", lesson, options)
        say(f"{len(graded)} graded {counted} to be graded again: `{again}`")
        say(f"whose grade would change: `{again} --preview`")


def _publish(
    classroom: Classroom, new: list[Lesson], repository: str, options: argparse.Namespace
) -> None:
    """Write the students' files for all released lessons, including new ones."""
    names = {lesson.name for lesson in new}
    others = [path for path in find_lessons([], options.course) if path.stem not in names]
    before = [read_lesson(path) for path in others if classroom.is_released(path.stem)]
    lessons = sorted([*before, *new], key=lambda lesson: lesson.name)
    folder = options.classroom / publish.FOLDER
    publish.write(publish.tree(lessons, repository), folder)
    secret = sum(len(publish.secrets(lesson)) for lesson in lessons)
    counted = "1 lesson" if len(lessons) == 1 else f"{len(lessons)} lessons"
    where = paths.display_path(folder)
    say(f"published {counted} in {where}, without any of {secret:,} secret lines")
    if repository == publish.repository_address():
        say("badges open the course's own repository, which has the solutions: set --repository")
    else:
        say(f"host it: push that folder to {repository}")


def _due(options: argparse.Namespace) -> tuple[datetime | None] | None:
    """The due date given by --due, which may be None; None without the option."""
    return None if options.due is None else (late.due(options.due),)


def _set_due(classroom: Classroom, lesson: str, due: datetime | None) -> None:
    set_due(classroom, lesson, late.in_utc(due) if due else None)
    if due:
        say(f"{lesson} is due {due:%A, %Y-%m-%d %H:%M %Z} ({late.in_utc(due):%Y-%m-%d %H:%M} UTC)")
    else:
        say(f"{lesson} has no due date")
    say_penalties(lesson, penalize(classroom, lesson))
