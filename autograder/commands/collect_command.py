"""The command `collect`: from an LMS's download to submissions that can be graded."""

import argparse
import contextlib
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from autograder.commands.class_options import add_classroom, alone, open_class, typed
from autograder.commands.terminal import Commands, console, progress, say

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI

    from autograder.gradebook.collect import Collected
    from autograder.intake.archive import Contents
    from autograder.intake.naming import Owner

SAME = 20  # lines that say the same: a student can hand in thousands of odd files
BRIEF = "put in place what students handed in"
DETAILS = """\
    Each student's newest notebook goes to
      CLASSROOM/submitted/STUDENT/NN_name/NN_name.ipynb
    with what else was handed in beside it, and timestamp.txt where the time is known. STUDENT is
      canvas      the user's number, as in Canvas's gradebook (Submissions > Download)
      moodle      the full name (Download all submissions); of two of one name, with the number
      gradescope  the e-mail address (Export Submissions, with its submission_metadata.yml)
      nbgrader    the folder's name, in nbgrader's `submitted`, or a zip of it: STUDENT/NN_name/...
      folder      the name of the folder or of the file: STUDENT/...ipynb or STUDENT.ipynb
    These names count at the top of a download, or in the one folder that Gradescope or nbgrader
    puts around everything; what lies deeper is the student's, whatever it is called. So name
    downloads and folders of your own here: put a zip that a student sent you into a folder, as
    STUDENT.zip, and name that folder. Files that could be two students' are refused.

    Only Gradescope's downloads tell when something was handed in, and Canvas's who was late. From
    nbgrader's `submitted` (or with --from nbgrader), and nowhere else, each student's timestamp.txt
    is believed: anywhere else a student could have written it. Moodle's grading worksheet, given
    as --gradebook, tells the times; so it, or Canvas's exported gradebook, tells the students'
    names.

    Collect as often as you like: what is newer takes the place of what is there, and is to be
    graded again; what was there is kept in CLASSROOM/replaced. The same, or older, changes
    nothing. What cannot be taken is named, with the reason, and the rest goes on."""


def add_command(commands: Commands) -> None:
    """Declare it."""
    added = commands.add_parser(
        "collect",
        help=BRIEF,
        description=f"{BRIEF[0].upper()}{BRIEF[1:]}.\n\n{textwrap.dedent(DETAILS)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added.add_argument("lesson", metavar="LESSON", help="01 or a name")
    added.add_argument(
        "downloads", nargs="+", type=Path, metavar="FILE_OR_FOLDER", help="a zip, a folder, a file"
    )
    added.add_argument(
        "--from",
        dest="scheme",
        default="",
        choices=("canvas", "moodle", "gradescope", "nbgrader", "folder"),
        help="by whose scheme the files are named (default: guessed)",
    )
    added.add_argument(
        "--gradebook", type=Path, metavar="FILE", help="the list that Canvas or Moodle exported"
    )
    added.add_argument(
        "--timezone",
        default="",
        metavar="ZONE",
        help="of the times in Moodle's list, such as Europe/Paris (default: this computer's)",
    )
    add_classroom(added)
    added.set_defaults(run=_collect)


@alone
def _collect(options: argparse.Namespace) -> int:
    from autograder.exporting.sheet import Unfit
    from autograder.gradebook.grading import Refused
    from autograder.intake.archive import Rejected

    options.lessons = [options.lesson]
    api, (lesson,) = open_class(options)
    try:
        done, broken = _collected(api, lesson, options)
    except (Rejected, Unfit) as why:
        raise Refused(str(why)) from None
    if done or not broken:
        _print(lesson, done)
    counts: Counter[str] = Counter(each.outcome for each in done)
    if counts["collected"] or counts["replaced"]:
        say(f"grade them: `{typed('grade', lesson, options)}`")
    nothing = not done or counts["refused"] == len(done)
    return 1 if broken or nothing else 0


def _collected(
    api: "NbGraderAPI", lesson: str, options: argparse.Namespace
) -> "tuple[list[Collected], bool]":
    """What became of everything; and whether a whole download cannot be read."""
    from autograder.gradebook.collect import collect, read_known
    from autograder.gradebook.status import students
    from autograder.intake.archive import Rejected, opened
    from autograder.intake.handins import sort

    roster, there = _roster(options), students(api, lesson)
    downloads: list[Contents] = []
    broken: list[str] = []
    with contextlib.ExitStack() as stack:
        for path in options.downloads:
            try:
                downloads.append(stack.enter_context(opened(path)))
            except Rejected as why:
                broken.append(str(why))
        found = sort(downloads, lesson, options.scheme, read_known(api, lesson), roster, there)
        broken += found.broken
        for line in (*broken, *found.notes):
            say(line)
        done = []
        with progress() as bar:
            line = bar.add_task(lesson, total=len(found.students) + len(found.refused))
            for each in collect(api, lesson, found):
                done.append(each)
                bar.update(line, advance=1)
    return done, bool(broken)


def _roster(options: argparse.Namespace) -> "dict[str, Owner]":
    from autograder.exporting import gradesheet, sheet
    from autograder.gradebook.late import zone

    if not options.gradebook:
        return {}
    return gradesheet.roster(sheet.read(options.gradebook), zone(options.timezone))


def _print(lesson: str, done: "list[Collected]") -> None:
    """What a person should know of each, and the counts."""
    told: Counter[tuple[str, ...]] = Counter()
    for each in done:
        told[each.notes] += 1
        if each.notes and told[each.notes] <= SAME:
            say(f"{each.called}: {each.outcome}: {'; '.join(each.notes)}")
    for notes, number in told.items():
        if notes and number > SAME:
            say(f"and {number - SAME:,} more: {'; '.join(notes)}")
    untimed = [each.called for each in done if each.late and each.time is None]
    if untimed:
        charged = "it costs nothing here, Canvas's own late policy can charge it"
        say(f"late, says Canvas, but not by how much ({charged}): {', '.join(untimed)}")
    counts: Counter[str] = Counter(each.outcome for each in done)
    table = Table("collected", "replaced", "unchanged", "late", "refused", title=lesson)
    late = sum(each.late for each in done)
    numbers = [counts[outcome] for outcome in ("collected", "replaced", "unchanged", "refused")]
    table.add_row(*(str(number) for number in (*numbers[:3], late, numbers[3])))
    console.print(table)
