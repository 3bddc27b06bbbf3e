"""The `export` command: write grades as CSV for nbgrader, Canvas or Moodle."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from autograder import paths
from autograder.commands.class_options import add_classroom, open_class, say_penalties
from autograder.commands.terminal import add_lessons, say
from autograder.errors import CourseError
from autograder.exporting import export, gradesheet, sheet
from autograder.exporting.export import Graded
from autograder.exporting.gradesheet import Filled
from autograder.gradebook.recorder import penalize

FORMATS = {"nbgrader": "grades.csv", "canvas": "canvas.csv", "moodle": "moodle.csv"}

DETAILS = """\
    nbgrader  One row for each student and lesson, as nbgrader exports them: raw_score is what
              was earned, score what remains after the late penalty.
    canvas    For Canvas's Grades > Import. Pass the file from Grades > Export as --gradebook:
              the lesson's column is filled in, or added if there is none with its name; other
              assignments are left out, so that no newer grade is overwritten.
    moodle    For one lesson. Pass the assignment's grading worksheet as --gradebook (View all
              submissions > Download grading worksheet), and upload the written file there.
              Without it, the file is a list for Grades > Import > CSV file.
    Canvas and Moodle get the points after the late penalty. Students without points (nothing
    handed in, or not graded yet) get no 0: their names and the reason are printed."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    add_classroom(added)
    added.add_argument(
        "--format", choices=FORMATS, default="nbgrader", help="file format (default nbgrader)"
    )
    added.add_argument(
        "--gradebook", type=Path, metavar="FILE", help="the file exported from Canvas or Moodle"
    )
    added.add_argument(
        "--column", default="", metavar="NAME", help="the lesson's column (default: its name)"
    )
    added.add_argument(
        "--to", type=Path, metavar="FILE", help="file to write (default CLASSROOM/grades.csv)"
    )


def run(options: argparse.Namespace) -> int:
    """Write the file."""
    classroom, lessons = open_class(options)
    _check(options, lessons)
    to = options.to or options.classroom / FORMATS[options.format]
    for lesson in lessons:
        say_penalties(lesson, penalize(classroom, lesson))
    everyone = {lesson: export.grades(classroom, lesson) for lesson in lessons}
    filled = _filled(options, everyone)
    if filled:
        export.write(to, sheet.as_csv(filled.sheet))
    else:
        export.write(to, export.as_nbgrader(everyone))
    say(f"wrote {paths.display_path(to)}: {', '.join(lessons)}")
    _tell(everyone)
    if filled:
        called = {row.owner.student: row.owner.called for row in everyone[lessons[0]]}
        _tell_filled(options, filled, called)
    return 0


def _check(options: argparse.Namespace, lessons: Sequence[str]) -> None:
    """`CourseError` says what cannot be done."""
    if options.format == "nbgrader" and (options.gradebook or options.column):
        raise CourseError("--gradebook and --column need `--format canvas` or `--format moodle`")
    if len(lessons) != 1 and (options.format == "moodle" or options.column):
        there = " ".join(lesson[:2] for lesson in lessons)
        raise CourseError("one lesson at a time here", f"name one of {there}")
    to, template = options.to, options.gradebook
    if to and template and to.resolve() == template.resolve():
        raise CourseError(f"{to} would be overwritten", "name another file with --to")


def _filled(options: argparse.Namespace, everyone: Mapping[str, Sequence[Graded]]) -> Filled | None:
    """The list for Canvas or Moodle with the grades filled in; None for nbgrader."""
    if options.format == "nbgrader":
        return None
    name = options.column
    columns = [export.column(lesson, rows) for lesson, rows in everyone.items()]
    if options.gradebook:
        template = sheet.read(options.gradebook)
        if options.format == "canvas":
            return gradesheet.into_canvas(template, columns, name)
        return gradesheet.into_moodle(template, columns[0], name)
    columns = [replace(column, name=name or column.name) for column in columns]
    about = {row.owner.student: row.owner for rows in everyone.values() for row in rows}
    if options.format == "canvas":
        return gradesheet.canvas(columns, about)
    return gradesheet.moodle(columns[0], about)


def _tell(everyone: Mapping[str, Sequence[Graded]]) -> None:
    """Print the states of the submissions, and the students without points."""
    for lesson, rows in everyone.items():
        results = [row.result for row in rows]
        counts = Counter(result.state for result in results)
        listed = ", ".join(f"{count} {state}" for state, count in counts.items())
        say(f"{lesson}: {listed or 'no students'}")
        for result in results:
            if result.points is None:
                why = f"{result.state}: {result.note}" if result.note else result.state
                say(f"{result.student} has no row for {lesson}: {why}")


def _tell_filled(options: argparse.Namespace, filled: Filled, called: Mapping[str, str]) -> None:
    """Print what to know before uploading the file."""
    for note in filled.notes:
        say(note)
    whose = options.format.capitalize()
    if options.gradebook:
        missing = f"has points, but no row in {options.gradebook}"
    else:
        missing = "has no e-mail address or ID number here: pass Moodle's worksheet as --gradebook"
    for student in filled.unmatched:
        say(f"{called[student]} {missing}")
    if not options.gradebook and options.format == "canvas":
        say(f"{whose} creates an assignment for each column: to fill one, add --gradebook")
