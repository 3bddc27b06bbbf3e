"""The instructor's commands but `grade`: release, feedback, export; a class to try them on."""

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import grade_command, places
from autograder.class_options import (
    add_classroom,
    add_students,
    chosen_students,
    open_class,
    typed,
)
from autograder.lesson import find_lessons, read_lesson
from autograder.terminal import Commands, command, console, progress, say

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI


def add_commands(commands: Commands) -> None:
    """Declare them."""
    _add_release(commands)
    grade_command.add_command(commands)
    _add_feedback(commands)
    _add_export(commands)
    _add_sample(commands)


def _add_release(commands: Commands) -> None:
    details = """\
        In the classroom are made
          source/./NN_name/NN_name.ipynb    the lesson with solutions and hidden tests
          release/./NN_name/NN_name.ipynb   what students get, the same as notebooks/NN_name.ipynb
          gradebook.db                      the lesson's graded cells
        A lesson can be released again after a change, as long as its titles stay as they are or
        nothing is graded yet. When its checks changed, `grade` grades everyone again."""
    added = command(commands, "release", "prepare lessons for grading", _release, details)
    add_classroom(added)


def _release(options: argparse.Namespace) -> int:
    from autograder import grading, standing
    from autograder.recorder import kept

    api = grading.open_classroom(options.classroom)
    for path in find_lessons(options.lessons):
        lesson = read_lesson(path)
        with console.status(path.stem):
            grading.release(api, lesson)
        say(f"released {places.shown(places.place(api, 'release', lesson.name))}")
        graded = [s for s in standing.ungraded(api, lesson.name) if kept(api, lesson.name, s)]
        if graded:
            counted = "submission is" if len(graded) == 1 else "submissions are"
            again = typed("grade", lesson.name, options)
            say(f"{len(graded)} graded {counted} to be graded again: `{again}`")
    return 0


def _add_feedback(commands: Commands) -> None:
    details = """\
        For each graded submission, its cells, results, points and comments as
          CLASSROOM/feedback/STUDENT/NN_name/NN_name.html
        Hidden tests are left out. Write it again after marking: the points are in it."""
    added = command(commands, "feedback", "write feedback for students", _feedback, details)
    add_classroom(added)
    add_students(added)


def _feedback(options: argparse.Namespace) -> int:
    from autograder.standing import results

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
    from autograder import grading

    try:
        say(f"wrote {places.shown(grading.feedback(api, lesson, student))}")
    except grading.Refused as refusal:
        say(f"{student}: {refusal}")
        return False
    return True


def _add_export(commands: Commands) -> None:
    details = """\
        One row for each student and lesson, as nbgrader exports them: raw_score is what was
        earned, score what is left after a penalty for being late. Who has no points, because
        nothing was handed in or it is not graded, has no row: the names are printed, and why."""
    added = command(commands, "export", "write the grades as CSV", _export, details)
    add_classroom(added)
    added.add_argument(
        "--to", type=Path, metavar="FILE", help="where to (default CLASSROOM/grades.csv)"
    )


def _export(options: argparse.Namespace) -> int:
    from autograder import grading

    api, lessons = open_class(options)
    to = options.to or options.classroom / "grades.csv"
    everyone = grading.export(api, lessons, to)
    say(f"wrote {places.shown(to)}: {', '.join(lessons)}")
    for lesson, results in everyone.items():
        counts = Counter(result.state for result in results)
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        say(f"{lesson}: {told or 'no students'}")
        for result in results:
            if result.points is None:
                why = f"{result.state}: {result.note}" if result.note else result.state
                say(f"{result.student} has no row for {lesson}: {why}")
    return 0


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


def _sample(options: argparse.Namespace) -> int:
    from autograder import grading, standing
    from autograder.answers import read_answers
    from autograder.notebook import as_text
    from autograder.samples import SAMPLES, sample_class

    api = grading.open_classroom(options.classroom)
    for path in find_lessons(options.lessons):
        lesson = read_lesson(path)
        real = set(standing.students(api, lesson.name)) - set(SAMPLES)
        if real:
            beside = f"made-up students would stand beside `{min(real)}` in the grades"
            raise grading.Refused(f"{beside}: name another folder with `--classroom DIR`")
        with console.status(f"releasing {lesson.name}"):
            grading.release(api, lesson)
        bank = places.ANSWERS / path.name
        answers = read_answers(bank, lesson) if bank.exists() else []
        for student, notebook in sample_class(lesson, answers).items():
            target = standing.place(api, "submitted", lesson.name, student)
            if places.write(target, as_text(notebook)):
                grading.forget(api, lesson.name, student)
            say(f"wrote {places.shown(target)}")
    return 0
