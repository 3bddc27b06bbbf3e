"""The command `grade`: from what students handed in to points, a table and a report."""

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

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
from autograder.commands.terminal import (
    Commands,
    command,
    console,
    counted,
    followed,
    interruptible,
    say,
)
from autograder.gradebook.late import lateness

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI

    from autograder.gradebook.grading import ExecutionConfig
    from autograder.gradebook.status import Result

REPORTS = "grade_reports"  # in the classroom
INTERRUPTED = 130  # as shells have it
SHORT = 60  # a longer table shows only those who need somebody's attention


def add_command(commands: Commands) -> None:
    """Declare it."""
    details = """\
        Every submission that is not graded yet, or was handed in again since, or was graded by
        other tests than today's, is run and recorded in the gradebook; it lies in
          CLASSROOM/submitted/STUDENT/NN_name/NN_name.ipynb
        or, in that folder, under another name, in a folder or in a zip: of several notebooks the
        newest of this lesson counts. Whatever tool saved it, what it changed or lost is repaired.
        Its code runs in a sandbox, apart from the tests. Stopped at any moment, even by a power
        cut, the same command goes on with what is left. The table says for each student
          graded          every point is decided
          worth a look    graded too, but for what the line below says a person should look at it:
                          a package that is not installed here, say, cost points
          needs marking   a written answer waits for a person: mark it in nbgrader's formgrader
                          (`jupyter lab` in CLASSROOM, menu Nbgrader)
          timed-out       a cell was stopped by the time limit; what else was earned counts
          memory          a cell wanted more memory than it may have; what else was earned counts
          crashed         a cell ended Python itself; what was earned before counts
          unreadable      nothing can be made of the file; the line below says why
          missing         no notebook was handed in
          not graded yet  handed in since, or left over when grading was interrupted
          failed          the grader's own failure; the line below says why
        After a test was mended and the lesson released again, `--preview` first says whose grade
        would move, and in which check; recording it then runs nothing again. Marks, comments and
        bonuses given by hand stay, and a marked answer waits for a person again only if it changed.
        All of it lies in CLASSROOM/grade_reports/NN_name.json as well. On a Dask cluster, each
        worker needs this checkout, its packages and the sandbox.
        Exit code 0: graded, whatever the students did. 1: nothing could be done, or the grader
        itself failed. 130: interrupted."""
    added = command(commands, "grade", "grade what students handed in", _grade, details)
    add_classroom(added)
    add_students(added)
    which = added.add_mutually_exclusive_group()
    which.add_argument("--again", action="store_true", help="also what is graded already")
    which.add_argument(
        "--preview",
        action="store_true",
        help="run it, and say whose grade would move, but record nothing yet",
    )
    added.add_argument(
        "--jobs",
        type=positive,
        default=os.cpu_count(),
        metavar="N",
        help="how many submissions run at a time (default: one for each core)",
    )
    added.add_argument(
        "--scheduler", default="", metavar="ADDR", help="a Dask cluster's, such as tls://HOST:8786"
    )
    added.add_argument(
        "--timeout",
        type=positive,
        default=60,
        metavar="SECONDS",
        help="how long a cell may compute (default 60); waiting, five times as long",
    )
    added.add_argument(
        "--memory",
        type=gibibytes,
        default=2.0,
        metavar="GIB",
        help="how much memory a submission may use (default 2)",
    )
    added.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code with your own rights: only for notebooks that you trust",
    )


@alone
def _grade(options: argparse.Namespace) -> int:
    from autograder.execution import sandbox
    from autograder.execution.executor import Limits
    from autograder.gradebook import grading
    from autograder.gradebook.status import State

    if options.no_sandbox:
        say("NO SANDBOX: students' code can do here whatever you can do", style="bold red")
    elif not options.scheduler and (weakness := sandbox.weakness()):
        say(weakness, style="bold yellow")
    limits = Limits(timeout=options.timeout, memory=round(options.memory * (1 << 30)))
    how = grading.ExecutionConfig(limits, options.jobs, options.scheduler, not options.no_sandbox)
    api, lessons = open_class(options)
    failed = 0
    try:
        with interruptible() as stopping:
            for lesson in lessons:
                work = preview_lesson if options.preview else _grade_lesson
                results = work(api, lesson, how, options, stopping)
                failed += sum(result.state == State.FAILED for result in results)
    except KeyboardInterrupt:
        same = "the same command without `--again`" if options.again else "the same command"
        done = "previewed" if options.preview else "graded and recorded"
        say(f"interrupted: what was finished is {done}; {same} goes on")
        return INTERRUPTED
    return 1 if failed else 0


def _grade_lesson(
    api: "NbGraderAPI",
    lesson: str,
    how: "ExecutionConfig",
    options: argparse.Namespace,
    stopping: Callable[[], bool],
) -> "list[Result]":
    """Grade what there is of a lesson; return where all stand. `KeyboardInterrupt` if stopped."""
    from autograder.execution.executor import GraderError
    from autograder.gradebook import grading
    from autograder.gradebook.status import State, obstacle, results, students, ungraded

    chosen = chosen_students(students(api, lesson), options)
    if options.again:
        for student in chosen:
            grading.forget(api, lesson, student)
    waiting = ungraded(api, lesson)
    todo = [s for s in chosen if s in waiting and not obstacle(api, lesson, s)]
    pointless: dict[str, tuple[State, str]] = {}
    graded = 0
    broken: GraderError | None = None
    executed = grading.grade(api, lesson, todo, how, stopping)
    try:
        for finished in followed(lesson, len(todo), executed):
            if not finished.key or finished.state == State.UNREADABLE:
                pointless[finished.student] = State(finished.state), finished.note
            else:
                graded += 1
    except GraderError as error:  # what came before is recorded, and is shown first
        broken = error
    shown = set(chosen)
    say_penalties(lesson, grading.penalize(api, lesson))
    found = [result for result in results(api, lesson, pointless) if result.student in shown]
    _print_results(lesson, found)
    if not chosen:
        there = paths.display_path(paths.notebook_path(api, "submitted", lesson, "STUDENT"))
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


def _print_results(lesson: str, results: "list[Result]") -> None:
    """Everyone, or of a large class those who need somebody's attention, and the counts."""
    shown = results
    if len(results) > SHORT:
        noted = [result for result in results if result.note]
        shown = noted[:SHORT]
        say(f"{lesson}: {counted(Counter(result.state for result in results))}")
        if len(noted) > SHORT:
            say(f"{len(noted)} of them have a note: here the first {SHORT}, in the report all")
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


def _about_late(result: "Result") -> list[str]:
    """How late, what that costs, and what is left."""
    if not result.late:
        return ["", "", _points(result.score)]
    return [lateness(result.late), _points(result.penalty), _points(result.score)]
