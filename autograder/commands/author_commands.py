"""The author's commands: new, build and prove."""

import argparse
from pathlib import Path

from rich.text import Text

from autograder import paths
from autograder.authoring.answer_bank import AnswerBank, nearest, read_answers
from autograder.authoring.lesson import find_lessons, read_lesson
from autograder.commands.terminal import (
    Commands,
    as_table,
    command,
    console,
    declare,
    progress,
    say,
)
from autograder.errors import CourseError


def add_commands(commands: Commands) -> None:
    """Declare them."""
    _add_new(commands)
    _add_build(commands)
    _add_prove(commands)


def _add_new(commands: Commands) -> None:
    details = """\
        Writes a small lesson that is complete, to be rewritten part by part:
          solutions/NN_NAME.py            title, picture, exercise, check, written answer
          autograder/answers/NN_NAME.py   a wrong and a right answer to the exercise
        NN_NAME is then a LESSON to every other command, and builds and proves at once."""
    added = declare(commands, "new", "begin a lesson", _new, details)
    added.add_argument("number", metavar="NN", help="the lesson's number, two digits: 09")
    added.add_argument("name", metavar="NAME", help="the lesson's name: layer_norm")
    added.add_argument("--title", default="", help="its title; without it, the name in words")


def _new(options: argparse.Namespace) -> int:
    from autograder.authoring.new import new_lesson

    for file in new_lesson(options.course, options.number, options.name, options.title):
        say(f"wrote {paths.display_path(file)}")
    lesson = options.number
    say(f"next: `python -m autograder build {lesson}` and `python -m autograder prove {lesson}`")
    return 0


def _add_build(commands: Commands) -> None:
    details = """\
        solutions/NN_name.py is read, and from it are made
          notebooks/NN_name.ipynb   the student's version
          solutions/NN_name.ipynb   the solved lesson, executed
          the kit's misconceptions  from autograder/answers/NN_name.py
        and, where no LESSON is named, from the kit's docstrings
          autograder/CHECKS.md      what a check may call
        Only what is out of date is made again; files that do not change are not touched."""
    added = command(commands, "build", "make the notebooks of lessons", _build, details)
    added.add_argument(
        "--no-execute", action="store_true", help="only the student's notebook: under two seconds"
    )


def _build(options: argparse.Namespace) -> int:
    from autograder.authoring.build import BuildFailed, build

    for path in find_lessons(options.lessons, options.course):
        with console.status(path.stem) as status:
            try:
                changed = build(
                    path,
                    execute=not options.no_execute,
                    told=lambda step, name=path.stem: status.update(f"{name}: {step}"),
                )
            except BuildFailed as failure:
                say(f"{path.stem}: the solution does not run")
                console.print(Text.from_ansi(str(failure)), soft_wrap=True)
                return 1
        for file in changed:
            say(f"wrote {paths.display_path(file)}")
        if not changed:
            say(f"{path.stem} is up to date")
    if not options.lessons:
        from autograder.authoring import glossary, reference

        for made in (reference, glossary):
            if paths.write(made.PATH, made.page()):
                say(f"wrote {paths.display_path(made.PATH)}")
    return 0


def _add_prove(commands: Commands) -> None:
    details = """\
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
    added = command(commands, "prove", "prove checks against the answers bank", _prove, details)
    added.add_argument("--answers", type=Path, metavar="DIR", help="another bank's folder")
    added.add_argument("-v", "--verbose", action="store_true", help="list every wrong answer")
    show = "print this answer, whole, and prove nothing; `solution` is the lesson's own"
    added.add_argument("--show", nargs=2, metavar=("EXERCISE", "NAME"), help=show)


def _prove(options: argparse.Namespace) -> int:
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


def _prove_lesson(path: Path, banks: Path, options: argparse.Namespace) -> int:
    """Prove one lesson, print what was found, and return how many answers it judged unjustly."""
    # these import torch, which other commands need not wait for
    from autograder.authoring import proofs, report
    from autograder.authoring.prove import BankRunner

    lesson = read_lesson(path)
    if not (banks / path.name).exists():
        say(f"{path.stem}: no answers at {paths.display_path(banks / path.name)}")
        return 1
    bank = read_answers(banks / path.name, lesson)
    names = [cell.name for cell in lesson.of("exercise")]
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
    if not options.answers:
        kept = lesson.course.reports / f"{path.stem}.md"
        paths.write(kept, report.page(path.stem, from_bank))
        say(f"the whole report: {paths.display_path(kept)}")
        if not misses:
            proofs.keep(proofs.BANK, lesson, proofs.digest_of_bank(lesson))
    say(f"{path.stem}: {len(verdicts)} answers, {len(misses)} judged unjustly")
    solutions = verdicts[len(names) : len(ends)]
    apart = sum(len(lesson.checks_of(v.answer.exercise)) for v in solutions if v.just)
    needy = len(lesson.of("check")) - apart
    say(f"{path.stem}: {apart} checks work apart from the student's process, {needy} do not")
    return len(misses)
