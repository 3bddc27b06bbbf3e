"""What `run_autograder` does on Gradescope: grade one submission, and say what came of it.

Whatever happens, there is a results.json. What is printed here, only instructors see.
"""

import dataclasses
import json
import signal
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from autograder import paths
from autograder.execution import sandbox
from autograder.execution.executor import Executor, Limits
from autograder.gradebook.result import Finished, Task
from autograder.gradebook.submission import graded, modules
from autograder.gradescope import outcome
from autograder.gradescope.settings import LESSON, Settings, read
from autograder.intake.finding import Found, find, there
from autograder.intake.released import Released

ROOT = Path("/autograder")  # see Gradescope's specification
# shares of Gradescope's time: for the first run, for both, and when there must be results
FIRST, BOTH, LAST = 0.7, 0.8, 0.95
FIX = "Hand it in again; if that does not help, tell your instructor."


def main(root: Path = ROOT) -> None:
    """Grade what lies in `root`, in Gradescope's layout, and write the results there."""
    try:
        results = _results(root)
    except Exception as error:
        # whatever the cause, the student gets a message
        traceback.print_exc()
        why = f"The grader could not run: {error or type(error).__name__}\n{FIX}"
        results = outcome.refused(why)
    with paths.atomic_write(root / "results" / "results.json") as part:
        part.write_text(json.dumps(results, indent=1), encoding="utf-8")


def _results(root: Path) -> dict[str, Any]:
    settings, released = read(root / "source" / LESSON)
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(round(settings.minutes * 60 * LAST))
    _compare_points(root, released)
    wanted = f"{released.lesson}.ipynb"
    handed_in = there(root / "submission").notebooks
    # students may name their file as they like
    name = handed_in[0] if len(handed_in) == 1 else wanted
    try:
        found = find(root / "submission" / name, released)
    except FileNotFoundError:
        return outcome.refused(f"There is no notebook in what you handed in: hand in {wanted}.")
    if weakness := sandbox.weakness():
        print(weakness)
    finished, visible = _executed(found, released, settings)
    print(f"{finished.state}: {finished.note or 'nothing to note'}; {finished.seconds:.1f} s")
    return outcome.graded(finished, visible, released, settings)


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("it took longer than Gradescope allows")


def _executed(
    found: Found, released: Released, settings: Settings
) -> tuple[Finished, Finished | None]:
    """What a submission earns; and what it does without hidden tests, if that is to be shown.

    Only the second run's words are for students: in the first, code of theirs has seen the hidden
    tests' inputs, and could say them.
    """
    task = Task("", found.notebook, found.files, found.note)
    seconds = settings.minutes * 60
    began = time.monotonic()
    first = Limits(settings.timeout, settings.memory, whole=seconds * FIRST)
    with Executor(modules(released)) as executor:
        finished = graded(task, released, first, executor)
        left = seconds * BOTH - (time.monotonic() - began)
        if not outcome.to_see(finished) or finished.seconds > left:
            return finished, None
        second = dataclasses.replace(first, whole=left)
        return finished, graded(task, _without_hidden_tests(released), second, executor)


def _without_hidden_tests(released: Released) -> Released:
    cells = tuple(dataclasses.replace(cell, source=cell.shown) for cell in released.cells)
    return dataclasses.replace(released, cells=cells)


def _compare_points(root: Path, released: Released) -> None:
    """Tell the instructor if Gradescope's points are not the lesson's."""
    try:
        about = json.loads((root / "submission_metadata.json").read_bytes())
        total = float(about["assignment"]["total_points"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    of = outcome.points(released)
    if total != sum(of.values()):
        listed = ", ".join(f"{name} {most:g}" for name, most in of.items())
        print(f"this assignment is out of {total:g} points, and the lesson has {listed}")


if __name__ == "__main__":
    main()
