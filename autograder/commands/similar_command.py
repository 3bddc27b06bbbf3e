"""The `similar` command: list pairs of submissions that share what is rare in the class."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from autograder import paths
from autograder.authoring.answer_bank import read_answers
from autograder.authoring.lesson import find_lessons, read_lesson
from autograder.commands.class_options import add_classroom, open_class, positive
from autograder.commands.terminal import add_lessons, as_table, console, progress, say
from autograder.gradebook.classroom import Classroom
from autograder.intake.reading import Unreadable
from autograder.intake.repair import repair
from autograder.similarity.compare import Cohort, Pair, Rarity
from autograder.similarity.page import index_page, pair_page
from autograder.similarity.parts import Baseline, Part, fingerprints, parts

FOLDER = "similar"  # in the classroom
MAX_ROWS = 20  # of the table in the terminal

DETAILS = """\
    Compares submissions exercise by exercise, ignoring names, layout, comments and the order
    of statements; also compares written answers and comments. The lesson, its solution, the
    right answers of autograder/answers/NN_name.py and whatever is common in the class do not
    count; the rarer a shared fragment, the more it counts.
    Writes pages for each lesson, which need no network:
      CLASSROOM/similar/NN_name/index.html      the pairs, most similar first
      CLASSROOM/similar/NN_name/pair-001.html   both side by side, and why they are listed
    This is evidence for a conversation, not a verdict: students who learn together write
    similar code. The pages name students: keep them where you keep grades."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    add_classroom(added)
    added.add_argument(
        "--to", type=Path, metavar="FOLDER", help="where to write (default CLASSROOM/similar)"
    )
    added.add_argument(
        "--at-least",
        type=_share,
        default=0.8,
        metavar="SHARE",
        help="share of an exercise's rare fragments that both must have (default 0.8, at most 1)",
    )
    added.add_argument(
        "--top",
        type=positive,
        default=100,
        metavar="N",
        help="write pages for the N most similar pairs (default 100)",
    )


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a share greater than 0 and at most 1")
    return share


def run(options: argparse.Namespace) -> int:
    """Compare the submissions of each lesson."""
    classroom, lessons = open_class(options)
    for lesson in lessons:
        _compare_lesson(classroom, lesson, options)
    return 0


def _compare_lesson(classroom: Classroom, lesson: str, options: argparse.Namespace) -> None:
    read = _Reading(classroom, lesson, options.course)
    everyone = Cohort()
    for student, found in read.all():
        everyone.add(student, fingerprints(found, read.baseline))
    pairs = everyone.pairs(options.at_least)
    shown = pairs[: options.top]
    folder = (options.to or options.classroom / FOLDER) / lesson
    _write_pages(folder, read, everyone, pairs, shown)
    for student, why in read.left_out.items():
        say(f"{student}: not compared: {why}")
    _print_pairs(lesson, everyone, pairs)
    say(f"wrote {paths.display_path(folder / 'index.html')}")


class _Reading:
    """Read a lesson's submissions one at a time, so that a class need not fit into memory."""

    def __init__(self, classroom: Classroom, lesson: str, course: paths.Course) -> None:
        (path,) = find_lessons([lesson], course)
        source = read_lesson(path)
        answers = read_answers(source.bank, source) if source.bank.exists() else []
        self.lesson = lesson
        self.baseline = Baseline.of(source, answers)
        self.left_out: dict[str, str] = {}
        self._classroom = classroom

    def all(self) -> Iterator[tuple[str, Mapping[str, Part]]]:
        """Yield each student's parts; collect those that cannot be read in `left_out`."""
        students = sorted(self._classroom.submitted(self.lesson))
        with progress() as bar:
            for student in bar.track(students, description=self.lesson):
                if stuck := self._classroom.submission(self.lesson, student).obstacle:
                    self.left_out[student] = f"{stuck[0]}: {stuck[1]}"
                    continue
                try:
                    yield student, self.one(student)
                except (Unreadable, OSError) as why:
                    self.left_out[student] = str(why)

    def one(self, student: str) -> Mapping[str, Part]:
        """The parts of a submission; raises `Unreadable`."""
        submission = self._classroom.submission(self.lesson, student)
        repaired = repair(submission.take().notebook, submission.released)
        return parts(repaired.notebook, self.baseline)


def _write_pages(
    folder: Path, read: _Reading, everyone: Cohort, pairs: list[Pair], shown: list[Pair]
) -> None:
    """Write all pages, and delete those of an earlier run."""
    rarity: Rarity = everyone.rarity
    named = [(f"pair-{number:03}.html", pair) for number, pair in enumerate(shown, 1)]
    for name, pair in named:
        one, other = (read.one(student) for student in pair.students)
        page = pair_page(read.lesson, pair, (one, other), read.baseline, rarity)
        paths.write(folder / name, page)
    hidden = len(pairs) - len(shown)
    compared = len(everyone.students)
    page = index_page(read.lesson, named, compared, hidden, read.left_out)
    paths.write(folder / "index.html", page)
    for old in folder.glob("pair-*.html"):
        if old.name not in dict(named):
            old.unlink()


def _print_pairs(lesson: str, everyone: Cohort, pairs: list[Pair]) -> None:
    count = f"{len(pairs) or 'no'} similar pair{'' if len(pairs) == 1 else 's'}"
    say(f"{lesson}: {len(everyone.students)} submissions compared, {count}")
    rows = [
        (
            " and ".join(pair.students),
            ", ".join(f"{part} {found.likeness:.0%}" for part, found in pair.parts.items()),
            f"{pair.weight:.0f}",
        )
        for pair in pairs[:MAX_ROWS]
    ]
    if rows:
        console.print(as_table(lesson, ("pair", "alike in", "rare runs shared"), rows))
        say("this is a reason to read both and talk with both, not a verdict: see the pages")
