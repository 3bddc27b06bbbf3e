"""The `prove` command: prove checks against the answer bank."""

import argparse
from pathlib import Path

from rich.text import Text

from autograder import paths
from autograder.authoring import proofs, report
from autograder.authoring.answer_bank import AnswerBank, nearest, read_answers
from autograder.authoring.lesson import Lesson, find_lessons, read_lesson
from autograder.commands.terminal import add_lessons, as_table, console, progress, say
from autograder.errors import CourseError

DETAILS = """\
    Each answer of autograder/answers/NN_name.py takes the place of its exercise's solution:
    wrong ones must lose points, right ones must keep them all, the stub must earn nothing
    and the solution everything. The table counts, for each exercise,
      wrong rejected   wrong answers that lose points
      seen             ... that already the student's own check catches
      named            ... to which it says what a teacher would say
      right accepted   right answers that keep every point
      spill            points lost in other exercises, on average, by one wrong answer
    Exit code 1 if any answer is judged unjustly; that none is, reports/proofs.json keeps,
    and `make test` does not repeat."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    added.add_argument("--answers", type=Path, metavar="DIR", help="another bank's folder")
    added.add_argument("-v", "--verbose", action="store_true", help="list every wrong answer")
    only = "prove this exercise's answers alone; may be repeated"
    added.add_argument("--only", action="append", default=[], metavar="EXERCISE", help=only)
    show = "print this answer, whole, and prove nothing; `solution` is the lesson's own"
    added.add_argument("--show", nargs=2, metavar=("EXERCISE", "NAME"), help=show)


def run(options: argparse.Namespace) -> int:
    """Prove the lessons; 1 if an answer was judged unjustly."""
    banks = options.answers or options.course.answers
    if options.show:
        return _show(options, banks)
    lessons = find_lessons(options.lessons, options.course)
    missed = sum(_prove_lesson(path, banks, options) for path in lessons)
    return 1 if missed else 0


def _show(options: argparse.Namespace, banks: Path) -> int:
    """Print one answer as a student would have written it."""
    exercise, name = options.show
    lessons = [read_lesson(path) for path in find_lessons(options.lessons, options.course)]
    exercises = [cell.name for lesson in lessons for cell in lesson.of("exercise")]
    if exercise not in exercises:
        raise CourseError(f"no exercise {exercise!r}; there is {nearest(exercise, exercises)}")
    lesson = next(one for one in lessons if exercise in [c.name for c in one.of("exercise")])
    bank = AnswerBank(banks / lesson.path.name, lesson)
    names = bank.names(exercise)
    if name not in names:
        raise CourseError(f"no answer {name!r} to {exercise}; there is {nearest(name, names)}")
    console.print(Text(bank.source(exercise, name)), soft_wrap=True)
    return 0


def _chosen(lesson: Lesson, only: list[str]) -> list[str]:
    """The exercises to prove: those asked for, or all."""
    names = [cell.name for cell in lesson.of("exercise")]
    for name in only:
        if name not in names:
            raise CourseError(f"no exercise {name!r}; there is {nearest(name, names)}")
    return only or names


def _prove_lesson(path: Path, banks: Path, options: argparse.Namespace) -> int:
    """Prove one lesson, print what was found, and return how many answers it judged unjustly."""
    # these import torch, which other commands need not wait for
    from autograder.authoring.prove import BankRunner

    lesson = read_lesson(path)
    if not (banks / path.name).exists():
        say(f"{path.stem}: no answers at {paths.display_path(banks / path.name)}")
        return 1
    bank = read_answers(banks / path.name, lesson)
    names = _chosen(lesson, options.only)
    bank = [answer for answer in bank if answer.exercise in names]
    with BankRunner(lesson) as bench, progress() as bar:
        ends = [*map(bench.stub, names), *map(bench.solution, names)]
        judged = bench.each(bench.judge, [*ends, *bank])
        verdicts = list(bar.track(judged, total=len(ends) + len(bank), description=path.stem))
    from_bank = verdicts[len(ends) :]
    console.print(as_table(path.stem, *report.summary(from_bank)))
    if options.verbose:
        console.print(as_table("wrong answers", *report.details(from_bank)))
    misses = report.misses(verdicts)
    for miss in misses:
        console.print(Text(miss, style="red"), soft_wrap=True)
    if not options.answers and not options.only:
        kept = lesson.course.reports / f"{path.stem}.md"
        paths.write(kept, report.page(path.stem, from_bank))
        say(f"the whole report: {paths.display_path(kept)}")
        if not misses:
            proofs.keep(proofs.BANK, lesson, proofs.digest_of_bank(lesson))
    say(f"{path.stem}: {len(verdicts)} answers, {len(misses)} judged unjustly")
    solutions = verdicts[len(names) : len(ends)]
    apart = sum(len(lesson.checks_of(v.answer.exercise)) for v in solutions if v.just)
    needy = sum(len(lesson.checks_of(name)) for name in names) - apart
    say(f"{path.stem}: {apart} checks work apart from the student's process, {needy} do not")
    return len(misses)
