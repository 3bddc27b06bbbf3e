"""What became of each check and answer of a graded notebook, in words that a student may read.

Data in, data out:

    for verdict in verdicts(notebook, finished.failed, finished.scores, finished.failures):
        verdict.outcome, verdict.points, verdict.max_points, verdict.sentence

A hidden test stays hidden. Of its failure there is only what its author calls it: the title and
the claim as they are in its source, and only if no digit is in them. And the student's code,
which is called with a hidden test's inputs, can remember them and say them later. So from the first
hidden test on, nothing is told that its process printed, raised or returned, in whatever check:
only the words of the check's author and of the kit (`known_words`).
"""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import determine_grade
from transformer_course.failure import Failure, Kind

from autograder.authoring.cell_name import CellName
from autograder.execution.isolation.failures import read_failure
from autograder.feedback import hidden_tests, known_words
from autograder.feedback.stopped import ENDED, TIMED_OUT, error_of

ROWS = ("expected", "got", "")  # of numbers, or as they were printed: their lines are kept
UNKNOWN = re.compile(r"name '(\w+)' is not defined")  # Python's own words
NO_WORDS = "the check's assertion does not hold"
STILL_A_STUB = "still a stub"


class Outcome(StrEnum):
    """What became of a check or an answer."""

    PASSED = "passed"
    FAILED = "failed"  # in the part that the student sees
    HIDDEN = "hidden test failed"
    NOT_DONE = "not done"  # a stub, or no answer
    BLOCKED = "not run"  # because of an error in a cell above
    STOPPED = "stopped"  # by a limit, or with Python itself
    WAITS = "waits for marking"
    MARKED = "marked"  # by a person


@dataclass(frozen=True)
class Verdict:
    """What became of one check or answer; texts are plain, and may hold anything."""

    name: str  # the cell's grade_id
    exercise: str  # that it belongs to, or the answer's own name
    outcome: Outcome
    points: float | None  # None while a person has not marked it
    max_points: float
    claim: str = ""  # what did not hold: of a hidden test in its author's words, perhaps none
    title: str = ""  # of the hidden test that failed, in its author's words, perhaps none
    looks_like: str = ""  # the misconception, in a teacher's words
    hint: str = ""
    told: str = ""  # all that the failed check says, as it says it; empty for a hidden test
    lines: tuple[tuple[str, str], ...] = ()  # what is shown below it, by labels: ("got", "1, 2")
    printed: str = ""
    left_out: bool = False  # what the student's code printed, raised and gave: see above

    @property
    def sentence(self) -> str:
        """What happened, in one sentence without a full stop; empty where all is well."""
        if self.outcome == Outcome.HIDDEN:
            words = ": ".join(part for part in (self.title, self.claim) if part)
            called = f"the hidden test “{words}”" if words else "a hidden test"
            return f"what you see of the check passes, {called} does not"
        return self.looks_like or self.claim


@dataclass(frozen=True)
class _Check:
    """A check that is to be judged, and what that needs to know of the cells around it."""

    cell: NotebookNode
    failure: Failure  # empty if it did not fail
    line: int | None  # in which it failed, as the tests' process says
    exercise: str  # that it belongs to
    exercises: Set[str]
    broken: Mapping[str, str]  # exercise -> why its cell did not run to its end
    knows: bool  # whether the student's code may have seen inputs of a hidden test

    @property
    def error(self) -> Any:
        return error_of(self.cell)

    @property
    def source(self) -> str:
        return self.cell.source


def verdicts(
    notebook: NotebookNode,
    failed: Mapping[str, int],
    scores: Mapping[str, float | None] | None = None,
    failures: Mapping[str, object] | None = None,
) -> list[Verdict]:
    """One verdict for each graded cell, in the notebook's order.

    `failed`, `scores` and `failures` are `result.Finished`'s: where each check failed, which no
    output can forge, points, and what it says. Without an entry in `failed`, a check with hidden
    tests that ended in an error counts as failed in these. Without `scores`, points are what the
    outputs give. Without an entry in `failures`, the output's text is shown as it is.
    """
    numbered = _named_cells(notebook)
    exercises = {
        name.name: cell
        for grade_id, (_, cell) in numbered.items()
        if (name := CellName.parse(grade_id)).role == "exercise"
    }
    broken = {name: why for name, cell in exercises.items() if (why := _why_broken(cell))}
    first = hidden_tests.first_hidden(notebook, failed)
    found = []
    for name, (number, cell) in numbered.items():
        if cell.metadata.nbgrader.get("grade"):
            by_outputs, most = determine_grade(cell)
            points = by_outputs if scores is None else scores.get(name)
            exercise = _exercise(name, exercises.keys())
            if cell.metadata.nbgrader.get("solution"):
                found.append(_answer(cell, exercise, points, most))
                continue
            failure = read_failure((failures or {}).get(name)) or _as_printed(cell)
            known = exercise, exercises.keys(), broken, number >= first
            check = _Check(cell, failure, failed.get(name), *known)
            found.append(Verdict(name, exercise, points=points, max_points=most, **_judged(check)))
    return found


def _named_cells(notebook: NotebookNode) -> dict[str, tuple[int, NotebookNode]]:
    """Each cell that nbgrader knows, with its number."""
    return {
        about["grade_id"]: (number, cell)
        for number, cell in enumerate(notebook.cells)
        if (about := cell.metadata.get("nbgrader")) and about.get("grade_id")
    }


def _as_printed(cell: NotebookNode) -> Failure:
    """An error of which there is only the text: a plain assertion's, or an older result's."""
    claim, _, rest = (error.evalue if (error := error_of(cell)) else "").partition("\n")
    return Failure("", claim.removeprefix("✗ "), (("", rest),) if rest.strip() else ())


def _exercise(name: str, exercises: Set[str]) -> str:
    """The exercise that a check belongs to: the longest name that begins the check's."""
    own = CellName.parse(name).name
    return max((e for e in exercises if f"{own}_".startswith(f"{e}_")), key=len, default=own)


def _why_broken(cell: NotebookNode) -> str:
    """Why an exercise's cell did not run to its end, unless it is only not done."""
    error = error_of(cell)
    if error is None or error.ename == "NotImplementedError":
        return ""
    if error.ename == TIMED_OUT:
        return "was stopped by the time limit"
    if error.ename == ENDED:
        return "did not run to its end"
    return f"stopped with {known_words.error(error.ename)}"


# --- judging ---------------------------------------------------------------------------------


def _answer(cell: NotebookNode, exercise: str, points: float | None, most: float) -> Verdict:
    """An answer is not done while it is as it was released: nbgrader gives it 0 by itself."""
    own = determine_grade(cell)[0]
    outcome = Outcome.WAITS if points is None else Outcome.MARKED
    if own == 0 and not points:
        outcome = Outcome.NOT_DONE
    claim = "nothing is written here" if outcome == Outcome.NOT_DONE else ""
    return Verdict(cell.metadata.nbgrader.grade_id, exercise, outcome, points, most, claim)


def _judged(check: _Check) -> dict[str, Any]:
    """Of a check's verdict, all but its name and points."""
    error, hidden = check.error, hidden_tests.hidden_lines(check.source)
    outcome, about = Outcome.PASSED, {}
    if error is not None and error.ename in (TIMED_OUT, ENDED):
        outcome, about = _stopped(error)
    elif error is not None and (check.line in hidden or (check.line is None and hidden)):
        failure = check.failure
        title, claim = hidden_tests.named(check.source, check.line, failure.claim)
        said = {"title": title, "claim": claim or known_words.fixed(failure.kind)}
        outcome, about = Outcome.HIDDEN, said
    elif error is not None:
        outcome, about = _failed(check)
        if check.knows:
            about = _in_known_words(check, outcome, about["claim"])
    printed = _titles_met(check) if check.knows else _printed(check.cell)
    return about | {"outcome": outcome, "printed": printed, "left_out": check.knows}


def _stopped(error: Any) -> tuple[Outcome, dict[str, Any]]:
    if error.ename == TIMED_OUT:
        claim = "your code was stopped by the time limit while it was run"
        return Outcome.STOPPED, {"claim": claim}
    return Outcome.BLOCKED, {"claim": "Python had ended in a cell above, or ended here"}


def _failed(check: _Check) -> tuple[Outcome, dict[str, Any]]:
    """In the part that the student sees: whose fault it is, and all that the check says."""
    error, failure = check.error, check.failure
    lines = [(label, _one_line(label, text)) for label, text in failure.all_fields]
    all_said = {"told": error.evalue or error.ename, "lines": tuple(lines)}
    message = dict(lines).get("message", "")
    if (needed := _needed(failure, message)) in check.broken:
        why = f"the cell of `{needed}` {check.broken[needed]}"
        return Outcome.BLOCKED, {"claim": why, **all_said}
    if error.ename == "NotImplementedError":
        is_told = failure.kind in (Kind.STUB, Kind.ABSENT)
        return Outcome.NOT_DONE, {"claim": failure.claim if is_told else STILL_A_STUB, **all_said}
    claim = failure.headline if failure.check else failure.claim
    if failure.kind == Kind.RAISED:
        claim = f"{claim}: {message}" if message else claim
    elif error.ename == "AssertionError":
        claim = claim or NO_WORDS
    elif error.ename != "CheckFailed":
        claim = f"{error.ename}: {claim}".removesuffix(": ")
    said = {"claim": claim, "looks_like": failure.misconception, "hint": failure.hint}
    return Outcome.FAILED, said | all_said


def _needed(failure: Failure, message: str) -> str:
    """The name that a check or the student's code did not find."""
    if failure.kind == Kind.ABSENT:
        return failure.subject
    unknown = UNKNOWN.search(message)
    return unknown[1] if unknown else ""


def _one_line(label: str, text: str) -> str:
    parts = (line.strip() for line in text.split("\n"))
    return text if label in ROWS else " ".join(filter(None, parts))


def _printed(cell: NotebookNode) -> str:
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


# --- after hidden tests ran ------------------------------------------------------------------


def _in_known_words(check: _Check, outcome: Outcome, claim: str) -> dict[str, Any]:
    """A visible failure without a word or a number that the student's code may have made."""
    if outcome == Outcome.BLOCKED:
        return {"claim": claim}  # all of it is the lesson's and ours
    if outcome == Outcome.NOT_DONE:
        return {"claim": _stub(check)}
    failure, source = check.failure, check.source
    exercises = {check.exercise, *(title.exercise for title in hidden_tests.titles(source))}
    looks_like = known_words.misconception(failure.misconception, exercises)
    hint = known_words.hint(failure.hint, source)
    known = known_words.claim(failure, source)
    claim = replace(failure, claim=known).headline if known else _title_missed(check)
    if check.error.ename not in ("CheckFailed", "AssertionError"):
        claim = f"the check stopped with {known_words.error(check.error.ename)}"
    lines = tuple((k, text) for k, text in (("looks like", looks_like), ("hint", hint)) if text)
    return {"claim": claim, "looks_like": looks_like, "hint": hint, "lines": lines}


def _title_missed(check: _Check) -> str:
    """Where a check failed, if more is not known."""
    around = hidden_tests.around(check.source, check.line)
    return f"“{around[-1].text}” does not hold" if around else NO_WORDS


def _stub(check: _Check) -> str:
    """What is not done yet: one of the lesson's exercises."""
    name = check.failure.subject.partition(".")[0]
    state = "does not exist yet" if check.failure.kind == Kind.ABSENT else "is still a stub"
    return f"`{name if name in check.exercises else check.exercise}` {state}"


def _titles_met(check: _Check) -> str:
    """What checks print of themselves when they pass, of those that passed here for certain."""
    # how far the check came is unknown
    until = check.line if check.error is None or check.line else 0
    met = hidden_tests.met(check.source, until)
    return "".join(f"✓ {title.exercise}: {title.text}\n" for title in met)
