"""What `grade --preview` does: run what is new, and say whose grade would move."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.markup import escape

from autograder.commands.class_options import chosen_students, typed
from autograder.commands.terminal import as_table, console, followed, say

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI

    from autograder.gradebook.grading import ExecutionConfig
    from autograder.gradebook.regrade import Change, Move
    from autograder.gradebook.submission import Finished


def preview_lesson(
    api: "NbGraderAPI",
    lesson: str,
    how: "ExecutionConfig",
    options: argparse.Namespace,
    stopping: Callable[[], bool],
) -> "list[Finished]":
    """Run what today's tests have not graded; record nothing. `KeyboardInterrupt` if stopped."""
    from autograder.gradebook import grading, regrade
    from autograder.gradebook.status import obstacle, students, ungraded

    waiting = ungraded(api, lesson)
    chosen = chosen_students(students(api, lesson), options)
    todo = [s for s in chosen if s in waiting and not obstacle(api, lesson, s)]
    running = grading.preview(api, lesson, todo, how, stopping)
    results = [replace(one, notebook="") for one in followed(lesson, len(todo), running)]
    for result in results:
        if not result.scores:
            say(f"{result.student}: {result.state}: {result.note}")
    if stopping():
        raise KeyboardInterrupt
    changes = regrade.changes(api, lesson, [result for result in results if result.scores])
    _print_changes(lesson, changes)
    if changes:
        recording = typed("grade", lesson, options)
        say(f"nothing of it is recorded yet: `{recording}` does so, and runs none of it again")
    return results


def _print_changes(lesson: str, changes: "Sequence[Change]") -> None:
    """Whose grade moves, and where; those that stay, and first grades, only as numbers."""
    before = [change for change in changes if change.before is not None]
    moving = [change for change in before if change.before != change.after]
    told = [change for change in before if change.any]
    first = f", {len(changes) - len(before)} would be graded for the first time" if changes else ""
    say(f"{lesson}: {len(moving)} of {len(before)} grades would move{first}")
    rows = [(escape(c.student), f"{c.before:g}", f"{c.after:g}", "; ".join(_said(c))) for c in told]
    if rows:
        console.print(as_table(lesson, ("student", "now", "then", "what moves"), rows))


def _said(change: "Change") -> list[str]:
    said = [_moved(move) for move in change.moves]
    said += [f"{_moved(move)}, but the mark by hand stays" for move in change.by_hand]
    return said + [f"{name}: written anew, its mark waits for a look" for name in change.to_mark]


def _moved(move: "Move") -> str:
    before, after = ("unmarked" if p is None else f"{p:g}" for p in (move.before, move.after))
    return f"{move.name} {before} → {after}"
