"""The command `similar`: pairs of submissions that are alike where hardly anyone else is."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from autograder import paths
from autograder.commands.class_options import add_classroom, open_class, positive
from autograder.commands.terminal import Commands, as_table, command, console, progress, say

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI

    from autograder.similarity.compare import Cohort, Pair, Rarity
    from autograder.similarity.parts import Part

FOLDER = "similar"  # in the classroom
SHOWN = 20  # pairs that the terminal shows; all of them have a page


def add_command(commands: Commands) -> None:
    """Declare it."""
    details = """\
        Compares what students handed in, exercise by exercise, once names, layout, comments and
        the order of statements are set aside; written answers and comments too. What the lesson
        gives, its solution, the right answers of autograder/answers/NN_name.py, and whatever many
        of the class wrote count for nothing; what hardly anyone else wrote counts most.
        For each lesson are made, to be read in a browser, without any network:
          CLASSROOM/similar/NN_name/index.html      the pairs, the most telling first
          CLASSROOM/similar/NN_name/pair-001.html   both side by side, and why they are listed
        It is evidence for a conversation, and no verdict: who learned together writes alike. The
        pages name students: keep them where you keep grades."""
    brief = "list submissions that are alike where hardly anyone else is"
    added = command(commands, "similar", brief, _similar, details)
    add_classroom(added)
    added.add_argument(
        "--to", type=Path, metavar="FOLDER", help="where to (default CLASSROOM/similar)"
    )
    added.add_argument(
        "--at-least",
        type=_share,
        default=0.8,
        metavar="SHARE",
        help="how much of what is rare in an exercise both must have (default 0.8, at most 1)",
    )
    added.add_argument(
        "--top",
        type=positive,
        default=100,
        metavar="N",
        help="pages of the N most telling pairs (default 100)",
    )


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a share such as 0.8, at most 1")
    return share


def _similar(options: argparse.Namespace) -> int:
    api, lessons = open_class(options)
    for lesson in lessons:
        _compare_lesson(api, lesson, options)
    return 0


def _compare_lesson(api: "NbGraderAPI", lesson: str, options: argparse.Namespace) -> None:
    from autograder.similarity.compare import Cohort
    from autograder.similarity.parts import prints

    read = _Reading(api, lesson)
    everyone = Cohort()
    for student, parts in read.all():
        everyone.add(student, prints(parts, read.baseline))
    pairs = everyone.pairs(options.at_least)
    shown = pairs[: options.top]
    folder = (options.to or options.classroom / FOLDER) / lesson
    _write_pages(folder, read, everyone, pairs, shown)
    for student, why in read.left_out.items():
        say(f"{student}: not compared: {why}")
    _print_pairs(lesson, everyone, pairs)
    say(f"wrote {paths.display_path(folder / 'index.html')}")


class _Reading:
    """A lesson's submissions, read one at a time: a class need not fit into memory."""

    def __init__(self, api: "NbGraderAPI", lesson: str) -> None:
        from autograder.authoring.answer_bank import read_answers
        from autograder.authoring.lesson import read_lesson
        from autograder.intake.released import released
        from autograder.similarity.parts import Baseline

        source = read_lesson(paths.SOLUTIONS / f"{lesson}.py")
        bank = paths.ANSWERS / source.path.name
        answers = read_answers(bank, source) if bank.exists() else []
        self.lesson = lesson
        self.baseline = Baseline.of(source, answers)
        self.left_out: dict[str, str] = {}
        self._api, self._released = api, released(api, lesson)

    def all(self) -> "Iterator[tuple[str, Mapping[str, Part]]]":
        """Everyone's parts; who cannot be read is `left_out`."""
        from autograder.gradebook.status import obstacle, submitted
        from autograder.intake.reading import Unreadable

        students = sorted(submitted(self._api, self.lesson))
        with progress() as bar:
            for student in bar.track(students, description=self.lesson):
                if stuck := obstacle(self._api, self.lesson, student):
                    self.left_out[student] = f"{stuck[0]}: {stuck[1]}"
                    continue
                try:
                    yield student, self.one(student)
                except (Unreadable, OSError) as why:
                    self.left_out[student] = str(why)

    def one(self, student: str) -> "Mapping[str, Part]":
        """One submission's parts; `Unreadable` if it has none."""
        from autograder.gradebook.status import handed_in
        from autograder.intake.repair import repair
        from autograder.similarity.parts import parts

        task = handed_in(self._api, self._released, student)
        return parts(repair(task.notebook, self._released).notebook, self.baseline)


def _write_pages(
    folder: Path, read: _Reading, everyone: "Cohort", pairs: "list[Pair]", shown: "list[Pair]"
) -> None:
    """All pages, and none of an earlier run."""
    from autograder.similarity.page import index_page, pair_page

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


def _print_pairs(lesson: str, everyone: "Cohort", pairs: "list[Pair]") -> None:
    counted = "no pair is" if not pairs else f"{len(pairs)} pair{'s are' if pairs[1:] else ' is'}"
    say(f"{lesson}: {len(everyone.students)} compared; {counted} alike where hardly anyone else is")
    rows = [
        (
            escape(" and ".join(pair.students)),
            ", ".join(f"{part} {alike.likeness:.0%}" for part, alike in pair.parts.items()),
            f"{pair.weight:.0f}",
        )
        for pair in pairs[:SHOWN]
    ]
    if rows:
        console.print(as_table(lesson, ("pair", "alike in", "rare runs shared"), rows))
        say("a reason to read both and talk with both, and no verdict: the pages say why")
