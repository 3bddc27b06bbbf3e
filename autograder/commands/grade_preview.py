"""Implement `grade --preview`: run what is new, and show whose grade would change."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace

from autograder.commands.class_options import chosen_students, typed
from autograder.commands.terminal import as_table, console, followed, say
from autograder.gradebook import regrade
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.grade import ExecutionConfig, preview
from autograder.gradebook.regrade import Change, Move
from autograder.gradebook.result import Finished


def preview_lesson(
    classroom: Classroom,
    lesson: str,
    how: ExecutionConfig,
    options: argparse.Namespace,
    stopping: Callable[[], bool],
) -> list[Finished]:
    """Run what the current tests have not graded, without recording it."""
    everyone = {each.student: each for each in classroom.submissions(lesson)}
    chosen = [everyone[student] for student in chosen_students([*everyone], options)]
    todo = [each for each in chosen if not each.obstacle and not each.is_recorded]
    running = preview(classroom, lesson, todo, how, stopping)
    results = [replace(one, notebook="") for one in followed(lesson, len(todo), running)]
    for result in results:
        if not result.scores:
            say(f"{result.student}: {result.state}: {result.note}")
    if stopping():
        raise KeyboardInterrupt
    changes = regrade.changes(classroom, lesson, [result for result in results if result.scores])
    _print_changes(lesson, changes)
    if changes:
        recording = typed("grade", lesson, options)
        say(f"nothing is recorded yet: `{recording}` records it, and runs nothing again")
    return results


def _print_changes(lesson: str, changes: Sequence[Change]) -> None:
    """Print which grades would change, and the number of unchanged and first grades."""
    before = [change for change in changes if change.before is not None]
    moving = [change for change in before if change.before != change.after]
    told = [change for change in before if change.any]
    first = f", {len(changes) - len(before)} would be graded for the first time" if changes else ""
    say(f"{lesson}: {len(moving)} of {len(before)} grades would change{first}")
    rows = [(c.student, f"{c.before:g}", f"{c.after:g}", "; ".join(_said(c))) for c in told]
    if rows:
        console.print(as_table(lesson, ("student", "now", "then", "changes"), rows))


def _said(change: Change) -> list[str]:
    said = [_moved(move) for move in change.moves]
    said += [f"{_moved(move)}, but the manual mark stays" for move in change.by_hand]
    return said + [f"{name}: answer changed, mark needs review" for name in change.to_mark]


def _moved(move: Move) -> str:
    before, after = ("unmarked" if p is None else f"{p:g}" for p in (move.before, move.after))
    return f"{move.name} {before} → {after}"
