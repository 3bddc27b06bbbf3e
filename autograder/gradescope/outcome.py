"""What students see of a graded submission, in the form of Gradescope's results.json.

Of hidden tests they see what the policy says, and nothing that their own code printed or raised
once hidden tests ran: it could tell them what it was given. What is left is which checks pass, and
where and when it stops: a few bits of a hidden input with each submission.
"""

from collections.abc import Callable, Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.cell_name import CellName
from autograder.feedback.stopped import stopped_cells
from autograder.feedback.verdicts import Outcome, Verdict, verdicts
from autograder.gradebook.result import Finished
from autograder.gradescope.settings import Settings
from autograder.intake.released import Released

SHOWN = 5_000  # characters of one check's output
# how a hidden test that fails is told
HIDDEN: dict[str, Callable[[Verdict], str]] = {
    "name": lambda verdict: f"{verdict.sentence[:1].upper()}{verdict.sentence[1:]}.",
    "nothing": lambda verdict: "What you see of the check passes, a hidden test does not.",
}
# whose words come from a run without hidden tests
SEEN = (Outcome.FAILED, Outcome.NOT_DONE, Outcome.BLOCKED)
ELSEWHERE = "It fails. Run it in your notebook: there it says why."
BY_HAND = (Outcome.WAITS, Outcome.MARKED)


def graded(
    finished: Finished, visible: Finished | None, released: Released, settings: Settings
) -> dict[str, Any]:
    """What became of a submission; `visible` is the same, run without any hidden test."""
    if not finished.notebook:
        return refused(f"This cannot be graded: {_to_student(finished.note)}.")
    notebook = nbformat.reads(finished.notebook, as_version=4)
    found = verdicts(notebook, finished.failed, finished.scores, finished.failures)
    shown = {verdict.name: verdict for verdict in _read(visible)} if visible else {}
    tests = [
        _test(number, verdict, shown.get(verdict.name), settings)
        for number, verdict in enumerate(found, 1)
    ]
    return {
        "score": sum(verdict.points or 0.0 for verdict in found),
        "execution_time": round(finished.seconds),
        "output": _clean("\n".join(_summary(finished, notebook, found))),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"lesson": released.lesson, "state": str(finished.state)},
        "tests": tests,
    }


def refused(why: str) -> dict[str, Any]:
    """One readable message, and no points for now."""
    return {
        "score": 0.0,
        "output": _clean(why),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [],
    }


def to_see(finished: Finished) -> bool:
    """Whether a check fails in a part that students see: what it says is worth a second run."""
    return any(verdict.outcome in SEEN and _is_check(verdict) for verdict in _read(finished))


def _read(finished: Finished) -> list[Verdict]:
    if not finished.notebook:
        return []
    notebook = nbformat.reads(finished.notebook, as_version=4)
    return verdicts(notebook, finished.failed, finished.scores, finished.failures)


def _summary(finished: Finished, notebook: NotebookNode, found: list[Verdict]) -> list[str]:
    """The submission in a few lines: points, what waits for a person, what was the matter."""
    checks = [verdict for verdict in found if _is_check(verdict)]
    earned = sum(verdict.points or 0.0 for verdict in checks)
    said = [f"{earned:g} of {sum(verdict.max_points for verdict in checks):g} points from tests."]
    waiting = [verdict for verdict in found if verdict.outcome == Outcome.WAITS]
    if waiting:
        names = ", ".join(called(verdict.name) for verdict in waiting)
        most = sum(verdict.max_points for verdict in waiting)
        said.append(f"A person marks what you wrote, for up to {most:g} more: {names}.")
    # not the note, which is for instructors: an exit code can say what a hidden test called with
    if where := stopped_cells(notebook, finished.state):
        said.append(f"{finished.state}: {where}")
    return [*said, *(f"repaired: {repair}" for repair in finished.repairs)]


def _test(
    number: int, verdict: Verdict, shown: Verdict | None, settings: Settings
) -> dict[str, Any]:
    test: dict[str, Any] = {"number": f"{number}", "name": called(verdict.name)}
    if _is_check(verdict):
        status = "passed" if verdict.outcome == Outcome.PASSED else "failed"
        test |= {"score": verdict.points or 0.0, "max_score": verdict.max_points, "status": status}
        output = _clean(_of_check(verdict, shown, settings))
    else:
        waits = verdict.outcome in BY_HAND
        told = "A person marks what you wrote" if waits else "Nothing is written here yet"
        output = f"{told}: up to {verdict.max_points:g} points."
    if len(output) > SHOWN:
        output = f"{output[:SHOWN]}\n[…]"
    return test | {"output": output, "visibility": "visible"}


def _of_check(verdict: Verdict, shown: Verdict | None, settings: Settings) -> str:
    """What students are told of a check; `shown` is the same check without its hidden tests."""
    if verdict.outcome == Outcome.PASSED:
        return "Everything passes."
    if verdict.outcome == Outcome.HIDDEN:
        return HIDDEN[settings.hidden](verdict)
    if verdict.outcome not in SEEN:
        return f"{verdict.claim[:1].upper()}{verdict.claim[1:]}."
    if shown is None or shown.outcome not in SEEN:
        return ELSEWHERE
    if shown.outcome == Outcome.BLOCKED:
        return f"It cannot run: {shown.claim}. Fix that first."
    return f"{shown.printed}{shown.told or shown.claim}"


def _is_check(verdict: Verdict) -> bool:
    return CellName.parse(verdict.name).role == "check"


def called(name: str) -> str:
    """A graded cell's name as students know it."""
    return CellName.parse(name).name


def points(released: Released) -> Mapping[str, float]:
    """How many points tests give (`checks`), and each answer that a person marks, by its name."""
    graded_cells = [cell for cell in released.cells if cell.grade]
    answers = {cell.name: float(cell.points or 0) for cell in graded_cells if cell.solution}
    checks = sum(float(cell.points or 0) for cell in graded_cells if not cell.solution)
    return {"checks": checks} | {called(name): most for name, most in answers.items()}


def _to_student(note: str) -> str:
    """What is said to instructors of a file that nothing can be made of, said to who sent it."""
    return note.replace("ask for", "hand in")


def _clean(text: str) -> str:
    """A text that any JSON reader takes: half characters (lone surrogates) are replaced."""
    return text.encode("utf-8", "replace").decode()
