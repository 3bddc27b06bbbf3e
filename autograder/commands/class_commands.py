"""The instructor's commands: `feedback`, `sample`, and those of the other modules."""

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
from autograder.errors import CourseError

if TYPE_CHECKING:
    from autograder.gradebook.classroom import Submission


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
        It begins with a table of the checks: points, the misconception and a hint; then follows
        the graded notebook, with outputs and comments. A failed hidden test is only described in
        its author's words, without code, inputs and numbers. Run this again after marking, since
        the page shows the points. nbgrader's `generate_feedback` and formgrader's button write the
        same page."""
    added = command(commands, "feedback", "write feedback for students", _feedback, details)
    add_classroom(added)
    add_students(added)


def _feedback(options: argparse.Namespace) -> int:
    from autograder.gradebook.status import results

    classroom, lessons = open_class(options)
    failed, pages = 0, []
    for lesson in lessons:
        found = results(classroom, lesson)
        chosen = chosen_students([result.student for result in found], options)
        if all(result.points is None for result in found):
            say(f"no submission of {lesson} is graded: run `{typed('grade', lesson, options)}`")
            continue
        with progress() as bar:
            for result in bar.track([r for r in found if r.student in chosen], description=lesson):
                if result.points is None:
                    say(f"{result.student}: no feedback: {result.state}")
                elif _writes_feedback(classroom.submission(lesson, result.student)):
                    pages.append(result)
                else:
                    failed += 1
    unmarked = sum(result.to_mark for result in pages)
    if unmarked:
        shown = "1 page shows" if unmarked == 1 else f"{unmarked} pages show"
        say(f"{shown} 0 for answers that are not marked yet")
    return 1 if failed or not pages else 0


def _writes_feedback(submission: "Submission") -> bool:
    from autograder.feedback.write import write

    try:
        say(f"wrote {paths.display_path(write(submission))}")
    except CourseError as refusal:
        say(f"{submission.student}: {refusal}")
        return False
    return True


def _add_sample(commands: Commands) -> None:
    details = """\
        Six fictitious students hand in each lesson:
          perfect         every exercise solved
          partly_right    some wrong answers of autograder/answers/NN_name.py, one untouched
          untouched       the unchanged notebook
          broken_syntax   a cell with a syntax error
          infinite_loop   a cell that never ends
          colab_saved     perfect, as saved by Colab
        The lessons are released first."""
    added = command(commands, "sample", "create a class to try grading", _sample, details)
    add_classroom(added)


@alone
def _sample(options: argparse.Namespace) -> int:
    from autograder.authoring.answer_bank import read_answers
    from autograder.authoring.notebook import as_text
    from autograder.authoring.samples import SAMPLES, sample_class
    from autograder.gradebook.classroom import Classroom
    from autograder.gradebook.release import release

    classroom = Classroom.open(options.classroom)
    for path in find_lessons(options.lessons, options.course):
        lesson = read_lesson(path)
        real = set(classroom.students(lesson.name)) - set(SAMPLES)
        if real:
            beside = f"fictitious students would be mixed with `{min(real)}` in the gradebook"
            raise CourseError(beside, "name another folder with `--classroom DIR`")
        with console.status(f"releasing {lesson.name}"):
            release(classroom, lesson)
        answers = read_answers(lesson.bank, lesson) if lesson.bank.exists() else []
        for student, notebook in sample_class(lesson, answers).items():
            submission = classroom.submission(lesson.name, student)
            target = submission.path()
            if paths.write(target, as_text(notebook)):
                submission.forget()
            say(f"wrote {paths.display_path(target)}")
    return 0
