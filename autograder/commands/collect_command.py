"""The `collect` command: sort an LMS's download into submissions for grading."""

import argparse
import contextlib
from collections import Counter
from pathlib import Path

from rich.table import Table

from autograder.commands.class_options import add_classroom, alone, open_class, typed
from autograder.commands.terminal import console, progress, say
from autograder.exporting import gradesheet, sheet
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.collect import Collected, collect, read_known
from autograder.gradebook.late import zone
from autograder.intake.archive import Contents, Rejected, opened
from autograder.intake.handins import sort
from autograder.intake.naming import Owner

SAME = 20  # lines with the same note: a student can hand in thousands of odd files
BRIEF = "sort downloaded submissions into the classroom"
DETAILS = """\
    Each student's newest notebook goes to
      CLASSROOM/submitted/STUDENT/NN_name/NN_name.ipynb
    together with other files handed in, and timestamp.txt if the time is known. STUDENT is
      canvas      the user's number, as in Canvas's gradebook (Submissions > Download)
      moodle      the full name (Download all submissions), with the number if two share it
      gradescope  the e-mail address (Export Submissions, with its submission_metadata.yml)
      nbgrader    the folder's name, in nbgrader's `submitted`, or a zip of it: STUDENT/NN_name/...
      folder      the name of the folder or of the file: STUDENT/...ipynb or STUDENT.ipynb
    These names are read at the top of a download, or in the single folder that Gradescope and
    nbgrader put around everything; names further down are chosen by students and ignored. So pass
    only downloads and folders of your own: put a zip that a student sent you into a folder as
    STUDENT.zip, and pass that folder. Files that could belong to two students are refused.

    Only Gradescope's downloads contain submission times, and only Canvas's say who was late. A
    timestamp.txt is trusted only in nbgrader's `submitted` (or with --from nbgrader): elsewhere a
    student could have written it. Moodle's grading worksheet, given as --gradebook, supplies times;
    it, or Canvas's exported gradebook, also supplies the students' names.

    You can collect repeatedly: a newer submission replaces the previous one, which is kept in
    CLASSROOM/replaced, and must be graded again. An equal or older one changes nothing. Files that
    cannot be collected are listed with the reason, and the others are collected."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    added.add_argument("lesson", metavar="LESSON", help="01 or a name")
    added.add_argument(
        "downloads", nargs="+", type=Path, metavar="FILE_OR_FOLDER", help="a zip, a folder, a file"
    )
    added.add_argument(
        "--from",
        dest="scheme",
        default="",
        choices=("canvas", "moodle", "gradescope", "nbgrader", "folder"),
        help="naming scheme of the files (default: detected)",
    )
    added.add_argument(
        "--gradebook", type=Path, metavar="FILE", help="the file exported from Canvas or Moodle"
    )
    added.add_argument(
        "--timezone",
        default="",
        metavar="ZONE",
        help="zone of the times in Moodle's file, such as Europe/Paris (default: this computer's)",
    )
    add_classroom(added)


@alone
def run(options: argparse.Namespace) -> int:
    """Collect the downloads; 1 if nothing was collected or a download is broken."""
    options.lessons = [options.lesson]
    classroom, (lesson,) = open_class(options)
    done, broken = _collected(classroom, lesson, options)
    if done or not broken:
        _print(lesson, done)
    counts: Counter[str] = Counter(each.outcome for each in done)
    if counts["collected"] or counts["replaced"]:
        say(f"grade them: `{typed('grade', lesson, options)}`")
    nothing = not done or counts["refused"] == len(done)
    return 1 if broken or nothing else 0


def _collected(
    classroom: Classroom, lesson: str, options: argparse.Namespace
) -> tuple[list[Collected], bool]:
    """Collect everything; return the outcomes, and whether a download could not be read."""
    roster, there = _roster(options), classroom.students(lesson)
    known = read_known(classroom, lesson)
    downloads: list[Contents] = []
    broken: list[str] = []
    with contextlib.ExitStack() as stack:
        for path in options.downloads:
            try:
                downloads.append(stack.enter_context(opened(path)))
            except Rejected as why:
                broken.append(str(why))
        found = sort(downloads, lesson, options.scheme, known, roster, there)
        broken += found.broken
        for line in (*broken, *found.notes):
            say(line)
        done = []
        with progress() as bar:
            line = bar.add_task(lesson, total=len(found.students) + len(found.refused))
            for each in collect(classroom, lesson, found):
                done.append(each)
                bar.update(line, advance=1)
    return done, bool(broken)


def _roster(options: argparse.Namespace) -> dict[str, Owner]:
    if not options.gradebook:
        return {}
    return gradesheet.roster(sheet.read(options.gradebook), zone(options.timezone))


def _print(lesson: str, done: list[Collected]) -> None:
    """Print notes, late submissions without a time, and the counts."""
    repeated: Counter[tuple[str, ...]] = Counter()
    for each in done:
        repeated[each.notes] += 1
        if each.notes and repeated[each.notes] <= SAME:
            say(f"{each.called}: {each.outcome}: {'; '.join(each.notes)}")
    for notes, number in repeated.items():
        if notes and number > SAME:
            say(f"and {number - SAME:,} more: {'; '.join(notes)}")
    untimed = [each.called for each in done if each.late and each.time is None]
    if untimed:
        policy = "no penalty here, but Canvas's own late policy can apply one"
        say(f"late according to Canvas, by an unknown time ({policy}): {', '.join(untimed)}")
    counts: Counter[str] = Counter(each.outcome for each in done)
    table = Table("collected", "replaced", "unchanged", "late", "refused", title=lesson)
    late = sum(each.late for each in done)
    numbers = [counts[outcome] for outcome in ("collected", "replaced", "unchanged", "refused")]
    table.add_row(*(str(number) for number in (*numbers[:3], late, numbers[3])))
    console.print(table)
