"""What became of each check and answer of a graded notebook, in words that a student may read.

The one place that knows what a check prints and how it fails (`transformer_course.checks`).
Data in, data out:

    for verdict in verdicts(notebook, finished.failed, finished.scores):
        verdict.outcome, verdict.points, verdict.max_points, verdict.sentence

A hidden test stays hidden. Of its failure there is only what its author calls it: the aim and the
law as they stand in its source, and only if no digit is in them. What it was called with, what
came back, and whatever the student's code printed or raised meanwhile is left out: the student's
code sees a hidden test's inputs, and could tell them.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import determine_grade

BEGIN, END = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"
MARGIN = 15  # characters before the text of a failure's line, the label included
ROWS = ("expected", "got")  # of numbers
STUB = re.compile(r"`([\w.]+)` is still a stub")
ABSENT = re.compile(r"`(\w+)` does not exist yet")
UNKNOWN = re.compile(r"name '(\w+)' is not defined")
# the kit's own laws, which may name inputs -> the same in fixed words
FIXED = {
    r"your code raised ": "your code raised an error",
    r"your code changed its input ": "your code changed one of its inputs",
    r".* has the wrong shape$": "the result has the wrong shape",
    r".* holds NaN ": "the result holds NaN (not a number)",
    r".* should keep the input's dtype ": "the result should keep the input's dtype",
    r"expected a ValueError": "a ValueError was expected",
    r"no gradient flows through ": "no gradient flows through the result",
    r"the parameters are not the ones ": "the parameters are not the ones the docstring names",
}


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
    law: str = ""  # what did not hold: of a hidden test in its author's words, perhaps none
    aim: str = ""  # what a hidden test that failed tests, in its author's words, perhaps none
    looks_like: str = ""  # the misconception, in a teacher's words
    hint: str = ""
    told: str = ""  # all that the failed check says, as it says it; empty for a hidden test
    lines: tuple[tuple[str, str], ...] = ()  # what stands below the law, by labels: ("got", "1, 2")
    printed: str = ""  # what was printed before the hidden tests began

    @property
    def sentence(self) -> str:
        """What happened, in one sentence without a full stop; empty where all is well."""
        if self.outcome == Outcome.HIDDEN:
            words = ": ".join(part for part in (self.aim, self.law) if part)
            called = f"the hidden test “{words}”" if words else "a hidden test"
            return f"what you see of the check passes, {called} does not"
        return self.looks_like or self.law


def verdicts(
    notebook: NotebookNode,
    failed: Mapping[str, int],
    scores: Mapping[str, float | None] | None = None,
) -> list[Verdict]:
    """One verdict for each graded cell, in the notebook's order.

    `failed` and `scores` are `submission.Finished`'s: where each check failed, which no output can
    forge, and points. Without an entry in `failed`, a check with hidden tests that ended in an
    error counts as failed in these. Without `scores`, points are what the outputs give.
    """
    cells = {
        about["grade_id"]: cell
        for cell in notebook.cells
        if (about := cell.metadata.get("nbgrader")) and about.get("grade_id")
    }
    broken = {
        name.removeprefix("exercise_"): why
        for name, cell in cells.items()
        if name.startswith("exercise_") and (why := _why_broken(cell))
    }
    found = []
    for name, cell in cells.items():
        if cell.metadata.nbgrader.get("grade"):
            by_outputs, most = determine_grade(cell)
            points = by_outputs if scores is None else scores.get(name)
            judge = _answer if cell.metadata.nbgrader.get("solution") else _check
            exercise = _exercise(name, cells)
            found.append(judge(cell, exercise, points, most, failed.get(name), broken))
    return found


def hidden_lines(source: str) -> set[int]:
    """The numbers, from 1, of the lines of a check's hidden tests, their marks included."""
    hidden, inside = set(), False
    for number, line in enumerate(source.split("\n"), 1):
        inside = inside or BEGIN in line
        if inside:
            hidden.add(number)
        inside = inside and END not in line
    return hidden


def _exercise(name: str, cells: Mapping[str, Any]) -> str:
    """The exercise that a check belongs to: the longest name that begins the check's."""
    _, _, own = name.partition("_")
    exercises = [n.removeprefix("exercise_") for n in cells if n.startswith("exercise_")]
    return max((e for e in exercises if f"{own}_".startswith(f"{e}_")), key=len, default=own)


def _error(cell: NotebookNode) -> Any:
    """The error that a cell ended with."""
    errors = [o for o in cell.get("outputs", []) if o.output_type == "error"]
    return errors[-1] if errors else None


def _why_broken(cell: NotebookNode) -> str:
    """Why an exercise's cell did not run to its end, unless it is only not done."""
    error = _error(cell)
    if error is None or error.ename == "NotImplementedError":
        return ""
    if error.ename == "CellTimeoutError":
        return "was stopped by the time limit"
    if error.ename == "PythonEnded":
        return "did not run to its end"
    return f"stopped with {error.ename}"


# --- judging ---------------------------------------------------------------------------------


def _answer(
    cell: NotebookNode, exercise: str, points: float | None, most: float, *_: Any
) -> Verdict:
    """An answer is not done while it is as it was released: nbgrader gives it 0 by itself."""
    own = determine_grade(cell)[0]
    outcome = Outcome.WAITS if points is None else Outcome.MARKED
    if own == 0 and not points:
        outcome = Outcome.NOT_DONE
    law = "nothing is written here" if outcome == Outcome.NOT_DONE else ""
    return Verdict(cell.metadata.nbgrader.grade_id, exercise, outcome, points, most, law=law)


def _check(
    cell: NotebookNode,
    exercise: str,
    points: float | None,
    most: float,
    line: int | None,
    broken: Mapping[str, str],
) -> Verdict:
    name, error = cell.metadata.nbgrader.grade_id, _error(cell)
    hidden = hidden_lines(cell.source)
    about: dict[str, Any] = {}
    if error is None:
        outcome = Outcome.PASSED
    elif error.ename in ("CellTimeoutError", "PythonEnded"):
        outcome, about = _stopped(error)
    elif line in hidden or (line is None and hidden):
        outcome, about = Outcome.HIDDEN, _named(cell.source, hidden, line, error)
    else:
        outcome, about = _failed(error, broken)
    seen = outcome in (Outcome.FAILED, Outcome.NOT_DONE, Outcome.BLOCKED)
    before = not hidden or (seen and (line or 0) < min(hidden))
    said = _printed(cell)
    printed = said if before else _before_hidden(said, cell.source, min(hidden))
    return Verdict(name, exercise, outcome, points, most, printed=printed, **about)


def _stopped(error: Any) -> tuple[Outcome, dict[str, Any]]:
    if error.ename == "CellTimeoutError":
        return Outcome.STOPPED, {"law": "your code was stopped by the time limit while it was run"}
    return Outcome.BLOCKED, {"law": "Python had ended in a cell above, or ended here"}


def _failed(error: Any, broken: Mapping[str, str]) -> tuple[Outcome, dict[str, Any]]:
    """In the part that the student sees: whose fault it is, and all that the check says."""
    told = error.evalue
    law, lines = _parsed(told)
    all_said = {"told": told or error.ename, "lines": tuple(lines.items())}
    needed = ABSENT.search(told) or UNKNOWN.search(lines.get("message", ""))
    if needed and needed[1] in broken:
        why = f"the cell of `{needed[1]}` {broken[needed[1]]}"
        return Outcome.BLOCKED, {"law": why, **all_said}
    if error.ename == "NotImplementedError":
        stub = STUB.search(told) or ABSENT.search(told)
        return Outcome.NOT_DONE, {"law": stub[0] if stub else "still a stub", **all_said}
    if error.ename == "AssertionError":
        law = law or "the check's assertion does not hold"
    elif error.ename != "CheckFailed":
        law = f"{error.ename}: {law}".removesuffix(": ")
    raised = law.startswith("your code raised ")
    if raised and "message" in lines:
        law = f"{law}: {lines['message']}"
    looks, hint = lines.get("looks like", ""), lines.get("hint", "")
    return Outcome.FAILED, {"law": law, "looks_like": looks, "hint": hint, **all_said}


def _parsed(told: str) -> tuple[str, dict[str, str]]:
    """A failure's law, and its lines by their labels: see `failure.Story`.

    Its text is wrapped; only numbers are in rows of their own.
    """
    head, *rows = told.split("\n")
    lines: dict[str, list[str]] = {}
    label = ""
    for row in rows:
        label = row[:MARGIN].strip() or label
        lines.setdefault(label, []).append(row[MARGIN:].strip())
    law = re.sub(r"^✗ \S+: ", "", head)
    return law, {k: ("\n" if k in ROWS else " ").join(parts) for k, parts in lines.items()}


# --- hidden tests ----------------------------------------------------------------------------


def _named(source: str, hidden: set[int], line: int | None, error: Any) -> dict[str, Any]:
    """What a hidden test that failed is called in its own source."""
    tree = _tree(source)
    law, _ = _parsed(error.evalue)
    said = {
        node.value
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.lineno in hidden
    }
    fixed = next((words for piece, words in FIXED.items() if re.match(piece, law)), "")
    law = law if law in said and _is_plain(law) else fixed
    aims = [aim for _, aim, first, last in _checks(tree) if first <= (line or 0) <= last]
    return {"law": law, "aim": next(filter(_is_plain, aims), "")}


def _is_plain(words: str) -> bool:
    return not any(sign.isdigit() for sign in words)


def _checks(tree: ast.Module | None) -> list[tuple[str, str, int, int]]:
    """Each `with Check("exercise", "aim")`: both texts, its first and its last line."""
    found = []
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.With)] if tree else []
    for node in blocks:
        for item in node.items:
            texts = _texts(item.context_expr)
            if len(texts) > 1:
                found.append((texts[0], texts[1], node.lineno, node.end_lineno or node.lineno))
    return sorted(found, key=lambda check: check[2])


def _texts(call: ast.expr) -> Sequence[str]:
    """The arguments of `Check(…)` that come first, as far as they are plain texts."""
    if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Check"):
        return []
    texts = []
    for argument in call.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            break
        texts.append(argument.value)
    return texts


def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


# --- what was printed ------------------------------------------------------------------------


def _printed(cell: NotebookNode) -> str:
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def _before_hidden(said: str, source: str, first: int) -> str:
    """What was printed up to where the last check before the hidden tests says that it passed.

    The student's code may print such a line too: then less is shown, never more.
    """
    end = 0
    for exercise, aim, line, _ in _checks(_tree(source)):
        if line < first:
            passed = f"✓ {exercise}: {aim}\n"
            at = said.find(passed, end)
            if at < 0:
                return said[:end]
            end = at + len(passed)
    return said[:end]
