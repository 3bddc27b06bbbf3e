"""The instructor's commands: release, grade, feedback and export, and a class to try them on."""

import argparse
import shlex
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from autograder import places
from autograder.lesson import find_lessons, read_lesson
from autograder.terminal import Commands, command, console, progress

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI

    from autograder.grading import Result


# a path stays one line, which can be copied
_say = partial(console.print, soft_wrap=True, markup=False)


def add_commands(commands: Commands) -> None:
    """Declare them."""
    _add_release(commands)
    _add_grade(commands)
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
        nothing is graded yet."""
    added = command(commands, "release", "prepare lessons for grading", _release, details)
    _add_classroom(added)


def _release(options: argparse.Namespace) -> int:
    from autograder import grading

    api = grading.open_classroom(options.classroom)
    for path in find_lessons(options.lessons):
        lesson = read_lesson(path)
        with console.status(path.stem):
            changed = grading.release(api, lesson)
        _say(f"released {places.shown(grading.place(api, 'release', lesson.name))}")
        graded = api.get_submitted_students(path.stem) - grading.ungraded(api, path.stem)
        if changed and graded:
            again = _typed("grade", path.stem, options, "--again")
            counted = "submission is" if len(graded) == 1 else "submissions are"
            _say(f"{len(graded)} {counted} graded as it was before: `{again}`")
    return 0


def _add_grade(commands: Commands) -> None:
    details = """\
        Every submission that is not graded yet is run and recorded in the gradebook; it lies in
          CLASSROOM/submitted/STUDENT/NN_name/NN_name.ipynb
        The table says for each student
          graded          every point is decided
          needs marking   a written answer waits for a person: mark it in nbgrader's formgrader
                          (`jupyter lab` in CLASSROOM, menu Nbgrader)
          timed-out       a cell was stopped by the time limit
          unreadable      nbgrader can make nothing of the file; the line below says why
          missing         nothing was handed in, or under another name
          not graded yet  handed in since, or left over when grading was interrupted
          failed          the grader's own failure: see CLASSROOM/grade.log
        Exit code 1 if any failed; a student's mistake is no failure."""
    added = command(commands, "grade", "grade what students handed in", _grade, details)
    _add_classroom(added)
    _add_students(added)
    added.add_argument("--again", action="store_true", help="also what is graded already")
    added.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="how long a cell may run (default 60)"
    )


def _grade(options: argparse.Namespace) -> int:
    from autograder import grading

    api, lessons = _class(options)
    failed = 0
    for lesson in lessons:
        chosen = _chosen(grading.students(api, lesson), options)
        if options.again:
            for student in chosen:
                grading.forget(api, lesson, student)
        waiting = grading.ungraded(api, lesson)
        failures = _grade_each(api, lesson, [s for s in chosen if s in waiting], options)
        results = grading.results(api, lesson, failures)
        _print_results(lesson, [result for result in results if result.student in chosen])
        if not results:
            place = grading.place(api, "submitted", lesson, "STUDENT")
            _say(f"nobody has handed in {lesson} yet: put notebooks at {places.shown(place)}")
        done = len(waiting - grading.ungraded(api, lesson))
        log = places.shown(options.classroom / grading.LOG)
        _say(f"{lesson}: {done} graded now, {len(chosen)} in all; log in {log}")
        failed += len(failures)
    return 1 if failed else 0


def _grade_each(
    api: "NbGraderAPI", lesson: str, students: list[str], options: argparse.Namespace
) -> dict[str, str]:
    """Grade these students' submissions; return for whom the grader failed, and why."""
    from autograder import grading

    reasons = {}
    try:
        with progress() as bar:
            for student in bar.track(students, description=lesson):
                reasons[student] = grading.grade(api, lesson, student)
    except KeyboardInterrupt:
        rest = _typed("grade", lesson, options)
        done = f"interrupted: {len(reasons)} of {len(students)} are graded and recorded"
        raise grading.Refused(f"{done}; `{rest}` goes on with the others") from None
    return {student: reason for student, reason in reasons.items() if reason}


def _print_results(lesson: str, results: "list[Result]") -> None:
    table = Table("student", title=lesson, title_justify="left")
    for heading in ("points", "max"):
        table.add_column(heading, justify="right")
    table.add_column("state")
    for result in results:
        points = ["–" if p is None else f"{p:g}" for p in (result.points, result.max_points)]
        table.add_row(result.student, *points, result.state)
    console.print(table)
    for result in results:
        if result.note:
            _say(f"{result.student}: {result.state}: {result.note}")


def _add_feedback(commands: Commands) -> None:
    details = """\
        For each graded submission, its cells, results, points and comments as
          CLASSROOM/feedback/STUDENT/NN_name/NN_name.html
        Hidden tests are left out. Write it again after marking: the points are in it."""
    added = command(commands, "feedback", "write feedback for students", _feedback, details)
    _add_classroom(added)
    _add_students(added)


def _feedback(options: argparse.Namespace) -> int:
    from autograder import grading

    api, lessons = _class(options)
    failed = 0
    for lesson in lessons:
        chosen = _chosen(grading.students(api, lesson), options)
        results = [r for r in grading.results(api, lesson, {}) if r.student in chosen]
        with progress() as bar:
            for result in bar.track(results, description=lesson):
                if result.points is None:
                    _say(f"{result.student}: no feedback, for it is {result.state}")
                    continue
                try:
                    _say(f"wrote {places.shown(grading.feedback(api, lesson, result.student))}")
                except grading.Refused as refusal:
                    _say(f"{result.student}: {refusal}")
                    failed += 1
    return 1 if failed else 0


def _add_export(commands: Commands) -> None:
    details = """\
        One row for each student and lesson, as nbgrader exports them: raw_score is what was
        earned, score what is left after a penalty for being late."""
    added = command(commands, "export", "write the grades as CSV", _export, details)
    _add_classroom(added)
    added.add_argument(
        "--to", type=Path, metavar="FILE", help="where to (default CLASSROOM/grades.csv)"
    )


def _export(options: argparse.Namespace) -> int:
    from autograder import grading

    api, lessons = _class(options)
    to = options.to or options.classroom / "grades.csv"
    grading.export(api, lessons, to)
    _say(f"wrote {places.shown(to)}: {', '.join(lessons)}")
    for lesson in lessons:
        counts = Counter(result.state for result in grading.results(api, lesson, {}))
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        _say(f"{lesson}: {told}")
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
    _add_classroom(added)


def _sample(options: argparse.Namespace) -> int:
    from autograder import grading
    from autograder.answers import read_answers
    from autograder.notebook import as_text
    from autograder.samples import SAMPLES, sample_class

    api = grading.open_classroom(options.classroom)
    for path in find_lessons(options.lessons):
        lesson = read_lesson(path)
        real = set(grading.students(api, lesson.name)) - set(SAMPLES)
        if real:
            beside = f"made-up students would stand beside `{min(real)}` in the grades"
            raise grading.Refused(f"{beside}: name another folder with `--classroom DIR`")
        with console.status(f"releasing {lesson.name}"):
            grading.release(api, lesson)
        bank = places.ANSWERS / path.name
        answers = read_answers(bank, lesson) if bank.exists() else []
        for student, notebook in sample_class(lesson, answers).items():
            target = grading.place(api, "submitted", lesson.name, student)
            if places.write(target, as_text(notebook)):
                grading.forget(api, lesson.name, student)
            _say(f"wrote {places.shown(target)}")
    return 0


def _add_classroom(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "--classroom",
        type=Path,
        default=places.CLASSROOM,
        metavar="DIR",
        help=f"the class's folder (default {places.shown(places.CLASSROOM)})",
    )


def _add_students(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "--student",
        action="append",
        default=[],
        metavar="ID",
        help="only this one; may be repeated",
    )


def _class(options: argparse.Namespace) -> "tuple[NbGraderAPI, list[str]]":
    """The classroom, and which of its released lessons are meant."""
    from autograder import grading

    names = [path.stem for path in find_lessons(options.lessons)]
    if not options.classroom.is_dir():
        raise grading.Refused(_not_released(names[0], options))
    api = grading.open_classroom(options.classroom, getattr(options, "timeout", None))
    released = [name for name in names if grading.is_released(api, name)]
    for name in names:
        if name not in released and (options.lessons or not released):
            raise grading.Refused(_not_released(name, options))
    return api, released


def _not_released(lesson: str, options: argparse.Namespace) -> str:
    return f"no lesson {lesson[:2]} is released: run `{_typed('release', lesson, options)}`"


def _chosen(students: list[str], options: argparse.Namespace) -> list[str]:
    unknown = [student for student in options.student if student not in students]
    if unknown:
        from autograder.grading import Refused

        raise Refused(f"no student `{unknown[0]}`; there are {', '.join(students) or 'none'}")
    return [s for s in students if s in options.student] if options.student else students


def _typed(command: str, lesson: str, options: argparse.Namespace, *more: str) -> str:
    """The command line that does this in the same classroom."""
    here = options.classroom == places.CLASSROOM
    folder = [] if here else ["--classroom", str(options.classroom)]
    return shlex.join(["python", "-m", "autograder", command, lesson[:2], *folder, *more])


def _seconds(text: str) -> int:
    seconds = int(text)
    # to nbgrader, 0 means no limit
    if seconds < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return seconds
