"""The `grade` command: run submissions, record points, and print a table and a report."""

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

from autograder import paths
from autograder.commands.class_options import (
    add_classroom,
    add_students,
    alone,
    chosen_students,
    gibibytes,
    open_class,
    positive,
    say_penalties,
)
from autograder.commands.grade_preview import preview_lesson
from autograder.commands.terminal import add_lessons, console, counted, followed, interruptible, say
from autograder.execution import sandbox
from autograder.execution.executor import GraderError, Limits
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.grade import ExecutionConfig, grade
from autograder.gradebook.late import lateness
from autograder.gradebook.recorder import penalize
from autograder.gradebook.result import State
from autograder.gradebook.status import Result, results

REPORTS = "grade_reports"  # in the classroom
INTERRUPTED = 130  # exit code, as in shells
SHORT = 60  # rows; a longer table is limited to students with a note

DETAILS = """\
    Runs every submission that is new, was handed in again or was graded by other tests, and
    records the result in the gradebook. A submission is expected at
      CLASSROOM/submitted/STUDENT/NN_name/NN_name.ipynb
    or in that folder under another name, in a subfolder or a zip; of several notebooks, the
    newest of this lesson counts. Changes and losses by the tool that saved it are repaired.
    Code runs in a sandbox, isolated from the tests. After an interruption, even a power
    failure, run the same command to continue. The table shows for each student
      graded          all points are decided
      worth a look    graded, but a person should look at it: for instance, a package that is
                      not installed here cost points; the line below gives the reason
      needs marking   a written answer must be marked in nbgrader's formgrader
                      (`jupyter lab` in CLASSROOM, menu Nbgrader)
      timed-out       a cell was stopped by the time limit; other points count
      memory          a cell exceeded the memory limit; other points count
      crashed         a cell terminated Python; points earned before count
      unreadable      the file cannot be read; the line below gives the reason
      missing         no notebook was handed in
      not graded yet  handed in since, or left over when grading was interrupted
      failed          the grader itself failed; the line below gives the reason
    After a test was fixed and the lesson released again, `--preview` shows whose grade would
    change, and in which check; recording then runs nothing again. Manual marks, comments and
    bonuses are kept, and a marked answer needs marking again only if it changed.
    The results are also written to CLASSROOM/grade_reports/NN_name.json. On a Dask cluster,
    each worker needs this checkout, its packages and the sandbox.
    Exit code 0: graded, whatever the students did. 1: nothing could be done, or the grader
    itself failed. 130: interrupted."""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    add_lessons(added)
    add_classroom(added)
    add_students(added)
    which = added.add_mutually_exclusive_group()
    which.add_argument("--again", action="store_true", help="also grade what is graded already")
    which.add_argument(
        "--preview",
        action="store_true",
        help="show whose grade would change, but record nothing",
    )
    added.add_argument(
        "--jobs",
        type=positive,
        default=os.cpu_count(),
        metavar="N",
        help="number of submissions to run in parallel (default: one per core)",
    )
    added.add_argument(
        "--scheduler", default="", metavar="ADDR", help="a Dask cluster, such as tls://HOST:8786"
    )
    added.add_argument(
        "--timeout",
        type=positive,
        default=60,
        metavar="SECONDS",
        help="CPU time limit of a cell (default 60); five times as much wall-clock time",
    )
    added.add_argument(
        "--memory",
        type=gibibytes,
        default=2.0,
        metavar="GIB",
        help="memory limit of a submission (default 2)",
    )
    added.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code with your own rights: only for notebooks you trust",
    )


@alone
def run(options: argparse.Namespace) -> int:
    """Grade the lessons; 1 if the grader failed, 130 after Ctrl-C."""
    if options.no_sandbox:
        say("NO SANDBOX: students' code can do here whatever you can do", style="bold red")
    elif not options.scheduler and (weakness := sandbox.weakness()):
        say(weakness, style="bold yellow")
    limits = Limits(timeout=options.timeout, memory=round(options.memory * (1 << 30)))
    how = ExecutionConfig(limits, options.jobs, options.scheduler, not options.no_sandbox)
    classroom, lessons = open_class(options)
    failed = 0
    try:
        with interruptible() as stopping:
            for lesson in lessons:
                work = preview_lesson if options.preview else _grade_lesson
                results = work(classroom, lesson, how, options, stopping)
                failed += sum(result.state == State.FAILED for result in results)
    except KeyboardInterrupt:
        same = "the same command without `--again`" if options.again else "the same command"
        done = "previewed" if options.preview else "graded and recorded"
        say(f"interrupted: what finished is {done}; run {same} to continue")
        return INTERRUPTED
    return 1 if failed else 0


def _grade_lesson(
    classroom: Classroom,
    lesson: str,
    how: ExecutionConfig,
    options: argparse.Namespace,
    stopping: Callable[[], bool],
) -> list[Result]:
    """Grade the submissions of a lesson; return the results. `KeyboardInterrupt` if stopped."""
    everyone = {each.student: each for each in classroom.submissions(lesson)}
    chosen = [everyone[student] for student in chosen_students([*everyone], options)]
    if options.again:
        for each in chosen:
            each.forget()
    todo = [each for each in chosen if not each.obstacle and not each.is_recorded]
    pointless: dict[str, tuple[State, str]] = {}
    graded = 0
    broken: GraderError | None = None
    executed = grade(classroom, lesson, todo, how, stopping)
    try:
        for finished in followed(lesson, len(todo), executed):
            if not finished.key or finished.state == State.UNREADABLE:
                pointless[finished.student] = State(finished.state), finished.note
            else:
                graded += 1
    except GraderError as error:  # show what is recorded first
        broken = error
    say_penalties(lesson, penalize(classroom, lesson))
    found = results(classroom, lesson, chosen, pointless)
    _print_results(lesson, found)
    if not chosen:
        there = paths.display_path(classroom.path("submitted", lesson, "STUDENT"))
        say(f"nobody has handed in {lesson} yet: put notebooks at {there}")
    report = options.classroom / REPORTS / f"{lesson}.json"
    paths.write(report, json.dumps([asdict(result) for result in found], indent=1) + "\n")
    counted = f"{graded} graded now, {len(chosen)} in all"
    say(f"{lesson}: {counted}; report in {paths.display_path(report)}")
    if broken:
        raise broken
    if stopping():
        raise KeyboardInterrupt
    return found


def _print_results(lesson: str, results: list[Result]) -> None:
    """Print all results, or for a large class the counts and the results with a note."""
    shown = results
    if len(results) > SHORT:
        noted = [result for result in results if result.note]
        shown = noted[:SHORT]
        say(f"{lesson}: {counted(Counter(result.state for result in results))}")
        if len(noted) > SHORT:
            say(f"{len(noted)} of them have a note: the first {SHORT} are here, all in the report")
    table = Table("student", title=lesson, title_justify="left")
    late = any(result.late for result in results)
    for heading in ("points", *(("late", "penalty", "score") if late else ()), "max"):
        table.add_column(heading, justify="right")
    table.add_column("state")
    for result in shown:
        of_late = _about_late(result) if late else []
        points, most = _points(result.points), _points(result.max_points)
        table.add_row(escape(result.student), points, *of_late, most, result.state)
    if shown:
        console.print(table)
    for result in shown:
        if result.note:
            say(f"{result.student}: {result.state}: {result.note}")


def _points(points: float | None) -> str:
    return "–" if points is None else f"{points:g}"


def _about_late(result: Result) -> list[str]:
    """The lateness, the penalty and the remaining points."""
    if not result.late:
        return ["", "", _points(result.score)]
    return [lateness(result.late), _points(result.penalty), _points(result.score)]
