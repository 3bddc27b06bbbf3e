"""The instructor's commands: feedback, a class to try them on; and all the others."""

import argparse
from typing import TYPE_CHECKING

from autograder import paths
from autograder.authoring.lesson import find_lessons, read_lesson
from autograder.commands import (
    collect_command,
    export_command,
    grade_command,
    gradescope_command,
    release_command,
    similar_command,
)
from autograder.commands.class_options import (
    add_classroom,
    add_students,
    alone,
    chosen_students,
    open_class,
    typed,
)
from autograder.commands.terminal import Commands, command, console, progress, say

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI


def add_commands(commands: Commands) -> None:
    """Declare them."""
    release_command.add_command(commands)
    collect_command.add_command(commands)
    grade_command.add_command(commands)
    _add_feedback(commands)
    export_command.add_command(commands)
    gradescope_command.add_command(commands)
    similar_command.add_command(commands)
    _add_sample(commands)


def _add_feedback(commands: Commands) -> None:
    details = """\
        For each graded submission, one page of HTML that needs no network and no other file:
          CLASSROOM/feedback/STUDENT/NN_name/NN_name.html
        At its head stands what became of each check: points, the misconception and a hint; then
        the notebook as it was graded, with outputs and comments. A hidden test that failed is
        called by its author's words for it; its code, inputs and numbers are left out. Write it
        again after marking: the points are in it. nbgrader's `generate_feedback` and formgrader's
        button write the same page."""
    added = command(commands, "feedback", "write feedback for students", _feedback, details)
    add_classroom(added)
    add_students(added)


def _feedback(options: argparse.Namespace) -> int:
    from autograder.gradebook.status import results

    api, lessons = open_class(options)
    failed, pages = 0, []
    for lesson in lessons:
        found = results(api, lesson, {})
        chosen = chosen_students([result.student for result in found], options)
        if all(result.points is None for result in found):
            say(f"nothing of {lesson} is graded: run `{typed('grade', lesson, options)}`")
            continue
        with progress() as bar:
            for result in bar.track([r for r in found if r.student in chosen], description=lesson):
                if result.points is None:
                    say(f"{result.student}: no feedback, for it is {result.state}")
                elif _writes_feedback(api, lesson, result.student):
                    pages.append(result)
                else:
                    failed += 1
    unmarked = sum(result.to_mark for result in pages)
    if unmarked:
        shown = "1 page shows" if unmarked == 1 else f"{unmarked} pages show"
        say(f"{shown} 0 for answers that are not marked yet")
    return 1 if failed or not pages else 0


def _writes_feedback(api: "NbGraderAPI", lesson: str, student: str) -> bool:
    from autograder.feedback.write import write
    from autograder.gradebook.guard import Refused

    try:
        say(f"wrote {paths.display_path(write(api, lesson, student))}")
    except Refused as refusal:
        say(f"{student}: {refusal}")
        return False
    return True


def _add_sample(commands: Commands) -> None:
    details = """\
        Six made-up students hand in each lesson:
          perfect         every exercise solved
          partly_right    some wrong answers of autograder/answers/NN_name.py, one not done
          untouched       the notebook as they got it
          broken_syntax   one cell that is no Python
          infinite_loop   one cell that never ends
          colab_saved     perfect, in the form in which Colab saves it
        The lessons are released first."""
    added = command(commands, "sample", "make a class to try grading on", _sample, details)
    add_classroom(added)


@alone
def _sample(options: argparse.Namespace) -> int:
    from autograder.authoring.answer_bank import read_answers
    from autograder.authoring.notebook import as_text
    from autograder.authoring.samples import SAMPLES, sample_class
    from autograder.gradebook import grading, status

    api = grading.open_classroom(options.classroom)
    for path in find_lessons(options.lessons):
        lesson = read_lesson(path)
        real = set(status.students(api, lesson.name)) - set(SAMPLES)
        if real:
            beside = f"made-up students would stand beside `{min(real)}` in the grades"
            raise grading.Refused(f"{beside}: name another folder with `--classroom DIR`")
        with console.status(f"releasing {lesson.name}"):
            grading.release(api, lesson)
        bank = paths.ANSWERS / path.name
        answers = read_answers(bank, lesson) if bank.exists() else []
        for student, notebook in sample_class(lesson, answers).items():
            target = paths.notebook_path(api, "submitted", lesson.name, student)
            if paths.write(target, as_text(notebook)):
                grading.forget(api, lesson.name, student)
            say(f"wrote {paths.display_path(target)}")
    return 0
