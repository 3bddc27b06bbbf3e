"""The `sample` command: create a class to try grading."""

import argparse

from autograder import paths
from autograder.authoring.answer_bank import read_answers
from autograder.authoring.lesson import find_lessons, read_lesson
from autograder.authoring.notebook import as_text
from autograder.authoring.samples import SAMPLES, sample_class
from autograder.commands.class_options import (
    add_classroom,
    alone,
)
from autograder.commands.terminal import add_lessons, console, say
from autograder.errors import CourseError
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.release import release

DETAILS = """\
    Six fictitious students hand in each lesson:
      perfect         every exercise solved
      partly_right    some wrong answers of autograder/answers/NN_name.py, one untouched
      untouched       the unchanged notebook
      broken_syntax   a cell with a syntax error
      infinite_loop   a cell that never ends
      colab_saved     perfect, as saved by Colab
    The lessons are released first."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    add_classroom(added)


@alone
def run(options: argparse.Namespace) -> int:
    """Release the lessons, and hand in for six students."""
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
